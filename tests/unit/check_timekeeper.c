/* SPDX-License-Identifier: MIT */
/*
 * The daemon's timekeeper on a simulated machine: start, ticks, stop, and publication
 * when a module or another daemon is present.
 */
#include "timekeeper_world.h"

#include "daemon/clock/timekeeper.c"
#include "daemon/clock/timekeeper_publish.c"
#include "daemon/clock/disruption.c"
#include "suite.h"

/* ---- start and stop ----------------------------------------------------- */

TEST(test_start_and_stop)
{
	__u64 base;

	start();
	ck_assert(was_logged("clock source: tsc: for a test"));
	go_on(1.5);
	check_synchronized(1, TSCT_CAUSE_NONE);
	ck_assert(was_logged(" Hz +- 0."));
	go_on(30);
	check_synchronized(1, TSCT_CAUSE_NONE);
	base = file()->real.base_cycles;
	timekeeper_stop(&timekeeper);
	ck_assert_uint_eq(file()->status, TSCT_STATUS_HOLDOVER);
	ck_assert_uint_eq(file()->real.base_cycles, base);
	/* The timekeeper of a restarted daemon continues the epoch. */
	sim_advance(&sim, 3000000000);
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	ck_assert_uint_eq(file()->epoch, 1);
	check_time(file());
	go_on(2);
	check_synchronized(1, TSCT_CAUSE_NONE);
	/* The timekeeper of a restarted daemon does not continue an epoch whose params
	 * have expired. */
	timekeeper_stop(&timekeeper);
	sim_advance(&sim, 1001000000000);
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	go_on(2);
	check_synchronized(2, TSCT_CAUSE_RESTART);
	ck_assert(was_logged("the published clock state cannot be continued; "
			     "epoch 2 begins"));
}

/* The timekeeper is stopped right after its start, before its params begin. */
TEST(test_stopped_at_once)
{
	int i;

	new_world();
	for (i = 0; i < 20; i++) {
		ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
		if (i % 3)
			go_on(0.1 * (i % 3));
		timekeeper_stop(&timekeeper);
		ck_assert_uint_eq(file()->status, TSCT_STATUS_HOLDOVER);
		ck_assert_uint_eq(file()->epoch, 1);
		check_time(file());
	}
}

/* The previous daemon had detected a disruption, but not calibrated after it. The new
 * daemon calibrates, and skips no epoch number. */
TEST(test_takes_over_disruption)
{
	start();
	go_on(2);
	sim_step(&sim, 5000000000);
	world.disruption.realtime_min_ns += 5000000000;
	world.disruption.realtime_max_ns += 5000000000;
	/* A calibration would call this null pointer and crash the test. */
	sim.ops.sleep_ns = NULL;
	tsct_rate_disrupt(&timekeeper.est, TSCT_CAUSE_STEP);
	timekeeper.uncalibrated = true;
	ck_assert_int_eq(timekeeper_publish_params(&timekeeper), 0);
	ck_assert_uint_eq(file()->status, TSCT_STATUS_DISRUPTED);
	sim.ops.sleep_ns = sim_sleep;
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	go_on(2);
	check_synchronized(2, TSCT_CAUSE_STEP);
}

TEST(test_step_while_stopped)
{
	start();
	go_on(2);
	timekeeper_stop(&timekeeper);
	sim_step(&sim, -3600000000000);
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	go_on(2);
	check_synchronized(2, TSCT_CAUSE_STEP);
	ck_assert(was_logged("CLOCK_REALTIME was set while no daemon was running"));
}

/* The bound to UTC is published as of now, and withdrawn when no source states one. */
TEST(test_bound_to_utc)
{
	start();
	ck_assert_uint_eq(file()->utc_source, TSCT_UTC_UNKNOWN);
	world.utc = (struct tsct_utc) { 5000, TSCT_UTC_CLOCKBOUND, 1000 };
	go_on(2);
	ck_assert_uint_eq(file()->utc_source, TSCT_UTC_CLOCKBOUND);
	ck_assert_uint_eq(file()->utc_error_ns, 5000);
	ck_assert_uint_eq(file()->utc_growth_ppb, 1000);
	ck_assert_uint_ge(file()->utc_as_of_cycles, file()->real.as_of_cycles);
	world.utc = (struct tsct_utc) { .error_ns = UINT64_MAX };
	go_on(2);
	ck_assert_uint_eq(file()->utc_source, TSCT_UTC_UNKNOWN);
	ck_assert_uint_eq(file()->utc_error_ns | file()->utc_as_of_cycles, 0);
}

TEST(test_pace)
{
	start();
	ck_assert_int_eq(timekeeper_wait_ms(&timekeeper, 1000), 100);
	ck_assert_int_eq(timekeeper_wait_ms(&timekeeper, 50), 50);
	go_on(2);
	ck_assert_int_eq(timekeeper_wait_ms(&timekeeper, 1000), 1000);
	ck_assert_int_eq(timekeeper_disrupt(&timekeeper, TSCT_CAUSE_FAKE, "x"), 0);
	ck_assert_int_eq(timekeeper_wait_ms(&timekeeper, 1000), 100);
}

/* ---- publishing clock states --------------------------------------------- */

/* If publishing clock params takes longer than their lead, the time from now to their
 * begin, the timekeeper publishes them again with a longer lead. */
TEST(test_publish_late)
{
	start();
	go_on(20);
	sim_steer(&sim, 40000);		/* changes the rate of CLOCK_REALTIME, so
					 * that new clock params are needed */
	world.publish_ns = 30000000;
	go_on(5);
	check_synchronized(1, TSCT_CAUSE_NONE);
	ck_assert_uint_gt(timekeeper.stats.late, 0);
	world.publish_ns = 300000000;
	go_on(5);
	check_synchronized(1, TSCT_CAUSE_NONE);
}

/* If every attempt to publish comes too late, the clock params in force remain. */
TEST(test_publish_always_too_late)
{
	__u64 base;

	start();
	go_on(3);
	base = file()->real.base_cycles;
	world.refuse = -ETIME;
	world.refusals = 1000;
	sim_steer(&sim, 20000);
	go_on(3);
	ck_assert_uint_eq(file()->real.base_cycles, base);
	ck_assert_uint_gt(timekeeper.stats.late, 6);
	world.refusals = 0;
	go_on(3);
	ck_assert_uint_ne(file()->real.base_cycles, base);
	check_synchronized(1, TSCT_CAUSE_NONE);
}

/* The module accepted a clock state that the clock file refused. Module and file differ
 * now, so the epoch ends. */
TEST(test_only_module_accepts)
{
	start();
	load_module(TSCT_SOURCE_TSC);
	go_on(3);
	world.file_late = true;
	go_on(3);
	check_synchronized(2, TSCT_CAUSE_RESTART);
	ck_assert_mem_eq(&world.module, file(), sizeof(*file()));
	ck_assert(was_logged("the daemon was held up while publishing; epoch 2 begins"));
}

TEST(test_module_refuses)
{
	unsigned int published;

	start();
	go_on(3);
	published = world.published;
	/* The module refuses a state while the system is about to suspend. The state is
	 * published later. */
	world.refuse = -EAGAIN;
	world.refusals = 2;
	go_on(2);
	go_on(2);
	ck_assert_uint_gt(world.published, published);
	check_synchronized(1, TSCT_CAUSE_NONE);
	/* If the timekeeper loses the permission to publish, it gives up. */
	world.refuse = -EPERM;
	world.refusals = 1;
	sim_advance(&sim, 1000000000);
	ck_assert_int_eq(timekeeper_tick(&timekeeper), -EPERM);
}

/* ---- publishing to the module -------------------------------------------- */

TEST(test_module_loads_and_unloads)
{
	start();
	go_on(3);
	load_module(TSCT_SOURCE_TSC);
	world.disruption.has_module = true;
	go_on(1);
	ck_assert_mem_eq(&world.module, file(), sizeof(*file()));
	/* The daemon has made a second CPU survey for the module. */
	ck_assert_uint_eq(world.surveys, 2);
	ck_assert_uint_eq(world.tables, 2);
	world.module_source = -1;
	go_on(2);
	load_module(TSCT_SOURCE_TSC);
	go_on(1);
	ck_assert_mem_eq(&world.module, file(), sizeof(*file()));
	ck_assert_uint_eq(file()->epoch, 1);
}

/* The module detects a suspend that changed no clock. */
TEST(test_module_disrupted)
{
	start();
	load_module(TSCT_SOURCE_TSC);
	go_on(3);
	memset(&world.module, 0, sizeof(world.module));
	world.module.epoch = 7;
	world.module.cause = TSCT_CAUSE_SUSPEND;
	world.module.status = TSCT_STATUS_DISRUPTED;
	go_on(0.1);
	ck_assert_uint_eq(file()->epoch, 7);
	ck_assert_uint_ge(world.disrupted, 1);
	ck_assert_uint_eq(world.forgets, 1);
	ck_assert(was_logged("the module detected a disruption; epoch 7 begins "
		       "(suspend)"));
	go_on(2);
	check_synchronized(7, TSCT_CAUSE_SUSPEND);
	ck_assert_mem_eq(&world.module, file(), sizeof(*file()));
}

/* Module and daemon detect the same disruption, the module first: only one epoch
 * begins. */
TEST(test_both_detect)
{
	start();
	load_module(TSCT_SOURCE_TSC);
	go_on(3);
	memset(&world.module, 0, sizeof(world.module));
	world.module.epoch = 2;
	world.module.cause = TSCT_CAUSE_HOTPLUG;
	world.module.status = TSCT_STATUS_DISRUPTED;
	world.disruption.cpus_hash++;
	go_on(2);
	check_synchronized(2, TSCT_CAUSE_HOTPLUG);
}

/* Another daemon has published clock params. The timekeeper can neither continue nor
 * undo them. */
TEST(test_another_daemon)
{
	start();
	load_module(TSCT_SOURCE_TSC);
	go_on(3);
	world.module.real.base_ns += 12345;
	go_on(2);
	check_synchronized(2, TSCT_CAUSE_RESTART);
	world.module.epoch = 5;
	world.module.real.base_ns += 12345;
	go_on(2);
	check_synchronized(6, TSCT_CAUSE_RESTART);
	ck_assert(was_logged("another process published a different time"));
}

TEST(test_source_changes)
{
	start();
	go_on(3);
	/* The kernel marks the TSC as unstable. */
	world.source = TSCT_SOURCE_MONOTONIC_RAW;
	world.disruption.tsc_unavailable = true;
	strcpy(world.disruption.clocksource, "hpet");
	go_on(1);
	ck_assert_uint_eq(file()->source, TSCT_SOURCE_MONOTONIC_RAW);
	go_on(2);
	check_synchronized(2, TSCT_CAUSE_UNSTABLE);
	ck_assert(was_logged("marked the TSC unstable; its clocksource is hpet; epoch 2"));
	/* A module is loaded that uses the TSC although it is unstable. */
	load_module(TSCT_SOURCE_TSC);
	world.source = TSCT_SOURCE_TSC;
	go_on(2);
	ck_assert_uint_eq(file()->source, TSCT_SOURCE_TSC);
	check_synchronized(3, TSCT_CAUSE_CLOCKSOURCE);
	ck_assert_mem_eq(&world.module, file(), sizeof(*file()));
	/* A module is loaded whose clock uses a source that the daemon cannot read. */
	load_module(TSCT_SOURCE_MONOTONIC);
	go_on(1);
	ck_assert(world.gave_up);
	ck_assert(was_logged("no longer publishing to the module"));
	ck_assert_uint_eq(world.module.status, TSCT_STATUS_UNKNOWN);
	go_on(3);
	check_synchronized(3, TSCT_CAUSE_CLOCKSOURCE);
}

/* ---- the drift file ----------------------------------------------------- */

TEST(test_drift_file)
{
	__u64 error, first;

	start();
	first = file()->rate_error_ppt;
	go_on(2);
	ck_assert_uint_ge(world.saves, 1);
	/* The rate is saved to the drift file when it improves, and periodically. */
	go_on(1300);
	ck_assert_uint_ge(world.saves, 3);
	ck_assert_uint_le(world.saves, 30);
	error = world.drift.rate_error_ppt;
	timekeeper_stop(&timekeeper);
	ck_assert_uint_le(world.drift.rate_error_ppt, error);
	/* Without an earlier clock area, the daemon uses the rate in the drift file. */
	memset(&world.file, 0, sizeof(world.file));
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	ck_assert_uint_le(file()->rate_error_ppt, first / 4);
	go_on(2);
	check_synchronized(1, TSCT_CAUSE_NONE);
}

/* A wrong rate in the drift file is corrected by samples. */
TEST(test_wrong_drift_file)
{
	new_world();
	world.drift = (struct drift) {
		.source = TSCT_SOURCE_TSC,
		.rate_mult = (__u64)((1ULL << 56) / 3.1),
		.rate_error_ppt = 10,
	};
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	go_on(2);
	ck_assert_uint_eq(file()->status, TSCT_STATUS_SYNCHRONIZED);
	check_time(file());
}
