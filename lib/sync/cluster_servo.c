// SPDX-License-Identifier: MIT
/* From what is estimated of the cluster's time to the line that is published. */
#include "cluster_private.h"
#include "lib/core/offset_estimator.h"
#include "lib/core/clock_params.h"

/* As long as a slew lasts, in distances between exchanges: a bit longer */
#define SPAN		1.25
#define SPAN_MIN_S	0.75
#define SPAN_MAX_S	10.0

/*
 * Nobody keeps more than one line of the past, so a line stays for as long, which
 * is less than any bend; unless it is one of the first, which are not worth it.
 */
#define LINE_MIN_S	0.5
/* Where a line is bent, who asks for now must not need what was before it. */
#define LEAD_MAX_S	1.2
/* A line that is used for longer could leave no room for multiplication. */
#define LENGTH_MAX	(1ULL << 54)

/* This far from what is likely, in standard deviations, a line still serves */
#define CONTENT		0.25

#define FIRST_FITS	8

/* A timeline whose master nobody refreshes */
#define HOLD_S_MASTER	8.0

static __u64 mult_of(double rate)
{
	return (__u64)(rate * 0x1p56 + 0.5);
}

static __u64 as_ps(double ns)
{
	return tsct_round_up(ns * 1e3);
}

/* 2^-32 ps per tick, no more than the time itself */
static __u64 growth_of(double ns_per_tick, __u64 mult)
{
	__u64 growth = tsct_round_up(ns_per_tick * 0x1p32 * 1e3);
	__u64 most = tsct_growth(mult, 1000000000);

	return growth < most ? growth : most;
}

static bool slewing(const struct tsct_clock_params *pair)
{
	return pair->slew_cycles && pair->slew_mult != pair->mult;
}

static __u64 knee_of(const struct tsct_clock_params *pair)
{
	return pair->base_cycles + (slewing(pair) ? pair->slew_cycles : 0);
}

/* ns per tick of a line's rate behind its bend, off the estimated one */
static double rate_off(const struct tsct_source_params *est,
		       const struct tsct_clock_params *pair)
{
	return tsct_magnitude(tsct_mult_rate(pair->mult) - est->rate);
}

/* The largest distance of line and estimate from @from on, but for rate_off() */
static double distance(const struct tsct_source_params *est,
		       const struct tsct_clock_params *pair, __u64 from)
{
	double off = tsct_magnitude(tsct_source_params_offset_ns(est, pair, from));
	__u64 knee = knee_of(pair);

	if ((__s64)(knee - from) > 0)
		off = tsct_larger(off, tsct_magnitude(
				tsct_source_params_offset_ns(est, pair, knee)));
	return off;
}

/* ---- does the line in force still serve? ---------------------------------- */

static const struct tsct_sync_source *used(const struct tsct_cluster *cluster)
{
	return &cluster->sources[cluster->used];
}

static bool is_first(const struct tsct_cluster *cluster)
{
	return used(cluster)->fit.nr_kept < FIRST_FITS;
}

static bool too_early(const struct tsct_cluster *cluster, __u64 begin_cycles)
{
	const struct tsct_clock_params *pair = &cluster->params;
	double hz = cluster->options.hz;
	double age = (double)(__s64)(begin_cycles - pair->base_cycles);
	double bent = (double)(__s64)(begin_cycles - knee_of(pair));

	if (age <= 0)
		return true;
	/* Till lately it was bent: with its straight part alone kept, ... */
	if (slewing(pair) && bent > 0 && bent < LEAD_MAX_S * hz)
		return true;
	return age < LINE_MIN_S * hz && !is_first(cluster);
}

/* After a session the next exchange is as far away as it was before. */
static __u64 until_next(const struct tsct_sync_source *path)
{
	return path->max_interval > path->last_interval ? path->max_interval : path->last_interval;
}

static bool serves(const struct tsct_cluster *cluster,
		   const struct tsct_source_params *est, __u64 begin_cycles)
{
	const struct tsct_clock_params *pair = &cluster->params;
	double enough = tsct_larger(1, CONTENT * est->sd_ns);
	__u64 from = begin_cycles, next = begin_cycles + until_next(used(cluster));

	if (too_early(cluster, begin_cycles))
		return true;
	if (begin_cycles - pair->base_cycles > LENGTH_MAX)
		return false;
	if (slewing(pair)) {
		from = knee_of(pair);
		/* The short cut ended there. */
		if ((__s64)(begin_cycles - from) >= 0)
			return false;
	}
	if ((__s64)(next - from) < 0)
		next = from;
	return tsct_magnitude(tsct_source_params_offset_ns(est, pair, from)) <= enough &&
		tsct_magnitude(tsct_source_params_offset_ns(est, pair, next)) <= enough;
}

/*
 * The first exchanges after all were forgotten may say less than what we still
 * know, and nothing against it.
 */
static bool knows_better(const struct tsct_cluster *cluster,
			 const struct tsct_source_params *est, __u64 begin_cycles)
{
	const struct tsct_clock_params *pair = &cluster->params;
	double known = (double)tsct_clock_params_error_ps(pair, begin_cycles) * 1e-3;
	double bound = tsct_source_params_bound_ns(est, begin_cycles);

	if (!is_first(cluster) || known >= bound ||
	    (__s64)(begin_cycles - pair->void_after_cycles) > 0)
		return false;
	return tsct_magnitude(tsct_source_params_offset_ns(est, pair, begin_cycles)) <=
		known + bound;
}

/* ---- a line ------------------------------------------------------------------ */

/* Towards the estimate, until about the next exchange, no faster than allowed */
static void bend(const struct tsct_cluster *cluster,
		 const struct tsct_source_params *est, struct tsct_clock_params *pair)
{
	double hz = cluster->options.hz;
	double off = tsct_source_params_offset_ns(est, pair, pair->base_cycles);
	double span = SPAN * (double)used(cluster)->last_interval;
	double limit = TSCT_CLUSTER_SLEW_PPB * TSCT_PPB * est->rate;

	if (tsct_magnitude(off) < 1)
		return;
	span = tsct_smaller(SPAN_MAX_S * hz, tsct_larger(SPAN_MIN_S * hz, span));
	span = tsct_larger(span, tsct_magnitude(off) / limit);
	span = tsct_smaller(span, (double)(TSCT_FAST_CYCLES_MAX / 2));
	pair->slew_cycles = (__u64)span;
	limit = tsct_smaller(limit, tsct_magnitude(off) / span);
	pair->slew_mult = mult_of(est->rate + (off < 0 ? -limit : limit));
}

static void set_line(const struct tsct_cluster *cluster,
		     const struct tsct_source_params *est, __u64 begin_cycles,
		     struct tsct_clock_params *pair)
{
	*pair = (struct tsct_clock_params) {
		.base_cycles = est->at,
		.base_ns = est->ns,
		.mult = mult_of(est->rate),
		.slew_mult = mult_of(est->rate),
	};
	if (!cluster->params.mult)
		return;
	pair->base_cycles = begin_cycles;
	pair->base_ns = tsct_clock_params_ns(&cluster->params, begin_cycles);
	bend(cluster, est, pair);
}

static __u64 fast_ticks(const struct tsct_clock_params *pair)
{
	__u64 fast = pair->holdover_after_cycles - pair->base_cycles;

	if ((__s64)fast < 0)
		return 0;
	if (slewing(pair) && fast > pair->slew_cycles)
		fast = pair->slew_cycles;
	return fast < TSCT_FAST_CYCLES_MAX ? fast : TSCT_FAST_CYCLES_MAX - 1;
}

/*
 * Of what lies behind the last exchange: while it was yet to come it was bounded,
 * and it is now, from both sides; either is true.
 */
static __u64 past_ps(const struct tsct_cluster *cluster,
		     const struct tsct_source_params *est,
		     const struct tsct_clock_params *pair)
{
	const struct tsct_clock_params *old = &cluster->params;
	__u64 from = old->as_of_cycles, foreseen, found;

	if (old->base_cycles != pair->base_cycles || !old->mult)
		return tsct_clock_params_error_ps(pair, pair->base_cycles);
	if ((__s64)(from - pair->base_cycles) < 0)
		from = pair->base_cycles;
	if ((__s64)(est->at - from) <= 0)
		return old->past_error_ps;
	foreseen = tsct_clock_params_error_ps(old, est->at);
	found = as_ps(tsct_source_params_bound_ns(est, from) +
		      distance(est, pair, from) + 1 + est->rate +
		      rate_off(est, pair) * (double)(est->at - from));
	found = foreseen < found ? foreseen : found;
	return found > old->past_error_ps ? found : old->past_error_ps;
}

/*
 * What wander adds is a curve; a straight line from here to where the hold begins
 * is above it, and one that is as steep as the curve is there is so behind that.
 */
static void set_bounds(const struct tsct_cluster *cluster,
		       const struct tsct_source_params *est, struct tsct_clock_params *pair)
{
	const struct tsct_cluster_options *options = &cluster->options;
	__u64 hold = tsct_sync_source_holdover_cycles(used(cluster), options);
	double wander = tsct_smaller(est->wander * (double)hold, est->phi);
	double growth = est->growth + rate_off(est, pair);
	double void_s = options->void_s > 0 ? options->void_s : 3600;
	__u64 from = est->at;

	if ((__s64)(pair->base_cycles - from) > 0)
		from = pair->base_cycles;
	pair->as_of_cycles = est->at;
	/* Digits that are cut off of times and stamps */
	pair->error_ps = as_ps(est->error_ns + distance(est, pair, from) + 1 +
			       est->rate);
	pair->growth = growth_of(growth + wander, pair->mult);
	pair->holdover_growth = growth_of(growth + est->phi + wander, pair->mult);
	pair->holdover_after_cycles = est->at + hold;
	pair->void_after_cycles = est->at + hold + (__u64)(void_s * options->hz);
	pair->fast_cycles = fast_ticks(pair);
	pair->past_error_ps = pair->error_ps;
	pair->past_error_ps = past_ps(cluster, est, pair);
}

/* The timeline itself: renewed as long as there is somebody to do it. */
static void set_master(const struct tsct_cluster *cluster, __u64 begin_cycles,
		       struct tsct_clock_params *pair)
{
	const struct tsct_cluster_options *options = &cluster->options;
	double hold_s = options->hold_s > 0 ? options->hold_s : HOLD_S_MASTER;
	double void_s = options->void_s > 0 ? options->void_s : 3600;

	*pair = cluster->params;
	if (!pair->mult) {
		pair->base_cycles = cluster->line.base;
		pair->base_ns = cluster->line.base_ns;
		/* Digits that are cut off of times and stamps */
		pair->error_ps = as_ps(1 + tsct_mult_rate(cluster->line.mult));
	} else if (begin_cycles - pair->base_cycles > LENGTH_MAX) {
		pair->base_ns = tsct_clock_params_ns(pair, begin_cycles);
		pair->base_cycles = begin_cycles;
		pair->error_ps += 1000;
	}
	pair->mult = cluster->line.mult;
	pair->slew_mult = pair->mult;
	pair->as_of_cycles = begin_cycles;
	pair->past_error_ps = pair->error_ps;
	pair->holdover_after_cycles = begin_cycles + (__u64)(hold_s * options->hz);
	pair->void_after_cycles = pair->holdover_after_cycles +
		(__u64)(void_s * options->hz);
	pair->fast_cycles = fast_ticks(pair);
}

void tsct_cluster_servo_compose(const struct tsct_cluster *cluster,
		       const struct tsct_source_params *est, __u64 begin_cycles,
		       struct tsct_clock_params *ret_pair)
{
	*ret_pair = cluster->params;
	if (cluster->is_master) {
		set_master(cluster, begin_cycles, ret_pair);
	} else if (est && !(ret_pair->mult &&
			    knows_better(cluster, est, begin_cycles))) {
		if (!ret_pair->mult || !serves(cluster, est, begin_cycles))
			set_line(cluster, est, begin_cycles, ret_pair);
		set_bounds(cluster, est, ret_pair);
	}
	if (ret_pair->mult && (__s64)(begin_cycles - ret_pair->void_after_cycles) > 0)
		memset(ret_pair, 0, sizeof(*ret_pair));
}
