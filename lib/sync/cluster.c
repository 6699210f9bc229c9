// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cluster_private.h"
#include "lib/clockpage/clock_params.h"

/* An offset within the error bounds is corrected by a slew of up to this factor
 * times TSCT_CLUSTER_SLEW_MAX_NS. If a slew would be longer, an epoch begins. */
#define WITHIN_BOUND_FACTOR	6

/* Least number of exchanges in a fit; with fewer, the status is CALIBRATING. */
#define CALIBRATED_KEPT_MIN	4

/* Limits of the length of a slew, in seconds */
#define SLEW_MIN_S	0.75
#define SLEW_MAX_S	10.0

/*
 * Least time between changes of the published parameters. This time is less than the
 * length of any slew, so parameters may be replaced during their slew. Readers then
 * keep the slew's part before the change (cluster_prev), which is at least this long.
 * Provisional parameters may be replaced earlier, as they are imprecise.
 */
#define PARAMS_MIN_S	0.5
/* Least time for which parameters stay published after the end of their slew, s: longer than the
 * lead (from publication of new parameters to their start), so the slew is over at publication. */
#define LEAD_MAX_S	1.2

/* Published parameters stay while their offset to the estimate is less than this
 * many standard deviations. */
#define KEEP_SD		0.25

#define PROVISIONAL_KEPT	8 /* with fewer exchanges a fit is provisional */

/* Default values of the cluster's options, s; HOLD_S_MASTER: default of hold_s on the
 * master */
#define HOLD_S_MASTER	8.0
#define VOID_S		3600.0
#define WINDOW_S	1000.0

struct tsct_cluster *tsct_cluster_new(const struct tsct_cluster_options *options,
				      unsigned int nr_sources)
{
	struct tsct_cluster *cluster = calloc(1, sizeof(*cluster));

	if (!cluster)
		return NULL;
	nr_sources = min(nr_sources, TSCT_SOURCES_MAX);
	cluster->sources = calloc(nr_sources + 1, sizeof(cluster->sources[0]));
	if (!cluster->sources) {
		free(cluster);
		return NULL;
	}
	cluster->options = *options;
	if (!(options->hz > 0))
		cluster->options.hz = 1e9;
	if (!(options->void_s > 0))
		cluster->options.void_s = VOID_S;
	if (!(options->window_s > 0))
		cluster->options.window_s = WINDOW_S;
	cluster->nr = nr_sources;
	cluster->used = -1;
	cluster->epoch = options->epoch ? options->epoch : 1;
	return cluster;
}

void tsct_cluster_free(struct tsct_cluster *cluster)
{
	unsigned int i;

	if (!cluster)
		return;
	for (i = 0; i < cluster->nr; i++)
		tsct_sync_source_free(&cluster->sources[i]);
	free(cluster->sources);
	free(cluster);
}

/* ---- epochs -------------------------------------------------------------- */

static void begin_epoch(struct tsct_cluster *cluster)
{
	cluster->epoch++;
	memset(&cluster->params, 0, sizeof(cluster->params));
	memset(&cluster->prev_params, 0, sizeof(cluster->prev_params));
}

void tsct_cluster_resume_epoch(struct tsct_cluster *cluster, __u32 epoch)
{
	if ((__s32)(epoch - cluster->epoch) < 0)
		return;
	cluster->epoch = epoch;
	begin_epoch(cluster);
}

void tsct_cluster_disrupt(struct tsct_cluster *cluster)
{
	unsigned int i;

	for (i = 0; i < cluster->nr; i++)
		tsct_sync_source_forget(&cluster->sources[i],
					"this node's counter was disrupted");
	cluster->now = 0;		/* the counter may have gone back */
	cluster->used = -1;
	cluster->is_master = false;
	cluster->is_polled = false;	/* polled_until is from before the disruption */
	cluster->disrupted = true;
	begin_epoch(cluster);
}

void tsct_cluster_set_skew(struct tsct_cluster *cluster, __u64 cycles)
{
	double ns = (double)cycles * 1e9 / cluster->options.hz;

	/* Raises the bound of a master's params, which is otherwise set only once, when the
	 * timeline begins. */
	if (cluster->is_master && cluster->params.mult && ns > cluster->skew_ns)
		cluster->params.error_ps += tsct_ps_up(ns - cluster->skew_ns);
	cluster->skew_ns = ns;
}

/* ---- exchanges ----------------------------------------------------------- */

/* Sets the cluster's timeline. Returns true if the timeline has changed. */
static bool set_timeline(struct tsct_cluster *cluster, __u64 master,
			 __u32 timeline)
{
	bool changed = cluster->at_timeline && (cluster->master != master ||
						cluster->timeline != timeline);

	cluster->master = master;
	cluster->timeline = timeline;
	cluster->at_timeline = true;
	return changed;
}

/* Gets the estimate by the combined sources, with skew_ns in the bound of
 * conversions. Returns false if there is no estimate. */
static bool get_estimate(const struct tsct_cluster *cluster,
			 struct tsct_source_params *ret_est)
{
	if (cluster->used < 0 || cluster->is_master)
		return false;
	*ret_est = cluster->est;
	ret_est->time.resolution_ns += cluster->skew_ns;
	return true;
}

static enum tsct_cluster_event reselect(struct tsct_cluster *cluster)
{
	double limit = TSCT_CLUSTER_SLEW_PPB * TSCT_PPB * TSCT_CLUSTER_SLEW_MAX_NS;
	struct tsct_cluster_selection selection = tsct_cluster_select(cluster);
	const struct tsct_clock_params *params = &cluster->params;
	__u64 now = cluster->now;
	struct tsct_source_params est;
	double off, bound;

	cluster->used = selection.used;
	cluster->est = selection.est;
	cluster->sd_ns = selection.sd_ns;
	if (!get_estimate(cluster, &est))
		return TSCT_CLUSTER_OK;
	cluster->depth = cluster->sources[cluster->used].remote.depth + 1;
	if (!set_timeline(cluster, selection.master, selection.timeline)) {
		if (!params->mult)
			return TSCT_CLUSTER_NEW;
		/* An offset within the published error bounds may slew for longer than
		 * an offset due to a disruption. */
		off = tsct_magnitude(tsct_servo_offset_ns(&est.time, params, now));
		bound = (double)tsct_clock_params_error_ps(params, now) * 1e-3 +
			tsct_source_params_bound_ns(&est, now);
		if (!(off > (off > bound ? limit : WITHIN_BOUND_FACTOR * limit)))
			return TSCT_CLUSTER_NEW;
	}
	begin_epoch(cluster);
	return TSCT_CLUSTER_EPOCH;
}

enum tsct_cluster_event
tsct_cluster_feed(struct tsct_cluster *cluster, unsigned int source,
		  const struct tsct_exchange *x,
		  const struct tsct_remote *remote)
{
	enum tsct_sync_source_event event;

	if (source >= cluster->nr)
		return TSCT_CLUSTER_OK;
	if (!cluster->now || (__s64)(x->t4 - cluster->now) > 0)
		cluster->now = x->t4;
	event = tsct_sync_source_add(&cluster->sources[source],
				     &cluster->options, x, remote);
	if (event == TSCT_SYNC_SOURCE_SAME || cluster->is_master)
		return TSCT_CLUSTER_OK;
	return reselect(cluster);
}

void tsct_cluster_reset_source(struct tsct_cluster *cluster,
			       unsigned int source)
{
	if (source >= cluster->nr)
		return;
	tsct_sync_source_forget(&cluster->sources[source], NULL);
	cluster->sources[source].has_remote = false;
	cluster->sources[source].falseticker = false;
	if (!cluster->is_master)
		reselect(cluster);
}

void tsct_cluster_set_polled(struct tsct_cluster *cluster, __u64 now, int poll)
{
	double s = tsct_smaller(ldexp(TSCT_HOLDOVER_POLLS, poll), cluster->options.void_s);
	__u64 until = now + (__u64)(s * cluster->options.hz);

	if (!cluster->is_polled || (__s64)(until - cluster->polled_until) > 0)
		cluster->polled_until = until;
	cluster->is_polled = true;
}

void tsct_cluster_master(struct tsct_cluster *cluster, __u64 node,
			 const struct tsct_remote_params *params, __u32 epoch)
{
	bool changed = set_timeline(cluster, node, epoch);

	if (!changed && cluster->is_master &&
	    !memcmp(params, &cluster->master_params, sizeof(*params)))
		return;
	if (changed || cluster->params.mult)
		begin_epoch(cluster);
	cluster->is_master = true;
	cluster->master_params = *params;
	cluster->depth = 0;
	cluster->used = -1;
}

/* ---- servo ------------------------------------------------------------------ */

/* Converts the growth of an error from ns per cycle to 2^-32 ps per cycle, rounded
 * up. */
static __u64 as_growth(double ns_per_cycle)
{
	return tsct_round_up(ns_per_cycle * 0x1p32 * 1e3);
}

/* Converts the growth of an error from ns per cycle to 2^-32 ps per cycle; the result
 * is at most 1 ns per ns of elapsed time. */
static __u64 params_growth(double ns_per_cycle, __u64 mult)
{
	__u64 growth = as_growth(ns_per_cycle);
	__u64 max = tsct_growth(mult, 1000000000);

	return growth < max ? growth : max;
}

static const struct tsct_sync_source *used_source(const struct tsct_cluster *cluster)
{
	return &cluster->sources[cluster->used];
}

static bool is_provisional(const struct tsct_cluster *cluster)
{
	return used_source(cluster)->fit.nr_kept < PROVISIONAL_KEPT;
}

/* Magnitude of the difference between the published rate, after the slew, and the
 * estimated rate, ns per cycle */
static double rate_off(const struct tsct_source_params *est,
		       const struct tsct_clock_params *params)
{
	return tsct_magnitude(tsct_mult_rate(params->mult) - est->time.rate);
}

/* Returns true if the parameters in force are too new to be replaced at @begin_cycles. */
static bool are_too_new(const struct tsct_cluster *cluster, __u64 begin_cycles)
{
	const struct tsct_clock_params *params = &cluster->params;
	double hz = cluster->options.hz;
	double age = (double)(__s64)(begin_cycles - params->base_cycles);
	double straight = (double)(__s64)(begin_cycles - tsct_servo_slew_end(params));

	if (age <= 0)
		return true;
	/* Readers keep the last linear part of the replaced parameters (cluster_prev).
	 * After a slew, that part lasts from the end of the slew to the start of the new
	 * parameters, which is later than now. The time now is in the part only if the part
	 * is longer than the time from now to that start. */
	if (tsct_servo_slews(params) && straight > 0 && straight < LEAD_MAX_S * hz)
		return true;
	return age < PARAMS_MIN_S * hz && !is_provisional(cluster);
}

/* Returns true if the parameters in force are accurate enough to stay. */
static bool params_may_stay(const struct tsct_cluster *cluster,
			 const struct tsct_source_params *est, __u64 begin_cycles)
{
	const struct tsct_sync_source *source = used_source(cluster);
	const struct tsct_clock_params *params = &cluster->params;
	const struct tsct_servo_estimate *time = &est->time;
	double enough = tsct_larger(1, KEEP_SD * est->sd_ns);
	__u64 from = begin_cycles, next = begin_cycles;

	if (are_too_new(cluster, begin_cycles))
		return true;
	if (begin_cycles - params->base_cycles > TSCT_SERVO_AGE_MAX)
		return false;
	if (tsct_servo_slews(params)) {
		from = tsct_servo_slew_end(params);
		/* After the end of the slew, readers cannot convert cycles by the fast
		 * path until new parameters are published. */
		if ((__s64)(begin_cycles - from) >= 0)
			return false;
	}
	/* The next exchange is expected after the longer of the usual and the last
	 * interval: after a burst, intervals are longer than in the burst. */
	next += source->max_interval > source->last_interval ?
		source->max_interval : source->last_interval;
	if ((__s64)(next - from) < 0)
		next = from;
	return tsct_magnitude(tsct_servo_offset_ns(time, params, from)) <= enough &&
		tsct_magnitude(tsct_servo_offset_ns(time, params, next)) <= enough;
}

/* Returns true if a provisional fit agrees with the parameters in force, whose error bound
 * is smaller. Such a fit has few exchanges, because all older exchanges were dropped. */
static bool params_are_better(const struct tsct_cluster *cluster,
			      const struct tsct_source_params *est, __u64 begin_cycles)
{
	const struct tsct_clock_params *params = &cluster->params;
	double known = (double)tsct_clock_params_error_ps(params, begin_cycles) * 1e-3;
	double bound = tsct_source_params_bound_ns(est, begin_cycles);

	if (!is_provisional(cluster) || known >= bound ||
	    (__s64)(begin_cycles - params->void_after_cycles) > 0)
		return false;
	return tsct_magnitude(tsct_servo_offset_ns(&est->time, params,
						   begin_cycles)) <= known + bound;
}

/* Sets parameters that slew to the estimated time. The slew ends about at the next
 * exchange, or later if the slew's rate is at the limit. */
static void set_slew(const struct tsct_cluster *cluster,
		     const struct tsct_source_params *est, struct tsct_clock_params *params)
{
	double hz = cluster->options.hz;
	double off = tsct_servo_offset_ns(&est->time, params, params->base_cycles);
	double span = TSCT_SERVO_SLEW_INTERVALS *
		(double)used_source(cluster)->last_interval;
	double limit = TSCT_CLUSTER_SLEW_PPB * TSCT_PPB * est->time.rate;

	if (tsct_magnitude(off) < 1)
		return;
	span = tsct_smaller(SLEW_MAX_S * hz, tsct_larger(SLEW_MIN_S * hz, span));
	span = tsct_larger(span, tsct_magnitude(off) / limit);
	span = tsct_smaller(span, (double)(TSCT_FAST_CYCLES_MAX / 2));
	limit = tsct_smaller(limit, tsct_magnitude(off) / span);
	tsct_servo_set_slew(params, span,
			    est->time.rate + (off < 0 ? -limit : limit));
}

/* Error bound of the published time up to the last exchange: the smaller of the bound
 * predicted before that exchange, and the bound by the present estimate */
static __u64 past_error_ps(const struct tsct_cluster *cluster,
			   const struct tsct_source_params *est,
			   const struct tsct_clock_params *params)
{
	const struct tsct_clock_params *old = &cluster->params;
	__u64 at = est->time.point.cycles;
	__u64 from = old->as_of_cycles, predicted, found;

	if (old->base_cycles != params->base_cycles || !old->mult)
		return tsct_clock_params_error_ps(params, params->base_cycles);
	if ((__s64)(from - params->base_cycles) < 0)
		from = params->base_cycles;
	if ((__s64)(at - from) <= 0)
		return old->past_error_ps;
	predicted = tsct_clock_params_error_ps(old, at);
	found = tsct_ps_up(tsct_source_params_bound_ns(est, from) +
			   tsct_servo_distance_ns(&est->time, params, from) +
			   est->time.resolution_ns +
			   rate_off(est, params) * (double)(at - from));
	found = predicted < found ? predicted : found;
	return found > old->past_error_ps ? found : old->past_error_ps;
}

/*
 * Sets the published bound, which grows linearly, so that it is never below the error
 * of the estimate. At d cycles after the estimate, the part of that error due to wander
 * is min(est->wander * d, est->phi) * d, ns (see struct tsct_source_params). Holdover
 * begins at d = hold. Before holdover, the growth due to wander is the mean growth of
 * that part up to d = hold, min(est->wander * hold, est->phi); in holdover, est->phi is
 * added to that mean.
 */
static void set_bounds(const struct tsct_cluster *cluster,
		       const struct tsct_source_params *est,
		       struct tsct_clock_params *params)
{
	const struct tsct_cluster_options *options = &cluster->options;
	__u64 hold = tsct_sync_source_holdover_cycles(used_source(cluster), options);
	double wander = tsct_smaller(est->wander * (double)hold, est->phi);
	double growth = est->growth + rate_off(est, params);
	__u64 at = est->time.point.cycles;
	struct tsct_servo_bounds bounds = {
		.from = at,
		.growth = params_growth(growth + wander, params->mult),
		.holdover_growth = params_growth(growth + est->phi + wander,
						 params->mult),
		.holdover_cycles = hold,
		.void_cycles = hold + (__u64)(options->void_s * options->hz),
	};

	if ((__s64)(params->base_cycles - at) > 0)
		bounds.from = params->base_cycles;
	tsct_servo_set_bounds(&est->time, &bounds, params);
	params->past_error_ps = params->error_ps;
	params->past_error_ps = past_error_ps(cluster, est, params);
}

/* Composes the parameters of a master. Each publication sets the start of holdover to hold_s
 * seconds after @begin_cycles. */
static void compose_master(const struct tsct_cluster *cluster, __u64 begin_cycles,
			   struct tsct_clock_params *params)
{
	const struct tsct_cluster_options *options = &cluster->options;
	double hold_s = options->hold_s > 0 ? options->hold_s : HOLD_S_MASTER;

	if (!params->mult) {
		params->base_cycles = cluster->master_params.base;
		params->base_ns = cluster->master_params.base_ns;
		/* The master's error has only two parts: rounding of times and counter
		 * values, and the distance between the counters of its CPUs. */
		params->error_ps = tsct_ps_up(
			1 + tsct_mult_rate(cluster->master_params.mult) +
			cluster->skew_ns);
	} else if (begin_cycles - params->base_cycles > TSCT_SERVO_AGE_MAX) {
		params->base_ns = tsct_clock_params_ns(params, begin_cycles);
		params->base_cycles = begin_cycles;
		params->error_ps += 1000;
	}
	params->mult = cluster->master_params.mult;
	params->slew_mult = params->mult;
	params->as_of_cycles = begin_cycles;
	params->past_error_ps = params->error_ps;
	params->holdover_after_cycles = begin_cycles + (__u64)(hold_s * options->hz);
	params->void_after_cycles = params->holdover_after_cycles +
		(__u64)(options->void_s * options->hz);
	params->fast_cycles = tsct_servo_fast_cycles(params);
}

/* ---- composing and publishing parameters ------------------------------------- */

static __u32 status_of(const struct tsct_cluster *cluster,
		       const struct tsct_clock_params *params, __u64 at)
{
	const struct tsct_sync_source *used;

	if (!params->mult)
		return cluster->disrupted ? TSCT_STATUS_DISRUPTED :
			TSCT_STATUS_UNKNOWN;
	if ((__s64)(at - params->holdover_after_cycles) > 0)
		return TSCT_STATUS_HOLDOVER;
	if (cluster->is_master)
		return TSCT_STATUS_SYNCHRONIZED;
	if (cluster->used < 0)
		return TSCT_STATUS_HOLDOVER;
	used = &cluster->sources[cluster->used];
	/* If a source answers, but is not synchronized itself, this node gets
	 * the source's status. */
	if (used->remote.has_params &&
	    used->remote.status != TSCT_STATUS_SYNCHRONIZED)
		return used->remote.status;
	return used->fit.nr_kept < CALIBRATED_KEPT_MIN ?
		TSCT_STATUS_CALIBRATING : TSCT_STATUS_SYNCHRONIZED;
}

void tsct_cluster_compose(const struct tsct_cluster *cluster, __u64 begin_cycles,
			  struct tsct_clock_state *state)
{
	struct tsct_clock_params *params = &state->cluster;
	const struct tsct_clock_params *old = &cluster->params;
	struct tsct_source_params est;

	*params = *old;
	if (cluster->is_master) {
		compose_master(cluster, begin_cycles, params);
	} else if (get_estimate(cluster, &est) &&
		   !(old->mult && params_are_better(cluster, &est, begin_cycles))) {
		if ((!old->mult || !params_may_stay(cluster, &est, begin_cycles)) &&
		    tsct_servo_start(&est.time, begin_cycles, params))
			set_slew(cluster, &est, params);
		set_bounds(cluster, &est, params);
	}
	if (params->mult && (__s64)(begin_cycles - params->void_after_cycles) > 0)
		memset(params, 0, sizeof(*params));
	state->cluster_status = status_of(cluster, params, begin_cycles);
	/* If the cluster's parameters are invalid (by a source's fault), REALTIME is
	 * published without the cluster's time. */
	if (tsct_clock_params_check(params, state->source)) {
		memset(params, 0, sizeof(*params));
		state->cluster_status = TSCT_STATUS_UNKNOWN;
	}
	/* The epoch ends where the time becomes unknown, as later parameters cannot
	 * continue from the present parameters. */
	state->cluster_epoch = cluster->epoch + (old->mult && !params->mult);
	state->cluster_master = cluster->at_timeline ? cluster->master : 0;
	state->cluster_timeline = cluster->at_timeline ? cluster->timeline : 0;
	state->cluster_prev = cluster->prev_params;
	if (old->mult && params->base_cycles != old->base_cycles)
		state->cluster_prev =
			tsct_clock_params_prev(old, params->base_cycles);
	if (!params->mult)
		memset(&state->cluster_prev, 0, sizeof(state->cluster_prev));
	/* The fast path of conversion supports only the TSC, and no skewed
	 * CPUs. */
	if (state->flags & TSCT_CLOCK_SKEWED ||
	    state->source != TSCT_SOURCE_TSC)
		params->fast_cycles = 0;
}

void tsct_cluster_published(struct tsct_cluster *cluster,
			    const struct tsct_clock_params *params)
{
	const struct tsct_clock_params *old = &cluster->params;

	if (!params->mult) {
		if (old->mult)
			begin_epoch(cluster);
		return;
	}
	if (old->mult && params->base_cycles != old->base_cycles)
		cluster->prev_params =
			tsct_clock_params_prev(old, params->base_cycles);
	cluster->params = *params;
	cluster->disrupted = false;
}

/* ---- reports about the cluster ------------------------------------------- */

__u32 tsct_cluster_epoch(const struct tsct_cluster *cluster)
{
	return cluster->epoch;
}

/*
 * Sets the params that children apply, by the estimate @est. The estimate's bound grows by
 * wander d^2 in d cycles; the params' bound grows linearly, by wander @hold per cycle, which
 * is enough until holdover, @hold cycles after the estimate. If the estimate is older than
 * @hold / 2, the params start from the bound at @now, with a growth that is enough until
 * the estimate is twice as old. The limited growth, min(wander d, phi) d, has a slope of at
 * most 2 phi.
 */
static void set_remote_params(const struct tsct_source_params *est, __u64 now,
			      double hold, struct tsct_remote_params *params)
{
	const struct tsct_offset_interval *point = &est->time.point;
	double age = (double)(__s64)(now - point->cycles);
	bool is_old = age > hold / 2;
	double growth = is_old ? 3 * est->wander * age : est->wander * hold;

	*params = (struct tsct_remote_params) {
		.base = point->cycles,
		.base_ns = point->ns,
		.mult = tsct_rate_mult(est->time.rate),
		.as_of = is_old ? now : point->cycles,
		/* The error includes 1 ns, as base_ns is rounded down. */
		.error_ps = tsct_ps_up(1 + (is_old ?
			tsct_source_params_bound_ns(est, now) : point->half_ns)),
		.growth = as_growth(est->growth +
				    tsct_smaller(growth, (is_old ? 2 : 1) * est->phi)),
	};
}

void tsct_cluster_timeline(const struct tsct_cluster *cluster, __u64 now,
			   struct tsct_timeline *ret)
{
	struct tsct_clock_state state = { .source = TSCT_SOURCE_TSC };
	const struct tsct_clock_params *params = &state.cluster;
	struct tsct_source_params est;
	bool has_est = get_estimate(cluster, &est);
	__u64 base, sd_ps = has_est ? tsct_ps_up(cluster->sd_ns) : 0;

	tsct_cluster_compose(cluster, now, &state);
	memset(&ret->params, 0, sizeof(ret->params));
	ret->master = state.cluster_master;
	ret->epoch = state.cluster_timeline;
	ret->depth = cluster->depth;
	/* sd_ps is 0 if this node is the master, or the time is unknown */
	ret->sd_ps = sd_ps < ~0U ? (__u32)sd_ps : ~0U;
	ret->status = cluster->is_master ? TSCT_STATUS_SYNCHRONIZED :
		state.cluster_status;
	ret->has_params = tsct_status_has_time(ret->status);
	if (cluster->is_master) {
		ret->params = cluster->master_params;
	} else if (params->mult && has_est) {
		set_remote_params(&est, now, (double)tsct_sync_source_holdover_cycles(
			used_source(cluster), &cluster->options), &ret->params);
	} else if (params->mult) {
		base = tsct_servo_slew_end(params);
		ret->params = (struct tsct_remote_params) {
			.base = base,
			.base_ns = tsct_clock_params_ns(params, base),
			.mult = params->mult,
			.as_of = now,
			.error_ps = tsct_clock_params_error_ps(params, now),
			.growth = params->holdover_growth,
		};
	}
}

void tsct_cluster_source(const struct tsct_cluster *cluster,
			 unsigned int source, __u64 now,
			 struct tsct_source_state *ret)
{
	double nominal = 1e9 / cluster->options.hz;	/* nominal rate, ns per cycle */
	const struct tsct_sync_source *s;

	memset(ret, 0, sizeof(*ret));
	if (source >= cluster->nr)
		return;
	s = &cluster->sources[source];
	ret->used = (int)source == cluster->used;
	ret->weight = cluster->is_master ? 0 : s->weight;
	ret->falseticker = s->falseticker;
	snprintf(ret->reason, sizeof(ret->reason), "%s",
		 s->falseticker ? s->falseticker_reason : s->reason);
	if (!s->has_fit)
		return;
	ret->kept = s->fit.nr_kept;
	ret->dropped = s->fit.nr_dropped;
	ret->fit = tsct_fit_name(s->fit.kind);
	ret->fit_reason = s->fit.reason;
	ret->pairs = s->fit.nr_pairs;
	ret->slow_place = s->fit.slow_place;
	ret->rtt_min_ns = s->fit.rtt_min * nominal;
	ret->rtt_median_ns = s->fit.rtt_median * nominal;
	if (!s->has_est)
		return;
	ret->drift_ppm = (nominal / s->est.time.rate - 1) * 1e6;
	ret->error_ns = tsct_source_params_bound_ns(&s->est, now);
	ret->known = cluster->params.mult;
	if (ret->known)
		ret->offset_ns = -tsct_servo_offset_ns(&s->est.time,
						       &cluster->params, now);
}

unsigned int tsct_cluster_window(const struct tsct_cluster *cluster,
				 unsigned int source,
				 const struct tsct_exchange **ret_x,
				 const bool **ret_kept,
				 const struct tsct_fit **ret_fit)
{
	const struct tsct_sync_source *s;

	if (source >= cluster->nr || !cluster->sources[source].has_fit)
		return 0;
	s = &cluster->sources[source];
	*ret_x = s->x;
	*ret_kept = s->keep;
	*ret_fit = &s->fit;
	return s->nr;
}
