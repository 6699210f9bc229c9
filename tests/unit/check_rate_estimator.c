/* SPDX-License-Identifier: MIT */
/* The rate estimator, compared with the exact time: its bounds hold after every
 * sample. */
#include "rate_sim.h"

CASE("rate_estimator", start, NULL);

LOOP_TEST(test_steady, 0, 20)
{
	start();
	check_rate_bound();
	ck_assert_uint_eq(est.state.status, TSCT_STATUS_CALIBRATING);
	ck_assert_uint_eq(est.state.cause, TSCT_CAUSE_RESTART);
	ck_assert_double_le(hz_error_ppm(), 2);
	for (unsigned int i = 1; i <= 100; i++) {
		ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
		check_rate_bound();
		ck_assert_uint_eq(est.state.status,
				  TSCT_STATUS_SYNCHRONIZED);
		/* The first estimate's error has been slewed away. */
		ck_assert_int_le(check_params(), i < 3 ? 2000 : 30);
		if (i == 1)
			ck_assert_double_le(hz_error_ppm(), 0.03);
		if (i == 10)
			ck_assert_double_le(hz_error_ppm(), 0.003);
	}
	ck_assert_uint_eq(est.state.epoch, 5);
	/* The growth of the error covers the wander of the oscillator of
	 * CLOCK_MONOTONIC_RAW, and the widths of two brackets a second apart. */
	ck_assert_double_le(growth_ppb(), 150);
	ck_assert_uint_le(est.state.rate_error_ppt, 42000);
	ck_assert_uint_le(est.state.real.error_ps, 40000);
}

/* If the kernel's clocks run on the counter itself, no wander is assumed. */
TEST(test_locked)
{
	start_with(HZ);
	sim.clocksource = "tsc";
	ck_assert_int_eq(calibrate(), 0);
	ck_assert(est.locked);
	go_on_for(100);
	ck_assert_double_le(growth_ppb(), 110);
	ck_assert_uint_le(est.state.rate_error_ppt, 2000);
	start_with(HZ);
	sim.clocksource = "hpet";
	ck_assert_int_eq(calibrate(), 0);
	ck_assert(!est.locked);
	/* The kernel's clocks have the resolution of the HPET, whose period is 100 ns
	 * here: the bound includes half of that, 50 ns. */
	ck_assert_uint_ge(est.state.real.error_ps, 50000);
}

/* Counters of many rates: from about 10 MHz, over nearly 1 GHz, to far above */
TEST(test_counter_rates)
{
	static const double hz[] = { 1.1e7, 9.9999e8, 1e9, 5.3e9, 9e10 };

	for (unsigned int i = 0; i < ROWS(hz); i++) {
		start_with(hz[i]);
		ck_assert_int_eq(calibrate(), 0);
		go_on_for(10);
		check_rate_bound();
	}
	start_with(9e6);
	ck_assert_int_eq(calibrate(), -ERANGE);
	start_with(2e11);
	ck_assert_int_eq(calibrate(), -ERANGE);
}

/* Over days the estimator's window is thinned, the oldest bracket is kept, and nothing
 * overflows. */
TEST(test_long_run)
{
	for (unsigned int i = 0; i < 20000; i++)
		ck_assert_int_eq(go_on(SECOND * 10), TSCT_RATE_OK);
	ck_assert_double_le(hz_error_ppm(), 1e-6);
	ck_assert_uint_le(est.raw.nr, TSCT_RATE_WINDOW_MAX);
	ck_assert_double_gt((double)(est.raw.hist[est.raw.nr - 1].before -
				     est.raw.hist[0].before) / HZ, 199000);
}

/* NTP changes the clock's rate repeatedly. The next sample detects the change; from
 * that sample on the bound holds. */
TEST(test_changing_rate)
{
	static const int ppb[] = { 30, -900, 5000, -50000, 200000, 500000, 0 };

	for (unsigned int i = 0; i < ROWS(ppb); i++) {
		go_on_for(20);
		sim_steer(&sim, ppb[i]);
		sim_advance(&sim, SECOND);
		ck_assert_int_eq(feed(), TSCT_RATE_OK);
		go_on_for(20);
		ck_assert_int_le(check_params(), 60);
		ck_assert_double_le(growth_ppb(), 300);
		check_rate_bound();
	}
	/* The window contains no samples from before the change of the rate. */
	ck_assert_uint_le(est.real.nr, 22);
	ck_assert_uint_eq(est.state.epoch, 5);
}

/* Checks that a step ends the epoch, and that a calibration or the next two samples
 * begin a new epoch. */
static void after_step(bool calibrates, unsigned int epoch)
{
	ck_assert_int_eq(feed(), TSCT_RATE_STEPPED);
	ck_assert_uint_eq(est.state.epoch, epoch);
	ck_assert_uint_eq(est.state.cause, TSCT_CAUSE_STEP);
	ck_assert_uint_eq(est.state.status, TSCT_STATUS_DISRUPTED);
	ck_assert_uint_eq(est.state.real.mult, 0);
	ck_assert_uint_ne(est.state.epoch_cycles, 0);
	/* Samples of MONOTONIC_RAW, which give the rate, are kept after a step of
	 * REALTIME. */
	ck_assert_uint_gt(est.raw.nr, 10);
	if (calibrates) {
		ck_assert_int_eq(calibrate(), TSCT_RATE_OK);
		ck_assert_uint_eq(est.state.status, TSCT_STATUS_CALIBRATING);
		check_params();
		ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
	} else {
		sim_advance(&sim, SECOND);
		ck_assert_int_eq(feed(), TSCT_RATE_OK);
	}
	ck_assert_uint_eq(est.state.status, TSCT_STATUS_SYNCHRONIZED);
	ck_assert_uint_eq(est.state.epoch, epoch);
	check_params();
}

TEST(test_step)
{
	static const int64_t steps[] = {
		2000000, -2000000, 1000000000, -1000000000, 37000000000,
		100000000000000000, -100000000000000000,
	};
	unsigned int i, epoch = 5;

	for (i = 0; i < ROWS(steps); i++) {
		go_on_for(2);
		sim_step(&sim, steps[i]);
		sim_advance(&sim, SECOND);
		after_step(i & 1, ++epoch);
	}
}

/* A slew faster than those of all NTP daemons except chrony is detected as a step. Then
 * the new rate is measured. */
TEST(test_fast_slew)
{
	static const int ppb[] = { 100000000, -100000000, 2000000, -2000000 };
	unsigned int i, epoch = 5;

	for (i = 0; i < ROWS(ppb); i++) {
		go_on_for(3);
		sim_steer(&sim, ppb[i]);
		sim_advance(&sim, SECOND);
		after_step(true, ++epoch);
		go_on_for(10);
		ck_assert_int_le(check_params(), 60);
		sim_steer(&sim, 0);
		sim_advance(&sim, SECOND);
		after_step(true, ++epoch);
		check_rate_bound();
	}
}

/* A step small enough to be a slew: time is slewed, the bound covers the step. */
TEST(test_small_step)
{
	int64_t off = 200000, now;

	go_on_for(10);
	sim_step(&sim, off);
	sim_advance(&sim, SECOND);
	ck_assert_int_eq(feed(), TSCT_RATE_OK);
	ck_assert_uint_ge(est.state.real.error_ps / 1000, 199000);
	/* Until the next sample, the small step could also have been a change of the
	 * rate. */
	sim_advance(&sim, SECOND);
	ck_assert_int_eq(feed(), TSCT_RATE_OK);
	for (unsigned int i = 0; i < 5; i++) {
		ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
		now = check_params();
		ck_assert_int_lt(now, off + 300);
		off = now;
	}
	ck_assert_int_le(off, 100);
	ck_assert_uint_eq(est.state.epoch, 5);
}

/* The counter or MONOTONIC_RAW jumped: a new epoch begins, and the estimator
 * recovers. */
static void after_jump(double hz)
{
	unsigned int epoch = est.state.epoch;

	ck_assert_int_eq(feed(), TSCT_RATE_JUMPED);
	ck_assert_uint_eq(est.state.epoch, epoch + 1);
	ck_assert_uint_eq(est.state.cause, TSCT_CAUSE_JUMP);
	ck_assert_uint_eq(est.state.status, TSCT_STATUS_DISRUPTED);
	ck_assert_int_eq(calibrate(), TSCT_RATE_OK);
	go_on_for(5);
	ck_assert_uint_eq(est.state.status, TSCT_STATUS_SYNCHRONIZED);
	ck_assert_uint_eq(est.state.epoch, epoch + 1);
	ck_assert_double_eq_tol(tsct_rate_hz(&est, NULL) / hz, 1, 1e-7);
	check_rate_bound();
}

TEST(test_counter_jumps)
{
	go_on_for(5);
	/* Suspend: the counter continued, MONOTONIC_RAW did not. */
	sim.raw_lost_ps = 30000000000000;
	sim_advance(&sim, 31 * SECOND);
	after_jump(HZ);
	/* Suspend to RAM: the counter restarted near 0. */
	sim_advance(&sim, SECOND / 2);
	sim_recount(&sim, 1000, HZ);
	sim_advance(&sim, SECOND / 2);
	after_jump(HZ);
	/* Migration to another machine: its counter has another value, and is 50 ppm
	 * faster. */
	sim_recount(&sim, 1ULL << 50, HZ * 1.00005);
	sim_advance(&sim, SECOND);
	after_jump(HZ * 1.00005);
	/* The counter jumped forward by as many cycles as it counts in a second. */
	sim_recount(&sim, sim_counter(&sim) + 2600000000, sim.hz);
	sim_advance(&sim, SECOND);
	after_jump(sim.hz);
	/* The counter runs twice as fast now, so that the brackets of a sample are
	 * combined with a wrong rate. */
	sim_recount(&sim, sim_counter(&sim), sim.hz * 2);
	sim_advance(&sim, SECOND);
	after_jump(sim.hz);
}

/* The counter and MONOTONIC_RAW stopped, REALTIME did not. */
TEST(test_suspend)
{
	go_on_for(1);
	sim_step(&sim, 3600 * (int64_t)SECOND);
	sim_advance(&sim, SECOND);
	after_step(true, 6);
}

/* If the caller has detected a disruption, only the data that the disruption
 * invalidates is discarded. */
TEST(test_disrupt)
{
	static const __u32 keep[] = { TSCT_CAUSE_STEP, TSCT_CAUSE_FAKE };
	unsigned int cause, epoch = 5;

	for (cause = 1; cause < TSCT_CAUSE_NR; cause++) {
		bool kept = cause == keep[0] || cause == keep[1];

		go_on_for(3);
		tsct_rate_disrupt(&est, cause);
		ck_assert_uint_eq(est.state.epoch, ++epoch);
		ck_assert_uint_eq(est.state.cause, cause);
		ck_assert_uint_eq(est.state.status, TSCT_STATUS_DISRUPTED);
		ck_assert_uint_eq(est.state.real.mult, 0);
		ck_assert_int_eq(est.raw.nr > 0, kept);
		ck_assert_int_eq(calibrate(), TSCT_RATE_OK);
		check_params();
		check_rate_bound();
	}
	ck_assert_uint_eq(est.state.epoch, epoch);
}

/* Reads of the clock that take long, or of which most are interrupted */
TEST(test_slow_and_interrupted_reads)
{
	static const struct { unsigned int read, jitter, every, stall; }
	noise[] = {
		{ 100, 2000, 3, 50000 },	/* clock reads that are slow in an
						 * emulator; durations in ns */
		{ 20000, 60000, 0, 0 },		/* clock reads that are slow, because
						 * they are traced system calls;
						 * durations in ns */
		{ 14, 6, 1, 3000000 },		/* clock reads of a process that
						 * hardly gets CPU time; durations
						 * in ns */
		{ 1000, 1, 20, 90000000 },
	};

	for (unsigned int i = 0; i < 4; i++) {
		seed_with(40 + i);
		start_with(HZ);
		sim.read_ns = noise[i].read;
		sim.jitter_ns = noise[i].jitter;
		sim.stall_every = noise[i].every;
		sim.stall_ns = noise[i].stall;
		ck_assert_int_eq(calibrate(), 0);
		check_rate_bound();
		for (unsigned int k = 0; k < 200; k++) {
			ck_assert_int_ge(feed(), 0);
			check_params();
			check_rate_bound();
			sim_advance(&sim, SECOND);
			check_params();
		}
		ck_assert_uint_eq(est.state.epoch, 5);
	}
}

/* One wide bracket among narrow brackets does not change the estimate. */
TEST(test_poor_sample)
{
	struct tsct_clock_state last;

	go_on_for(5);
	for (unsigned int i = 0; i < 3; i++) {
		last = est.state;
		sim.read_ns = 100000;
		ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
		ck_assert_uint_eq(last.real.as_of_cycles, est.state.real.as_of_cycles);
		ck_assert_uint_le(est.state.real.error_ps, 100000);
	}
	/* A wide bracket is accepted when the clock would go into holdover without
	 * it. */
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
	ck_assert_uint_ne(last.real.as_of_cycles, est.state.real.as_of_cycles);
	ck_assert_uint_ge(est.state.real.error_ps, 50000000);
	sim.read_ns = 14;
	go_on_for(3);
	ck_assert_uint_le(est.state.real.error_ps, 1000000);
	go_on_for(3);
	ck_assert_uint_le(est.state.real.error_ps, 60000);
}

/* If the kernel reads counter and clock simultaneously, brackets have a width of 0. */
TEST(test_snapshot)
{
	start_with(HZ);
	sim.ops.snapshot = sim_snapshot;
	sim.clocksource = "tsc";
	ck_assert_int_eq(calibrate(), 0);
	for (unsigned int i = 0; i < 50; i++) {
		ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
		ck_assert_int_le(check_params(), 3);
	}
	ck_assert_uint_le(est.state.real.error_ps, 6000);
	ck_assert_double_le(growth_ppb(), 4);
}

/* If each read takes a second, as in a debugger, no bracket is narrow. The search for a
 * narrow bracket still ends. */
TEST(test_very_slow_reads)
{
	start_with(HZ);
	sim.read_ns = 1000000;
	sim.stall_every = 1;
	sim.stall_ns = 1000000000;
	ck_assert_int_ge(calibrate(), 0);
	check_params();
	ck_assert_uint_le(sim.reads, (16 + 1) * 2 * 65 * 3);
	sim.reads = 0;
	ck_assert_int_ge(feed(), 0);
	check_params();
	ck_assert_uint_le(sim.reads, 2 * 65 * 3);
}

TEST(test_sampler_adapts)
{
	struct tsct_bracket bracket;

	/* Without a limit for brackets yet, it makes the maximum of tries. */
	ck_assert_uint_le(sim.reads, (16 + 1) * 2 * 65 * 3);
	sim.stall_every = 0;
	for (unsigned int i = 0; i < 50; i++)
		tsct_sampler_bracket(&sampler, CLOCK_REALTIME, &bracket);
	sim.reads = 0;
	tsct_sampler_bracket(&sampler, CLOCK_REALTIME, &bracket);
	/* The sampler has adapted the limit for the width of brackets, so few clock
	 * reads are needed to find enough brackets within the limit. */
	ck_assert_uint_le(sim.reads, 3 * 60);
	sim.read_ns = 3000;		/* each read of a clock takes 3 us from now
					 * on */
	for (unsigned int i = 0; i < 20; i++)
		tsct_sampler_bracket(&sampler, CLOCK_REALTIME, &bracket);
	sim.reads = 0;
	tsct_sampler_bracket(&sampler, CLOCK_REALTIME, &bracket);
	ck_assert_uint_le(sim.reads, 3 * 60);
	ck_assert_double_le((double)(bracket.after - bracket.before) / HZ, 2e-5);
}

/* The intersection of several brackets is narrower than each of them, and contains the
 * truth. */
TEST(test_intersection)
{
	struct tsct_sampler alone;
	struct tsct_bracket bracket, one;
	unsigned int i, narrower = 0;

	sim.stall_every = 0;
	sim.jitter_ns = 40;
	go_on_for(5);
	alone = sampler;
	alone.real_per_cycle = 0;
	for (i = 0; i < 1000; i++) {
		uint64_t middle, now;
		double off;

		tsct_sampler_bracket(&alone, CLOCK_REALTIME, &one);
		tsct_sampler_bracket(&sampler, CLOCK_REALTIME, &bracket);
		narrower += tsct_bracket_narrower(&bracket, &one);
		/* The true time at the middle of the bracket */
		middle = bracket.before + (bracket.after - bracket.before) / 2;
		now = sim_counter(&sim);
		off = (double)(sim_real(&sim) - bracket.ns) -
			(double)(now - middle) * 1e9 / HZ;
		ck_assert_double_le(fabs(off), (double)(bracket.after -
				    bracket.before) / 2 * 1e9 / HZ + 2.5);
	}
	ck_assert_uint_ge(narrower, 600);
}

/* The rate estimator of a restarted daemon continues without a step, and its bound
 * holds. */
TEST(test_resume)
{
	struct tsct_clock_state last;
	uint64_t stamp;

	go_on_for(5);
	last = est.state;
	last.status = TSCT_STATUS_HOLDOVER;
	sim_advance(&sim, 20 * SECOND);
	tsct_rate_init(&est, TSCT_SOURCE_TSC, 0, 0);
	ck_assert_int_eq(tsct_rate_resume(&est, &last), 0);
	tsct_sampler_init(&sampler, &sim.ops);
	ck_assert_int_eq(calibrate(), TSCT_RATE_OK);
	stamp = est.state.real.base_cycles;
	ck_assert_int_eq(tsct_clock_params_ns(&est.state.real, stamp),
			 tsct_clock_params_ns(&last.real, stamp));
	ck_assert_uint_eq(est.state.epoch, 5);
	/* The resumed clock is synchronized at once. It does not need half a second of
	 * new samples. */
	ck_assert_uint_eq(est.state.status, TSCT_STATUS_SYNCHRONIZED);
	check_params();
	go_on_for(5);
	/* If CLOCK_REALTIME was set while no daemon ran, a new epoch begins. */
	last = est.state;
	sim_step(&sim, -50000000);
	tsct_rate_init(&est, TSCT_SOURCE_TSC, 0, 0);
	ck_assert_int_eq(tsct_rate_resume(&est, &last), 0);
	ck_assert_int_eq(calibrate(), TSCT_RATE_STEPPED);
	ck_assert_uint_eq(est.state.epoch, 6);
	ck_assert_uint_eq(est.state.cause, TSCT_CAUSE_STEP);
	check_params();
	/* Clock states that the rate estimator cannot resume */
	last = est.state;
	tsct_rate_init(&est, TSCT_SOURCE_MONOTONIC_RAW, 0, 0);
	ck_assert_int_eq(tsct_rate_resume(&est, &last), -EINVAL);
	tsct_rate_init(&est, TSCT_SOURCE_TSC, 0, 0);
	last.status = TSCT_STATUS_DISRUPTED;
	ck_assert_int_eq(tsct_rate_resume(&est, &last), -EINVAL);
	last.status = TSCT_STATUS_NR;
	ck_assert_int_eq(tsct_rate_resume(&est, &last), -EINVAL);
}

/* A resumed estimator accepts a sample at once, without tsct_rate_start(). */
TEST(test_resume_and_feed)
{
	struct tsct_clock_state last;

	go_on_for(5);
	last = est.state;
	sim_advance(&sim, 2 * SECOND);
	tsct_rate_init(&est, TSCT_SOURCE_TSC, 0, 0);
	ck_assert_int_eq(tsct_rate_resume(&est, &last), 0);
	ck_assert_uint_eq(est.ref_cycles, est.offset.cycles);
	/* The counter's rate is known before the first sample. */
	check_rate_bound();
	ck_assert_int_eq(feed(), TSCT_RATE_OK);
	go_on_for(5);
	ck_assert_uint_eq(est.state.epoch, 5);
}

/* The estimated rate stays within the bounds of the rate restored from the drift file,
 * unless the samples contradict the restored rate. */
TEST(test_restored_rate)
{
	uint64_t mult, error;
	double bound;

	start_with(HZ);
	sim.clocksource = "tsc";
	ck_assert_int_eq(calibrate(), 0);
	go_on_for(30);
	mult = est.state.rate_mult;
	error = est.state.rate_error_ppt;
	start_with(HZ);
	sim.clocksource = "tsc";
	ck_assert_int_eq(tsct_rate_restore(&est, mult, error), 0);
	ck_assert_int_eq(calibrate(), 0);
	tsct_rate_hz(&est, &bound);
	ck_assert_double_le(hz_error_ppm(), 0.005);
	ck_assert_double_le(bound, 2 * (double)error / 1e3 + 1);
	check_rate_bound();
	/* A drift file that was copied from another machine has a wrong rate. */
	start_with(HZ * 1.001);
	ck_assert_int_eq(tsct_rate_restore(&est, mult, error), 0);
	ck_assert_int_eq(calibrate(), 0);
	check_rate_bound();
	ck_assert_double_le(hz_error_ppm(), 2);
	/* A saved rate of 0 is rejected. */
	ck_assert_int_eq(tsct_rate_restore(&est, 0, 0), -EINVAL);
	ck_assert_int_eq(tsct_rate_restore(&est, ~0ULL, 0), -EINVAL);
	ck_assert_int_eq(tsct_rate_restore(&est, mult, ~0ULL), -EINVAL);
}

/* The fractions of ns of both samples count. */
TEST(test_innovation)
{
	struct tsct_offset_interval next;

	est.offset.frac_ns = 0.75;
	est.offset.half_ns = 0;
	next = est.offset;
	next.ns++;
	next.frac_ns = 0.25;
	next.half_ns = 0.125;
	ck_assert_double_eq(tsct_rate_innovation(&est, &next).missed_ns, 0.375);
	/* The rate explains the rest. */
	est.offset.half_ns = 0.5;
	ck_assert_double_eq(tsct_rate_innovation(&est, &next).missed_ns, 0);
}

TEST(test_rejects_bad_samples)
{
	struct tsct_sample sample, samples[2];
	struct tsct_rate_estimator old;

	tsct_sampler_take(&sampler, &sample);
	old = est;
	sample.real.after_cpu = sample.real.before_cpu + 1;
	ck_assert_int_eq(tsct_rate_feed(&est, &sample), -EINVAL);
	ck_assert_mem_eq(&est, &old, sizeof(est));
	sample.real.after_cpu = sample.real.before_cpu;
	sample.real.after = sample.real.before - 1;
	ck_assert_int_eq(tsct_rate_feed(&est, &sample), -EINVAL);
	ck_assert_mem_eq(&est, &old, sizeof(est));
	tsct_rate_init(&est, TSCT_SOURCE_TSC, 0, 0);
	ck_assert_int_eq(tsct_rate_feed(&est, &sample), -EINVAL);
	tsct_sampler_take(&sampler, &samples[0]);
	samples[1] = samples[0];
	ck_assert_int_eq(tsct_rate_start(&est, samples, 1), -EINVAL);
	/* Two samples with the same counter and clock readings give no rate. */
	ck_assert_int_eq(tsct_rate_start(&est, samples, 2), TSCT_RATE_JUMPED);
	ck_assert_uint_eq(est.state.status, TSCT_STATUS_DISRUPTED);
	ck_assert_uint_eq(est.state.real.mult, 0);
	samples[1].raw.after = samples[1].raw.before - 1;
	ck_assert_int_eq(tsct_rate_start(&est, samples, 2), -EINVAL);
	samples[1].raw.after = samples[1].raw.before;
	samples[1].raw.after_cpu++;
	ck_assert_int_eq(tsct_rate_start(&est, samples, 2), -EINVAL);
}

/* The clock is set before one of the first samples; the estimator recovers. */
static void check_set_at_start(unsigned int at, int64_t step)
{
	struct tsct_sample samples[16];

	start_with(HZ);
	for (unsigned int i = 0; i < 16; i++) {
		if (i == at)
			sim_step(&sim, step);
		tsct_sampler_take(&sampler, &samples[i]);
		sim_advance(&sim, 1000000);
	}
	ck_assert_int_eq(tsct_rate_start(&est, samples, 16), TSCT_RATE_OK);
	/* The estimated rate is within the range that slewing allows. */
	ck_assert_double_le(fabs(est.rate * HZ / 1e9 - 1), 0.13);
	publish();
	sim_advance(&sim, SECOND);
	if (feed() == TSCT_RATE_STEPPED)
		ck_assert_int_eq(calibrate(), TSCT_RATE_OK);
	go_on_for(2);
	ck_assert_uint_eq(est.state.status, TSCT_STATUS_SYNCHRONIZED);
}

LOOP_TEST(test_set_at_start, 1, 16)
{
	static const int64_t steps[] = { 10000, 1000000, 1000000000,
		47000000000, 1000000000000000000 };

	for (unsigned int i = 0; i < ROWS(steps); i++) {
		seed_with(100 * _i + i);
		check_set_at_start(_i, steps[i]);
		check_set_at_start(_i, -steps[i]);
	}
}

static struct tsct_bracket bracket(uint64_t before, int64_t ns, uint64_t after)
{
	return (struct tsct_bracket) {
		.before = before, .ns = ns, .after = after,
	};
}

TEST(test_median)
{
	/* Two of the six brackets are late by 500 ns; one of these two is also wide. */
	struct tsct_rate_window window = {
		.nr = 6,
		.hist = {
			bracket(1000, 0, 1010), bracket(2000, 1000, 2010),
			bracket(3000, 2500, 3010), bracket(4000, 3500, 4900),
			bracket(5000, 4000, 5010), bracket(6000, 5000, 6010),
		},
	};

	ck_assert_double_eq(tsct_rate_window_median(&window), 1);
	window.nr = 2;
	ck_assert_double_eq(tsct_rate_window_median(&window), 1);
	window.nr = 1;
	ck_assert_double_eq(tsct_rate_window_median(&window), 0);
	/* Windows of any size and widths: the rates between brackets fit the buffer. */
	for (window.nr = 2; window.nr <= TSCT_RATE_WINDOW_MAX; window.nr++) {
		for (unsigned int i = 0; i < window.nr; i++)
			window.hist[i] = bracket(i * 10000, i * 20000,
						i * 10000 + i % 7);
		ck_assert_double_eq_tol(tsct_rate_window_median(&window), 2, 1e-3);
	}
}
