/* SPDX-License-Identifier: MIT */
/*
 * Simulated nodes with a crystal each, network paths between them, and the true cluster
 * time. publish() publishes a node's clock state as the daemon does, and checks that
 * the module would accept the state. read_time() reads a node's cluster time, and
 * checks that the time is within its error bound and does not decrease within an epoch.
 */
#ifndef TESTS_CLUSTER_WORLD_H
#define TESTS_CLUSTER_WORLD_H

#include "lib/clockpage/clock_params.h"
#include "lib/clockpage/clock_segments.h"
#include "seed.h"
#include "lib/sync/cluster.h"
#include "suite.h"

#define WORLD_S		9000	/* longest simulated time, s */
#define LEAD_S		0.005
#define BEGIN_NS	1700000000000000000LL
#define REPLY_S		20e-6	/* time from a request to its answer, s */
#define WANDER		5e-9	/* largest change of a crystal's rate in a second, relative */

static double any_real(double from, double to)
{
	return random_uniform(&seed_random, from, to);
}

/* ---- crystals ------------------------------------------------------------ */

struct crystal {
	double hz;			/* nominal frequency, known to the node */
	double *rate;			/* relative rate error in each second */
	long double *ticks;		/* ticks at the begin of each second */
};

/* Makes a crystal off by @ppm. @wander: largest change of its rate in a second */
static void make_crystal(struct crystal *c, double hz, double ppm,
			 double wander)
{
	double rate = ppm * 1e-6;

	c->hz = hz;
	c->rate = calloc(WORLD_S, sizeof(c->rate[0]));
	c->ticks = calloc(WORLD_S + 1, sizeof(c->ticks[0]));
	c->ticks[0] = (long double)any64() / 4;
	for (unsigned int i = 0; i < WORLD_S; i++) {
		c->rate[i] = rate;
		c->ticks[i + 1] = c->ticks[i] + (long double)hz * (1 + rate);
		rate += any_real(-wander, wander);
	}
}

static void free_crystal(struct crystal *c)
{
	free(c->rate);
	free(c->ticks);
}

static long double exact_ticks(const struct crystal *c, double t)
{
	unsigned int s = (unsigned int)t;

	return c->ticks[s] + (long double)(t - s) * c->hz * (1 + c->rate[s]);
}

static uint64_t ticks_at(const struct crystal *c, double t)
{
	return (uint64_t)exact_ticks(c, t);
}

/* ---- simulated nodes ----------------------------------------------------- */

struct node {
	struct crystal crystal;
	uint64_t id;
	double jump_ticks;		/* sum of all jumps of the node's counter:
					 * its value minus the crystal's ticks */
	struct tsct_cluster *cluster;
	struct tsct_clock_state state;	/* clock state that the node published last */
	/* Last reading of the node's time */
	int64_t last_ns;
	uint32_t last_epoch;
	unsigned int readings, missing, events[3];
	double worst_ns, square_ns;
	/* Error in ns of the clock params that the node sends; not 0: a falseticker */
	double false_ns;
};

struct path {
	double least_s, mean_s;		/* smallest delay, and mean of the queueing
					 * delay added to it, in each direction */
	double detour_s;		/* additional delay of requests only, s */
};

static const struct path lan = { .least_s = 50e-6, .mean_s = 20e-6 };

static uint64_t node_ticks(const struct node *n, double t)
{
	return ticks_at(&n->crystal, t) + (uint64_t)(int64_t)n->jump_ticks;
}

static void make_node(struct node *n, unsigned int sources)
{
	struct tsct_cluster_options options = { 0 };

	memset(n, 0, sizeof(*n));
	n->id = any64() | 1;
	make_crystal(&n->crystal, any_real(1e9, 4e9), any_real(-50, 50), WANDER);
	options.hz = n->crystal.hz;
	options.node = n->id;
	n->cluster = tsct_cluster_new(&options, sources);
	ck_assert_ptr_nonnull(n->cluster);
	n->state.source = TSCT_SOURCE_TSC;
}

static void free_node(struct node *n)
{
	tsct_cluster_free(n->cluster);
	free_crystal(&n->crystal);
	memset(n, 0, sizeof(*n));
}

/* Makes the node the master from second @t on. Returns its timeline. */
static struct tsct_remote_params make_master(struct node *n, double t,
					     uint32_t timeline)
{
	struct tsct_remote_params params = {
		.base = node_ticks(n, t),
		.base_ns = BEGIN_NS + (int64_t)(t * 1e9),
		.mult = (uint64_t)(1e9 / n->crystal.hz * 0x1p56),
	};

	params.as_of = params.base;
	tsct_cluster_master(n->cluster, n->id, &params, timeline);
	return params;
}

/* ---- true cluster time --------------------------------------------------- */

/* Returns the true cluster time at second @t minus @ns, exact to some ps. */
static double truth_off(const struct node *master,
			const struct tsct_remote_params *params, double t,
			int64_t ns)
{
	long double ticks = exact_ticks(&master->crystal, t) +
		(long double)master->jump_ticks - (long double)params->base;
	long double exact = ticks * (long double)params->mult * 0x1p-56L;

	return (double)(exact - (long double)(ns - params->base_ns));
}

/* ---- publishing and reading the time ------------------------------------- */

static void publish(struct node *n, double t)
{
	uint64_t now = node_ticks(n, t);
	uint64_t begin = node_ticks(n, t + LEAD_S);
	struct tsct_clock_state next = n->state;

	/* While the cluster's published clock params begin in the future, new params
	 * cannot continue them: publish nothing. (The daemon's timekeeper publishes the
	 * same cluster params again.) */
	if (n->state.cluster.mult && (int64_t)(n->state.cluster.base_cycles - now) > 0
	    && n->state.cluster_epoch == tsct_cluster_epoch(n->cluster))
		return;
	tsct_cluster_compose(n->cluster, begin, &next);
	ck_assert_int_eq(tsct_clock_state_check(&next), 0);
	ck_assert_int_eq(tsct_segments_check(&n->state, &next, now), 0);
	tsct_cluster_published(n->cluster, &next.cluster);
	n->state = next;
}

static void read_time(struct node *n, const struct node *master,
		      const struct tsct_remote_params *params, double t)
{
	struct tsct_clock_time r;
	double off, bound;
	int err = tsct_clock_cluster_lookup(&n->state, node_ticks(n, t), &r);

	if (err) {
		n->missing++;
		return;
	}
	if (n->last_epoch == r.epoch)
		ck_assert_int_ge(r.ns, n->last_ns);
	n->last_epoch = r.epoch;
	n->last_ns = r.ns;
	off = truth_off(master, params, t, r.ns);
	bound = (double)r.error_ps * 1e-3 + 1;
	ck_assert_msg(fabs(off) <= bound, "at %.3f s: off by %.1f ns, bound %.1f"
		      ", status %u, epoch %u (seed %u)", t, off, bound,
		      r.status, r.epoch, first_seed);
	n->readings++;
	n->square_ns += off * off;
	if (fabs(off) > n->worst_ns)
		n->worst_ns = fabs(off);
}

/* ---- exchanges between nodes --------------------------------------------- */

static double delay(const struct path *p)
{
	return p->least_s - p->mean_s * log(any_real(1e-9, 1));
}

/* Returns the state that a node sends in an answer at second @t. */
static struct tsct_remote make_remote(const struct node *n, double t)
{
	struct tsct_timeline timeline;
	struct tsct_remote r;

	tsct_cluster_timeline(n->cluster, node_ticks(n, t), &timeline);
	r = (struct tsct_remote) {
		.node = n->id, .master = timeline.master, .epoch = timeline.epoch,
		.status = timeline.status, .depth = timeline.depth, .sd_ps = timeline.sd_ps,
		.has_params = timeline.has_params, .params = timeline.params,
	};
	r.params.base_ns += (int64_t)n->false_ns;
	return r;
}

/* Makes an exchange of the node with another node at second @t, over path @p. Returns
 * the time at which the answer arrives. */
static double exchange(struct node *n, unsigned int source,
		       const struct node *other, const struct path *p, double t)
{
	double there = t + delay(p) + p->detour_s, back = there + REPLY_S;
	double home = back + delay(p);
	struct tsct_remote remote = make_remote(other, back);
	struct tsct_exchange x = {
		.t1 = node_ticks(n, t), .t2 = node_ticks(other, there),
		.t3 = node_ticks(other, back), .t4 = node_ticks(n, home),
		.local_error = 1, .remote_error = 1,
	};

	n->events[tsct_cluster_feed(n->cluster, source, &x, &remote)]++;
	return home;
}

#endif /* TESTS_CLUSTER_WORLD_H */
