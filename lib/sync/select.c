// SPDX-License-Identifier: MIT
/* Which timeline to be at, and which of the sources that are at it to use. */
#include <stdio.h>

#include "cluster_private.h"
#include "lib/core/offset_estimator.h"
#include "intersection.h"

/* Another source has to be better by so much, or we would never settle. */
#define BETTER		0.8

/* What was cut off of times that are compared */
#define CUT_NS		2.0

static bool is_alive(const struct tsct_cluster *cluster,
		     const struct tsct_sync_source *path)
{
	const struct tsct_cluster_options *options = &cluster->options;
	double void_s = options->void_s > 0 ? options->void_s : 3600;
	double age = (double)(__s64)(cluster->now - path->est.at);

	return path->known && age < void_s * options->hz;
}

static bool is_fresh(const struct tsct_cluster *cluster,
		     const struct tsct_sync_source *path)
{
	return is_alive(cluster, path) &&
		(__s64)(cluster->now - path->est.at) <=
		(__s64)tsct_sync_source_holdover_cycles(path, &cluster->options);
}

static bool is_at(const struct tsct_sync_source *path, __u64 master, __u32 timeline)
{
	return tsct_sync_source_master(path) == master &&
		tsct_sync_source_epoch(path) == timeline;
}

/* ---- timelines ------------------------------------------------------------- */

/* A master's counts for more than that of any number of NTP servers. */
static unsigned int weigh(const struct tsct_cluster *cluster, __u64 master,
			  __u32 timeline)
{
	unsigned int weight = 0, i;

	for (i = 0; i < cluster->nr; i++) {
		const struct tsct_sync_source *path = &cluster->sources[i];

		if (is_at(path, master, timeline) && is_fresh(cluster, path))
			weight += path->remote.has_line ?
				TSCT_SOURCES_MAX + 1 : 1;
	}
	return weight;
}

static bool is_any_at(const struct tsct_cluster *cluster)
{
	unsigned int i;

	for (i = 0; i < cluster->nr; i++)
		if (is_at(&cluster->sources[i], cluster->master,
			  cluster->timeline) &&
		    is_alive(cluster, &cluster->sources[i]))
			return true;
	return false;
}

/* We stay where we are unless more sources, in step, are elsewhere. */
static void choose_timeline(struct tsct_cluster *cluster, __u64 *ret_master,
			    __u32 *ret_timeline)
{
	unsigned int best = 0, i;

	*ret_master = cluster->master;
	*ret_timeline = cluster->timeline;
	if (cluster->at_timeline && is_any_at(cluster))
		best = weigh(cluster, cluster->master, cluster->timeline);
	for (i = 0; i < cluster->nr; i++) {
		const struct tsct_sync_source *path = &cluster->sources[i];
		unsigned int weight = weigh(cluster, tsct_sync_source_master(path),
					    tsct_sync_source_epoch(path));

		if (!is_fresh(cluster, path) || weight <= best)
			continue;
		best = weight;
		*ret_master = tsct_sync_source_master(path);
		*ret_timeline = tsct_sync_source_epoch(path);
	}
}

/* ---- votes ------------------------------------------------------------------- */

struct ballot {
	unsigned int nr;
	unsigned int source[TSCT_SOURCES_MAX];
	struct tsct_correctness_interval claim[TSCT_SOURCES_MAX];
	struct tsct_intersection_result vote;
};

/* All claims are about now, and counted from what the first one says of it. */
static void collect(struct tsct_cluster *cluster, __u64 master, __u32 timeline,
		    struct ballot *ballot)
{
	struct tsct_clock_params zero = { .base_cycles = cluster->now };
	unsigned int i;

	ballot->nr = 0;
	for (i = 0; i < cluster->nr; i++) {
		struct tsct_sync_source *path = &cluster->sources[i];
		struct tsct_correctness_interval *claim = &ballot->claim[ballot->nr];

		path->liar = false;
		if (!is_at(path, master, timeline) ||
		    !is_alive(cluster, path))
			continue;
		if (!ballot->nr)
			zero.base_ns = path->est.ns;
		claim->at = tsct_source_params_offset_ns(&path->est, &zero, cluster->now);
		claim->bound = tsct_source_params_bound_ns(&path->est, cluster->now) +
			CUT_NS;
		ballot->source[ballot->nr++] = i;
	}
}

static void print_ns(char *text, size_t size, double ns)
{
	if (ns < 1e4)
		snprintf(text, size, "%.0f ns", ns);
	else if (ns < 1e6)
		snprintf(text, size, "%.1f us", ns * 1e-3);
	else if (ns < 1e9)
		snprintf(text, size, "%.1f ms", ns * 1e-6);
	else
		snprintf(text, size, "%.1f s", ns * 1e-9);
}

static void name_liars(struct tsct_cluster *cluster, const struct ballot *ballot)
{
	char apart[32], bound[32];
	unsigned int i;

	for (i = 0; i < ballot->nr; i++) {
		struct tsct_sync_source *path = &cluster->sources[ballot->source[i]];
		const struct tsct_correctness_interval *claim = &ballot->claim[i];
		double middle = (ballot->vote.lo + ballot->vote.hi) / 2;

		path->liar = claim->liar;
		if (!claim->liar)
			continue;
		print_ns(apart, sizeof(apart),
			 tsct_magnitude(claim->at - middle));
		print_ns(bound, sizeof(bound), claim->bound);
		snprintf(path->liar_why, sizeof(path->liar_why),
			 "outvoted: %s %s of what %u of %u sources agree on, and "
			 "says that it knows to %s", apart,
			 claim->at > middle ? "ahead" : "behind",
			 ballot->vote.agree, ballot->nr, bound);
	}
}

/* How far the truth may be from the claim, beyond its own bound */
static double beyond(const struct tsct_correctness_interval *claim,
		     const struct tsct_intersection_result *vote)
{
	double far = tsct_larger(vote->hi - claim->at, claim->at - vote->lo);

	return tsct_larger(0, far - claim->bound);
}

static struct tsct_cluster_selection choose_source(const struct tsct_cluster *cluster,
					const struct ballot *ballot)
{
	struct tsct_cluster_selection choice = { .used = -1 };
	double best = 0;
	unsigned int i;

	for (i = 0; i < ballot->nr; i++) {
		const struct tsct_correctness_interval *claim = &ballot->claim[i];
		double bound = claim->bound;

		if (claim->liar)
			continue;
		/* Where nobody is right for sure, changing helps nobody. */
		if ((int)ballot->source[i] == cluster->used)
			bound *= ballot->vote.majority ? BETTER : 0;
		if (choice.used >= 0 && bound >= best)
			continue;
		best = bound;
		choice.used = (int)ballot->source[i];
		choice.extra_ns = ballot->nr > 2 && ballot->vote.majority ?
			beyond(claim, &ballot->vote) : 0;
	}
	return choice;
}

struct tsct_cluster_selection tsct_cluster_select(struct tsct_cluster *cluster)
{
	struct tsct_cluster_selection choice;
	struct ballot ballot;
	__u32 timeline;
	__u64 master;

	choose_timeline(cluster, &master, &timeline);
	collect(cluster, master, timeline, &ballot);
	ballot.vote = tsct_intersection(ballot.claim, ballot.nr);
	name_liars(cluster, &ballot);
	choice = choose_source(cluster, &ballot);
	choice.master = master;
	choice.timeline = timeline;
	return choice;
}
