// SPDX-License-Identifier: MIT
/*
 * Estimates the axis position of an input's tick. Samples around a tick give an
 * estimate and its bound; cubic pieces run through estimates at knots.
 */
#include <math.h>
#include <stdlib.h>

#include "merge_private.h"

/* One a second, as far as there is room: the last piece is straight. */
#define KNOTS_MAX	(TSCT_CUBICS_MAX - 1)
#define KNOT_S		1.0

void merge_place_at(const struct merge_segment *s, __u64 local,
		    struct merge_place *ret)
{
	ret->count = tsct_fit_at(&s->fit, local, &ret->frac, NULL);
	ret->rate = tsct_fit_rate(&s->fit, local);
	ret->error = ret->residual_ns = 0;
}

/* ---- estimates -------------------------------------------------------------------- */

/* The estimate of a node among the inputs for its own tick */
static int ask_parent(const struct tsct_merge *m, const struct merge_in *parent,
		      __u64 local, struct merge_place *ret)
{
	const struct merge_segment *s = merge_segment_of(parent, local);
	struct merge_place estimate;
	int err;

	merge_place_at(s, local, ret);
	if (!s->series)
		return 0;
	err = merge_estimate(m, parent, s, local, &estimate);
	if (err)
		return err;
	ret->error = estimate.error +
		fabs((double)(__s64)(estimate.count - ret->count) +
		     estimate.frac - ret->frac);
	return 0;
}

static int go_on(const struct tsct_merge *m, const struct merge_in *parent,
		 struct merge_place *place)
{
	struct merge_place next;
	int err = ask_parent(m, parent, place->count, &next);

	if (err)
		return err;
	next.error += place->error * next.rate;
	merge_add_frac(&next, next.frac + place->frac * next.rate);
	next.rate *= place->rate;
	*place = next;
	return 0;
}

static void go_on_by_line(const struct tsct_merge *m, const struct tsct_series *s,
			  const struct tsct_fit *fit, __u64 local,
			  struct merge_place *place)
{
	const double axis_ns = merge_axis_ns(&m->axis);
	double frac, error;
	__s64 ns = tsct_series_time(s, fit, local, &frac, &error);

	place->rate *= tsct_series_ns(s) / axis_ns;
	place->error = error / axis_ns;
	merge_axis_place(&m->axis, ns, frac, place);
}

int merge_estimate(const struct tsct_merge *m, const struct merge_in *in,
		   const struct merge_segment *s, __u64 local,
		   struct merge_place *ret)
{
	struct tsct_fit fit;
	int err = tsct_series_near(s->series, in->fit, in->hz, local, &fit);

	if (err)
		return err;
	ret->count = tsct_fit_at(&fit, local, &ret->frac, &ret->error);
	ret->rate = tsct_fit_rate(&fit, local);
	if (s->how == TSCT_MERGE_VIA)
		err = go_on(m, &m->in[s->parent], ret);
	else if (s->how == TSCT_MERGE_BY_PARAMS)
		go_on_by_line(m, s->series, &fit, local, ret);
	/* The residual of the node's own samples, whatever they lead to */
	ret->residual_ns = fit.residual * tsct_series_ns(s->series);
	return err;
}

/* ---- cubic pieces -------------------------------------------------------- */

static unsigned int count_knots(const struct merge_in *in, __u64 span)
{
	double nr = floor((double)span / in->hz / KNOT_S) + 1;

	return nr < KNOTS_MAX ? (unsigned int)nr : KNOTS_MAX;
}

static void put_straight(struct tsct_fit *fit, __u64 from,
			 const struct merge_place *place)
{
	fit->piece[fit->nr_pieces++] = (struct tsct_cubic) {
		.from = from, .base = place->count,
		.c = { place->frac, place->rate },
	};
}

/* A piece between two knots with their values and rates */
static void put_cubic(struct tsct_fit *fit, __u64 from, __u64 to,
		      const struct merge_place *a, const struct merge_place *b)
{
	double h = (double)(to - from);
	double rise = ((double)(__s64)(b->count - a->count) + b->frac - a->frac) / h;
	struct tsct_cubic *piece = &fit->piece[fit->nr_pieces];

	put_straight(fit, from, a);
	piece->c[2] = (3 * (rise - a->rate) - (b->rate - a->rate)) / h;
	piece->c[3] = ((b->rate - a->rate) - 2 * (rise - a->rate)) / (h * h);
}

/*
 * A short recording gets a straight line: two estimates so close constrain no
 * rate.
 */
static int run_through(const struct tsct_merge *m, const struct merge_in *in,
		       struct merge_segment *s, __u64 from, __u64 to)
{
	const unsigned int nr = count_knots(in, to - from);
	struct merge_place last, place;
	__u64 at, last_at = from;
	unsigned int k;
	int err;

	err = merge_estimate(m, in, s, nr > 1 ? from : from + (to - from) / 2,
			     &last);
	for (k = 1; k < nr && !err; k++) {
		if (merge_is_stopped(m))
			return -EINTR;
		at = from + (__u64)((tsct_u128)(to - from) * k / (nr - 1));
		err = merge_estimate(m, in, s, at, &place);
		if (err)
			break;
		put_cubic(&s->fit, last_at, at, &last, &place);
		last = place;
		last_at = at;
	}
	if (!err)
		put_straight(&s->fit, nr > 1 ? last_at : from + (to - from) / 2,
			     &last);
	return err;
}

int merge_trace_pieces(const struct tsct_merge *m, const struct merge_in *in,
		       struct merge_segment *s)
{
	__u64 to = s->end < in->end ? s->end : in->end;

	if (to < s->begin)
		to = s->begin;
	if (s->how == TSCT_MERGE_AS_CHILD && merge_is_reference(in->fit))
		return tsct_series_fit(s->series, in->fit, in->hz, 0, UINT64_MAX,
				       s->begin + (to - s->begin) / 2, &s->fit,
				       NULL);
	memset(&s->fit, 0, sizeof(s->fit));
	return run_through(m, in, s, s->begin, to);
}
