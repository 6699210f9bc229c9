// SPDX-License-Identifier: MIT
#include <math.h>

#include "merge_map.h"

__u64 merge_global(const struct merge_in *in, __u64 local)
{
	const struct merge_segment *s = merge_segment_of(in, local);
	struct tsct_mapping_line line;

	local = max(local, s->begin);
	local = min(local, s->end);
	if (tsct_mapping_find_line(&s->correct, local, &line))
		return 0;
	return tsct_mapping_line_at(&line, local);
}

void merge_place_at(const struct merge_segment *s, __u64 local,
		    struct merge_place *ret)
{
	ret->count = tsct_fit_at(&s->fit, local, &ret->frac, NULL);
	ret->rate = tsct_fit_rate(&s->fit, local);
	ret->error = ret->residual_ns = 0;
}

/*
 * Converts a tick of the input @parent to a position on the merged recording's axis.
 * @parent: input of the node that was polled by the node that is being mapped
 * @place: when called: a tick of @parent, and the tick's error bound in ticks; on
 *	success: the position that @parent's cubic pieces give for that tick, and the
 *	position's error bound, both in counts of the axis
 */
static int follow_parent(const struct tsct_merge *m, const struct merge_in *parent,
			 struct merge_place *place)
{
	const __u64 local = place->count;
	const struct merge_segment *s = merge_segment_of(parent, local);
	struct merge_place next, estimate;
	int err;

	merge_place_at(s, local, &next);
	if (s->series != MERGE_NOBODY) {
		err = merge_estimate(m, parent, s, local, &estimate);
		if (err)
			return err;
		next.error = estimate.error +
			fabs((double)(__s64)(estimate.count - next.count) +
			     estimate.frac - next.frac);
	}
	next.error += place->error * next.rate;
	merge_add_frac(&next, next.frac + place->frac * next.rate);
	next.rate *= place->rate;
	*place = next;
	return 0;
}

int merge_estimate(const struct tsct_merge *m, const struct merge_in *in,
		   const struct merge_segment *s, __u64 local,
		   struct merge_place *ret)
{
	const struct tsct_series *series = merge_series(in, s);
	const double axis_ns = merge_axis_ns(&m->axis);
	struct tsct_fit fit;
	double frac, error;
	__s64 ns;
	int err = tsct_series_near(series, in->fit, in->hz, local, &fit);

	if (err)
		return err;
	ret->count = tsct_fit_at(&fit, local, &ret->frac, &ret->error);
	ret->rate = tsct_fit_rate(&fit, local);
	if (s->how == TSCT_MERGE_VIA) {
		err = follow_parent(m, merge_input_at(m, s->parent), ret);
	} else if (s->how == TSCT_MERGE_BY_PARAMS) {
		ns = tsct_series_time(series, &fit, local, &frac, &error);
		ret->rate *= tsct_series_ns(series) / axis_ns;
		ret->error = error / axis_ns;
		merge_axis_place(&m->axis, ns, frac, ret);
	}
	/* The residual is that of the node's own samples, not of the parent's. */
	ret->residual_ns = fit.residual * tsct_series_ns(series);
	tsct_fit_free(&fit);
	return err;
}
