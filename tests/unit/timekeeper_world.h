/* SPDX-License-Identifier: MIT */
/*
 * A simulated platform for the daemon's timekeeper: counter and clocks, clock file, indicators of disruptions, CPU surveys, and the drift file
 */
#ifndef TESTS_TIMEKEEPER_WORLD_H
#define TESTS_TIMEKEEPER_WORLD_H

#include "logged.h"
#include "simclock.h"

#include "lib/clockpage/clock_params.h"
#include "lib/clockpage/clock_segments.h"

#include "daemon/clock/timekeeper.h"
#include "daemon/config/log.h"
#include "suite.h"

static struct sim sim;
static struct timekeeper timekeeper;

static struct {
	int source;			/* source that the simulated platform
					 * selects, TSCT_SOURCE_* */
	struct tsct_clock_copy file;	/* contents of the clock file, with segments */
	unsigned int published, disrupted;
	int refuse;			/* error with which publishing fails */
	unsigned int refusals;		/* number of times that publishing will fail */
	__u64 publish_ns;			/* simulated duration of a
						 * publication */
	struct disruption disruption;
	void (*count)(void);		/* called at reading number count_at of indicators */
	unsigned int count_at;		/* 0: never */
	unsigned int settings;		/* number of the next readings of indicators
					 * that each show a step of CLOCK_REALTIME */
	bool survey_later, skewed;
	__u64 skew_cycles;	/* result of the next surveys of the CPUs */
	__u64 published_skew;	/* skew in the table of CPUs of an earlier daemon */
	unsigned int surveys, tables;
	__u32 table_epoch;		/* epoch in which the table of skews was last
					 * written */
	struct tsct_utc utc;	/* bound of CLOCK_REALTIME's error to UTC */
	struct drift drift;	/* rate in the drift file; rate_mult 0: no drift file */
	unsigned int saves, forgets;
} world;

/* ---- struct timekeeper_ops ---------------------------------------------- */

static int world_choose_source(void *, char *why, size_t size)
{
	snprintf(why, size, "%s: for a test", tsct_source_name(world.source));
	return world.source;
}

static __u64 raw_cycles(void *ctx, __u32 *ret_cpu)
{
	*ret_cpu = TSCT_CPU_ANY;
	return (__u64)sim_clock(ctx, CLOCK_MONOTONIC_RAW);
}

static const struct tsct_clock_ops *world_clock_ops(void *, int which)
{
	sim.ops.cycles = which == TSCT_SOURCE_TSC ? sim_cycles : raw_cycles;
	return &sim.ops;
}

static void world_read_disruption(void *, struct disruption *ret)
{
	if (world.settings) {
		world.settings--;
		world.disruption.realtime_min_ns += 5000;
		world.disruption.realtime_max_ns += 5000;
	}
	if (world.count_at && !--world.count_at)
		world.count();
	*ret = world.disruption;
}

static inline __u64 cycles_now(__u32 source)
{
	return source == TSCT_SOURCE_TSC ? sim_counter(&sim) :
		(__u64)sim_raw(&sim);
}

/* Returns whether the state only confirms the published params: never too late. */
static bool is_same(const struct tsct_clock_state *state)
{
	return state->epoch == world.file.state.epoch &&
		state->real.base_cycles == world.file.state.real.base_cycles &&
		state->cluster.base_cycles == world.file.state.cluster.base_cycles;
}

static int world_publish(void *, const struct tsct_clock_state *state)
{
	int err;

	ck_assert_int_eq(tsct_clock_state_check(state), 0);
	sim_advance(&sim, world.publish_ns);
	if (world.refusals && !(world.refuse == -ETIME && is_same(state))) {
		world.refusals--;
		return world.refuse;
	}
	err = tsct_segments_check(&world.file.state, state,
				  cycles_now(state->source));
	if (err)
		return err == -ETIME ? err : -EXDEV;
	tsct_segments_succeed(&world.file, state);
	ck_assert_int_eq(tsct_segments_valid(&world.file), 0);
	world.published++;
	world.disrupted += state->status == TSCT_STATUS_DISRUPTED;
	return 0;
}

static void world_read_published(void *, struct tsct_clock_state *ret_state)
{
	*ret_state = world.file.state;
}

static void world_read_utc(void *, struct tsct_utc *ret)
{
	*ret = world.utc;
}

static inline struct cpu_survey_result survey_now(void)
{
	struct cpu_survey_result result = {
		.source = world.source, .skewed = world.skewed,
		.skew_cycles = world.skewed ? 0 : world.skew_cycles,
	};

	snprintf(result.why, sizeof(result.why), "%s: seen",
		 tsct_source_name(world.source));
	return result;
}

static int world_survey_cpus(void *, double hz, struct cpu_survey_result *ret)
{
	if (timekeeper.est.state.source == TSCT_SOURCE_TSC)
		ck_assert(hz > 1e9 && hz < 1e10);
	world.surveys++;
	*ret = survey_now();
	return world.survey_later ? -EINPROGRESS : 0;
}

static void world_publish_cpus(void *)
{
	world.tables++;
	world.table_epoch = world.file.state.epoch;
	/* Readers must not be using the table of skews that is replaced. */
	if (world.file.state.flags & TSCT_CLOCK_SKEWED)
		ck_assert_uint_eq(world.file.state.status,
				  TSCT_STATUS_DISRUPTED);
}

static __u64 world_published_skew(void *)
{
	return world.published_skew;
}

static int world_load_drift(void *, __u32 source, struct drift *ret)
{
	if (!world.drift.rate_mult || world.drift.source != source)
		return -ENOENT;
	*ret = world.drift;
	return 0;
}

static void world_save_drift(void *, const struct drift *what)
{
	ck_assert_uint_ne(what->rate_mult, 0);
	world.drift = *what;
	world.saves++;
}

static void world_forget_drift(void *)
{
	world.drift.rate_mult = 0;
	world.forgets++;
}

static const struct timekeeper_ops world_ops = {
	.choose_source = world_choose_source,
	.clock_ops = world_clock_ops,
	.read_disruption = world_read_disruption,
	.publish = world_publish,
	.read_published = world_read_published,
	.read_utc = world_read_utc,
	.survey_cpus = world_survey_cpus,
	.publish_cpus = world_publish_cpus,
	.published_skew = world_published_skew,
	.load_drift = world_load_drift,
	.save_drift = world_save_drift,
	.forget_drift = world_forget_drift,
};

/* ---- steps of the tests -------------------------------------------------- */

static inline const struct tsct_clock_state *file(void)
{
	return &world.file.state;
}

/* The module counts from @count on; 0: it is unloaded. */
static inline void load_module(__u64 count)
{
	world.disruption.has_module = count;
	world.disruption.count = count;
}

/* The module counts a disruption of the counter. */
static inline void module_disrupts(__u32 cause)
{
	world.disruption.count += TSCT_DISRUPTIONS_COUNTER;
	world.disruption.cause = cause;
}

static inline void new_world(void)
{
	seed_with(1);
	sim_init(&sim, 2.4e9);
	memset(&world, 0, sizeof(world));
	world.source = TSCT_SOURCE_TSC;
	world.disruption = (struct disruption) {
		.clocksource = "tsc", .cpus_online = "0-3", .cpus_hash = 42,
		.has_vmclock = true,
	};
	logged[0] = '\0';
}

static inline void start(void)
{
	new_world();
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	ck_assert_uint_eq(file()->status, TSCT_STATUS_CALIBRATING);
	ck_assert_uint_eq(file()->epoch, 1);
}

/* Runs the timekeeper for @s seconds of simulated time, at the intervals it
 * requests. */
static inline void go_on(double s)
{
	int64_t until = sim.now_ps + (int64_t)(s * 1e12);

	while (sim.now_ps < until) {
		sim_advance(&sim, (__u64)timekeeper_wait_ms(&timekeeper, 1000) *
			    1000000);
		timekeeper_tick(&timekeeper);
	}
}

/* Checks that the published state gives the true time within its bound. */
static inline void check_time(const struct tsct_clock_state *state)
{
	__u64 cycles = cycles_now(state->source);
	int64_t off = tsct_clock_params_ns(&state->real, cycles) - sim_real(&sim);

	ck_assert_uint_le((uint64_t)llabs(off),
			  tsct_clock_params_error_ps(&state->real, cycles) / 1000 + 1);
}

static inline void check_synchronized(__u32 epoch, __u32 cause)
{
	ck_assert_uint_eq(file()->status, TSCT_STATUS_SYNCHRONIZED);
	ck_assert_uint_eq(file()->epoch, epoch);
	ck_assert_uint_eq(file()->cause, cause);
	check_time(file());
}

static inline void synchronized_after(double s, __u32 epoch, __u32 cause)
{
	go_on(s);
	check_synchronized(epoch, cause);
}

#endif /* TESTS_TIMEKEEPER_WORLD_H */
