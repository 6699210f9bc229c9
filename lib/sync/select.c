// SPDX-License-Identifier: MIT
/*
 * Clock selection: chooses the timeline (master, epoch) with the highest
 * weight, then the source on it with the smallest bound (cf. RFC 5905, 11.2.1).
 */
#include <stdio.h>

#include "cluster_private.h"
#include "intersection.h"

/* Hysteresis: a new source needs a bound below this fraction of the bound of the
 * source in use. */
#define SWITCH_RATIO	0.8

/* Largest error by rounding when two times are compared, ns */
#define ROUNDING_NS	2.0

static bool has_time(const struct tsct_cluster *cluster,
		     const struct tsct_sync_source *source)
{
	const struct tsct_cluster_options *options = &cluster->options;
	double age = (double)(__s64)(cluster->now -
				     source->est.time.point.cycles);

	return source->has_est && age < options->void_s * options->hz;
}

/* True: the source has a valid time and is not in holdover. */
static bool is_fresh(const struct tsct_cluster *cluster,
		     const struct tsct_sync_source *source)
{
	return has_time(cluster, source) &&
		(__s64)(cluster->now - source->est.time.point.cycles) <=
		(__s64)tsct_sync_source_holdover_cycles(source,
							&cluster->options);
}

/* Return the timeline of a source: master and epoch; both 0 for every NTP server */
static __u64 master_of(const struct tsct_sync_source *source)
{
	return source->remote.has_params ? source->remote.master : 0;
}

static __u32 epoch_of(const struct tsct_sync_source *source)
{
	return source->remote.has_params ? source->remote.epoch : 0;
}

static bool on_timeline(const struct tsct_sync_source *source, __u64 master,
			__u32 timeline)
{
	return master_of(source) == master && epoch_of(source) == timeline;
}

/* ---- selection of a timeline --------------------------------------------- */

/* Weight of a timeline: the number of fresh sources. A source on a master's timeline
 * counts more than all NTP servers together. */
static unsigned int timeline_weight(const struct tsct_cluster *cluster,
				    __u64 master, __u32 timeline)
{
	unsigned int weight = 0, i;

	for (i = 0; i < cluster->nr; i++) {
		const struct tsct_sync_source *source = &cluster->sources[i];

		if (on_timeline(source, master, timeline) &&
		    is_fresh(cluster, source))
			weight += source->remote.has_params ?
				TSCT_SOURCES_MAX + 1 : 1;
	}
	return weight;
}

/* Keeps the current timeline unless another timeline has a higher weight, or no source
 * on the current timeline has a valid estimate of the time. */
static void select_timeline(const struct tsct_cluster *cluster,
			    struct tsct_cluster_selection *ret)
{
	unsigned int best = 0, i;

	ret->master = cluster->master;
	ret->timeline = cluster->timeline;
	for (i = 0; i < cluster->nr && cluster->at_timeline && !best; i++)
		if (on_timeline(&cluster->sources[i], cluster->master,
				cluster->timeline) &&
		    has_time(cluster, &cluster->sources[i]))
			best = timeline_weight(cluster, cluster->master,
					       cluster->timeline);
	for (i = 0; i < cluster->nr; i++) {
		const struct tsct_sync_source *source = &cluster->sources[i];
		__u64 master = master_of(source);
		__u32 timeline = epoch_of(source);
		unsigned int weight = timeline_weight(cluster, master, timeline);

		if (!is_fresh(cluster, source) || weight <= best)
			continue;
		best = weight;
		ret->master = master;
		ret->timeline = timeline;
	}
}

/* ---- selection of a source ----------------------------------------------- */

/* Candidates: the sources on the selected timeline */
struct candidates {
	unsigned int nr;
	unsigned int source[TSCT_SOURCES_MAX];
	struct tsct_correctness_interval interval[TSCT_SOURCES_MAX];
	struct tsct_intersection_result result;
};

/* Sets the correctness intervals of the candidates' present time, in ns after the
 * estimate of the first candidate. */
static void collect_candidates(struct tsct_cluster *cluster,
			       const struct tsct_cluster_selection *selection,
			       struct candidates *ret)
{
	struct tsct_clock_params zero = { .base_cycles = cluster->now };
	unsigned int i;

	ret->nr = 0;
	for (i = 0; i < cluster->nr; i++) {
		struct tsct_sync_source *source = &cluster->sources[i];
		struct tsct_correctness_interval *interval =
			&ret->interval[ret->nr];

		source->falseticker = false;
		if (!on_timeline(source, selection->master,
				 selection->timeline) ||
		    !has_time(cluster, source))
			continue;
		if (!ret->nr)
			zero.base_ns = source->est.time.point.ns;
		interval->middle = tsct_servo_offset_ns(&source->est.time, &zero,
							cluster->now);
		interval->bound = tsct_source_params_bound_ns(&source->est,
							      cluster->now) +
			ROUNDING_NS;
		ret->source[ret->nr++] = i;
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

static void mark_falsetickers(struct tsct_cluster *cluster,
			      const struct candidates *candidates)
{
	const struct tsct_intersection_result *result = &candidates->result;
	double middle = (result->lo + result->hi) / 2;
	char apart[32], bound[32];
	unsigned int i;

	for (i = 0; i < candidates->nr; i++) {
		struct tsct_sync_source *source =
			&cluster->sources[candidates->source[i]];
		const struct tsct_correctness_interval *interval =
			&candidates->interval[i];

		source->falseticker = interval->falseticker;
		if (!interval->falseticker)
			continue;
		print_ns(apart, sizeof(apart),
			 tsct_magnitude(interval->middle - middle));
		print_ns(bound, sizeof(bound), interval->bound);
		snprintf(source->falseticker_reason,
			 sizeof(source->falseticker_reason),
			 "outvoted: %s %s the time on which %u of %u sources agree, "
			 "with an error bound of %s", apart,
			 interval->middle > middle ? "ahead of" : "behind",
			 result->agree, candidates->nr, bound);
	}
}

static void select_source(const struct tsct_cluster *cluster,
			  const struct candidates *candidates,
			  struct tsct_cluster_selection *ret)
{
	const struct tsct_intersection_result *result = &candidates->result;
	double best = 0, far;
	unsigned int i;

	ret->used = -1;
	ret->extra_ns = 0;
	for (i = 0; i < candidates->nr; i++) {
		const struct tsct_correctness_interval *interval =
			&candidates->interval[i];
		double bound = interval->bound;

		if (interval->falseticker)
			continue;
		/* Without a majority the source in use stays selected. */
		if ((int)candidates->source[i] == cluster->used)
			bound *= result->majority ? SWITCH_RATIO : 0;
		if (ret->used >= 0 && bound >= best)
			continue;
		best = bound;
		ret->used = (int)candidates->source[i];
		/* The true time may be anywhere in the intersection of the sources'
		 * correctness intervals, also beyond the used source's bound. */
		far = tsct_larger(result->hi - interval->middle,
				  interval->middle - result->lo);
		ret->extra_ns = candidates->nr > 2 && result->majority ?
			tsct_larger(0, far - interval->bound) : 0;
	}
}

struct tsct_cluster_selection tsct_cluster_select(struct tsct_cluster *cluster)
{
	struct tsct_cluster_selection selection;
	struct candidates candidates;

	select_timeline(cluster, &selection);
	collect_candidates(cluster, &selection, &candidates);
	candidates.result = tsct_intersection(candidates.interval,
					      candidates.nr);
	mark_falsetickers(cluster, &candidates);
	select_source(cluster, &candidates, &selection);
	return selection;
}
