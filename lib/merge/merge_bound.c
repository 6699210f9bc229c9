// SPDX-License-Identifier: MIT
/*
 * The bound of a node's times over time. The mapping is a curve through
 * estimates; its bound at a point is that of an estimate made for this very
 * point, plus the distance of the curve from it. The middle between two points
 * is checked in the same way.
 */
#include <math.h>

#include "lib/core/clock_params.h"
#include "merge_private.h"
#include "lib/ctf/ticks.h"

/* ---- one point -------------------------------------------------------------------- */

static __u64 round_up(double ns)
{
	/*
	 * Rounding down to a tick costs one, and the mapping's lines are within
	 * 0.1 ns.
	 */
	ns = ceil(ns + 0.1) + 1;
	return ns < 9e18 ? (__u64)ns : INT64_MAX;
}

/*
 * The clock's own bound, plus the distance of the recording's straight clock
 * from it
 */
static double own_ns(const struct merge_in *in, __u64 local)
{
	const struct tsct_clock_params *real = &in->info.rec->real;
	const __s64 now_ns = (__s64)((tsct_u128)merge_global(in, local) *
				     1000000000 / in->frame.hz);
	const double off = fabs((double)((tsct_s128)now_ns - tsct_clock_params_ns(real, local)));

	/* Both times were rounded down to ns: up to 1 ns of `off` is rounding. */
	return (double)tsct_clock_params_error_ps(real, local) * 1e-3 +
		(off > 1 ? off - 1 : 0);
}

struct measured {
	double error_ns;
	double residual_ns;	/* below 0: nothing was fitted */
};

static int measure(const struct tsct_merge *m, const struct merge_in *in,
		   __u64 local, struct measured *ret)
{
	const struct merge_segment *s = merge_segment_of(in, local);
	const __s64 shift_ns =
		m->result.nodes[in->info.first_node].correction.shift_ns;
	struct merge_place at, estimate;
	int err;

	ret->error_ns = (double)tsct_recording_uncertainty(in->info.rec) / in->hz * 1e9 +
		fabs((double)shift_ns);
	ret->residual_ns = -1;
	if (in->how == TSCT_MERGE_AS_OWN)
		ret->error_ns += own_ns(in, local);
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

/* ---- all points ---------------------------------------------------------- */

static __u32 count_points(const struct merge_in *in)
{
	double nr = (double)(in->end - in->begin) / in->hz + 2;

	return nr < TSCT_RECORDED_BOUNDS_MAX ? (__u32)nr :
		TSCT_RECORDED_BOUNDS_MAX;
}

static __u64 point(const struct merge_in *in, __u32 k, __u32 nr)
{
	return in->begin + (__u64)((tsct_u128)(in->end - in->begin) * k / nr);
}

static void widen(struct tsct_recorded_bound *b, double ns)
{
	if (round_up(ns) > b->error_ns)
		b->error_ns = round_up(ns);
}

/*
 * Raises points that are before the last one of the epoch before: where the
 * counter began anew, the next epoch's function may give such times. Events are
 * raised likewise.
 */
static void order(struct tsct_recorded_correction *c)
{
	struct tsct_recorded_bound *b;
	__u32 k;

	for (k = 1; k < c->nr_bounds; k++) {
		b = &c->bounds[k];
		if (b->tick >= b[-1].tick)
			continue;
		b->tick = b[-1].tick;
		if (b->error_ns < b[-1].error_ns)
			b->error_ns = b[-1].error_ns;
	}
}

/* Stores the root mean square of @nr residuals; @sum: of their squares, ns^2. */
static void set_residual(struct tsct_recorded_correction *c, double sum, __u32 nr)
{
	const double ps = nr ? round(sqrt(sum / nr) * 1e3) : 0;

	c->has_residual = nr != 0;
	c->residual_ps = ps < 9e18 ? (__u64)ps : INT64_MAX;
}

static int bound_input(const struct tsct_merge *m, const struct merge_in *in,
		       struct tsct_recorded_correction *c)
{
	const __u32 nr = count_points(in);
	struct measured at;
	__u32 k, fitted = 0;
	double sum = 0;
	int err = 0;

	c->nr_bounds = nr;
	for (k = 0; k < nr; k++)
		c->bounds[k] = (struct tsct_recorded_bound) {
			.tick = merge_global(in, point(in, k, nr - 1)) };
	/* Odd k: halfway between two points, the error there is for both. */
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
	set_residual(c, sum, fitted);
	order(c);
	return err;
}

/* The kind of the first fit that auto chose; auto, if others differ */
static void name_fit(struct tsct_recorded_correction *c, enum tsct_fit_kind kind,
		     bool first)
{
	const char *name = tsct_fit_name(kind);

	if (first || !strcmp(c->fit, name))
		strcpy(c->fit, name);
	else
		strcpy(c->fit, tsct_fit_name(TSCT_FIT_AUTO));
}

/*
 * With long recordings, each fit used a part of the samples: the counts are of
 * all fits, whose dropped samples may differ.
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
		name_fit(c, fit.kind, !i);
		if (series->nr > TSCT_SERIES_NEAR) {
			c->kept += series->nr;
			continue;
		}
		c->kept += fit.nr_kept;
		c->dropped += fit.nr_dropped;
	}
}

/*
 * Copies the bounds of a merged input, with a tick more if its axis is another
 * one.
 */
static void carry(const struct tsct_merge *m, const struct merge_in *in,
		  const struct tsct_recorded_correction *from,
		  struct tsct_recorded_correction *c)
{
	bool same = m->time == TSCT_MERGE_OWN ?
		in->info.rec->timeline.hz == m->frame.hz :
		merge_is_same_frame(m, in->info.rec);
	__u32 i;

	*c = *from;
	for (i = 0; i < c->nr_bounds; i++) {
		c->bounds[i].tick = merge_global(in, from->bounds[i].tick);
		c->bounds[i].error_ns = tsct_add_saturating(c->bounds[i].error_ns, !same);
	}
}

static int bound_nodes(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_recording *rec = in->info.rec;
	struct tsct_recorded_correction *c;
	__u32 i;

	for (i = 0; i < rec->nr_nodes; i++) {
		c = &m->result.nodes[in->info.first_node + i].correction;
		if (rec->merged) {
			carry(m, in, &rec->nodes[i].correction, c);
			continue;
		}
		if (in->segment[0].series)
			count_samples(in, c);
		return bound_input(m, in, c);
	}
	return 0;
}

static int fail(struct tsct_merge *m, const struct merge_in *in, int err)
{
	return merge_fail(m, err == -ENOMEM || err == -EINTR ? err : -EINVAL,
			  "%s: the error bound of its times cannot be computed: %s", in->info.path,
			  tsct_fit_error(err));
}

int merge_bounds(struct tsct_merge *m)
{
	unsigned int i;
	int err;

	for (i = 0; i < m->nr; i++) {
		err = bound_nodes(m, &m->in[i]);
		if (err)
			return fail(m, &m->in[i], err);
	}
	return 0;
}

int merge_bound_anew(struct tsct_merge *m, struct merge_in *in)
{
	int err = bound_input(m, in,
			      &m->result.nodes[in->info.first_node].correction);

	return err ? fail(m, in, err) : 0;
}

/* Extends the bounds of a recording that grew since its end was searched. */
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
