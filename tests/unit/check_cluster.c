/* SPDX-License-Identifier: MIT */
/* Cluster time of simulated nodes, compared with the true time */
#include "cluster_world.h"
#include "suite.h"

#define BACK_NS	2000000000LL

static struct node master, child;
static struct tsct_remote_params master_params;	/* true cluster time: clock params
						 * for the master's counter */

static void begin(unsigned int turn)
{
	seed_with(turn);
	make_node(&master, 0);
	make_node(&child, 1);
	master_params = make_master(&master, 1, 7);
}

static void end(void)
{
	free_node(&master);
	free_node(&child);
}

static void read_some(double from, double to)
{
	for (unsigned int i = 0; i < 10; i++)
		read_time(&child, &master, &master_params,
			  from + (to - from) * i / 10);
}

/* Makes an exchange of the child with the master at @t, and then publishes the child's
 * clock params every second until @t + @interval, s. Compares the child's readings with
 * the true time: 10 in the LEAD_S after each publication, 10 until the next one. */
static double poll_once(double t, double interval, const struct path *path)
{
	double at = exchange(&child, 0, &master, path, t), end_t = t + interval;

	while (at < end_t) {
		double next = at + 1 < end_t ? at + 1 : end_t;

		publish(&child, at);
		read_some(at, at + LEAD_S);
		read_some(at + LEAD_S, next);
		at = next;
	}
	return end_t;
}

static double poll_until(double t, double until, double interval,
			 const struct path *path)
{
	while (t < until)
		t = poll_once(t, interval, path);
	return t;
}

/* Begins with polls once per second, until @until. */
static double begin_until(unsigned int turn, double until)
{
	begin(turn);
	return poll_until(2, until, 1, &lan);
}

/* Makes exchanges once per second, without comparing the child's readings. */
static double exchange_until(double t, double until)
{
	for (; t < until; t += 1) {
		exchange(&child, 0, &master, &lan, t);
		publish(&child, t + 0.01);
	}
	return t;
}

static void report(const char *what)
{
	printf("# %s: %u readings, rms %.0f ns, worst %.0f ns, epoch %u\n", what,
	       child.readings, sqrt(child.square_ns / child.readings),
	       child.worst_ns, tsct_cluster_epoch(child.cluster));
}

static uint32_t child_status(double t)
{
	struct tsct_clock_state state = { .source = TSCT_SOURCE_TSC };

	tsct_cluster_compose(child.cluster, node_ticks(&child, t), &state);
	return state.cluster_status;
}

/* ---- one source of time -------------------------------------------------- */

CASE("cluster", NULL, end);

LOOP_TEST(test_one_source, 0, 4)
{
	static const double intervals[] = { 0.0625, 1, 16, 64 };
	char what[64];

	for (unsigned int turn = 0; turn < 3; turn++) {
		begin(100 * _i + turn);
		publish(&child, 1.5);
		poll_until(2, 2 + 150 * fmin(16, intervals[_i]),
			   intervals[_i], &lan);
		ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 1);
		ck_assert_uint_eq(child.missing, 0);
		ck_assert_uint_gt(child.readings, 100);
		if (!turn) {
			snprintf(what, sizeof(what), "every %.2f s",
				 intervals[_i]);
			report(what);
		}
		end();
	}
}

/* Each poll is a burst of exchanges. The window of the fit depends on the interval
 * between polls. */
TEST(test_bursts)
{
	double t = 2;

	begin(5);
	publish(&child, 1.5);
	for (int i = 0; i < 12; i++) {
		for (int k = 0; k < 3; k++)
			t = poll_once(t, 0.0625, &lan);
		t = poll_once(t, 16, &lan);
		if (i > 1)
			ck_assert_uint_eq(child_status(t),
					  TSCT_STATUS_SYNCHRONIZED);
	}
	ck_assert_uint_eq(child.missing, 0);
	report("trains");
}

/* The child reports its status, master, timeline and depth. */
TEST(test_reported_state)
{
	struct tsct_timeline timeline;
	struct tsct_source_state s;
	double t;

	begin(1);
	ck_assert_uint_eq(child_status(1), TSCT_STATUS_UNKNOWN);
	tsct_cluster_timeline(child.cluster, node_ticks(&child, 1), &timeline);
	ck_assert_uint_eq(timeline.status, TSCT_STATUS_UNKNOWN);
	ck_assert_uint_eq(timeline.params.mult, 0);
	t = poll_once(2, 1, &lan);
	ck_assert_uint_eq(child_status(t), TSCT_STATUS_CALIBRATING);
	t = poll_until(t, 30, 1, &lan);
	ck_assert_uint_eq(child_status(t), TSCT_STATUS_SYNCHRONIZED);
	ck_assert_uint_eq(child.state.cluster_master, master.id);
	ck_assert_uint_eq(child.state.cluster_timeline, 7);
	tsct_cluster_timeline(child.cluster, node_ticks(&child, t), &timeline);
	ck_assert_uint_eq(timeline.status, TSCT_STATUS_SYNCHRONIZED);
	ck_assert(timeline.master == master.id && timeline.epoch == 7 &&
		  timeline.depth == 1 && timeline.params.mult);
	tsct_cluster_source(child.cluster, 0, node_ticks(&child, t), &s);
	ck_assert(s.used && s.known && !s.falseticker && !*s.reason);
	ck_assert(s.kept >= 10 && s.rtt_min_ns > 99e3 && s.rtt_min_ns < 200e3);
	ck_assert(fabs(s.offset_ns) < s.error_ns && s.error_ns < 200e3);
	ck_assert_msg(fabs(s.drift_ppm) < 110, "%.1f ppm", s.drift_ppm);
	tsct_cluster_source(child.cluster, 1, node_ticks(&child, t), &s);
	ck_assert(!s.used && !s.known);
}

/* ---- a chain of nodes ---------------------------------------------------- */

#define LEVELS	4

TEST(test_tree)
{
	struct node level[LEVELS + 1];
	struct tsct_remote_params root;
	double t, bound = 0;

	for (unsigned int i = 0; i <= LEVELS; i++)
		make_node(&level[i], i > 0);
	root = make_master(&level[0], 1, 1);
	for (t = 2; t < 200; t += 1) {
		for (unsigned int i = 1; i <= LEVELS; i++) {
			exchange(&level[i], 0, &level[i - 1], &lan,
				 t + 0.1 * i);
			publish(&level[i], t + 0.1 * i + 0.01);
		}
		for (unsigned int i = 1; i <= LEVELS; i++)
			for (unsigned int j = 0; j < 5; j++)
				read_time(&level[i], &level[0], &root,
					  t + 0.6 + 0.08 * j);
	}
	for (unsigned int i = 1; i <= LEVELS; i++) {
		double error = (double)tsct_clock_params_error_ps(&level[i].state.cluster,
				node_ticks(&level[i], t)) * 1e-3;

		printf("# level %u: rms %.0f ns, worst %.0f, bound %.0f\n", i,
		       sqrt(level[i].square_ns / level[i].readings),
		       level[i].worst_ns, error);
		ck_assert_uint_eq(level[i].state.cluster_master, level[0].id);
		ck_assert_uint_eq(level[i].state.cluster_timeline, 1);
		ck_assert_uint_eq(tsct_cluster_epoch(level[i].cluster), 1);
		/* Error bounds add up along the chain. */
		ck_assert(error > bound);
		bound = error;
	}
	for (unsigned int i = 0; i <= LEVELS; i++)
		free_node(&level[i]);
}

/* If nodes poll each other in a loop, their depth grows to a limit, and then their time
 * is not used. */
TEST(test_too_deep)
{
	struct tsct_exchange x = { .t1 = 1000000, .t2 = 5, .t3 = 6,
				   .t4 = 2000000 };
	struct tsct_remote remote = {
		.node = 9, .master = 8, .epoch = 1, .has_params = true,
		.status = TSCT_STATUS_SYNCHRONIZED,
		.params = { .mult = TSCT_NS_MULT, .base_ns = BEGIN_NS },
		.depth = TSCT_CLUSTER_DEPTH_MAX,
	};
	struct tsct_source_state s;

	begin(4);
	ck_assert_int_eq(tsct_cluster_feed(child.cluster, 0, &x, &remote),
			 TSCT_CLUSTER_OK);
	tsct_cluster_source(child.cluster, 0, x.t4, &s);
	ck_assert_ptr_nonnull(strstr(s.reason, "loop"));
	remote.depth--;
	ck_assert_int_eq(tsct_cluster_feed(child.cluster, 0, &x, &remote),
			 TSCT_CLUSTER_NEW);
}

/* ---- disruptions and faults ---------------------------------------------- */

/* Requests take a path that is 1 ms longer from some time on. The source's time seems
 * to move by half of that, but no exchange contradicts the old time. */
TEST(test_route_change)
{
	struct path longer = lan;
	double t = begin_until(5, 100);

	longer.detour_s = 1e-3;
	t = poll_until(t, 1300, 1, &longer);
	poll_until(t, 1400, 1, &lan);
	report("a detour for 20 minutes");
	ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 1);
	ck_assert_uint_eq(child.events[TSCT_CLUSTER_EPOCH], 0);
}

/* A small step of the source's time is followed by slewing. */
TEST(test_small_step)
{
	double t = begin_until(6, 100);

	master_params.base_ns += 2000000;
	master.false_ns = 2e6;
	/* Until more exchanges confirm the step, it may be a single wrong exchange. */
	t = exchange_until(t, 104);
	child.readings = 0, child.worst_ns = 0;
	t = poll_until(t, 200, 1, &lan);
	report("its time moved by 2 ms");
	ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 1);
}

/* The master's counter jumps by 45 us, less than half a round trip: no exchange
 * contradicts the bounds before, but unequal delays would need a longer round trip. */
LOOP_TEST(test_tiny_step, 0, 2)
{
	double t = begin_until(15 + (unsigned int)_i, 100);

	master.jump_ticks = (_i & 1 ? 45e-6 : -45e-6) * master.crystal.hz;
	/* Only an exchange with a short round trip can show the jump of the master's
	 * counter. */
	t = exchange_until(t, 104);
	t = poll_until(t, 112, 1, &lan);
	child.readings = 0, child.worst_ns = 0, child.square_ns = 0;
	poll_until(t, 130, 1, &lan);
	report("its counter moved by 45 us");
	ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 1);
}

TEST(test_large_step)
{
	double t = begin_until(7, 100);

	master_params.base_ns -= BACK_NS;
	master.false_ns = -BACK_NS;
	t = exchange_until(t, 106);
	ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 2);
	poll_until(t, 200, 1, &lan);
	ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 2);
	ck_assert_uint_eq(child.events[TSCT_CLUSTER_EPOCH], 1);
}

/* The master's counter jumps without notice: three exchanges are enough to detect the
 * jump. */
TEST(test_counter_jumps)
{
	double t = begin_until(8, 100);

	/* The master's counter jumps forward, and true cluster time, which is computed
	 * from this counter and compared with the child's readings, jumps with it. */
	master.jump_ticks = 3e9;
	t = exchange_until(t, t + 5);
	poll_until(t, 200, 1, &lan);
	ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 2);
}

/* Some exchanges contain a single packet time with a very large error. */
TEST(test_single_errors)
{
	begin(9);
	for (double t = poll_until(2, 60, 1, &lan); t < 400; ) {
		t = poll_until(t, t + 5, 1, &lan);
		master.jump_ticks = any_real(-1e9, 1e9);
		exchange(&child, 0, &master, &lan, t + 0.5);
		master.jump_ticks = 0;
		publish(&child, t + 0.6);
	}
	report("freaks");
	ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 1);
}

/* After the master restarts with a new timeline, the child begins an epoch at once. */
TEST(test_master_restart)
{
	double t = begin_until(10, 100);

	master_params = make_master(&master, t, 8);
	exchange(&child, 0, &master, &lan, t);
	exchange(&child, 0, &master, &lan, t + 0.1);
	publish(&child, t + 0.2);
	ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 2);
	ck_assert_uint_eq(child.state.cluster_timeline, 8);
	ck_assert_uint_eq(child.state.cluster_epoch, 2);
	poll_until(t + 1, 200, 1, &lan);
	ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 2);
}

/* After a disruption of the child's counter, which jumps forward or back by hours, the child
 * has no cluster time until a new cluster epoch begins. */
LOOP_TEST(test_local_disruption, 0, 2)
{
	struct tsct_clock_time r;
	double t = begin_until(11, 100);

	child.jump_ticks = _i ? -1e14 : 1e14;
	tsct_cluster_disrupt(child.cluster);
	publish(&child, t);
	ck_assert_uint_eq(child.state.cluster_status, TSCT_STATUS_DISRUPTED);
	ck_assert_int_eq(tsct_clock_cluster_lookup(&child.state,
			 node_ticks(&child, t), &r), -ESTALE);
	ck_assert_uint_eq(child.state.cluster_epoch, 2);
	child.missing = 0;
	poll_until(t + 1, 200, 1, &lan);
	ck_assert_uint_eq(child.state.cluster_epoch, 2);
	ck_assert_uint_eq(child.missing, 0);
}

/* An earlier daemon has published a later epoch: new epochs continue after that
 * epoch. */
TEST(test_resume_epoch)
{
	double t = begin_until(12, 50);

	tsct_cluster_resume_epoch(child.cluster, 0);
	ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 1);
	tsct_cluster_resume_epoch(child.cluster, 41);
	ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 42);
	poll_until(t, 100, 1, &lan);
	ck_assert_uint_eq(child.state.cluster_epoch, 42);
}

/* The network fails, first for less than an hour: in holdover the error bound
 * increases, and always contains the true error. Then the network fails for more than
 * an hour: holdover ends, cluster time is unknown, and the next epoch begins. */
TEST(test_holdover)
{
	struct tsct_clock_time r;
	double t = begin_until(13, 300), back;

	for (; t < 3500; t += 1) {
		publish(&child, t);
		read_time(&child, &master, &master_params, t + 0.5);
	}
	ck_assert_uint_eq(child.state.cluster_status, TSCT_STATUS_HOLDOVER);
	ck_assert_int_eq(tsct_clock_cluster_lookup(&child.state,
			 node_ticks(&child, t), &r), 0);
	printf("# 3200 s without network: worst %.0f ns, bound %.0f ns\n",
	       child.worst_ns,
	       (double)r.error_ps * 1e-3);
	/* The network is back before the end of holdover: the epoch continues without a
	 * jump. */
	back = poll_until(t, 3600, 1, &lan);
	ck_assert_uint_eq(child.state.cluster_epoch, 1);
	for (t = back; t < 7400; t += 1) {
		publish(&child, t);
		read_time(&child, &master, &master_params, t + 0.5);
	}
	ck_assert_uint_eq(child.state.cluster_status, TSCT_STATUS_UNKNOWN);
	ck_assert_uint_eq(child.state.cluster_epoch, 2);
	poll_until(t, 7500, 1, &lan);
	ck_assert_uint_eq(child.state.cluster_epoch, 2);
	ck_assert_uint_eq(child.state.cluster_status, TSCT_STATUS_SYNCHRONIZED);
}

/* ---- the master ---------------------------------------------------------- */

TEST(test_master)
{
	struct tsct_clock_time r;
	double t;

	begin(14);
	for (t = 2; t < 100; t += 1) {
		publish(&master, t);
		read_time(&master, &master, &master_params, t + 0.5);
		ck_assert_uint_eq(master.state.cluster.base_cycles,
				  master_params.base);
	}
	ck_assert_uint_eq(master.state.cluster_status, TSCT_STATUS_SYNCHRONIZED);
	ck_assert_uint_eq(master.readings, 98);
	ck_assert(master.worst_ns <= 2);
	/* The master's timekeeper has stopped. */
	ck_assert_int_eq(tsct_clock_cluster_lookup(&master.state,
			 node_ticks(&master, t + 60), &r), 0);
	ck_assert_uint_eq(r.status, TSCT_STATUS_HOLDOVER);
	/* Publishing the same timeline again changes nothing; a different timeline
	 * begins an epoch. */
	tsct_cluster_master(master.cluster, master.id, &master_params, 7);
	ck_assert_uint_eq(tsct_cluster_epoch(master.cluster), 1);
	make_master(&master, t, 8);
	ck_assert_uint_eq(tsct_cluster_epoch(master.cluster), 2);
}

/* ---- nodes between the master and others --------------------------------- */

/* A node without its master sends its children a bound that grows as its own does: with the
 * square of the time, by the wander that is assumed. */
TEST(test_bound_for_children)
{
	struct tsct_source_state s;
	struct tsct_remote sent;
	double t, age;

	begin(18);
	poll_until(2, 100, 1, &lan);
	for (t = 101; t < 1000; t += 100) {
		sent = make_remote(&child, t);
		tsct_cluster_source(child.cluster, 0, node_ticks(&child, t), &s);
		age = (double)(int64_t)(node_ticks(&child, t) - sent.params.as_of);
		ck_assert_double_ge((double)sent.params.error_ps * 1e-3 +
				    age * (double)sent.params.growth * 0x1p-32 * 1e-3,
				    s.error_ns);
		/* These params may be sent for two seconds (REFRESH_NS of the daemon): until
		 * then the node's own bound is within what they announce. */
		tsct_cluster_source(child.cluster, 0, node_ticks(&child, t + 2), &s);
		age += 2 * child.crystal.hz;
		ck_assert_double_ge((double)sent.params.error_ps * 1e-3 +
				    age * (double)sent.params.growth * 0x1p-32 * 1e-3,
				    s.error_ns);
	}
	/* 10 ppb/s at 801 s: 6.4 ms */
	ck_assert_double_ge(s.error_ns, 6e6);
}

/*
 * The network to the master fails, and the rate of a node drifts by nearly the assumed
 * limit from then on. The bound of a node that follows this one contains the error, too.
 */
TEST(test_holdover_of_source)
{
	struct node leaf;
	double t, rate;

	begin(19);
	make_node(&leaf, 1);
	rate = child.crystal.rate[200];
	for (unsigned int s = 200; s < WORLD_S; s++) {
		child.crystal.rate[s] = rate;
		child.crystal.ticks[s + 1] = child.crystal.ticks[s] +
			(long double)child.crystal.hz * (1 + rate);
		rate += 1.9e-8;
	}
	for (t = 2; t < 800; t++) {
		if (t < 200)
			exchange(&child, 0, &master, &lan, t);
		publish(&child, t + 0.1);
		exchange(&leaf, 0, &child, &lan, t + 0.2);
		publish(&leaf, t + 0.3);
		read_time(&child, &master, &master_params, t + 0.5);
		read_time(&leaf, &master, &master_params, t + 0.5);
	}
	ck_assert_uint_eq(leaf.state.cluster_status, TSCT_STATUS_HOLDOVER);
	free_node(&leaf);
}

/* A skew within the limit is in the published bounds of a child and a master, once. A
 * child of the child does not receive it: its exchanges have a bound of their own. */
TEST(test_skew)
{
	double t = 2, bound[2][2];
	struct tsct_remote sent;

	begin(16);
	publish(&child, 1.5);
	for (unsigned int i = 0; i < 2; i++) {
		tsct_cluster_set_skew(child.cluster, i ? (__u64)child.crystal.hz : 0);
		tsct_cluster_set_skew(master.cluster, i ? (__u64)master.crystal.hz : 0);
		t = poll_until(t, t + 300, 1, &lan);
		publish(&master, t);
		bound[i][0] = (double)child.state.cluster.error_ps * 1e-12;
		bound[i][1] = (double)master.state.cluster.error_ps * 1e-12;
		sent = make_remote(&child, t);
		ck_assert_double_le((double)sent.params.error_ps * 1e-12, 0.5);
	}
	/* The skew is 1 s; all other bounds are far below. */
	for (unsigned int i = 0; i < 2; i++) {
		ck_assert_double_le(bound[0][i], 1e-3);
		ck_assert_double_ge(bound[1][i], 1);
		ck_assert_double_le(bound[1][i], 1 + 1e-3);
		ck_assert_double_ge((double)(i ? &master : &child)->
				    state.cluster.past_error_ps * 1e-12, 1);
		ck_assert_double_le((double)(i ? &master : &child)->
				    state.cluster.past_error_ps * 1e-12, 1 + 1e-3);
	}
}
