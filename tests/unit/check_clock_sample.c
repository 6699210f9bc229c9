// SPDX-License-Identifier: MIT
/* Samples taken by a thread that moves between two CPUs, and the bounds of readings of
 * both, compared with the exact time */
#include "lib/clockpage/clock_params.h"
#include "simclock.h"
#include "suite.h"

#define HZ	2.4e9
#define SECOND	1000000000ULL

static struct sim sim;
static struct tsct_rate_estimator est;
static struct tsct_sampler sampler;

/* Starts an estimator on CPU 0. The counter of CPU 1 is @skew_ns ahead. */
static void start(int64_t skew_ns)
{
	sim_init(&sim, HZ);
	sim.clocksource = "tsc";
	sim.skew_cycles = (int64_t)((double)skew_ns * HZ / 1e9);
	tsct_sampler_init(&sampler, &sim.ops);
	tsct_rate_init(&est, TSCT_SOURCE_TSC, 1, TSCT_CAUSE_NONE);
	ck_assert_int_eq(tsct_sampler_start(&sampler, &est), TSCT_RATE_OK);
	ck_assert_double_gt(sampler.raw_per_cycle, 0);
}

/* Checks that a clock was read between the two counter readings of its bracket, by the
 * counter of the CPU of both. */
static void check_bracket(const struct tsct_bracket *bracket)
{
	int64_t at_ns = bracket->ns - sim_raw(&sim) + sim.now_ps / 1000;
	uint64_t cycles = sim.counter_base + (uint64_t)((double)at_ns * HZ / 1e9);
	int64_t slack = (int64_t)(2 * HZ / 1e9);	/* cycles in 2 ns */

	ck_assert(tsct_bracket_is_valid(bracket));
	ck_assert_uint_eq(bracket->before_cpu, bracket->after_cpu);
	if (bracket->before_cpu == 1)
		cycles += (uint64_t)sim.skew_cycles;
	ck_assert_int_ge((int64_t)(cycles - bracket->before), -slack);
	ck_assert_int_ge((int64_t)(bracket->after - cycles), -slack);
}

/* A bracket that begins on the CPU with the later counter and ends on the CPU with the
 * earlier one is too narrow by the skew, and would be the narrowest of its search. */
LOOP_TEST(test_migrations, 0, 4)
{
	static const int64_t skews_ns[] = { 1990, -1990, 2030, -2030 };
	struct tsct_bracket bracket;
	unsigned int i, on[2] = { 0 };

	start(skews_ns[_i]);
	sim.migrate_ns = 2000;
	sim.migrate_every = 24;
	for (i = 0; i < 2000; i++) {
		tsct_sampler_bracket(&sampler, CLOCK_MONOTONIC_RAW, &bracket);
		check_bracket(&bracket);
		on[bracket.before_cpu]++;
	}
	ck_assert_uint_gt(on[0], 0);
	ck_assert_uint_gt(on[1], 0);
}

static __u64 read_and_migrate(void *ctx, __u32 *ret_cpu)
{
	__u64 cycles = sim_cycles(ctx, ret_cpu);

	sim.cpu = !sim.cpu;
	return cycles;
}

/* A sample of a thread that moves in every bracket is rejected, and changes nothing. */
TEST(test_all_brackets_migrate)
{
	struct tsct_rate_estimator old;
	struct tsct_bracket bracket;

	start(3000);
	sim.ops.cycles = read_and_migrate;
	sim_advance(&sim, SECOND);
	sim.reads = 0;
	tsct_sampler_bracket(&sampler, CLOCK_REALTIME, &bracket);
	ck_assert(!tsct_bracket_is_valid(&bracket));
	ck_assert_uint_le(sim.reads, 65 * 3);
	old = est;
	ck_assert_int_eq(tsct_sampler_feed(&sampler, &est), -EINVAL);
	ck_assert_mem_eq(&est, &old, sizeof(est));
	/* The next sample, of a thread that stays on its CPU, is accepted. */
	sim.ops.cycles = sim_cycles;
	ck_assert_int_eq(tsct_sampler_feed(&sampler, &est), TSCT_RATE_OK);
}

/* Readings without a CPU number form brackets on whatever CPUs the thread runs. */
TEST(test_unknown_cpu)
{
	struct tsct_bracket bracket;

	start(0);
	sim.cpu = TSCT_CPU_ANY;
	tsct_sampler_bracket(&sampler, CLOCK_MONOTONIC_RAW, &bracket);
	ck_assert_uint_eq(bracket.before_cpu, TSCT_CPU_ANY);
	ck_assert(tsct_bracket_is_valid(&bracket));
	sim_advance(&sim, SECOND);
	ck_assert_int_eq(tsct_sampler_feed(&sampler, &est), TSCT_RATE_OK);
}

/* ---- counters that differ by less than the limit ------------------------- */

static void publish(void)
{
	struct tsct_clock_state next;
	__u64 now = sim_counter(&sim);

	tsct_rate_compose(&est, now + 2400000, &next);
	ck_assert_int_eq(tsct_clock_state_check(&next), 0);
	tsct_rate_published(&est, &next);
}

/* Returns the error bound of the present, ns, after readings on both CPUs were compared
 * with the true time. */
static double check_readings(void)
{
	const struct tsct_clock_params *params = &est.state.real;
	__u64 now = sim_counter(&sim), error_ps = 0;
	int64_t off;

	for (unsigned int cpu = 0; cpu < 2; cpu++, now += (__u64)sim.skew_cycles) {
		off = tsct_clock_params_ns(params, now) - sim_real(&sim);
		error_ps = tsct_clock_params_error_ps(params, now);
		ck_assert_uint_le((uint64_t)llabs(off), error_ps / 1000 + 1);
	}
	return (double)error_ps * 1e-3;
}

/* Bounds include the skew, once for the sample and once for the reading, and do not
 * widen with each publication. */
LOOP_TEST(test_skew_in_bound, 0, 2)
{
	static const int64_t skews_ns[] = { 800, -800 };
	double bound;

	start(skews_ns[_i]);
	sim.migrate_every = 200;
	sim.migrate_ns = 3000;
	sampler.skew_cycles = est.skew_cycles = (__u64)llabs(sim.skew_cycles);
	tsct_rate_disrupt(&est, TSCT_CAUSE_RESTART);
	ck_assert_int_eq(tsct_sampler_start(&sampler, &est), TSCT_RATE_OK);
	publish();
	for (unsigned int i = 0; i < 300; i++) {
		sim_advance(&sim, SECOND / 2);
		if (i)
			check_readings();
		sim_advance(&sim, SECOND / 2);
		ck_assert_int_eq(tsct_sampler_feed(&sampler, &est), TSCT_RATE_OK);
		publish();
		sim_advance(&sim, SECOND / 100);
		bound = check_readings();
		ck_assert_double_ge(bound, 1600);
		if (i > 20)
			ck_assert_double_le(bound, 3200);
	}
}

TEST(test_samples_are_widened)
{
	struct tsct_sample sample;

	start(0);
	sim.stall_every = 0;
	sim.ops.snapshot = sim_snapshot;
	tsct_sampler_take(&sampler, &sample);
	ck_assert_uint_eq(sample.real.after - sample.real.before, 0);
	sampler.skew_cycles = 300;
	tsct_sampler_take(&sampler, &sample);
	ck_assert_uint_eq(sample.real.after - sample.real.before, 600);
	ck_assert_uint_eq(sample.raw.after - sample.raw.before, 600);
	sim.ops.snapshot = NULL;
	tsct_sampler_take(&sampler, &sample);
	ck_assert_uint_ge(sample.real.after - sample.real.before, 600);
	ck_assert_uint_le(sample.real.after - sample.real.before, 1200);
}
