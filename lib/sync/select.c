// SPDX-License-Identifier: MIT
/*
 * Clock selection: chooses the timeline (master, epoch) with the highest
 * weight, then the source on it with the smallest bound (cf. RFC 5905, 11.2.1), and
 * combines the sources.
 *
 * Nodes may be sources of each other, so a source may send this node its own time back, which
 * proves nothing. So only upstream sources are compared to find falsetickers and the interval
 * that holds the true time, and are averaged. A source is upstream if it is an NTP server,
 * if it comes before this node in the order of hops to the master, then of node ids, or if no
 * node polls this node. A source that is not upstream is selected only if its error bound is
 * well below this node's own: the bound of a source that follows this node would be larger.
 */
#include <math.h>
#include <stdio.h>

#include "cluster_private.h"

/* Hysteresis: a new source needs a bound below this fraction of the bound of the
 * source in use. */
#define SWITCH_RATIO	0.8

/* Largest error by rounding when two times are compared, ns */
#define ROUNDING_NS	2.0

/* A source with fewer exchanges in its fit is not averaged, because the
 * standard deviation of such a fit is uncertain. */
#define COMBINED_KEPT_MIN	8

/* Usual wander of the rate between two crystals that wander by 1e-9 each, relative, per
 * root of a second (see fit_regression.c): s seconds after its last exchange, the standard
 * deviation of an estimate has grown by WALK s^1.5 / sqrt(3) s. */
#define WALK		1.4e-9

/* ---- intersection -------------------------------------------------------- */

/*
 * Intersection algorithm (cf. RFC 5905, 11.2.1): finds falsetickers among
 * sources by their correctness intervals. The intervals of all correct sources
 * contain the true time, so they overlap.
 */

static bool contains(const struct tsct_correctness_interval *interval,
		     double point)
{
	return point >= interval->middle - interval->bound &&
		point <= interval->middle + interval->bound;
}

static unsigned int count_at(const struct tsct_correctness_interval *all,
			     unsigned int nr, double point)
{
	unsigned int sum = 0, i;

	for (i = 0; i < nr; i++)
		sum += contains(&all[i], point);
	return sum;
}

/*
 * Returns true if the interval is part of a group of @agree intervals that overlap.
 * The region of overlap begins at the lower end of one interval. Every interval
 * that overlaps with the region contains that end: an interval that begins within
 * the region would make the group larger than @agree, the largest possible number.
 */
static bool in_largest_group(const struct tsct_correctness_interval *all,
			     unsigned int nr,
			     const struct tsct_correctness_interval *interval,
			     unsigned int agree)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		double begin = all[i].middle - all[i].bound;

		if (contains(interval, begin) && count_at(all, nr, begin) == agree)
			return true;
	}
	return false;
}

/* Sets lo and hi to the hull of all points in at least @need intervals. Both lo and hi
 * are ends of intervals. */
static void find_hull(const struct tsct_correctness_interval *all,
		      unsigned int nr, unsigned int need,
		      struct tsct_intersection_result *ret)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		double begin = all[i].middle - all[i].bound;

		if (count_at(all, nr, begin) < need)
			continue;
		ret->lo = any && ret->lo < begin ? ret->lo : begin;
		any = true;
	}
	ret->hi = any ? ret->lo : ret->hi;
	for (i = 0; i < nr; i++) {
		double end = all[i].middle + all[i].bound;

		if (end > ret->hi && count_at(all, nr, end) >= need)
			ret->hi = end;
	}
}

struct tsct_intersection_result
tsct_intersection(struct tsct_correctness_interval *all, unsigned int nr)
{
	struct tsct_intersection_result ret = { .lo = 1, .hi = 0 };
	unsigned int i;

	for (i = 0; i < nr; i++) {
		unsigned int here = count_at(all, nr,
					     all[i].middle - all[i].bound);

		ret.agree = max(ret.agree, here);
	}
	ret.majority = ret.agree > nr / 2;
	for (i = 0; i < nr; i++)
		all[i].falseticker = ret.majority &&
			!in_largest_group(all, nr, &all[i], ret.agree);
	if (ret.majority)
		find_hull(all, nr, nr - (nr - 1) / 2, &ret);
	return ret;
}

/* ---- combination --------------------------------------------------------- */

/*
 * Combination of several peers' estimates of one time: the weighted mean with the least
 * variance, where peers also differ for reasons that no peer can measure, such as the
 * asymmetry of its path. Pure.
 *
 * The model is that of random effects (DerSimonian and Laird, 1986). Peer k's estimate is
 * off by an error of the variance v[k] = sd[k]^2 + inherited[k]^2 that the peer's own
 * measurements explain, and by an error of the variance spread^2 that is the same for all
 * peers and unknown. With w[k] = 1 / v[k] and the weighted mean m, the moment estimate is
 *	Q = sum of w[k] (offset[k] - m)^2
 *	spread^2 = max(0, (Q - (n - 1)) / (sum w - sum w^2 / sum w))
 * and the weights are 1 / (v[k] + spread^2). So peers that agree as well as they should are
 * weighted by their variances, and peers that do not are weighted more equally.
 *
 * Peers may have got their time from the same nodes. The part of their errors that they
 * inherit is taken to be common to all of them, so it does not average out:
 *	sd^2 = sum of W[k]^2 (sd[k]^2 + spread^2) + (sum of W[k] inherited[k])^2
 * with W[k] the weights, whose sum is 1.
 */

/* Variance of a peer's error, as far as the peer's measurements explain it, ns^2. The error
 * due to resolution has a uniform distribution. */
static double explained_variance(const struct tsct_combine_peer *peer)
{
	return peer->sd_ns * peer->sd_ns + peer->inherited_ns * peer->inherited_ns +
		TSCT_COMBINE_RESOLUTION_NS * TSCT_COMBINE_RESOLUTION_NS / 12;
}

/* Sets the weights. @spread2: variance of the errors that no measurement explains, ns^2.
 * Returns the weighted mean of the offsets. */
static double weigh_peers(struct tsct_combine_peer *peers, unsigned int nr, double spread2)
{
	double sum = 0, mean = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		peers[i].weight = 1 / (explained_variance(&peers[i]) + spread2);
		sum += peers[i].weight;
	}
	for (i = 0; i < nr; i++) {
		peers[i].weight /= sum;
		mean += peers[i].weight * peers[i].offset_ns;
	}
	return mean;
}

/*
 * Moment estimate of the variance that the peers' measurements do not explain, ns^2. The
 * denominator, sum w - sum w^2 / sum w, is computed as the sum of w[i] w[k] over all pairs,
 * times 2 / sum w: the difference would lose all digits if one weight were far greater than
 * the others.
 */
static double unexplained_variance(struct tsct_combine_peer *peers, unsigned int nr)
{
	double mean = weigh_peers(peers, nr, 0), q = 0, sum = 0, pairs = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		double w = 1 / explained_variance(&peers[i]);
		double off = peers[i].offset_ns - mean;

		q += w * off * off;
		pairs += w * sum;
		sum += w;
	}
	if (q <= nr - 1.0)
		return 0;
	return (q - (nr - 1.0)) / (2 * pairs / sum);
}

struct tsct_combined tsct_combine(struct tsct_combine_peer *peers, unsigned int nr)
{
	double spread2 = nr > 1 ? unexplained_variance(peers, nr) : 0;
	struct tsct_combined ret = {
		.offset_ns = weigh_peers(peers, nr, spread2), .spread_ns = sqrt(spread2),
	};
	double noise2 = 0, squares = 0, inherited = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		double w = peers[i].weight;

		/* Rates differ by about 1e-8 only: averages their differences. */
		ret.rate += w * (peers[i].rate - peers[0].rate);
		noise2 += w * w * peers[i].sd_ns * peers[i].sd_ns;
		squares += w * w;
		inherited += w * peers[i].inherited_ns;
	}
	ret.rate += peers[0].rate;
	ret.noise_ns = sqrt(noise2);
	ret.sd_ns = sqrt(noise2 + squares * spread2 + inherited * inherited);
	return ret;
}

/* ---- sources and their timelines ----------------------------------------- */

static bool has_time(const struct tsct_cluster *cluster,
		     const struct tsct_sync_source *source)
{
	const struct tsct_cluster_options *options = &cluster->options;
	double age = (double)(__s64)(cluster->now -
				     source->est.time.point.cycles);

	return source->has_est && age < options->void_s * options->hz;
}

/* Returns true if the source has a valid time and is not in holdover. */
static bool is_fresh(const struct tsct_cluster *cluster,
		     const struct tsct_sync_source *source)
{
	return has_time(cluster, source) &&
		(__s64)(cluster->now - source->est.time.point.cycles) <=
		(__s64)tsct_sync_source_holdover_cycles(source,
							&cluster->options);
}

/* Return the timeline of a source: master and epoch, which are both 0 for every NTP server. */
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

/* ---- order of nodes ------------------------------------------------------ */

/* Returns true if this node follows the source's timeline: the source may follow this node. */
static bool is_own_timeline(const struct tsct_cluster *cluster,
			    const struct tsct_sync_source *source)
{
	return source->remote.has_params && cluster->used >= 0 &&
		on_timeline(source, cluster->master, cluster->timeline);
}

/* Returns true if other nodes may follow this node. */
static bool is_polled(const struct tsct_cluster *cluster)
{
	return cluster->is_polled && (__s64)(cluster->polled_until - cluster->now) > 0;
}

/* Returns true if the source cannot follow this node, if this node is @depth hops from the
 * master. No source follows a node that no node polls. Otherwise nodes are in the order of
 * depth, then of node id, and follow only nodes before them: so this relation has no cycles. */
static bool is_upstream(const struct tsct_cluster *cluster,
			const struct tsct_sync_source *source, __u16 depth)
{
	const struct tsct_remote *remote = &source->remote;

	return !remote->has_params || !is_polled(cluster) || remote->depth < depth ||
		(remote->depth == depth && remote->node < cluster->options.node);
}

/* Returns true if the source is upstream of this node now, or on a timeline
 * that this node does not follow. */
static bool is_evidence(const struct tsct_cluster *cluster,
			const struct tsct_sync_source *source)
{
	return !is_own_timeline(cluster, source) ||
		is_upstream(cluster, source, cluster->depth);
}

/* ---- selection of a timeline --------------------------------------------- */

/* Weight of a timeline: the number of fresh sources that do not follow this node. A
 * source on a master's timeline counts more than all NTP servers together. @upstream: only
 * sources upstream of this node count, on any timeline */
static unsigned int timeline_weight(const struct tsct_cluster *cluster,
				    __u64 master, __u32 timeline, bool upstream)
{
	unsigned int weight = 0, i;

	for (i = 0; i < cluster->nr; i++) {
		const struct tsct_sync_source *source = &cluster->sources[i];

		if (on_timeline(source, master, timeline) &&
		    is_fresh(cluster, source) && is_evidence(cluster, source) &&
		    (!upstream || is_upstream(cluster, source, cluster->depth)))
			weight += source->remote.has_params ?
				TSCT_SOURCES_MAX + 1 : 1;
	}
	return weight;
}

/*
 * Keeps the current timeline unless another timeline has a higher weight, or no source
 * on the current timeline has a valid estimate of the time. While the current timeline
 * has any weight, only upstream sources count for another timeline. When a master
 * starts a new timeline, nodes change to it in the order of their depth, and a node
 * that has not changed yet does not make the nodes that it follows change back.
 */
static void select_timeline(const struct tsct_cluster *cluster,
			    struct tsct_cluster_selection *ret)
{
	unsigned int present = 0, best, i;

	ret->master = cluster->master;
	ret->timeline = cluster->timeline;
	for (i = 0; i < cluster->nr && cluster->at_timeline && !present; i++)
		if (on_timeline(&cluster->sources[i], cluster->master,
				cluster->timeline) &&
		    has_time(cluster, &cluster->sources[i]))
			present = timeline_weight(cluster, cluster->master,
						  cluster->timeline, false);
	best = present;
	for (i = 0; i < cluster->nr; i++) {
		const struct tsct_sync_source *source = &cluster->sources[i];
		__u64 master = master_of(source);
		__u32 timeline = epoch_of(source);
		unsigned int weight = timeline_weight(cluster, master, timeline, present);

		if (!is_fresh(cluster, source) || weight <= best)
			continue;
		best = weight;
		ret->master = master;
		ret->timeline = timeline;
	}
}

/* ---- selection of a source ----------------------------------------------- */

/* Candidates: the sources on the selected timeline; the upstream ones are first. */
struct candidates {
	unsigned int nr, nr_upstream;	/* numbers of all candidates, and of upstream ones */
	unsigned int source[TSCT_SOURCES_MAX];
	struct tsct_correctness_interval interval[TSCT_SOURCES_MAX];
	__s64 zero_ns;		/* origin of the intervals, cluster time, ns */
	struct tsct_intersection_result result;	/* result for the upstream ones */
};

static void add_candidates(const struct tsct_cluster *cluster,
			   const struct tsct_cluster_selection *selection, bool upstream,
			   struct candidates *candidates)
{
	unsigned int i;

	for (i = 0; i < cluster->nr; i++) {
		const struct tsct_sync_source *source = &cluster->sources[i];

		if (on_timeline(source, selection->master, selection->timeline) &&
		    has_time(cluster, source) && is_evidence(cluster, source) == upstream)
			candidates->source[candidates->nr++] = i;
	}
}

/* Collects the candidates. If no candidate is upstream, treats all candidates as upstream. */
static void collect_candidates(const struct tsct_cluster *cluster,
			       const struct tsct_cluster_selection *selection,
			       struct candidates *ret)
{
	ret->nr = 0;
	add_candidates(cluster, selection, true, ret);
	ret->nr_upstream = ret->nr;
	add_candidates(cluster, selection, false, ret);
	if (!ret->nr_upstream)
		ret->nr_upstream = ret->nr;
	if (ret->nr)
		ret->zero_ns = cluster->sources[ret->source[0]].est.time.point.ns;
}

/* Sets the correctness interval of each candidate's time at @at, in ns after zero_ns, and
 * intersects the intervals of the upstream candidates. */
static void intersect_candidates(const struct tsct_cluster *cluster, __u64 at,
				 struct candidates *candidates)
{
	const struct tsct_clock_params zero = {
		.base_cycles = at, .base_ns = candidates->zero_ns,
	};
	unsigned int i;

	for (i = 0; i < candidates->nr; i++) {
		const struct tsct_source_params *est =
			&cluster->sources[candidates->source[i]].est;

		candidates->interval[i] = (struct tsct_correctness_interval) {
			.middle = tsct_servo_offset_ns(&est->time, &zero, at),
			.bound = tsct_source_params_bound_ns(est, at) + ROUNDING_NS,
		};
	}
	candidates->result = tsct_intersection(candidates->interval,
					       candidates->nr_upstream);
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

	for (i = 0; i < cluster->nr; i++)
		cluster->sources[i].falseticker = false;
	for (i = 0; i < candidates->nr_upstream; i++) {
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
			 result->agree, candidates->nr_upstream, bound);
	}
}

/* Returns the largest error bound with which a candidate may be selected, ns: no limit
 * for an upstream source; else SWITCH_RATIO times the bound of this node's time. */
static double bound_limit(const struct tsct_cluster *cluster, bool upstream)
{
	return upstream ? HUGE_VAL : SWITCH_RATIO *
		tsct_source_params_bound_ns(&cluster->est, cluster->now);
}

/* Returns the index of the selected candidate, or -1. */
static int select_source(const struct tsct_cluster *cluster,
			 const struct candidates *candidates)
{
	int used = -1;
	double best = 0;
	unsigned int i;

	for (i = 0; i < candidates->nr; i++) {
		const struct tsct_correctness_interval *interval =
			&candidates->interval[i];
		double bound = interval->bound;

		if (interval->falseticker ||
		    bound > bound_limit(cluster, i < candidates->nr_upstream))
			continue;
		/* Without a majority the source in use stays selected. */
		if ((int)candidates->source[i] == cluster->used)
			bound *= candidates->result.majority ? SWITCH_RATIO : 0;
		if (used >= 0 && bound >= best)
			continue;
		best = bound;
		used = (int)i;
	}
	return used;
}

/* ---- the sources that are combined ---------------------------------------------- */

/* The sources that are averaged */
struct combination {
	unsigned int nr;
	unsigned int candidate[TSCT_SOURCES_MAX];	/* indices of the candidates */
	struct tsct_combine_peer peer[TSCT_SOURCES_MAX];
};

/* Collects the sources to be averaged: the selected one, and all that are upstream of this
 * node, fresh, synchronized and not outvoted. Returns the latest counter value at which any
 * of these sources was measured. */
static __u64 collect_peers(const struct tsct_cluster *cluster,
			   const struct candidates *candidates, int used,
			   struct combination *ret)
{
	const struct tsct_sync_source *selected =
		&cluster->sources[candidates->source[used]];
	__u64 at = selected->est.time.point.cycles;
	unsigned int i;

	ret->nr = 0;
	for (i = 0; i < candidates->nr; i++) {
		const struct tsct_sync_source *source =
			&cluster->sources[candidates->source[i]];

		/* Without a majority it is unknown which of the sources are wrong. */
		if ((int)i != used &&
		    (candidates->interval[i].falseticker ||
		     !candidates->result.majority || !is_fresh(cluster, source) ||
		     source->fit.nr_kept < COMBINED_KEPT_MIN ||
		     source->remote.status != TSCT_STATUS_SYNCHRONIZED ||
		     !is_upstream(cluster, source, selected->remote.depth + 1)))
			continue;
		if ((__s64)(source->est.time.point.cycles - at) > 0)
			at = source->est.time.point.cycles;
		ret->candidate[ret->nr++] = i;
	}
	return at;
}

/* Returns the standard deviation of a source's own time, ns; or the error bound of that
 * time, if the source does not send the deviation (an NTP server, or a node of an earlier
 * release). */
static double inherited_sd_ns(const struct tsct_sync_source *source)
{
	const struct tsct_remote *remote = &source->remote;

	if (remote->has_params && (remote->sd_ps || !remote->depth))
		return remote->sd_ps * 1e-3;
	return (double)remote->params.error_ps * 1e-3;
}

static void fill_peers(const struct tsct_cluster *cluster,
		       const struct candidates *candidates, __u64 at,
		       struct combination *combination)
{
	unsigned int i;

	for (i = 0; i < combination->nr; i++) {
		unsigned int k = combination->candidate[i];
		const struct tsct_sync_source *source =
			&cluster->sources[candidates->source[k]];
		double age_s = tsct_magnitude((double)(__s64)
			(at - source->est.time.point.cycles)) / cluster->options.hz;
		double walk_ns = WALK * age_s * sqrt(age_s / 3) * 1e9;

		combination->peer[i] = (struct tsct_combine_peer) {
			.offset_ns = candidates->interval[k].middle,
			.sd_ns = hypot(source->est.sd_ns, walk_ns),
			.inherited_ns = inherited_sd_ns(source),
			.rate = source->est.time.rate,
		};
	}
}

/*
 * Sets the interval that holds the true time: the intersection of the upstream candidates
 * if there are more than two; else the interval of the selected source, as two sources
 * cannot check each other.
 */
static void true_range(const struct candidates *candidates, int used,
		       double *ret_lo, double *ret_hi)
{
	const struct tsct_correctness_interval *interval =
		&candidates->interval[used];

	/* The interval of one source is not compared with others, so
	 * ROUNDING_NS is subtracted. */
	*ret_lo = interval->middle - interval->bound + ROUNDING_NS;
	*ret_hi = interval->middle + interval->bound - ROUNDING_NS;
	if (candidates->nr_upstream > 2 && candidates->result.majority) {
		*ret_lo = candidates->result.lo;
		*ret_hi = candidates->result.hi;
	}
}

/*
 * Sets the estimate at @at to the combined time and rate, with the time limited to the
 * range of the true time. The error bound reaches to the farther end of that range. It
 * grows like the selected source's bound: d cycles after that source's estimate, the part
 * wander d^2 grows by 2 wander d per cycle.
 */
static void set_estimate(const struct candidates *candidates, int used, __u64 at,
			 const struct tsct_combined *combined,
			 struct tsct_source_params *est)
{
	double d = tsct_magnitude((double)(__s64)(at - est->time.point.cycles));
	double lo, hi, middle, whole;

	true_range(candidates, used, &lo, &hi);
	middle = tsct_smaller(tsct_larger(combined->offset_ns, lo), hi);
	whole = floor(middle);
	est->time.point = (struct tsct_offset_interval) {
		.cycles = at, .ns = candidates->zero_ns + (__s64)whole,
		.frac_ns = middle - whole,
		.half_ns = tsct_larger(hi - middle, middle - lo),
	};
	est->growth += 2 * est->wander * d +
		tsct_magnitude(combined->rate - est->time.rate);
	est->time.rate = combined->rate;
	est->sd_ns = combined->noise_ns;
}

/* Combines the sources to the cluster's time; candidate @used is the selected source. Sets
 * all members of *ret except master and timeline. */
static void combine_sources(struct tsct_cluster *cluster, struct candidates *candidates,
			    int used, struct tsct_cluster_selection *ret)
{
	struct combination combination;
	__u64 at = collect_peers(cluster, candidates, used, &combination);
	struct tsct_combined combined;
	unsigned int i;

	intersect_candidates(cluster, at, candidates);
	fill_peers(cluster, candidates, at, &combination);
	combined = tsct_combine(combination.peer, combination.nr);
	for (i = 0; i < combination.nr; i++)
		cluster->sources[candidates->source[combination.candidate[i]]].weight =
			combination.peer[i].weight;
	ret->used = (int)candidates->source[used];
	ret->est = cluster->sources[ret->used].est;
	ret->sd_ns = combined.sd_ns;
	set_estimate(candidates, used, at, &combined, &ret->est);
}

struct tsct_cluster_selection tsct_cluster_select(struct tsct_cluster *cluster)
{
	struct tsct_cluster_selection selection = { .used = -1 };
	struct candidates candidates;
	unsigned int i;
	int used;

	select_timeline(cluster, &selection);
	collect_candidates(cluster, &selection, &candidates);
	intersect_candidates(cluster, cluster->now, &candidates);
	mark_falsetickers(cluster, &candidates);
	for (i = 0; i < cluster->nr; i++)
		cluster->sources[i].weight = 0;
	used = select_source(cluster, &candidates);
	if (used >= 0)
		combine_sources(cluster, &candidates, used, &selection);
	return selection;
}
