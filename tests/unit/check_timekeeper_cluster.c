/* SPDX-License-Identifier: MIT */
/* Publication of the cluster's time by the daemon's timekeeper */
#include "timekeeper_world.h"

#include "daemon/clock/timekeeper.c"
#include "daemon/clock/timekeeper_publish.c"
#include "daemon/clock/disruption.c"
#include "suite.h"

#define BASE_NS		1600000000000000000LL

static struct tsct_cluster *cluster;

/* True cluster time in this test: MONOTONIC_RAW plus a constant */
static int64_t truth(void)
{
	return BASE_NS + sim_raw(&sim);
}

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
	off = r.ns - truth();
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
		ck_assert_int_eq(timekeeper_publish_cluster(&timekeeper), 0);
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
}

/* Publishing the cluster's time does not change the params of CLOCK_REALTIME. */
TEST(test_publish)
{
	struct tsct_clock_state before;
	unsigned int published;

	begin();
	ck_assert_uint_eq(file()->cluster_status, TSCT_STATUS_UNKNOWN);
	published = world.published;
	before = *file();
	ck_assert_int_eq(feed(), TSCT_CLUSTER_NEW);
	ck_assert_int_eq(timekeeper_publish_cluster(&timekeeper), 0);
	ck_assert_uint_eq(world.published, published + 1);
	ck_assert_mem_eq(&before.real, &file()->real, sizeof(before.real));
	ck_assert_uint_eq(before.status, file()->status);
	check_cluster(our_epoch());
	follow(30, our_epoch());
	check_synchronized(1, TSCT_CAUSE_NONE);
	ck_assert_uint_eq(file()->cluster_status, TSCT_STATUS_SYNCHRONIZED);
	end();
}

/* Cluster time is published to module and clock file; the module accepts each state. */
TEST(test_module)
{
	__u32 epoch;

	begin();
	follow(5, our_epoch());
	load_module(TSCT_SOURCE_TSC);
	epoch = our_epoch();
	follow(20, epoch);
	ck_assert_mem_eq(&world.module.cluster, &file()->cluster,
			 sizeof(world.module.cluster));
	end();
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
		ck_assert_int_eq(timekeeper_disrupt(&timekeeper, cause, "for a test"),
				 0);
	}
}

/* Setting CLOCK_REALTIME does not affect the cluster's time, whereas a disruption of
 * the counter does. */
LOOP_TEST(test_causes, 1, TSCT_CAUSE_NR)
{
	__u32 cause = (__u32)_i, epoch;

	begin();
	epoch = our_epoch();
	follow(10, epoch);
	make_disruption(cause);
	go_on(2);
	ck_assert_uint_eq(file()->epoch, 2);
	if (timekeeper_keeps_rate(cause)) {
		check_cluster(epoch);
		follow(10, epoch);
		end();
		return;
	}
	ck_assert_uint_eq(file()->cluster_status, TSCT_STATUS_DISRUPTED);
	ck_assert_uint_eq(file()->cluster.mult, 0);
	ck_assert_uint_eq(file()->cluster_epoch, epoch + 1);
	if (cause != TSCT_CAUSE_JUMP)
		follow(10, epoch + 1);
	end();
}

/* If the module detects a disruption before the daemon does, it begins a cluster epoch.
 * The daemon does not use this epoch again. */
TEST(test_module_disrupts)
{
	__u32 epoch;

	begin();
	load_module(TSCT_SOURCE_TSC);
	epoch = our_epoch();
	follow(10, epoch);
	memset(&world.module, 0, sizeof(world.module));
	world.module.epoch = 2;
	world.module.epoch_cycles = sim_counter(&sim);
	world.module.status = TSCT_STATUS_DISRUPTED;
	world.module.cause = TSCT_CAUSE_SUSPEND;
	world.module.cluster_status = TSCT_STATUS_DISRUPTED;
	world.module.cluster_epoch = epoch + 1;
	go_on(2);
	ck_assert_uint_eq(file()->epoch, 2);
	ck_assert_uint_gt(file()->cluster_epoch, epoch + 1);
	ck_assert_uint_eq(file()->cluster.mult, 0);
	follow(10, our_epoch());
	end();
}

/* A restarted daemon has made no exchanges yet, so it begins a cluster epoch. */
TEST(test_restarted_daemon)
{
	struct tsct_cluster *old;
	__u32 epoch;

	begin();
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
TEST(test_publish_late)
{
	int i;

	begin();
	follow(5, our_epoch());
	world.refuse = -ETIME;
	world.refusals = 2;
	/* While clock params are accurate, they stay in force, so some seconds pass
	 * without a publication. */
	for (i = 0; i < 100 && world.refusals; i++)
		follow(1, our_epoch());
	ck_assert_uint_eq(world.refusals, 0);
	world.publish_ns = 20000000;
	follow(5, our_epoch());
	world.publish_ns = 0;
	follow(5, our_epoch());
	check_synchronized(1, TSCT_CAUSE_NONE);
	world.refuse = -EPERM;
	world.refusals = 1;
	feed();
	ck_assert_int_eq(timekeeper_publish_cluster(&timekeeper), -EPERM);
	end();
}
