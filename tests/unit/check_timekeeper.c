/* SPDX-License-Identifier: MIT */
/* The timekeeper on a simulated machine: start, ticks, stop, module, other daemon */
#include "timekeeper_world.h"
#include "daemon/clock/timekeeper.c"
#include "daemon/clock/disruption.c"
#include "suite.h"

/* ---- start and stop ----------------------------------------------------- */

TEST(test_start_and_stop)
{
	__u64 base;

	start();
	ck_assert(was_logged("clock source: tsc: for a test"));
	synchronized_after(1.5, 1, TSCT_CAUSE_NONE);
	ck_assert(was_logged(" Hz +- 0."));
	synchronized_after(30, 1, TSCT_CAUSE_NONE);
	base = file()->real.base_cycles;
	timekeeper_stop(&timekeeper);
	ck_assert_uint_eq(file()->status, TSCT_STATUS_HOLDOVER);
	ck_assert_uint_eq(file()->real.base_cycles, base);
	/* The timekeeper of a restarted daemon continues the epoch. */
	sim_advance(&sim, 3000000000);
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	ck_assert_uint_eq(file()->epoch, 1);
	check_time(file());
	synchronized_after(2, 1, TSCT_CAUSE_NONE);
	/* A restarted daemon does not continue an epoch whose params have expired. */
	timekeeper_stop(&timekeeper);
	sim_advance(&sim, 1001000000000);
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	synchronized_after(2, 2, TSCT_CAUSE_RESTART);
	ck_assert(was_logged("the published clock state cannot be continued; "
			     "epoch 2 begins"));
}

/* The timekeeper is stopped right after its start, before its params begin. */
TEST(test_stopped_at_once)
{
	new_world();
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
		if (i % 3)
			go_on(0.1 * (i % 3));
		timekeeper_stop(&timekeeper);
		ck_assert_uint_eq(file()->status, TSCT_STATUS_HOLDOVER);
		ck_assert_uint_eq(file()->epoch, 1);
		check_time(file());
	}
}

CASE("started", start, NULL);

/* The previous daemon had detected a disruption, but not calibrated after it. The new
 * daemon calibrates, and skips no epoch number. */
TEST(test_takes_over_disruption)
{
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
	synchronized_after(2, 2, TSCT_CAUSE_STEP);
}

TEST(test_step_while_stopped)
{
	go_on(2);
	timekeeper_stop(&timekeeper);
	sim_step(&sim, -3600000000000);
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	synchronized_after(2, 2, TSCT_CAUSE_STEP);
	ck_assert(was_logged("CLOCK_REALTIME was set while no daemon was running"));
}

/* The bound to UTC is published as of now, and withdrawn when no source states one. */
TEST(test_bound_to_utc)
{
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
	ck_assert_int_eq(timekeeper_wait_ms(&timekeeper, 1000), 100);
	ck_assert_int_eq(timekeeper_wait_ms(&timekeeper, 50), 50);
	go_on(2);
	ck_assert_int_eq(timekeeper_wait_ms(&timekeeper, 1000), 1000);
	timekeeper_disrupt(&timekeeper, TSCT_CAUSE_FAKE, "x");
	ck_assert_int_eq(timekeeper_wait_ms(&timekeeper, 1000), 100);
}

/* ---- publishing clock states --------------------------------------------- */

/* If publishing clock params takes longer than their lead, the time from now to their
 * begin, the timekeeper publishes them again with a longer lead. */
TEST(test_publish_late)
{
	go_on(20);
	sim_steer(&sim, 40000);		/* changes the rate of CLOCK_REALTIME, so
					 * that new clock params are needed */
	world.publish_ns = 30000000;
	synchronized_after(5, 1, TSCT_CAUSE_NONE);
	ck_assert_uint_gt(timekeeper.stats.late, 0);
	world.publish_ns = 300000000;
	synchronized_after(5, 1, TSCT_CAUSE_NONE);
}

/* If every attempt to publish comes too late, the clock params in force remain. */
TEST(test_publish_always_too_late)
{
	__u64 base;

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

TEST(test_publishing_fails)
{
	unsigned int published;

	go_on(3);
	published = world.published;
	world.refuse = -EAGAIN;
	world.refusals = 2;
	go_on(4);
	ck_assert_uint_gt(world.published, published);
	check_synchronized(1, TSCT_CAUSE_NONE);
}

/* Another process has published a time. The timekeeper can neither continue nor undo it. */
TEST(test_another_process)
{
	go_on(3);
	world.file.state.real.base_ns += 12345;
	synchronized_after(2, 2, TSCT_CAUSE_RESTART);
	world.file.state.epoch = 5;
	world.file.state.real.base_ns += 12345;
	synchronized_after(2, 6, TSCT_CAUSE_RESTART);
	ck_assert(was_logged("another process published a different time"));
}

/* ---- the module's count of disruptions ----------------------------------- */

#define COUNT	(7 * TSCT_DISRUPTIONS_COUNTER + 5)

/* Params have the count from before the samples that they rest on; without the module 0. */
TEST(test_module_loads_and_unloads)
{
	go_on(3);
	ck_assert_uint_eq(file()->disruptions, 0);
	load_module(COUNT);
	go_on(1);
	ck_assert_uint_eq(file()->disruptions, COUNT);
	/* The daemon has made a second CPU survey, by the module. */
	ck_assert_uint_eq(world.surveys, 2);
	ck_assert_uint_eq(world.tables, 2);
	load_module(0);
	go_on(2);
	ck_assert_uint_eq(file()->disruptions, 0);
	load_module(COUNT + TSCT_DISRUPTIONS_COUNTER);
	go_on(1);
	ck_assert_uint_eq(file()->disruptions, COUNT + TSCT_DISRUPTIONS_COUNTER);
	check_synchronized(1, TSCT_CAUSE_NONE);
}

/* The module counts a suspend that changed no clock. Params have the new count only when
 * they are of the new epoch. */
LOOP_TEST(test_module_disrupts, TSCT_CAUSE_STEP, TSCT_CAUSE_NR)
{
	const __u32 cause = (__u32)_i == TSCT_CAUSE_STEP ? TSCT_CAUSE_JUMP : (__u32)_i;

	load_module(COUNT);
	go_on(3);
	module_disrupts((__u32)_i);
	sim_advance(&sim, 1000000000);
	/* Publishing the cluster's time, too, keeps the old count. */
	timekeeper_publish_cluster(&timekeeper);
	ck_assert_uint_eq(file()->disruptions, COUNT);
	timekeeper_tick(&timekeeper);
	ck_assert_uint_eq(file()->epoch, 2);
	ck_assert_uint_eq(world.disrupted, 1);
	ck_assert_uint_eq(file()->disruptions, COUNT + TSCT_DISRUPTIONS_COUNTER);
	synchronized_after(2, 2, cause);
}

/* The module counts a suspend while no daemon runs: the params are not continued, and the new
 * epoch is not one that leaves the counter alone, though only CLOCK_REALTIME seems to be set. */
TEST(test_module_disrupts_between_daemons)
{
	load_module(COUNT);
	go_on(3);
	timekeeper_stop(&timekeeper);
	ck_assert_uint_eq(file()->disruptions, COUNT);
	sim_step(&sim, 5000000);
	world.disruption.count += TSCT_DISRUPTIONS_COUNTER + TSCT_DISRUPTIONS_STEP;
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	ck_assert_uint_eq(file()->epoch, 2);
	ck_assert_uint_eq(file()->cause, TSCT_CAUSE_RESTART);
	ck_assert_uint_eq(file()->disruptions,
			  COUNT + TSCT_DISRUPTIONS_COUNTER + TSCT_DISRUPTIONS_STEP);
}

/* A step too small for an epoch: a sample that agrees gives the params the new count. */
TEST(test_module_counts_small_step)
{
	load_module(COUNT);
	go_on(3);
	sim_step(&sim, 20);
	world.disruption.count += TSCT_DISRUPTIONS_STEP;
	sim_advance(&sim, 1000000000);
	timekeeper_publish_params(&timekeeper);
	ck_assert_uint_eq(file()->disruptions, COUNT);
	timekeeper_tick(&timekeeper);
	ck_assert_uint_eq(file()->disruptions, COUNT + TSCT_DISRUPTIONS_STEP);
	check_synchronized(1, TSCT_CAUSE_NONE);
}

/* The module counts during the calibration: it is repeated, and the params of the last try
 * have the count of its beginning. */
static void count_once(void)
{
	module_disrupts(TSCT_CAUSE_CLOCKSOURCE);
	world.count_at = 0;
}

TEST(test_module_counts_while_calibrating)
{
	load_module(COUNT);
	go_on(3);
	module_disrupts(TSCT_CAUSE_MIGRATION);
	world.count_at = 2;		/* the second reading: in the calibration */
	world.count = count_once;
	go_on(0.1);
	ck_assert_uint_eq(file()->disruptions, COUNT + 2 * TSCT_DISRUPTIONS_COUNTER);
	synchronized_after(2, 2, TSCT_CAUSE_MIGRATION);
}

/* While suspend is under way, nothing has the count that the module shows. */
TEST(test_module_suspends)
{
	unsigned int published;

	load_module(COUNT);
	go_on(3);
	world.disruption.count |= TSCT_DISRUPTIONS_PENDING;
	world.disruption.cause = TSCT_CAUSE_SUSPEND;
	published = world.published;
	go_on(3);
	ck_assert_uint_eq(world.published, published);
	timekeeper_publish_params(&timekeeper);
	ck_assert_uint_eq(file()->disruptions, COUNT);
	world.disruption.count += TSCT_DISRUPTIONS_PENDING;
	go_on(0.1);
	ck_assert_uint_eq(file()->disruptions, COUNT + TSCT_DISRUPTIONS_COUNTER);
	synchronized_after(2, 2, TSCT_CAUSE_SUSPEND);
	/* A daemon that starts meanwhile publishes params that nobody uses. */
	world.disruption.count |= TSCT_DISRUPTIONS_PENDING;
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	ck_assert_uint_eq(file()->disruptions & TSCT_DISRUPTIONS_PENDING, 0);
}

/* CPUs that come and go let the CPUs be surveyed, and disrupt nothing. */
TEST(test_hotplug)
{
	go_on(3);
	world.disruption.cpus_hash++;
	synchronized_after(2, 1, TSCT_CAUSE_NONE);
	ck_assert_uint_eq(world.surveys, 2);
}

TEST(test_source_changes)
{
	go_on(3);
	/* The kernel marks the TSC as unstable. */
	world.source = TSCT_SOURCE_MONOTONIC_RAW;
	world.disruption.tsc_unavailable = true;
	strcpy(world.disruption.clocksource, "hpet");
	go_on(1);
	ck_assert_uint_eq(file()->source, TSCT_SOURCE_MONOTONIC_RAW);
	synchronized_after(2, 2, TSCT_CAUSE_UNSTABLE);
	ck_assert(was_logged("marked the TSC unstable; its clocksource is hpet; epoch 2"));
}

/* ---- the drift file ----------------------------------------------------- */

TEST(test_drift_file)
{
	__u64 error, first;

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
	synchronized_after(2, 1, TSCT_CAUSE_NONE);
}

CASE("timekeeper", NULL, NULL);

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

/* ---- cluster time ------------------------------------------------------ */

#define BASE_NS		1600000000000000000LL

static struct tsct_cluster *cluster;

static enum tsct_cluster_event feed(void)
{
	struct tsct_remote remote = {
		.node = 5, .master = 5, .epoch = 77, .has_params = true,
		.status = TSCT_STATUS_SYNCHRONIZED,
		.params = { .mult = TSCT_NS_MULT, .base_ns = BASE_NS },
	};
	struct tsct_exchange x = { .local_error = 1, .remote_error = 1 };

	x.t1 = cycles_now(world.source);
	sim_advance(&sim, 100000);
	x.t2 = (__u64)sim_raw(&sim);
	sim_advance(&sim, 20000);
	x.t3 = (__u64)sim_raw(&sim);
	sim_advance(&sim, 100000);
	x.t4 = cycles_now(world.source);
	return tsct_cluster_feed(cluster, 0, &x, &remote);
}

static void check_cluster(__u32 epoch)
{
	struct tsct_clock_time r;
	int64_t off;

	ck_assert_int_eq(tsct_clock_cluster_lookup(file(), cycles_now(file()->source),
					       &r), 0);
	/* true cluster time: MONOTONIC_RAW plus a constant */
	off = r.ns - (BASE_NS + sim_raw(&sim));
	ck_assert_msg((uint64_t)llabs(off) <= r.error_ps / 1000 + 2,
		      "off by %lld ns, bound %llu ps", (long long)off,
		      (unsigned long long)r.error_ps);
	ck_assert_uint_eq(r.epoch, epoch);
	ck_assert_uint_eq(file()->cluster_master, 5);
	ck_assert_uint_eq(file()->cluster_timeline, 77);
}

static void use_cluster(void)
{
	const struct tsct_cluster_options options = {
		.hz = tsct_rate_hz(&timekeeper.est, NULL),
	};

	cluster = tsct_cluster_new(&options, 1);
	ck_assert_ptr_nonnull(cluster);
	timekeeper_use_cluster(&timekeeper, cluster);
}

/* Makes one exchange per second for @s seconds, and publishes after each exchange. */
static void follow(double s, __u32 epoch)
{
	while (s-- > 0) {
		feed();
		timekeeper_publish_cluster(&timekeeper);
		check_cluster(epoch);
		go_on(1);
		check_cluster(epoch);
	}
}

static __u32 our_epoch(void)
{
	return tsct_cluster_epoch(cluster);
}

static void begin(void)
{
	start();
	go_on(2);
	use_cluster();
}

static void end(void)
{
	timekeeper_use_cluster(&timekeeper, NULL);
	tsct_cluster_free(cluster);
	cluster = NULL;
}

CASE("cluster", begin, end);

/* Publishing the cluster's time does not change the params of CLOCK_REALTIME. */
TEST(test_publish)
{
	struct tsct_clock_state before;
	unsigned int published;

	ck_assert_uint_eq(file()->cluster_status, TSCT_STATUS_UNKNOWN);
	published = world.published;
	before = *file();
	ck_assert_int_eq(feed(), TSCT_CLUSTER_NEW);
	timekeeper_publish_cluster(&timekeeper);
	ck_assert_uint_eq(world.published, published + 1);
	ck_assert_mem_eq(&before.real, &file()->real, sizeof(before.real));
	ck_assert_uint_eq(before.status, file()->status);
	check_cluster(our_epoch());
	follow(30, our_epoch());
	check_synchronized(1, TSCT_CAUSE_NONE);
	ck_assert_uint_eq(file()->cluster_status, TSCT_STATUS_SYNCHRONIZED);
}

static void make_disruption(__u32 cause)
{
	if (cause == TSCT_CAUSE_STEP) {
		sim_step(&sim, 3600000000000);
		world.disruption.realtime_min_ns += 3600000000000;
		world.disruption.realtime_max_ns += 3600000000000;
	} else if (cause == TSCT_CAUSE_JUMP) {
		sim_recount(&sim, sim_counter(&sim) + 10000000000, 2.5e9);
	} else {
		timekeeper_disrupt(&timekeeper, cause, "for a test");
	}
}

/* Setting CLOCK_REALTIME does not affect the cluster's time, whereas a disruption of
 * the counter does. */
LOOP_TEST(test_causes, 1, TSCT_CAUSE_NR)
{
	__u32 cause = (__u32)_i, epoch;

	epoch = our_epoch();
	follow(10, epoch);
	make_disruption(cause);
	go_on(2);
	ck_assert_uint_eq(file()->epoch, 2);
	if (timekeeper_keeps_rate(cause)) {
		check_cluster(epoch);
		follow(10, epoch);
		return;
	}
	ck_assert_uint_eq(file()->cluster_status, TSCT_STATUS_DISRUPTED);
	ck_assert_uint_eq(file()->cluster.mult, 0);
	ck_assert_uint_eq(file()->cluster_epoch, epoch + 1);
	if (cause != TSCT_CAUSE_JUMP)
		follow(10, epoch + 1);
}

/* The module counts a disruption of the counter: the cluster's time begins an epoch. */
TEST(test_module_disrupts_cluster)
{
	__u32 epoch;

	load_module(COUNT);
	epoch = our_epoch();
	follow(10, epoch);
	module_disrupts(TSCT_CAUSE_SUSPEND);
	go_on(2);
	ck_assert_uint_eq(file()->epoch, 2);
	ck_assert_uint_gt(file()->cluster_epoch, epoch);
	ck_assert_uint_eq(file()->cluster.mult, 0);
	follow(10, our_epoch());
}

/* A restarted daemon has made no exchanges yet, so it begins a cluster epoch. */
TEST(test_restarted_daemon)
{
	struct tsct_cluster *old;
	__u32 epoch;

	follow(10, our_epoch());
	timekeeper_stop(&timekeeper);
	ck_assert_uint_eq(file()->cluster_status, TSCT_STATUS_HOLDOVER);
	epoch = file()->cluster_epoch;
	check_cluster(epoch);
	old = cluster;
	ck_assert_int_eq(timekeeper_start(&timekeeper, &world_ops), 0);
	ck_assert_uint_eq(file()->epoch, 1);
	ck_assert_uint_eq(file()->cluster.mult, 0);
	ck_assert_uint_eq(file()->cluster_epoch, epoch + 1);
	tsct_cluster_free(old);
	go_on(2);
	use_cluster();
	follow(5, our_epoch());
	/* In a daemon without network, the cluster's time is not published. */
	end();
	epoch = file()->cluster_epoch;
	go_on(2);
	ck_assert_uint_eq(file()->cluster.mult, 0);
	ck_assert_uint_eq(file()->cluster_epoch, epoch + 1);
	ck_assert_uint_eq(file()->cluster_status, TSCT_STATUS_UNKNOWN);
}

/* Cluster time stays right while attempts to publish fail, or take long. */
TEST(test_publish_cluster_late)
{
	follow(5, our_epoch());
	world.refuse = -ETIME;
	world.refusals = 2;
	/* While clock params are accurate, they stay in force, so some seconds pass
	 * without a publication. */
	for (int i = 0; i < 100 && world.refusals; i++)
		follow(1, our_epoch());
	ck_assert_uint_eq(world.refusals, 0);
	world.publish_ns = 20000000;
	follow(5, our_epoch());
	world.publish_ns = 0;
	follow(5, our_epoch());
	check_synchronized(1, TSCT_CAUSE_NONE);
}
