/* SPDX-License-Identifier: MIT */
/* The daemon's timekeeper with every cause of a disruption, and with CPU surveys */
#include "timekeeper_world.h"

#include "daemon/clock/timekeeper.c"
#include "daemon/clock/disruption.c"
#include "suite.h"

static void set_by(__s64 ns)
{
	world.disruption.realtime_min_ns += ns;
	world.disruption.realtime_max_ns += ns;
}

/* Simulates a disruption: changes clocks and indicators as its cause would. */
static void make_disruption(__u32 cause)
{
	struct disruption *s = &world.disruption;

	switch (cause) {
	case TSCT_CAUSE_STEP:
		sim_step(&sim, 3600000000000);
		set_by(3600000000000);
		break;
	case TSCT_CAUSE_SUSPEND:
		sim.raw_lost_ps += 7000000000000;
		sim_advance(&sim, 7000000000);
		s->suspended_min_ns += 7000000000;
		s->suspended_max_ns += 7000000000;
		set_by(7000000000);	/* The kernel adds the suspended time to
					 * CLOCK_REALTIME. */
		break;
	case TSCT_CAUSE_CLOCKSOURCE:
		strcpy(s->clocksource, "hpet");
		break;
	case TSCT_CAUSE_UNSTABLE:
		strcpy(s->clocksource, "hpet");
		s->tsc_unavailable = true;
		world.source = TSCT_SOURCE_MONOTONIC_RAW;
		break;
	case TSCT_CAUSE_JUMP:		/* none of the values that the timekeeper
					 * compares to detect disruptions changes: only
					 * the clock samples show the jump */
		sim_recount(&sim, sim_counter(&sim) + 10000000000, 2.5e9);
		break;
	case TSCT_CAUSE_MIGRATION:
		sim_recount(&sim, 123456, 3.0e9);
		sim_step(&sim, 1000000);
		s->vm_marker++;
		set_by(1000000);
		break;
	case TSCT_CAUSE_HOTPLUG:
		module_disrupts(cause);
		break;
	case TSCT_CAUSE_FAKE:
		timekeeper_disrupt(&timekeeper, cause, "asked");
		break;
	}
}

static void start_with_module(void)
{
	new_world();
	load_module(8 * TSCT_DISRUPTIONS_COUNTER);
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
}

CASE("timekeeper_epoch", start_with_module, NULL);

LOOP_TEST(test_each_cause, TSCT_CAUSE_STEP, TSCT_CAUSE_NR)
{
	__u32 cause = (__u32)_i;
	bool spares = cause == TSCT_CAUSE_STEP || cause == TSCT_CAUSE_FAKE;
	unsigned int surveys;
	int64_t began;

	if (cause == TSCT_CAUSE_RESTART)
		return;			/* tested in check_timekeeper.c */
	go_on(10);
	surveys = world.surveys;
	logged[0] = '\0';
	began = sim.now_ps;
	make_disruption(cause);
	/* A disruption is detected within 2 s, and published before the calibration. */
	go_on(1.9);
	ck_assert_uint_eq(file()->epoch, 2);
	ck_assert_uint_eq(file()->cause, cause);
	ck_assert_uint_eq(world.disrupted, 1);
	ck_assert_uint_eq(timekeeper.stats.disruptions[cause], 1);
	ck_assert(strstr(logged, "epoch 2 begins ("));
	ck_assert(strstr(logged, tsct_cause_name(cause)));
	ck_assert_uint_eq(world.forgets, !spares);
	ck_assert_uint_ge(world.surveys, surveys + !spares);
	/* The clock is synchronized again within 12 s, 7 s of which a suspend takes. */
	while (file()->status != TSCT_STATUS_SYNCHRONIZED) {
		go_on(0.1);
		ck_assert_int_le(sim.now_ps - began, 12000000000000);
	}
	check_synchronized(2, cause);
	synchronized_after(10, 2, cause);
	ck_assert_uint_eq(timekeeper.stats.disruptions[cause], 1);
}

/*
 * After a disruption the clock is synchronized within 3 s, if the calibration can begin
 * at once.
 */
TEST(test_recovers_in_time)
{
	int64_t began;

	go_on(10);
	for (__u32 cause = TSCT_CAUSE_STEP; cause < TSCT_CAUSE_NR; cause++) {
		if (cause == TSCT_CAUSE_RESTART || cause == TSCT_CAUSE_UNSTABLE)
			continue;
		make_disruption(cause);
		began = sim.now_ps;
		do
			go_on(0.1);
		while (file()->cause != cause ||
		       file()->status != TSCT_STATUS_SYNCHRONIZED);
		ck_assert_int_le(sim.now_ps - began, 3000000000000);
		check_time(file());
	}
}

/* Several simultaneous disruptions begin only one epoch. */
TEST(test_simultaneous_disruptions)
{
	go_on(10);
	make_disruption(TSCT_CAUSE_STEP);
	make_disruption(TSCT_CAUSE_SUSPEND);
	make_disruption(TSCT_CAUSE_CLOCKSOURCE);
	make_disruption(TSCT_CAUSE_HOTPLUG);
	make_disruption(TSCT_CAUSE_MIGRATION);
	synchronized_after(3, 2, TSCT_CAUSE_MIGRATION);
}

/* CLOCK_REALTIME is set repeatedly while the calibration runs. */
TEST(test_set_repeatedly)
{
	go_on(5);
	world.settings = 3;
	synchronized_after(3, 2, TSCT_CAUSE_STEP);
	world.settings = 40;
	go_on(1);
	ck_assert(was_logged("clock samples are inconsistent"));
	ck_assert_uint_eq(file()->status, TSCT_STATUS_DISRUPTED);
	go_on(5);
	ck_assert_uint_eq(file()->status, TSCT_STATUS_SYNCHRONIZED);
	check_time(file());
}

/* A slew is no disruption, up to the rate from which it is treated as a step. */
TEST(test_slew_is_no_disruption)
{
	go_on(10);
	sim_steer(&sim, 500000);
	go_on(20);
	sim_steer(&sim, -100000);
	synchronized_after(20, 1, TSCT_CAUSE_NONE);
	ck_assert_uint_gt(timekeeper.stats.slews, 0);
}

/* After a step, earlier cycles are converted by the clock params that were in force
 * then. */
TEST(test_past_times_after_step)
{
	struct tsct_clock_time reading;
	__u64 before, between;
	int64_t was;

	go_on(10);
	before = sim_counter(&sim) - 2400000000ULL;
	was = sim_real(&sim) - 1000000000;
	sim_advance(&sim, 500000000);
	between = sim_counter(&sim);
	make_disruption(TSCT_CAUSE_STEP);
	go_on(5);
	ck_assert_int_eq(tsct_segments_lookup(&world.file, before, &reading),
			 0);
	ck_assert_uint_eq(reading.epoch, 1);
	ck_assert_uint_eq(reading.status, TSCT_STATUS_SYNCHRONIZED);
	ck_assert_uint_le((uint64_t)llabs(reading.ns - was),
			  reading.error_ps / 1000 + 2);
	ck_assert_int_eq(tsct_segments_lookup(&world.file, between, &reading),
			 0);
	ck_assert_uint_eq(reading.status, TSCT_STATUS_DISRUPTED);
}

/* ---- CPU surveys -------------------------------------------------------- */

/* No time is published before the CPU survey has found a counter that can be used. */
TEST(test_no_time_before_survey)
{
	struct cpu_survey_result found;

	new_world();
	load_module(8 * TSCT_DISRUPTIONS_COUNTER);
	world.survey_later = true;
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	/* The estimator is synchronized after 0.5 s; nothing says so, as no program can
	 * read the time yet. */
	go_on(1);
	ck_assert_uint_eq(file()->status, TSCT_STATUS_UNKNOWN);
	ck_assert_uint_eq(timekeeper_status(&timekeeper), TSCT_STATUS_UNKNOWN);
	ck_assert_ptr_null(strstr(logged, "synchronized"));
	ck_assert_int_eq(timekeeper_wait_ms(&timekeeper, 5000), 100);
	found = survey_now();
	timekeeper_survey_done(&timekeeper, &found);
	ck_assert_uint_eq(world.tables, 1);
	ck_assert_uint_eq(world.table_epoch, 0);
	check_time(file());
	synchronized_after(1, 1, TSCT_CAUSE_NONE);
	/* A disruption is published at once, time after the next CPU survey. */
	make_disruption(TSCT_CAUSE_HOTPLUG);
	go_on(0.1);
	ck_assert_uint_eq(file()->status, TSCT_STATUS_DISRUPTED);
	ck_assert_uint_eq(file()->epoch, 2);
	go_on(0.8);
	ck_assert_uint_eq(file()->status, TSCT_STATUS_DISRUPTED);
	ck_assert_uint_eq(timekeeper_status(&timekeeper), TSCT_STATUS_DISRUPTED);
	timekeeper_survey_done(&timekeeper, &found);
	check_synchronized(2, TSCT_CAUSE_HOTPLUG);
	ck_assert_uint_eq(timekeeper_status(&timekeeper), TSCT_STATUS_SYNCHRONIZED);
}

/* Time is published even if a CPU survey takes over 2 s, or fails. */
TEST(test_survey_fails)
{
	new_world();
	load_module(8 * TSCT_DISRUPTIONS_COUNTER);
	world.survey_later = true;
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	synchronized_after(2.5, 1, TSCT_CAUSE_NONE);
	ck_assert(was_logged("still runs after 2 s"));
	timekeeper_survey_done(&timekeeper, NULL);
	make_disruption(TSCT_CAUSE_HOTPLUG);
	go_on(1);
	ck_assert_uint_eq(file()->status, TSCT_STATUS_DISRUPTED);
	timekeeper_survey_done(&timekeeper, NULL);
	synchronized_after(1, 2, TSCT_CAUSE_HOTPLUG);
}

/* A disruption during a CPU survey invalidates the survey's result. */
TEST(test_disruption_during_survey)
{
	struct cpu_survey_result found;

	go_on(3);
	world.survey_later = true;
	make_disruption(TSCT_CAUSE_HOTPLUG);
	go_on(0.2);
	found = survey_now();
	make_disruption(TSCT_CAUSE_SUSPEND);
	go_on(0.2);
	ck_assert_uint_eq(file()->epoch, 3);
	timekeeper_survey_done(&timekeeper, &found);
	ck_assert_uint_eq(file()->status, TSCT_STATUS_DISRUPTED);
	ck_assert_uint_eq(world.surveys, 3);
	timekeeper_survey_done(&timekeeper, &found);
	synchronized_after(1, 3, TSCT_CAUSE_SUSPEND);
}

/* A CPU survey finds that another source has to be used. */
TEST(test_survey_changes_source)
{
	struct cpu_survey_result found;

	go_on(3);
	world.survey_later = true;
	world.source = TSCT_SOURCE_MONOTONIC_RAW;
	make_disruption(TSCT_CAUSE_CLOCKSOURCE);
	go_on(0.2);
	ck_assert_uint_eq(file()->epoch, 2);
	found = survey_now();
	timekeeper_survey_done(&timekeeper, &found);
	ck_assert_uint_eq(file()->source, TSCT_SOURCE_MONOTONIC_RAW);
	synchronized_after(2, 3, TSCT_CAUSE_CLOCKSOURCE);
}

static void check_skewed(bool skewed)
{
	if (!skewed) {
		ck_assert(!(file()->flags & TSCT_CLOCK_SKEWED));
		ck_assert_uint_ne(file()->real.fast_cycles, 0);
		return;
	}
	ck_assert(file()->flags & TSCT_CLOCK_SKEWED);
	ck_assert_uint_eq(file()->real.fast_cycles, 0);
}

/* Skewed counters: conversions need the CPU; the table stays within an epoch. */
TEST(test_skewed_counters)
{
	go_on(3);
	check_skewed(false);
	world.skewed = true;
	make_disruption(TSCT_CAUSE_HOTPLUG);
	go_on(3);
	check_skewed(true);
	check_synchronized(2, TSCT_CAUSE_HOTPLUG);
	/*
	 * A restarted daemon continues the epoch and measures the skews of the CPUs
	 * again. If the table of skews changes, a new epoch begins.
	 */
	timekeeper_stop(&timekeeper);
	check_skewed(true);
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	go_on(2);
	check_skewed(true);
	check_synchronized(3, TSCT_CAUSE_RESTART);
	ck_assert(was_logged("the counters of skewed CPUs were measured again"));
	world.skewed = false;
	make_disruption(TSCT_CAUSE_SUSPEND);
	go_on(3);
	check_skewed(false);
	check_synchronized(4, TSCT_CAUSE_SUSPEND);
}

static void check_skew_ns(double ns)
{
	double error_ns = (double)file()->real.error_ps * 1e-3;

	ck_assert(!(file()->flags & TSCT_CLOCK_SKEWED));
	ck_assert_uint_ne(file()->real.fast_cycles, 0);
	ck_assert_double_ge(error_ns, 2 * ns);
	ck_assert_double_le(error_ns, 4 * ns + 200);
	check_time(file());
}

/* A skew within the limit is in the bounds, and cycles are converted without their
 * CPU. */
TEST(test_small_skew)
{
	struct cpu_survey_result found;

	new_world();
	world.skew_cycles = 2400;
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	ck_assert(was_logged("the counters differ by up to 1000 ns"));
	go_on(40);
	check_skew_ns(1000);
	ck_assert_uint_eq(file()->status, TSCT_STATUS_SYNCHRONIZED);
	/* A restarted daemon finds the skew in the table of CPUs. A smaller result of
	 * the next survey changes nothing, so the epoch continues. */
	timekeeper_stop(&timekeeper);
	world.published_skew = world.skew_cycles;
	world.skew_cycles -= 50;
	world.survey_later = true;
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	check_skew_ns(1000);
	found = survey_now();
	timekeeper_survey_done(&timekeeper, &found);
	go_on(20);
	check_skew_ns(1000);
	ck_assert_uint_eq(file()->epoch, 2);
}

/* A survey that finds a larger skew ends the epoch: earlier samples were taken without
 * it. A survey after a disruption may also find a smaller one. */
TEST(test_small_skew_grows)
{
	go_on(3);
	check_skew_ns(0);
	load_module(0);
	go_on(1);
	world.skew_cycles = 1200;
	load_module(8 * TSCT_DISRUPTIONS_COUNTER);
	go_on(3);
	ck_assert_uint_gt(file()->epoch, 1);
	ck_assert_uint_eq(file()->cause, TSCT_CAUSE_RESTART);
	check_skew_ns(500);
	world.skew_cycles = 0;
	make_disruption(TSCT_CAUSE_SUSPEND);
	go_on(3);
	check_skew_ns(0);
}
