// SPDX-License-Identifier: MIT
/*
 * Computes error bounds of a node's mapping, at ticks evenly spread over the recording.
 * The mapping is a curve through estimates. The error at a tick is the error bound of
 * an estimate made for that tick, plus the distance of the curve from the estimate. The
 * error halfway between two such ticks may raise the bounds at both ticks.
 */
#include <math.h>

#include "merge_private.h"
#include "lib/ctf/ticks.h"

/* ---- error bound at one tick ----------------------------------------------------- */

struct measured {
	double error_ns;
	double residual_ns; /* residual of the fit, ns; below 0: nothing was fitted */
};

static int measure(const struct tsct_merge *m, const struct merge_in *in,
		   __u64 local, struct measured *ret)
{
	const struct tsct_clock_params *real = &in->info.rec->real;
	const struct merge_segment *s = merge_segment_of(in, local);
	struct merge_place at, estimate;
	double off;
	__s64 ns;
	int err;

	ns = m->result.nodes[in->info.first_node].correction.shift_ns;
	ret->error_ns = (double)tsct_recording_uncertainty(in->info.rec) / in->hz * 1e9 +
		fabs((double)ns);
	ret->residual_ns = -1;
	if (in->how == TSCT_MERGE_AS_OWN) {
		/* `off` is the distance between the mapped time and the time by the
		 * recording's clock params, ns. */
		ns = (__s64)((tsct_u128)merge_global(in, local) * 1000000000 /
			     in->frame.hz);
		off = fabs((double)((tsct_s128)ns - tsct_clock_params_ns(real, local)));
		/* The mapped time and the time by the clock params are each rounded
		 * down: up to 1 ns of the distance between these times is no error. */
		ret->error_ns += (double)tsct_clock_params_error_ps(real, local) * 1e-3 +
			(off > 1 ? off - 1 : 0);
	}
	if (!s->series)
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

/* ---- error bounds of a whole input --------------------------------------- */

static __u64 point(const struct merge_in *in, __u32 k, __u32 nr)
{
	return in->begin + (__u64)((tsct_u128)(in->end - in->begin) * k / nr);
}

/* Raises a bound to @ns, plus the error that rounding may add. */
static void widen(struct tsct_recorded_bound *b, double ns)
{
	/*
	 * Rounding a time down to a global tick changes the time by at most 1 ns. The
	 * mapping consists of straight lines, which approximate the cubic pieces of the
	 * fitted function with an error of at most 0.1 ns.
	 */
	const double up = ceil(ns + 0.1) + 1;
	const __u64 error_ns = up < 9e18 ? (__u64)up : INT64_MAX;

	if (error_ns > b->error_ns)
		b->error_ns = error_ns;
}

static int bound_input(const struct tsct_merge *m, const struct merge_in *in,
		       struct tsct_recorded_correction *c)
{
	const double points = (double)(in->end - in->begin) / in->hz + 2;
	const __u32 nr = points < TSCT_RECORDED_BOUNDS_MAX ? (__u32)points :
		TSCT_RECORDED_BOUNDS_MAX;
	struct tsct_recorded_bound *b;
	struct measured at;
	__u32 k, fitted = 0;
	double sum = 0, ps;
	int err = 0;

	c->nr_bounds = nr;
	for (k = 0; k < nr; k++)
		c->bounds[k] = (struct tsct_recorded_bound) {
			.tick = merge_global(in, point(in, k, nr - 1)) };
	/* Measures the error at the tick of each error bound, which may raise a bound,
	 * and halfway between the ticks of two bounds, which may raise both bounds. */
	for (k = 0; k <= 2 * (nr - 1) && !err; k++) {
		if (merge_is_stopped(m))
			return -EINTR;
		err = measure(m, in, point(in, k, 2 * (nr - 1)), &at);
		widen(&c->bounds[k / 2], at.error_ns);
		widen(&c->bounds[(k + 1) / 2], at.error_ns);
		if (at.residual_ns >= 0) {
			sum += at.residual_ns * at.residual_ns;
			fitted++;
		}
	}
	ps = fitted ? round(sqrt(sum / fitted) * 1e3) : 0;
	c->has_residual = fitted != 0;
	c->residual_ps = ps < 9e18 ? (__u64)ps : INT64_MAX;
	/*
	 * The mapping of a new epoch of the node's counter may place bounds at global
	 * ticks before the last bound of the previous epoch. Such bounds are raised to
	 * the tick of that last bound, as global ticks of events are raised.
	 */
	for (k = 1; k < nr; k++) {
		b = &c->bounds[k];
		if (b->tick >= b[-1].tick)
			continue;
		b->tick = b[-1].tick;
		if (b->error_ns < b[-1].error_ns)
			b->error_ns = b[-1].error_ns;
	}
	return err;
}

/*
 * Sets the kind of fit, and the counts of samples used and dropped. In a long recording
 * each fit uses a part of the samples, and different fits may drop different samples,
 * so all samples count as used.
 */
static void count_samples(const struct merge_in *in,
			  struct tsct_recorded_correction *c)
{
	const struct tsct_series *series;
	struct tsct_fit fit;
	unsigned int i;

	strcpy(c->fit, tsct_fit_name(in->fit));
	for (i = 0; i < in->nr_segments; i++) {
		series = in->segment[i].series;
		if (tsct_series_near(series, in->fit, in->hz,
				     in->begin + (in->end - in->begin) / 2, &fit)) {
			c->kept += series->nr;
			continue;
		}
		/* Kind of fit that auto chose; auto, if it chose different kinds for
		 * the segments */
		if (i && strcmp(c->fit, tsct_fit_name(fit.kind)))
			fit.kind = TSCT_FIT_AUTO;
		strcpy(c->fit, tsct_fit_name(fit.kind));
		if (series->nr > TSCT_SERIES_NEAR) {
			c->kept += series->nr;
			continue;
		}
		c->kept += fit.nr_kept;
		c->dropped += fit.nr_dropped;
	}
}

/* Copies the error bounds of a merged input's nodes to the result. Adds 1 ns to each
 * bound, for rounding, if the input's global ticks are not those of the result. */
static void carry(struct tsct_merge *m, const struct merge_in *in)
{
	const struct tsct_recording *rec = in->info.rec;
	const bool same = m->time == TSCT_MERGE_OWN ?
		rec->timeline.hz == m->frame.hz : merge_is_same_frame(m, rec);
	struct tsct_recorded_correction *c;
	struct tsct_recorded_bound *b;
	__u32 i;

	for (i = 0; i < rec->nr_nodes; i++) {
		c = &m->result.nodes[in->info.first_node + i].correction;
		*c = rec->nodes[i].correction;
		for (b = c->bounds; b < c->bounds + c->nr_bounds; b++) {
			b->tick = merge_global(in, b->tick);
			b->error_ns = tsct_add_saturating(b->error_ns, !same);
		}
	}
}

int merge_bound_anew(struct tsct_merge *m, struct merge_in *in)
{
	int err = bound_input(m, in,
			      &m->result.nodes[in->info.first_node].correction);

	return !err ? 0 : merge_fail(m, err == -ENOMEM || err == -EINTR ? err : -EINVAL,
			  "%s: the error bound of its times cannot be computed: %s", in->info.path,
			  tsct_fit_error(err));
}

int merge_bounds(struct tsct_merge *m)
{
	struct merge_in *in;
	int err = 0;

	for (in = m->in; in < m->in + m->nr && !err; in++) {
		if (in->info.rec->merged) {
			carry(m, in);
			continue;
		}
		if (in->segment[0].series)
			count_samples(in, &m->result.nodes[in->info.first_node].correction);
		err = merge_bound_anew(m, in);
	}
	return err;
}

/* Extends the bounds of recordings that grew since the search for their ends. */
int merge_bounds_again(struct tsct_merge *m)
{
	struct merge_in *in;
	int err = 0;

	for (in = m->in; in < m->in + m->nr && !err; in++) {
		if (in->info.rec->merged || in->last <= in->end)
			continue;
		in->end = in->last;
		err = merge_bound_anew(m, in);
	}
	return err;
}
