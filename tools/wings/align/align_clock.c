// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "align.h"
#include "lib/base/array.h"
#include "tools/shared/node_history.h"

/* A further point is needed if the relation of slope 1 is wrong by more than TOLERANCE_NS,
 * and also by more than 1 / TOLERANCE_PART of the error bound of the time. */
#define TOLERANCE_NS	50
#define TOLERANCE_PART	4
/* At the boundary of two epochs, a clock's value may have several times. UNION_MAX_NS is their
 * largest valid distance, ns. Half of the distance becomes the error bound. */
#define UNION_MAX_NS	10000000
#define POINTS_MAX	(1U << 20)	/* limit per clock of a node; at the limit,
					 * drift increases the error bound */

int align_convert(struct align_node *node, enum tsct_history_clock clock, __s64 value,
		  struct align_axis *axis, struct align_time *ret)
{
	struct tsct_history_time t[TSCT_HISTORY_TIMES];
	struct node_history_middle m;
	__s64 lo = 0, hi = 0;
	unsigned int nr, i;
	int err = tsct_history_convert(node->history, clock, (__u64)value, (__u64)value, t, &nr);

	for (i = 0; i < nr && !err; i++) {
		__s64 from = t[i].real_lo_ns, to = t[i].real_hi_ns;

		if (axis->kind == ALIGN_UTC && t[i].utc_error_ns >= UNION_MAX_NS * 1000ULL)
			return -EDOM;
		if (axis->kind == ALIGN_UTC) {
			from -= (__s64)t[i].utc_error_ns;
			to += (__s64)t[i].utc_error_ns;
		} else if (axis->kind == ALIGN_CLUSTER) {
			if (!axis->has_cluster && t[i].has_cluster) {
				axis->master = t[i].cluster_master;
				axis->timeline = t[i].cluster_timeline;
				axis->has_cluster = true;
			}
			if (!t[i].has_cluster || !t[i].cluster_timeline ||
			    t[i].cluster_master != axis->master ||
			    t[i].cluster_timeline != axis->timeline)
				return -EXDEV;
			from = t[i].cluster_lo_ns;
			to = t[i].cluster_hi_ns;
		}
		lo = i && lo < from ? lo : from;
		hi = i && hi > to ? hi : to;
	}
	if (err)
		return err;
	if (nr > 1 && hi - lo > UNION_MAX_NS)
		return -ENOTUNIQ;
	if (lo < 0)
		return -ERANGE;
	m = node_history_middle(lo, hi);
	*ret = (struct align_time) { m.ns, m.error_ns };
	return 0;
}

const char *align_reason(int err)
{
	switch (err) {
	case -EDOM:
		return "the error of the node's clock against UTC was unknown then; give "
			"--timeline cluster, or run chronyd or ntpd, which set it in the kernel";
	case -EXDEV:
		return "at that moment, the node had no cluster time, or that of another "
			"cluster; give --timeline utc";
	case -ENOTUNIQ:
		return "the clock had that value several times, because it was set back; give "
			"--timeline utc or a trace of CLOCK_MONOTONIC";
	default:
		return node_history_reason(err);
	}
}

/* ---- points --------------------------------------------------------------- */

static __u64 distance(__s64 a, __s64 b)
{
	return a > b ? (__u64)a - (__u64)b : (__u64)b - (__u64)a;
}

static int add_point(struct align_series *s, __s64 value, __s64 time, __u64 bound)
{
	struct align_point point = { value, time, bound };

	/* Where two lines of the history meet, the time may decrease by less
	 * than the error bound. Perfetto rejects a clock that decreases. */
	if (s->nr && time < s->points[s->nr - 1].time) {
		point.time = s->points[s->nr - 1].time;
		point.bound_ns += (__u64)point.time - (__u64)time;
	}
	return tsct_array_add(&s->points, &s->nr, &point, sizeof(point));
}

/* Adds the points of a part of a range. In this part, the clock's rate is constant. */
static int add_part(struct align_series *s, bool *go_on, __s64 v0, __s64 v1,
		    const struct align_time *t0, const struct align_time *t1)
{
	const __u64 error = t0->error_ns > t1->error_ns ? t0->error_ns : t1->error_ns;
	__u64 tolerance = TOLERANCE_NS > error / TOLERANCE_PART ? TOLERANCE_NS :
		error / TOLERANCE_PART, drift, nr, i;
	struct align_point *last = *go_on ? &s->points[s->nr - 1] : NULL;
	const __u64 left = s->nr < POINTS_MAX ? POINTS_MAX - s->nr : 0;
	int err = 0;

	/* For cycles, points state only the error bound: align_make_times() converts values. */
	if (s->is_cycles)
		return add_point(s, v0, t0->ns, error) ?: add_point(s, v1, t1->ns, error);
	if (last) {
		const __u64 off0 = distance(last->time + (v0 - last->value), t0->ns);
		const __u64 off1 = distance(last->time + (v1 - last->value), t1->ns);
		const __u64 off = off0 > off1 ? off0 : off1;

		if (off <= tolerance) {
			last->bound_ns = last->bound_ns > error + off + 1 ? last->bound_ns :
				error + off + 1;
			return 0;
		}
	}
	drift = distance(v1 - v0, t1->ns - t0->ns);
	nr = drift / tolerance + 1;
	if (nr > left / 8 + 1)
		nr = left / 8 + 1;
	if (nr > (__u64)(v1 - v0))
		nr = (__u64)(v1 - v0) ?: 1;
	for (i = 0; i < nr && !err; i++) {
		const double part = (double)i / (double)nr;
		const __s64 v = v0 + (__s64)((double)(v1 - v0) * part);
		/* Computes the time from v, not from `part`, because v is rounded. */
		const double at = v1 == v0 ? 0 : (double)(v - v0) / (double)(v1 - v0);
		const __s64 more = (t1->ns - t0->ns) - (v1 - v0);

		err = add_point(s, v, t0->ns + (v - v0) + (__s64)((double)more * at),
				error + drift / nr + 3);
	}
	*go_on = true;
	return err;
}

/* Returns the sorted values at which a range is divided: both ends of the range, and three values
 * for each bend: the bend, and one value on each side, farther from the bend than the error. */
static int get_cuts(struct align_node *node, enum tsct_history_clock clock,
		    const struct align_range *range, struct align_axis *axis, __s64 **ret,
		    __u32 *ret_nr)
{
	struct align_time t;
	__s64 *bends, *cuts = NULL;
	__u32 nr, i, k;
	int err = tsct_history_bends(node->history, clock, range->lo, range->hi, &bends, &nr);

	*ret_nr = 0;
	if (!err)
		err = tsct_array_add(&cuts, ret_nr, &range->lo, sizeof(*cuts)) ?:
			tsct_array_add(&cuts, ret_nr, &range->hi, sizeof(*cuts));
	for (i = 0; i < nr && !err; i++) {
		__s64 near;

		if (i && bends[i] == bends[i - 1])
			continue;
		near = align_convert(node, clock, bends[i], axis, &t) ? 1000 :
			2 * (__s64)t.error_ns + 16;
		for (k = 0; k < 3 && !err; k++) {
			const __s64 cut = bends[i] + near * ((__s64)k - 1);

			if (cut > range->lo && cut < range->hi)
				err = tsct_array_add(&cuts, ret_nr, &cut, sizeof(*cuts));
		}
	}
	if (!err)
		tsct_array_sort(cuts, *ret_nr, sizeof(*cuts));	/* no cut is negative */
	free(bends);
	*ret = cuts;
	return err;
}

int align_walk(struct align_node *node, enum tsct_history_clock clock,
	       const struct align_range *range, struct align_axis *axis,
	       struct align_series *series, __s64 *ret_at)
{
	struct align_time last = { 0, 0 }, t;
	bool go_on = false;
	__s64 *cuts;
	__u32 nr, i;
	int err = get_cuts(node, clock, range, axis, &cuts, &nr);

	for (i = 0; i < nr && !err; i++) {
		*ret_at = cuts[i];
		err = align_convert(node, clock, cuts[i], axis, &t);
		if (!err && i && series)
			err = add_part(series, &go_on, cuts[i - 1], cuts[i], &last, &t);
		last = t;
	}
	free(cuts);
	return err;
}

/* Adds the point of CLOCK_BOOTTIME that is nearest in time to the first point of another clock. */
static int add_boottime(struct align_node *node, struct align_axis *axis)
{
	struct align_series *s = &node->series[TSCT_HISTORY_BOOTTIME];
	struct align_point best = { 0, 0, 0 };
	__u64 nearest = ~0ULL;
	struct align_time t;
	__s64 *bends, near = 0;
	__u32 nr, i;
	int err;

	for (i = 0; i < TSCT_HISTORY_CLOCKS; i++)
		near = node->series[i].nr ? node->series[i].points[0].time : near;
	err = tsct_history_bends(node->history, TSCT_HISTORY_BOOTTIME, 0, INT64_MAX, &bends, &nr);
	for (i = 0; i < nr && !err; i++)
		if (!align_convert(node, TSCT_HISTORY_BOOTTIME, bends[i], axis, &t) &&
		    distance(t.ns, near) < nearest) {
			nearest = distance(t.ns, near);
			best = (struct align_point) { bends[i], t.ns, t.error_ns };
		}
	free(bends);
	return err || nearest == ~0ULL ? err : add_point(s, best.value, best.time, best.bound_ns);
}

int align_make_points(struct align_node *node, struct align_axis *axis)
{
	int err = 0;
	__u32 i, k;
	__s64 at;

	for (i = 0; i < TSCT_HISTORY_CLOCKS; i++) {
		struct align_series *s = &node->series[i];

		s->is_cycles = i == TSCT_HISTORY_TSC;
		for (k = 0; k < s->ranges.nr && !err; k++)
			err = align_walk(node, i, &s->ranges.all[k], axis, s, &at);
	}
	return err || node->series[TSCT_HISTORY_BOOTTIME].nr ? err : add_boottime(node, axis);
}

__u64 align_bound(const struct align_series *series, const struct align_range *range)
{
	/* Perfetto uses the last point that is not after the range's begin. */
	const size_t lo = series->nr ? tsct_array_up_to((const __u64 *)&series->points[0].value,
		series->nr, sizeof(*series->points), (__u64)range->lo) : 0;
	__u64 bound = 0;
	size_t i;

	for (i = lo ? lo - 1 : 0; i < series->nr && series->points[i].value <= range->hi; i++)
		if (series->points[i].bound_ns > bound)
			bound = series->points[i].bound_ns;
	return bound;
}
