/* SPDX-License-Identifier: MIT */
/* The estimator against exact truth: what it says must hold, each time. */
#include <check.h>
#include <math.h>

#include "core/scale.h"
#include "core/track.h"
#include "simclock.h"

#define HZ	2596104055.0
#define SECOND	1000000000ULL

static struct sim sim;
static struct tsct_rate est;
static struct tsct_sampler sampler;

static void start_with(double hz)
{
	sim_init(&sim, hz);
	tsct_sampler_init(&sampler, &sim.ops);
	tsct_rate_init(&est, TSCT_SOURCE_TSC, 5);
}

static void start(void)
{
	start_with(HZ);
	ck_assert_int_eq(tsct_sampler_start(&sampler, &est), TSCT_RATE_OK);
}

/* Does the published line hold now? Returns how far off it is, in ns. */
static int64_t check_line(void)
{
	const struct tsct_pair *pair = &est.state.real;
	uint64_t stamp = sim_counter(&sim);
	int64_t off = sim_real(&sim) - tsct_pair_ns(pair, stamp);
	uint64_t bound = tsct_pair_error_ps(pair, stamp) / 1000 + 1;

	ck_assert_int_eq(tsct_clock_state_check(&est.state), 0);
	ck_assert_msg((uint64_t)llabs(off) <= bound,
		      "%lld ns off, bound %llu ns, at %.3f s", (long long)off,
		      (unsigned long long)bound, (double)sim.now_ps / 1e12);
	return llabs(off);
}

/* One interval, looked at many times, then a sample. Returns the event. */
static int go_on(uint64_t ns)
{
	const struct tsct_pair *pair = &est.state.real;
	struct tsct_pair old = *pair;
	int64_t begin = sim.now_ps;
	unsigned int i;
	int event;

	for (i = 0; i < 20; i++) {
		sim_advance(&sim, ns / 20);
		check_line();
	}
	sim.now_ps = begin + (int64_t)ns * 1000;
	event = tsct_sampler_feed(&sampler, &est);
	/* Time does not jump where the new line replaces the old one. */
	if (event == TSCT_RATE_OK)
		ck_assert_int_eq(tsct_pair_ns(&old, pair->base_tsc),
				 tsct_pair_ns(pair, pair->base_tsc));
	return event;
}

static double hz_error_ppm(void)
{
	return fabs(tsct_rate_hz(&est, NULL) / sim.hz - 1) * 1e6;
}

static void check_rate_bound(void)
{
	double bound;

	tsct_rate_hz(&est, &bound);
	ck_assert_double_le(hz_error_ppm() * 1e3, bound + 1e-3);
}

START_TEST(test_steady)
{
	unsigned int i, turn;

	for (turn = 0; turn < 20; turn++) {
		seed_with(turn);
		start();
		check_rate_bound();
		ck_assert_uint_eq(est.state.status, TSCT_STATUS_CALIBRATING);
		ck_assert_double_le(hz_error_ppm(), 5);
		for (i = 1; i <= 100; i++) {
			ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
			check_rate_bound();
			ck_assert_uint_eq(est.state.status,
					  TSCT_STATUS_SYNCHRONIZED);
			/* What the first figures were off is slewed away. */
			ck_assert_int_le(check_line(), i < 3 ? 5000 : 50);
			if (i == 1)
				ck_assert_double_le(hz_error_ppm(), 0.05);
			if (i == 10)
				ck_assert_double_le(hz_error_ppm(), 0.005);
		}
		ck_assert_uint_eq(est.state.epoch, 5);
		ck_assert_uint_le(est.state.real.growth_ppb, 1100);
		ck_assert_uint_le(est.state.rate_error_ppb, 5);
	}
}
END_TEST

/* Slow and fast counters, one that is nearly the clock, one below 10 MHz */
START_TEST(test_other_rates)
{
	static const double hz[] = { 1.1e7, 9.9999e8, 1e9, 5.3e9, 9e10 };
	unsigned int i, k;

	seed_with(30);
	for (i = 0; i < sizeof(hz) / sizeof(hz[0]); i++) {
		start_with(hz[i]);
		ck_assert_int_eq(tsct_sampler_start(&sampler, &est), 0);
		for (k = 0; k < 10; k++)
			ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
		check_rate_bound();
	}
	start_with(9e6);
	ck_assert_int_eq(tsct_sampler_start(&sampler, &est), -ERANGE);
	start_with(2e11);
	ck_assert_int_eq(tsct_sampler_start(&sampler, &est), -ERANGE);
}
END_TEST

/* Days: the history thins out, the oldest bracket stays, nothing overflows. */
START_TEST(test_long_run)
{
	unsigned int i;

	seed_with(31);
	start();
	for (i = 0; i < 20000; i++)
		ck_assert_int_eq(go_on(SECOND * 10), TSCT_RATE_OK);
	ck_assert_double_le(hz_error_ppm(), 1e-6);
	ck_assert_uint_le(est.raw.nr, TSCT_TRACK_MAX);
	ck_assert_double_gt((double)tsct_track_baseline(&est.raw) / HZ, 199000);
}
END_TEST

/* NTP at work: rates change by up to 50 ppm, and change again. */
START_TEST(test_steered)
{
	unsigned int i;

	seed_with(32);
	start();
	for (i = 0; i < 300; i++) {
		/*
		 * Right behind a sample: what is steered between two of them
		 * by more than the allowance nobody can know before the next.
		 */
		if (i % 30 == 10)
			sim_steer(&sim, sim.steer_ppb + (int)any(1800) - 900);
		ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
	}
	sim_steer(&sim, 50000);
	sim_advance(&sim, SECOND);
	ck_assert_int_eq(tsct_sampler_feed(&sampler, &est), TSCT_RATE_OK);
	/* What is older than the change is forgotten. */
	ck_assert_uint_eq(est.real.nr, 2);
	/* It has seen it: its bound holds again, and it is soon narrow again. */
	for (i = 0; i < 60; i++)
		ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
	ck_assert_int_le(check_line(), 500);
	ck_assert_uint_le(est.state.rate_error_ppb, 30);
	check_rate_bound();
	ck_assert_uint_eq(est.state.epoch, 5);
}
END_TEST

START_TEST(test_step)
{
	static const int64_t steps[] = {
		2000000, -2000000, 1000000000, -1000000000, 37000000000,
		100000000000000000, -100000000000000000,
	};
	unsigned int i, epoch = 5;

	seed_with(33);
	start();
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
		sim_step(&sim, steps[i]);
		sim_advance(&sim, SECOND);
		ck_assert_int_eq(tsct_sampler_feed(&sampler, &est),
				 TSCT_RATE_STEPPED);
		ck_assert_uint_eq(est.state.epoch, ++epoch);
		ck_assert_uint_eq(est.state.status, TSCT_STATUS_DISRUPTED);
		check_line();
		/* The rate was not in doubt. */
		ck_assert_uint_le(est.state.real.growth_ppb, 1500);
		ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
		ck_assert_uint_eq(est.state.status, TSCT_STATUS_SYNCHRONIZED);
		ck_assert_uint_eq(est.state.epoch, epoch);
	}
}
END_TEST

/* Too small to tell from slewing: caught up with, slowly, and owned up to. */
START_TEST(test_small_step)
{
	int64_t off = 200000, now;
	unsigned int i;

	seed_with(34);
	start();
	for (i = 0; i < 10; i++)
		go_on(SECOND);
	sim_step(&sim, off);
	sim_advance(&sim, SECOND);
	ck_assert_int_eq(tsct_sampler_feed(&sampler, &est), TSCT_RATE_OK);
	ck_assert_uint_ge(est.state.real.base_error_ps / 1000, 199000);
	for (i = 0; i < 5; i++) {
		ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
		now = check_line();
		/* never away from the truth by more than a sample's noise */
		ck_assert_int_lt(now, off + 300);
		off = now;
	}
	ck_assert_int_le(off, 300);
	ck_assert_uint_eq(est.state.epoch, 5);
	/* The slewing itself stays within its limit. */
	ck_assert_double_le(fabs((double)est.state.real.slew_mult),
			    (double)est.state.real.mult * 5.01e-4);
}
END_TEST

/* The counter or RAW does what it must not do: a new epoch, then all is well. */
static void after_jump(double hz)
{
	unsigned int epoch = est.state.epoch, i;

	ck_assert_int_eq(tsct_sampler_feed(&sampler, &est), TSCT_RATE_JUMPED);
	ck_assert_uint_eq(est.state.epoch, epoch + 1);
	ck_assert_uint_eq(est.state.status, TSCT_STATUS_DISRUPTED);
	sim_advance(&sim, SECOND);
	ck_assert_int_eq(tsct_sampler_feed(&sampler, &est), TSCT_RATE_OK);
	for (i = 0; i < 5; i++)
		ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
	ck_assert_uint_eq(est.state.status, TSCT_STATUS_SYNCHRONIZED);
	ck_assert_uint_eq(est.state.epoch, epoch + 1);
	ck_assert_double_eq_tol(tsct_rate_hz(&est, NULL) / hz, 1, 1e-7);
	check_rate_bound();
}

START_TEST(test_jump)
{
	unsigned int i;

	seed_with(35);
	start();
	for (i = 0; i < 5; i++)
		go_on(SECOND);
	/* Suspended: the counter ran on, RAW did not. */
	sim.raw_lost_ps = 30000000000000;
	sim_advance(&sim, 31 * SECOND);
	after_jump(HZ);
	/* Began anew, as after S3 */
	sim_advance(&sim, SECOND / 2);
	sim_recount(&sim, 1000, HZ);
	sim_advance(&sim, SECOND / 2);
	after_jump(HZ);
	/* Moved to another machine: another counter, 50 ppm faster */
	sim_recount(&sim, 1ULL << 50, HZ * 1.00005);
	sim_advance(&sim, SECOND);
	after_jump(HZ * 1.00005);
	/* Jumped by one second's worth */
	sim_recount(&sim, sim_counter(&sim) + 2600000000, sim.hz);
	sim_advance(&sim, SECOND);
	after_jump(sim.hz);
}
END_TEST

/* Counter and RAW both stood still, REALTIME did not. */
START_TEST(test_suspend)
{
	seed_with(36);
	start();
	go_on(SECOND);
	sim_step(&sim, 3600 * (int64_t)SECOND);
	sim_advance(&sim, SECOND);
	ck_assert_int_eq(tsct_sampler_feed(&sampler, &est), TSCT_RATE_STEPPED);
	check_line();
}
END_TEST

/* Reads that take long, or are interrupted most of the time */
START_TEST(test_noise)
{
	static const struct { unsigned int read, jitter, every, stall; }
	noise[] = {
		{ 100, 2000, 3, 50000 },	/* a slow emulator */
		{ 20000, 60000, 0, 0 },		/* system calls traced */
		{ 14, 6, 1, 3000000 },		/* never let run */
		{ 1000, 1, 20, 90000000 },
	};
	unsigned int i, k;

	for (i = 0; i < 4; i++) {
		seed_with(40 + i);
		start_with(HZ);
		sim.read_ns = noise[i].read;
		sim.jitter_ns = noise[i].jitter;
		sim.stall_every = noise[i].every;
		sim.stall_ns = noise[i].stall;
		ck_assert_int_eq(tsct_sampler_start(&sampler, &est), 0);
		check_rate_bound();
		for (k = 0; k < 200; k++) {
			ck_assert_int_ge(tsct_sampler_feed(&sampler, &est), 0);
			check_line();
			check_rate_bound();
			sim_advance(&sim, SECOND);
			check_line();
		}
		ck_assert_uint_eq(est.state.epoch, 5);
	}
}
END_TEST

/* A second for every read: no bracket is good, and still there is an end. */
START_TEST(test_debugger)
{
	seed_with(50);
	start_with(HZ);
	sim.read_ns = 1000000;
	sim.stall_every = 1;
	sim.stall_ns = 1000000000;
	ck_assert_int_ge(tsct_sampler_start(&sampler, &est), 0);
	check_line();
	ck_assert_uint_le(sim.reads, 16 * 2 * 64 * 3);
	sim.reads = 0;
	ck_assert_int_ge(tsct_sampler_feed(&sampler, &est), 0);
	check_line();
	ck_assert_uint_le(sim.reads, 2 * 64 * 3);
}
END_TEST

START_TEST(test_sampler_adapts)
{
	struct tsct_bracket bracket;
	unsigned int i;

	seed_with(51);
	start();
	/* No limit yet: all tries, which have an end */
	ck_assert_uint_le(sim.reads, 16 * 2 * 64 * 3);
	sim.stall_every = 0;
	for (i = 0; i < 50; i++)
		tsct_sampler_bracket(&sampler, CLOCK_REALTIME, &bracket);
	sim.reads = 0;
	tsct_sampler_bracket(&sampler, CLOCK_REALTIME, &bracket);
	/* The limit is fit: a few good ones were enough. */
	ck_assert_uint_le(sim.reads, 3 * 40);
	sim.read_ns = 3000;		/* another machine */
	for (i = 0; i < 20; i++)
		tsct_sampler_bracket(&sampler, CLOCK_REALTIME, &bracket);
	sim.reads = 0;
	tsct_sampler_bracket(&sampler, CLOCK_REALTIME, &bracket);
	ck_assert_uint_le(sim.reads, 3 * 40);
	ck_assert_double_le((double)(bracket.after - bracket.before) / HZ, 2e-5);
}
END_TEST

/* A daemon stops, another one goes on: no step, and the bound is kept. */
START_TEST(test_resume)
{
	struct tsct_clock_state last;
	int64_t before;
	uint64_t stamp;
	int i;

	seed_with(52);
	start();
	for (i = 0; i < 5; i++)
		go_on(SECOND);
	last = est.state;
	last.status = TSCT_STATUS_HOLDOVER;
	sim_advance(&sim, 20 * SECOND);
	tsct_rate_init(&est, TSCT_SOURCE_TSC, 0);
	ck_assert_int_eq(tsct_rate_resume(&est, &last), 0);
	tsct_sampler_init(&sampler, &sim.ops);
	ck_assert_int_eq(tsct_sampler_start(&sampler, &est), TSCT_RATE_OK);
	stamp = sim_counter(&sim);
	before = tsct_pair_ns(&last.real, stamp);
	ck_assert_int_le(llabs(tsct_pair_ns(&est.state.real, stamp) - before), 5);
	ck_assert_uint_eq(est.state.epoch, 5);
	check_line();
	/* Set meanwhile: a new epoch */
	last = est.state;
	sim_step(&sim, -50000000);
	tsct_rate_init(&est, TSCT_SOURCE_TSC, 0);
	ck_assert_int_eq(tsct_rate_resume(&est, &last), 0);
	ck_assert_int_eq(tsct_sampler_start(&sampler, &est), TSCT_RATE_STEPPED);
	ck_assert_uint_eq(est.state.epoch, 6);
	check_line();
	/* Not ours to continue */
	tsct_rate_init(&est, TSCT_SOURCE_MONOTONIC_RAW, 0);
	ck_assert_int_eq(tsct_rate_resume(&est, &last), -EINVAL);
	last.real.shift = 64;
	tsct_rate_init(&est, TSCT_SOURCE_TSC, 0);
	ck_assert_int_eq(tsct_rate_resume(&est, &last), -EINVAL);
}
END_TEST

START_TEST(test_refuses)
{
	struct tsct_sample sample, samples[2];
	struct tsct_rate old;

	seed_with(53);
	start();
	tsct_sampler_take(&sampler, &sample);
	old = est;
	sample.real.after = sample.real.before - 1;
	ck_assert_int_eq(tsct_rate_feed(&est, &sample), -EINVAL);
	ck_assert_mem_eq(&est, &old, sizeof(est));
	tsct_rate_init(&est, TSCT_SOURCE_TSC, 0);
	ck_assert_int_eq(tsct_rate_feed(&est, &sample), -EINVAL);
	tsct_sampler_take(&sampler, &samples[0]);
	samples[1] = samples[0];
	ck_assert_int_eq(tsct_rate_start(&est, samples, 1), -EINVAL);
	ck_assert_int_eq(tsct_rate_start(&est, samples, 2), -EINVAL);
	ck_assert_uint_eq(est.state.status, TSCT_STATUS_UNKNOWN);
}
END_TEST

START_TEST(test_median)
{
	/* Three intervals at 1 ns per tick, one at 3, one at 1/2 */
	static const struct tsct_bracket hist[] = {
		{ 1000, 0, 1000 }, { 2000, 1000, 2000 }, { 3000, 4000, 3000 },
		{ 4000, 5000, 4000 }, { 6000, 6000, 6000 }, { 7000, 7000, 7000 },
	};
	struct tsct_track track = { .nr = 6 };

	memcpy(track.hist, hist, sizeof(hist));
	ck_assert_double_eq(tsct_track_median(&track), 1);
	track.nr = 3;
	ck_assert_double_eq(tsct_track_median(&track), 2);
	track.nr = 1;
	ck_assert_double_eq(tsct_track_median(&track), 0);
}
END_TEST

/* mult and shift say the rate to better than anybody can measure it. */
START_TEST(test_quantisation)
{
	double hz;

	seed_with(54);
	for (hz = 1.01e7; hz < 9e10; hz *= 1.37) {
		start_with(hz);
		ck_assert_int_eq(tsct_sampler_start(&sampler, &est), 0);
		ck_assert_double_le(fabs((double)est.state.real.mult /
					 ldexp(1, (int)est.state.real.shift) /
					 est.rate - 1), 1e-15);
		ck_assert_uint_lt(est.state.real.mult, 1ULL << 62);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("rate");
	Suite *suite = suite_create("rate");
	SRunner *runner;
	int failed;

	print_seed();
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_steady);
	tcase_add_test(tcase, test_other_rates);
	tcase_add_test(tcase, test_long_run);
	tcase_add_test(tcase, test_steered);
	tcase_add_test(tcase, test_step);
	tcase_add_test(tcase, test_small_step);
	tcase_add_test(tcase, test_jump);
	tcase_add_test(tcase, test_suspend);
	tcase_add_test(tcase, test_noise);
	tcase_add_test(tcase, test_debugger);
	tcase_add_test(tcase, test_sampler_adapts);
	tcase_add_test(tcase, test_resume);
	tcase_add_test(tcase, test_refuses);
	tcase_add_test(tcase, test_median);
	tcase_add_test(tcase, test_quantisation);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
