// SPDX-License-Identifier: MIT
/*
 * Computes error bounds of a node's mapping, at ticks evenly spread over the recording.
 * The mapping is a curve through estimates. The error at a tick is the error bound of
 * an estimate made for that tick, plus the distance of the curve from the estimate. The
 * error halfway between two such ticks may raise the bounds at both ticks. If times are by
 * a node's own clock, the bounds are those that its recording states (lib/ctf/recording_error.c).
 * Also makes the result's clock, whose error bound holds for all nodes.
 */
#include <math.h>
#include <time.h>

#include "merge_map.h"
#include "lib/ctf/ticks.h"

/* ---- error bound at one tick ----------------------------------------------------- */

/* Number of the half year in which a time lies: leap seconds are at ends of half
 * years */
static int half_year(time_t s)
{
	struct tm tm;

	return gmtime_r(&s, &tm) ? 2 * tm.tm_year + (tm.tm_mon >= 6) : 0;
}

/*
 * Returns the largest error relative to UTC by a leap second, ns, which kernels do not include in
 * the bounds that they state. A server may smear a leap second over up to a day before or after
 * it, and its clients cannot detect this; a kernel that inserts a leap second repeats the times of
 * one second. A leap second is possible at each end of a half year.
 */
static double leap_ns(__s64 ns)
{
	const time_t s = (time_t)(ns / 1000000000), day = 24 * 3600;

	return half_year(s - day) != half_year(s + day) ? 1e9 : 0;
}

struct measured {
	double error_ns;
	double residual_ns; /* residual of the fit, ns; below 0: nothing was fitted */
};

/* Computes the error bound at tick @local. If times are by the input's own clock, uses the largest
 * errors of that clock, and of CLOCK_REALTIME relative to UTC, from @local to @until. */
static int measure_error(struct tsct_merge *m, const struct merge_in *in,
			 __u64 local, __u64 until, struct measured *ret)
{
	const struct tsct_clock_params *real = &in->rec->real;
	const struct merge_segment *s = merge_segment_of(in, local);
	struct merge_place at, estimate;
	double off;
	__u64 own_ps;
	__s64 ns;
	int err;

	ns = merge_nodes(m, in)->correction.shift_ns;
	ret->error_ns = (double)tsct_recording_uncertainty(in->rec) / in->hz * 1e9 +
		fabs((double)ns);
	ret->residual_ns = -1;
	if (in->how == TSCT_MERGE_AS_OWN) {
		/* `off` is the distance between the mapped time and the time by the
		 * recording's clock params, ns. */
		ns = (__s64)((tsct_u128)merge_global(in, local) * 1000000000 /
			     in->frame.hz);
		off = fabs((double)((tsct_s128)ns - tsct_clock_params_ns(real, local)));
		/* The mapped time and the time by the clock params are each rounded
		 * down: up to 1 ns of the distance between these times is not an error. */
		own_ps = tsct_error_bounds_max_ps(in->rec, local, until);
		ret->error_ns += (own_ps == UINT64_MAX ? HUGE_VAL : (double)own_ps * 1e-3) +
			(off > 1 ? off - 1 : 0);
		if (m->compared == TSCT_COMPARED_UTC)
			ret->error_ns += leap_ns(ns) +
				(double)tsct_recording_utc_max_ns(in->rec, 0, local, until);
		/* Times before a disruption are by the clock after the disruption,
		 * which may be any time ahead or behind. */
		if (in->was_disrupted && (__s64)(local - real->base_cycles) < 0)
			ret->error_ns = HUGE_VAL;
	} else {
		ret->error_ns += (double)in->rec->skew_ns;
	}
	if (s->series == MERGE_NOBODY)
		return 0;
	err = merge_estimate(m, in, s, local, &estimate);
	if (err)
		return err;
	merge_place_at(s, local, &at);
	ret->residual_ns = estimate.residual_ns;
	ret->error_ns += merge_axis_ns(&m->axis) *
		(estimate.error + fabs((double)(__s64)
				       (estimate.count - at.count) +
				       estimate.frac - at.frac));
	return 0;
}

/* ---- points with error bounds --------------------------------------------- */

static __u64 point_tick(const struct merge_in *in, __u32 k, __u32 nr)
{
	return in->begin + (__u64)((tsct_u128)(in->end - in->begin) * k / nr);
}

/* Raises a bound to at least @ns plus the error that rounding may add; UINT64_MAX: no bound */
static void widen_bound(struct tsct_recorded_bound *b, double ns)
{
	/* Rounding a time down to a global tick changes the time by at most 1 ns. The
	 * mapping consists of straight lines, which approximate the cubic pieces of the
	 * fitted function with an error of at most 0.1 ns. */
	const double up = ceil(ns + 0.1) + 1;
	const __u64 error_ns = up < 9e18 ? (__u64)up : UINT64_MAX;

	b->error_ns = max(b->error_ns, error_ns);
}

/* ---- times around disruptions -------------------------------------------- */

/* Adds @ns to the bounds of the points around the ticks @from to @to. */
static void add_between(const struct merge_in *in, struct tsct_recorded_correction *c,
			__u64 from, __u64 to, double ns)
{
	__u32 k;

	for (k = 0; k < c->nr_bounds; k++)
		if (point_tick(in, k ? k - 1 : 0, c->nr_bounds - 1) <= to &&
		    point_tick(in, k + 1 < c->nr_bounds ? k + 1 : k, c->nr_bounds - 1) >= from)
			widen_bound(&c->bounds[k], (double)c->bounds[k].error_ns + ns);
}

/* Returns the distance between the mappings of two segments at a tick, ns. */
static double apart_ns(const struct tsct_merge *m, const struct merge_segment *a,
		       const struct merge_segment *b, __u64 local)
{
	struct merge_place x, y;

	merge_place_at(a, local, &x);
	merge_place_at(b, local, &y);
	return merge_axis_ns(&m->axis) *
		fabs((double)(__s64)(x.count - y.count) + x.frac - y.frac);
}

/* Returns the first tick that is known to belong to the epoch of a segment. */
static __u64 first_of_epoch(const struct merge_in *in, const struct merge_segment *s)
{
	const struct tsct_recording *rec = in->rec;
	const __u64 first = merge_series(in, s)->x[0].t1;
	const struct tsct_clock_segment *line;
	__u32 i = 0;

	while (i < rec->nr_segments && rec->segments[i].epoch < s->epoch)
		i++;
	line = i < rec->nr_segments ? &rec->segments[i] : NULL;
	return line && line->epoch == s->epoch && line->base_cycles < first ?
		line->base_cycles : first;
}

static bool has_segment(const struct merge_in *in, __u32 epoch)
{
	const struct merge_segment *s = in->segment;

	while (s < in->segment + in->nr_segments && s->epoch != epoch)
		s++;
	return s < in->segment + in->nr_segments;
}

/*
 * Raises bounds where a tick's epoch, and so its mapping, is not known: a disruption
 * came at an unknown tick after the last tick of one epoch, and before the first
 * tick of the next epoch. In an epoch without samples, the counter may have any
 * distance from the axis.
 */
static void doubt_epochs(const struct tsct_merge *m, const struct merge_in *in,
			 struct tsct_recorded_correction *c)
{
	const struct tsct_recording *rec = in->rec;
	const struct tsct_clock_segment *line;
	const struct merge_segment *s;
	__u64 first;
	__u32 i;

	for (s = in->segment; s + 1 < in->segment + in->nr_segments; s++) {
		first = first_of_epoch(in, s + 1);
		if (first > s->end)
			add_between(in, c, s->end, first,
				    fmax(apart_ns(m, s, s + 1, s->end),
					 apart_ns(m, s, s + 1, first)));
	}
	for (i = 0; i < rec->nr_segments; i++) {
		line = &rec->segments[i];
		if (line->until_cycles >= in->begin && line->base_cycles <= in->end &&
		    !has_segment(in, line->epoch))
			add_between(in, c, line->base_cycles, line->until_cycles,
				    HUGE_VAL);
	}
}

/* ---- all bounds of an input ------------------------------------------------------ */

/* Returns the number of points with a bound: one each second, and at both ends. */
static __u32 point_count(const struct merge_in *in)
{
	const double points = (double)(in->end - in->begin) / in->hz + 2;

	return points < TSCT_RECORDED_BOUNDS_MAX ? (__u32)points : TSCT_RECORDED_BOUNDS_MAX;
}

static int bound_input(struct tsct_merge *m, const struct merge_in *in,
		       struct tsct_recorded_correction *c)
{
	const __u32 nr = point_count(in);
	struct tsct_recorded_bound *b;
	struct measured at;
	__u32 k, fitted = 0;
	double sum = 0, ps;
	int err = 0;

	c->nr_bounds = nr;
	for (k = 0; k < nr; k++)
		c->bounds[k] = (struct tsct_recorded_bound) {
			.tick = merge_global(in, point_tick(in, k, nr - 1)) };
	/* Measures the error at the tick of each error bound, which may raise a bound,
	 * and halfway between the ticks of two bounds, which may raise both bounds. */
	for (k = 0; k <= 2 * (nr - 1) && !err; k++) {
		if (merge_is_stopped(m))
			return -EINTR;
		err = measure_error(m, in, point_tick(in, k, 2 * (nr - 1)),
				    point_tick(in, k < 2 * (nr - 1) ? k + 1 : k,
					       2 * (nr - 1)), &at);
		widen_bound(&c->bounds[k / 2], at.error_ns);
		widen_bound(&c->bounds[(k + 1) / 2], at.error_ns);
		if (at.residual_ns >= 0) {
			sum += at.residual_ns * at.residual_ns;
			fitted++;
		}
	}
	if (!err && fitted)
		doubt_epochs(m, in, c);
	ps = fitted ? round(sqrt(sum / fitted) * 1e3) : 0;
	c->has_residual = fitted != 0;
	c->residual_ps = ps < 9e18 ? (__u64)ps : INT64_MAX;
	/* The mapping of a new epoch of the node's counter may place bounds at global
	 * ticks before the last bound of the previous epoch. The ticks of such bounds
	 * are raised to the tick of that last bound, as are global ticks of events. */
	for (k = 1; k < nr; k++) {
		b = &c->bounds[k];
		if (b->tick >= b[-1].tick)
			continue;
		b->tick = b[-1].tick;
		b->error_ns = max(b->error_ns, b[-1].error_ns);
	}
	return err;
}

/* Sets the kind of fit, and the counts of samples used and dropped. In a long recording
 * each fit uses a part of the samples, and different fits may drop different samples,
 * so all samples count as used. */
static void count_samples(const struct merge_in *in,
			  struct tsct_recorded_correction *c)
{
	const struct tsct_series *series;
	struct tsct_fit fit;
	unsigned int i;

	strcpy(c->fit, tsct_fit_name(in->fit));
	for (i = 0; i < in->nr_segments; i++) {
		series = merge_series(in, &in->segment[i]);
		if (tsct_series_near(series, in->fit, in->hz,
				     in->begin + (in->end - in->begin) / 2, &fit)) {
			c->kept += series->nr;
			continue;
		}
		/* The kind of fit that auto chose; or auto, if auto chose different
		 * kinds for the segments */
		if (i && strcmp(c->fit, tsct_fit_name(fit.kind)))
			fit.kind = TSCT_FIT_AUTO;
		strcpy(c->fit, tsct_fit_name(fit.kind));
		tsct_fit_free(&fit);
		if (series->nr > TSCT_SERIES_NEAR) {
			c->kept += series->nr;
			continue;
		}
		c->kept += fit.nr_kept;
		c->dropped += fit.nr_dropped;
	}
}

/* Copies the error bounds of a merged input's nodes to the result. Adds 1 ns to each bound,
 * for rounding, if the input's global ticks are not those of the result. If the result
 * needs bounds relative to UTC, bounds relative to one machine's clock are converted. */
static void carry_bounds(struct tsct_merge *m, const struct merge_in *in)
{
	const struct tsct_recording *rec = in->rec;
	const bool same = m->time == TSCT_MERGE_OWN ?
		rec->timeline.hz == m->frame.hz : merge_is_same_frame(m, rec);
	struct tsct_recorded_correction *c;
	struct tsct_recorded_bound *b;
	__u32 i, source;
	__u64 utc_ns;

	for (i = 0; i < rec->nr_nodes; i++) {
		utc_ns = tsct_recording_worst_utc_ns(&rec->nodes[i], &source);
		c = &merge_nodes(m, in)[i].correction;
		*c = rec->nodes[i].correction;
		if (m->compared == TSCT_COMPARED_UNKNOWN)
			c->nr_bounds = 0;
		for (b = c->bounds; b < c->bounds + c->nr_bounds; b++) {
			if (m->compared == TSCT_COMPARED_UTC &&
			    rec->compared == TSCT_COMPARED_CLOCK)
				b->error_ns = tsct_recorded_bound_add(b->error_ns,
					tsct_recorded_bound_add(utc_ns, (__u64)
					leap_ns(tsct_clock_params_ns(&rec->real, b->tick))));
			b->tick = merge_global(in, b->tick);
			b->error_ns = tsct_recorded_bound_add(b->error_ns, !same);
		}
	}
}

int merge_bound_anew(struct tsct_merge *m, struct merge_in *in)
{
	int err;

	if (m->compared == TSCT_COMPARED_UNKNOWN)
		return 0;
	err = bound_input(m, in, &merge_nodes(m, in)->correction);
	return !err ? 0 : merge_fail(m, err == -ENOMEM || err == -EINTR ? err : -EINVAL,
			  "%s: the error bound of its times cannot be computed: %s", in->info.path,
			  tsct_fit_error(err));
}

/* Sets the error bounds of a node's times relative to its own CLOCK_REALTIME, one per part
 * of the input: the largest error in that part. A part starts a little early, as several
 * ticks of the input may become one tick of the result. */
static void bound_own_clock(const struct merge_in *in, struct tsct_recorded_node *to)
{
	const __u64 early = (__u64)(2e-9 * in->hz) + 1;
	const __u32 nr = point_count(in) - 1;
	__u64 from, until;
	__u32 k;

	to->nr_clock_bounds = nr;
	for (k = 0; k < nr; k++) {
		from = point_tick(in, k, nr);
		until = point_tick(in, k + 1, nr);
		to->clock_bounds[k] = (struct tsct_recorded_bound) {
			.tick = merge_global(in, from),
			.error_ns = tsct_recording_node_worst_ns(in->rec, 0,
				from - in->begin < early ? in->begin : from - early, until),
		};
	}
}

/* Copies the bounds of a merged input's node relative to the node's own CLOCK_REALTIME. Adds 1 ns
 * to each, for rounding, if the global ticks of the input are not those of the result. */
static void carry_clock(const struct tsct_merge *m, const struct merge_in *in,
			const struct tsct_recorded_node *from, struct tsct_recorded_node *to)
{
	const bool same = in->rec->timeline.hz == m->frame.hz;
	__u32 k;

	to->nr_clock_bounds = from->nr_clock_bounds;
	for (k = 0; k < from->nr_clock_bounds; k++)
		to->clock_bounds[k] = (struct tsct_recorded_bound) {
			.tick = merge_global(in, from->clock_bounds[k].tick),
			.error_ns = tsct_recorded_bound_add(from->clock_bounds[k].error_ns,
							    !same),
		};
}

/* Copies to the result the errors of an input's nodes relative to CLOCK_REALTIME and UTC. */
static void carry_clock_errors(struct tsct_merge *m, const struct merge_in *in)
{
	const struct tsct_recording *rec = in->rec;
	struct tsct_recorded_node *to;
	struct tsct_recorded_utc *u;
	__u64 error_ns;
	bool has_clock;
	__u32 i;

	for (i = 0; i < rec->nr_nodes; i++) {
		to = &merge_nodes(m, in)[i];
		memcpy(to->utc, rec->nodes[i].utc, sizeof(to->utc));
		to->nr_utc = rec->nodes[i].nr_utc;
		/* In an incomplete recording, the error grows from the last bound to the
		 * last event. */
		if (to->nr_utc)
			to->utc[to->nr_utc - 1].error_ns =
				tsct_recording_utc_max_ns(rec, i,
							  rec->nodes[i].utc[to->nr_utc - 1].tick,
							  in->end);
		for (u = to->utc; u < to->utc + to->nr_utc; u++) {
			u->tick = merge_global(in, u->tick);
			if (u == to->utc || u->tick >= u[-1].tick)
				continue;
			/* The mapping of the counter's next epoch may start at an earlier
			 * global tick. */
			u->tick = u[-1].tick;
			u->error_ns = max(u->error_ns, u[-1].error_ns);
		}
		/* The cluster's time is not the node's CLOCK_REALTIME. */
		has_clock = m->time != TSCT_MERGE_CLUSTER && !rec->timeline.on;
		to->nr_clock_bounds = 0;
		if (has_clock && rec->merged)
			carry_clock(m, in, &rec->nodes[i], to);
		else if (has_clock)
			bound_own_clock(in, to);
		error_ns = !has_clock ? UINT64_MAX :
			rec->merged ? rec->nodes[i].clock_error_ns :
			tsct_recording_node_clock_ns(rec, 0, in->end);
		to->clock_error_ns = error_ns == UINT64_MAX ? 0 : error_ns;
	}
}

int merge_bound_first(struct tsct_merge *m, struct merge_in *in)
{
	carry_clock_errors(m, in);
	if (in->merged) {
		carry_bounds(m, in);
		return 0;
	}
	if (in->segment[0].series != MERGE_NOBODY)
		count_samples(in, &merge_nodes(m, in)->correction);
	return merge_bound_anew(m, in);
}

/* ---- the result's clock --------------------------------------------------------- */

/* Sets the first and the last global tick of all inputs. */
static void find_span(struct tsct_merge *m)
{
	struct tsct_recording *r = &m->result;
	const struct merge_in *in;
	unsigned int k;
	__u64 at;

	r->begin = UINT64_MAX;
	r->end = 0;
	for (in = m->in; in < m->in + m->nr; in++) {
		/* Within a segment of an input, global ticks increase. From one segment to the
		 * next, where the counter's next epoch starts, global ticks may decrease: so the
		 * lowest global tick may be at the start of any segment. */
		for (k = 0; k < in->nr_segments; k++) {
			at = merge_global(in, k ? in->segment[k].begin : in->begin);
			r->begin = min(r->begin, at);
		}
		at = merge_global(in, in->end);
		r->end = max(r->end, at);
	}
	r->begin = ~tsct_ranks_max(m->ranks, ~r->begin);
	r->end = tsct_ranks_max(m->ranks, r->end);
}

int merge_make_clock(struct tsct_merge *m)
{
	struct tsct_recording *r = &m->result;
	struct tsct_clock_params *real = &r->real;
	const __u64 hz = m->frame.hz;
	bool rest;
	__u64 s;

	find_span(m);
	/* The base of the result's clock is a whole second since the Unix epoch. */
	s = r->begin / hz;
	real->base_cycles = s * hz;
	real->base_ns = (__s64)(s * 1000000000);
	real->mult = tsct_divide(((tsct_u128)1000000000 << TSCT_CLOCK_SHIFT) +
				 hz / 2, hz, &rest);
	real->slew_mult = real->mult;
	real->as_of_cycles = r->end;
	real->holdover_after_cycles = r->end;
	real->void_after_cycles = r->end + hz;
	r->source = hz == TSCT_AXIS_HZ_MIN ? TSCT_SOURCE_REALTIME :
		TSCT_SOURCE_TSC;
	/* Trace readers reject metadata with invalid clock params, or with a recording that
	 * ends before it starts. */
	if (r->end < r->begin || tsct_clock_params_check(real, r->source))
		return merge_fail(m, -EINVAL, "one recording cannot hold the times of all"
				  " inputs: they are too far apart, or too far in the future");
	return 0;
}

/*
 * Adds to each node's error bounds the largest time, ns, by which a global tick of the
 * node was raised to keep ticks in order (monotonic fixup). The error bound of the CTF
 * clock of the merged recording is the largest bound of all nodes; 0 if nodes were
 * never compared, so that there is no bound.
 */
static void bound_clock(struct tsct_merge *m)
{
	struct tsct_clock_params *real = &m->result.real;
	struct tsct_recorded_correction *c;
	struct tsct_recorded_node *node;
	struct tsct_recorded_bound *b;
	__u64 worst = 0, ns;
	__u32 i;

	for (i = 0; i < m->result.nr_nodes; i++) {
		node = &m->result.nodes[i];
		c = &node->correction;
		ns = (__u64)(((tsct_u128)c->fixup_max * 1000000000 +
			      m->frame.hz - 1) / m->frame.hz);
		for (b = c->bounds; b < c->bounds + c->nr_bounds; b++) {
			b->error_ns = tsct_recorded_bound_add(b->error_ns, ns);
			worst = max(worst, b->error_ns);
		}
		for (b = node->clock_bounds; b < node->clock_bounds + node->nr_clock_bounds; b++)
			b->error_ns = tsct_recorded_bound_add(b->error_ns, ns);
		if (node->clock_error_ns)
			node->clock_error_ns = tsct_recorded_bound_add(node->clock_error_ns, ns);
	}
	worst = tsct_ranks_max(m->ranks, worst);
	worst = worst > UINT64_MAX / 1000 ? UINT64_MAX : worst * 1000;
	real->past_error_ps = real->error_ps = worst;
	real->as_of_cycles = real->holdover_after_cycles = m->result.end;
	real->void_after_cycles = m->result.end + m->frame.hz;
}

int merge_bounds_again(struct tsct_merge *m)
{
	struct merge_in *in;
	int err = 0;

	for (in = m->in; in < m->in + m->nr && !err; in++) {
		if (in->merged || in->last <= in->end)
			continue;
		err = merge_use(m, in, MERGE_SAMPLES);
		in->end = in->last;
		if (err)
			break;
		carry_clock_errors(m, in);
		err = merge_bound_anew(m, in);
		merge_leave(m, in);
	}
	err = merge_agree(m, err);
	if (!err)
		bound_clock(m);
	return err;
}
