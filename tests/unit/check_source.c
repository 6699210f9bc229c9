/* SPDX-License-Identifier: MIT */
/* A node with several sources of time, some of them falsetickers or implausible */
#include "cluster_world.h"
#include "suite.h"

#define SOURCES_MAX	7

/* Simulated nodes: a master, servers on its timeline, a child that polls all servers */
static struct node master, server[SOURCES_MAX], child;
static struct tsct_remote_params master_params;
static unsigned int nr;

static void begin(unsigned int turn, unsigned int servers)
{
	seed_with(turn);
	nr = servers;
	make_node(&master, 0);
	make_node(&child, nr);
	for (unsigned int i = 0; i < nr; i++)
		make_node(&server[i], 1);
	master_params = make_master(&master, 1, 1);
}

static void end(void)
{
	free_node(&master);
	free_node(&child);
	for (unsigned int i = 0; i < nr; i++)
		free_node(&server[i]);
}

/* Simulates exchanges at time @t: each server with the master, then the node `child`
 * with each server. */
static void exchange_all(double t)
{
	for (unsigned int i = 0; i < nr; i++) {
		exchange(&server[i], 0, &master, &lan, t + 0.02 * i);
		publish(&server[i], t + 0.02 * i + 0.01);
	}
	for (unsigned int i = 0; i < nr; i++) {
		exchange(&child, i, &server[i], &lan, t + 0.2 + 0.02 * i);
		publish(&child, t + 0.21 + 0.02 * i);
	}
	for (unsigned int i = 0; i < 10; i++)
		read_time(&child, &master, &master_params, t + 0.4 + 0.06 * i);
}

static struct tsct_source_state state_of(unsigned int source, double t)
{
	struct tsct_source_state s;

	tsct_cluster_source(child.cluster, source, node_ticks(&child, t), &s);
	return s;
}

static unsigned int count_falsetickers(unsigned int from, unsigned int to, double t)
{
	unsigned int named = 0;

	for (; from < to; from++) {
		struct tsct_source_state s = state_of(from, t);

		ck_assert(!s.falseticker || !s.used);
		ck_assert(!s.falseticker || strstr(s.reason, "outvoted") == s.reason);
		named += s.falseticker;
	}
	return named;
}

/* ---- falsetickers -------------------------------------------------------- */

enum fault {
	SAME,			/* fault: all falsetickers have the same offset */
	OWN,			/* fault: each falseticker has a different offset */
	LATER,			/* fault: falsetickers have an offset from 30 s on */
	CREEP,			/* fault: the offset of falsetickers increases */
	NR_FAULTS,
};

static double fault_ns(enum fault how, unsigned int source, double t)
{
	switch (how) {
	case SAME:
		return 3e6;
	case OWN:
		return 1e6 * (source + 1) * (source & 1 ? 1 : -1);
	case LATER:
		return t < 30 ? 0 : 1e9;
	default:
		return 20e3 * t;	/* offset of a clock that runs 20 ppm fast */
	}
}

static void try_falsetickers(unsigned int servers, enum fault how)
{
	unsigned int falsetickers = (servers - 1) / 2, i;
	double t;

	begin(servers * 10 + how, servers);
	for (t = 2; t < 62; t += 1) {
		for (i = 0; i < falsetickers; i++)
			server[i].false_ns = fault_ns(how, i, t);
		exchange_all(t);
	}
	ck_assert_uint_eq(count_falsetickers(0, falsetickers, t), falsetickers);
	ck_assert_uint_eq(count_falsetickers(falsetickers, servers, t), 0);
	ck_assert_uint_gt(child.readings, 500);
	if (how == LATER)
		ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 1);
	end();
}

CASE("source", NULL, end);

LOOP_TEST(test_falsetickers, 0, 5 * NR_FAULTS)
{
	unsigned int servers = 3 + (unsigned int)_i / NR_FAULTS;

	try_falsetickers(servers, (enum fault)((unsigned int)_i % NR_FAULTS));
}

TEST(test_falseticker_reason)
{
	struct tsct_source_state s;
	double t;

	begin(1, 3);
	server[1].false_ns = 3e6;
	for (t = 2; t < 30; t += 1)
		exchange_all(t);
	s = state_of(1, t);
	printf("# %s\n", s.reason);
	ck_assert_ptr_nonnull(strstr(s.reason, " ms ahead of the time on which 2 of 3"));
}

/* A server's error within the bounds of the other servers is not detected, and the
 * child's bound covers it. */
TEST(test_small_errors)
{
	begin(2, 3);
	for (double t = 2; t < 60; t += 1) {
		server[0].false_ns = 80e3 * fmin(1, t / 30);
		exchange_all(t);
	}
	ck_assert_uint_gt(child.readings, 500);
}

/* If there are only two sources, and they contradict each other, neither is a
 * falseticker, and the time does not jump. */
TEST(test_two_contradicting_sources)
{
	double t;

	begin(3, 2);
	for (t = 2; t < 30; t += 1)
		exchange_all(t);
	for (; t < 60; t += 1) {
		server[0].false_ns = state_of(0, t).used ? 0 : 1e9;
		server[1].false_ns = state_of(1, t).used ? 0 : 1e9;
		exchange_all(t);
	}
	ck_assert_uint_eq(count_falsetickers(0, 2, t), 0);
	ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 1);
}

/* If the selected source disappears, another source is selected, and readers notice
 * nothing. */
TEST(test_selected_source_disappears)
{
	unsigned int i, gone = 9;
	double t;

	begin(4, 3);
	for (t = 2; t < 60; t += 1)
		exchange_all(t);
	for (i = 0; i < 3; i++)
		if (state_of(i, t).used)
			gone = i;
	ck_assert_uint_lt(gone, 3);
	tsct_cluster_reset_source(child.cluster, gone);
	ck_assert(!state_of(gone, t).used && !state_of(gone, t).known);
	for (; t < 90; t += 1) {
		for (i = 0; i < 3; i++)
			exchange(&server[i], 0, &master, &lan, t + 0.02 * i);
		for (i = 0; i < 3; i++)
			if (i != gone)
				exchange(&child, i, &server[i], &lan,
					 t + 0.2 + 0.02 * i);
		publish(&child, t + 0.3);
		read_time(&child, &master, &master_params, t + 0.5);
	}
	ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 1);
	ck_assert_uint_eq(child.state.cluster_status, TSCT_STATUS_SYNCHRONIZED);
}

/* The master restarts, and the three nodes that the child polls follow the new timeline
 * one after another. The child begins only one new epoch. */
TEST(test_new_timeline)
{
	double t;

	begin(5, 3);
	for (t = 2; t < 30; t += 1)
		exchange_all(t);
	master_params = make_master(&master, t, 2);
	for (unsigned int i = 0; i < 3; i++) {
		exchange(&server[i], 0, &master, &lan, t + 0.1);
		exchange(&server[i], 0, &master, &lan, t + 0.2);
		exchange(&child, 0, &server[0], &lan, t + 0.3);
		exchange(&child, 1, &server[1], &lan, t + 0.4);
		exchange(&child, 2, &server[2], &lan, t + 0.5);
		publish(&child, t + 0.6);
		t += 1;
	}
	for (; t < 60; t += 1)
		exchange_all(t);
	ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 2);
	ck_assert_uint_eq(child.state.cluster_timeline, 2);
}

/* A server that reports another timeline than the other two is not selected. */
TEST(test_unconfirmed_timeline)
{
	struct tsct_remote remote;
	struct tsct_exchange x;
	double t;

	begin(6, 3);
	for (t = 2; t < 30; t += 1)
		exchange_all(t);
	remote = make_remote(&server[0], t);
	remote.epoch = 99;
	remote.params.base_ns += 1000000000;
	for (int i = 0; i < 20; i++) {
		x = (struct tsct_exchange) {
			.t1 = node_ticks(&child, t + 0.1 * i),
			.t2 = node_ticks(&server[0], t + 0.1 * i + 1e-4),
			.t3 = node_ticks(&server[0], t + 0.1 * i + 2e-4),
			.t4 = node_ticks(&child, t + 0.1 * i + 3e-4),
		};
		tsct_cluster_feed(child.cluster, 0, &x, &remote);
	}
	ck_assert_uint_eq(tsct_cluster_epoch(child.cluster), 1);
	ck_assert(!state_of(0, t + 2).used);
}

/* ---- NTP servers --------------------------------------------------------- */

/* Makes an exchange with an NTP server. The server's counter is its clock in ns, which
 * is @off_ns ahead of the true time, with an error bound of @error_ns. */
static void exchange_ntp(unsigned int source, double t, double off_ns,
			 uint64_t error_ns)
{
	double there = t + delay(&lan), back = there + REPLY_S;
	double home = back + delay(&lan);
	struct tsct_remote remote = { .stratum = 2 };
	struct tsct_exchange x = {
		.t1 = node_ticks(&child, t), .t4 = node_ticks(&child, home),
		.local_error = 1, .remote_error = 1,
	};

	x.t2 = (uint64_t)(BEGIN_NS + (int64_t)(there * 1e9 + off_ns));
	x.t3 = (uint64_t)(BEGIN_NS + (int64_t)(back * 1e9 + off_ns));
	remote.params = (struct tsct_remote_params) {
		.mult = TSCT_NS_MULT, .as_of = x.t3,
		.error_ps = error_ns * 1000,
		.growth = tsct_growth(TSCT_NS_MULT, 15000),
	};
	child.events[tsct_cluster_feed(child.cluster, source, &x, &remote)]++;
}

/* If one of three NTP servers is off by a second, the time is that of the other two. */
TEST(test_ntp_servers)
{
	struct tsct_clock_time r;
	double t, off = 0;

	begin(7, 3);
	for (t = 2; t < 100; t += 1) {
		exchange_ntp(0, t, 20e3, 50000);
		exchange_ntp(1, t + 0.1, 1e9, 50000);
		exchange_ntp(2, t + 0.2, -20e3, 50000);
		publish(&child, t + 0.3);
		ck_assert_int_eq(tsct_clock_cluster_lookup(&child.state,
				 node_ticks(&child, t + 0.5), &r), 0);
		off = (double)(r.ns - BEGIN_NS) - (t + 0.5) * 1e9;
		if (t > 3)		/* until t = 3 s, there are too few exchanges
					 * for detecting the falseticker */
			ck_assert(fabs(off) <= (double)r.error_ps * 1e-3);
	}
	ck_assert(fabs(off) < 60e3);
	ck_assert(state_of(1, t).falseticker && !state_of(0, t).falseticker &&
		  !state_of(2, t).falseticker);
	ck_assert_uint_eq(child.state.cluster_master, 0);
	ck_assert_uint_eq(child.state.cluster_status, TSCT_STATUS_SYNCHRONIZED);
}

/* The timeline of a master is preferred to the time of NTP servers. */
TEST(test_master_is_preferred_to_ntp)
{
	double t;

	begin(8, 3);
	for (t = 2; t < 20; t += 1) {
		exchange_ntp(1, t, 0, 50000);
		exchange_ntp(2, t + 0.1, 0, 50000);
		publish(&child, t + 0.2);
	}
	ck_assert_uint_eq(child.state.cluster_epoch, 1);
	for (; t < 40; t += 1) {
		exchange(&child, 0, &master, &lan, t);
		exchange_ntp(1, t + 0.1, 0, 50000);
		exchange_ntp(2, t + 0.2, 0, 50000);
		publish(&child, t + 0.3);
		read_time(&child, &master, &master_params, t + 0.5);
	}
	ck_assert_uint_eq(child.state.cluster_master, master.id);
	ck_assert_uint_eq(child.state.cluster_epoch, 2);
	ck_assert_uint_eq(child.events[TSCT_CLUSTER_EPOCH], 1);
}

/* A server whose counter runs 1 % fast is rejected. */
TEST(test_one_percent_fast)
{
	double t;

	begin(9, 1);
	for (t = 2; t < 60; t += 1) {
		exchange_ntp(0, t, t * 1e7, 50000);
		publish(&child, t + 0.1);
	}
	ck_assert(!state_of(0, t).known);
	ck_assert_msg(*state_of(0, t).reason, "no reason");
	printf("# %s\n", state_of(0, t).reason);
}

/* ---- few exchanges with long delays --------------------------------------- */

/* Magnitude of the relative difference of a rate from that of the child's nominal counter */
static double rate_from_nominal(__u64 mult)
{
	return fabs((double)mult * 0x1p-56 * child.crystal.hz * 1e-9 - 1);
}

/* The delays allow rates that no crystal has. The time runs at a plausible one, at most 200 ppm
 * from nominal and 500 ppm more in a slew, and its bound holds. The source is not refused. */
LOOP_TEST(test_plausible_rate, 0, 40)
{
	static const struct path busy = { .least_s = 50e-6, .mean_s = 500e-6 };

	begin(100 + (unsigned int)_i, 1);
	for (double t = 2; t < 4; t += 0.0625) {
		exchange(&child, 0, &master, &busy, t);
		publish(&child, t + 0.01);
		read_time(&child, &master, &master_params, t + 0.05);
		ck_assert_str_eq(state_of(0, t).reason, "");
		ck_assert(rate_from_nominal(child.state.cluster.mult) < 250e-6);
		ck_assert(rate_from_nominal(child.state.cluster.slew_mult) < 750e-6);
	}
	ck_assert_uint_gt(child.readings, 25);
}

/* ---- random input -------------------------------------------------------- */

static uint64_t random_value(void)
{
	return any(4) ? any64() >> any(64) : 0 - (any64() >> any(64));
}

static void make_implausible(struct tsct_remote *remote, struct tsct_exchange *x)
{
	__u64 *fields[] = {
		&x->t1, &x->t2, &x->t3, &x->t4, &remote->params.base,
		(__u64 *)&remote->params.base_ns, &remote->params.mult,
		&remote->params.as_of, &remote->params.error_ps,
		&remote->params.growth, &remote->master, &remote->node,
	};
	unsigned int i, spoilt = any(4);

	while (spoilt--) {
		i = any(ROWS(fields));
		*fields[i] = any(2) ? random_value() :
			*fields[i] + random_value() % 1000;
	}
	if (!any(8))
		remote->epoch = any(4);
	if (!any(8))
		remote->status = any(8);
	if (!any(16))
		remote->has_params = !remote->has_params;
	if (!any(16))
		remote->depth = (uint16_t)any64();
	if (!any(8))
		x->remote_error = (uint32_t)random_value();
}

/* With random exchanges, each published state is one that the module accepts as a
 * continuation of the previous state; publish() checks that. */
LOOP_TEST(test_random_input, 0, 4)
{
	struct tsct_remote remote;
	struct tsct_exchange x;
	unsigned int i, known = 0;
	double t = 2;

	begin(10 + (unsigned int)_i, 3);
	for (i = 0; i < 1500; i++, t += any_real(0.001, any(20) ? 1 : 100)) {
		unsigned int source = any(3);

		if (t > WORLD_S - 200)
			t = WORLD_S - 200;
		remote = make_remote(&master, t);
		x = (struct tsct_exchange) {
			.t1 = node_ticks(&child, t),
			.t2 = node_ticks(&master, t + 1e-4),
			.t3 = node_ticks(&master, t + 2e-4),
			.t4 = node_ticks(&child, t + 3e-4),
		};
		if (any(3))
			make_implausible(&remote, &x);
		tsct_cluster_feed(child.cluster, source, &x, &remote);
		if (!any(100))
			tsct_cluster_reset_source(child.cluster, source);
		if (!any(200))
			tsct_cluster_disrupt(child.cluster);
		publish(&child, t + 4e-4);
		known += tsct_status_has_time(child.state.cluster_status);
		state_of(source, t);
	}
	ck_assert_uint_gt(known, 0);
}
