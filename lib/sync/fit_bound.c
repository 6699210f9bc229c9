// SPDX-License-Identifier: MIT
/*
 * Error bound of a fit: what causality leaves possible.
 *
 * With f(0) = p and f'(0) = q, and a rate that changes by at most w per second,
 * f(u) is within w u^2 / 2 of p + q u. So for every exchange
 *
 *   p + q u1 <= up + slack + w u1^2 / 2      p + q u4 >= low - slack - w u4^2 / 2
 *
 * Exactly the p and q that satisfy all of these are possible. Their extremes
 * are a linear program with two unknowns: the highest p for a given q is given
 * by the lower hull of the upper constraints, the lowest by the upper hull of
 * the lower ones, and the gap between them is concave in q.
 */
#include "fit_plane.h"

#include <math.h>

/* Bisection steps, from half the rate down to the resolution of a double */
#define BISECTIONS	64

struct bound_hulls {
	struct tsct_corner *up, *low;	/* hulls of up, and of -low */
	unsigned int nr_up, nr_low;
};

static double curve_limit(const struct tsct_plane *plane, double u)
{
	return plane->wander * u * u / 2;
}

/*
 * Of the sound points from @from on. An answer that was overtaken adds nothing.
 * False: there are no points.
 */
static bool build_hulls(const struct tsct_plane *plane, unsigned int from,
			struct bound_hulls *ret)
{
	const struct tsct_point *p;
	struct tsct_corner corner;
	unsigned int i;

	*ret = (struct bound_hulls) {
		.up = plane->corner, .low = plane->corner + plane->nr,
	};
	for (i = from; i < plane->nr; i++) {
		p = &plane->point[i];
		if (!p->sound)
			continue;
		corner = (struct tsct_corner) {
			p->u1, p->up + p->slack + curve_limit(plane, p->u1), i
		};
		ret->nr_up = tsct_hull_push(ret->up, ret->nr_up, &corner);
		corner.u = p->u4;
		corner.y = -p->low + p->slack + curve_limit(plane, p->u4);
		if (!ret->nr_low || ret->low[ret->nr_low - 1].u <= corner.u)
			ret->nr_low = tsct_hull_push(ret->low, ret->nr_low,
						     &corner);
	}
	return ret->nr_up > 0;
}

/* Corner of a lower hull that a line of this slope touches from below */
static const struct tsct_corner *touched_corner(const struct tsct_corner *hull,
						unsigned int nr, double slope)
{
	unsigned int from = 0, to = nr - 1, mid;

	while (from < to) {
		mid = from + (to - from) / 2;
		if (tsct_hull_slope(hull, mid) < slope)
			from = mid + 1;
		else
			to = mid;
	}
	return &hull[from];
}

static const struct tsct_corner *upper_corner(const struct bound_hulls *hulls,
					      double q)
{
	return touched_corner(hulls->up, hulls->nr_up, q);
}

static const struct tsct_corner *lower_corner(const struct bound_hulls *hulls,
					      double q)
{
	return touched_corner(hulls->low, hulls->nr_low, -q);
}

static double highest(const struct bound_hulls *hulls, double q)
{
	const struct tsct_corner *corner = upper_corner(hulls, q);

	return corner->y - q * corner->u;
}

static double lowest(const struct bound_hulls *hulls, double q)
{
	const struct tsct_corner *corner = lower_corner(hulls, q);

	return -corner->y - q * corner->u;
}

static double gap(const struct bound_hulls *hulls, double q)
{
	return highest(hulls, q) - lowest(hulls, q);
}

/* Slope of the widest gap: bisects by which of the two corners is further right */
static double widest_gap(const struct bound_hulls *hulls,
			 struct tsct_fit_range q)
{
	double mid;

	for (unsigned int turn = 0; turn < BISECTIONS; turn++) {
		mid = q.min + (q.max - q.min) / 2;
		if (mid <= q.min || mid >= q.max)
			return mid;
		if (upper_corner(hulls, mid)->u < lower_corner(hulls, mid)->u)
			q.min = mid;
		else
			q.max = mid;
	}
	return q.min;
}

/*
 * Slope between @in, which has a gap, and @out where the gap ends, rounded
 * outwards; or @out
 */
static double limit_of_gap(const struct bound_hulls *hulls, double in,
			   double out)
{
	double mid;

	if (gap(hulls, out) >= 0)
		return out;
	for (unsigned int turn = 0; turn < BISECTIONS; turn++) {
		mid = in + (out - in) / 2;
		if (mid == in || mid == out)
			return out;
		if (gap(hulls, mid) >= 0)
			in = mid;
		else
			out = mid;
	}
	return out;
}

/*
 * Maximum of highest(), which is concave: it rises while the touched corner is
 * before `at`.
 */
static double maximum_of_highest(const struct bound_hulls *hulls,
				 struct tsct_fit_range q)
{
	double mid;

	for (unsigned int turn = 0; turn < BISECTIONS; turn++) {
		mid = q.min + (q.max - q.min) / 2;
		if (mid <= q.min || mid >= q.max)
			break;
		if (upper_corner(hulls, mid)->u < 0)
			q.min = mid;
		else
			q.max = mid;
	}
	return fmax(highest(hulls, q.min), highest(hulls, q.max));
}

static double minimum_of_lowest(const struct bound_hulls *hulls,
				struct tsct_fit_range q)
{
	double mid;

	for (unsigned int turn = 0; turn < BISECTIONS; turn++) {
		mid = q.min + (q.max - q.min) / 2;
		if (mid <= q.min || mid >= q.max)
			break;
		if (lower_corner(hulls, mid)->u > 0)
			q.min = mid;
		else
			q.max = mid;
	}
	return fmin(lowest(hulls, q.min), lowest(hulls, q.max));
}

/*
 * Slopes outside this range have no gap, or are implausible. It is wide because
 * plane->rate may be far off, if there are two exchanges and both took longer
 * than the interval between them.
 */
static struct tsct_fit_range plausible_slopes(const struct tsct_plane *plane)
{
	double hz = plane->rate * plane->hz;

	return (struct tsct_fit_range) { -0.9 * hz, 9 * hz };
}

static bool intersect(struct tsct_fit_range *q, double min, double max)
{
	if (q->min > max || q->max < min)
		return false;
	q->min = fmax(q->min, min);
	q->max = fmin(q->max, max);
	return true;
}

/* False: the constraints contradict each other, or there are none. */
static bool solve(const struct tsct_plane *plane, unsigned int from,
		  struct tsct_fit_bounds *ret)
{
	struct tsct_fit_range q = plausible_slopes(plane);
	struct bound_hulls hulls;
	double mid;

	if (!build_hulls(plane, from, &hulls))
		return false;
	mid = widest_gap(&hulls, q);
	if (!(gap(&hulls, mid) >= 0))
		return false;
	ret->slope.min = limit_of_gap(&hulls, mid, q.min);
	ret->slope.max = limit_of_gap(&hulls, mid, q.max);
	intersect(&ret->slope, plane->rate_min, plane->rate_max);
	ret->y.max = maximum_of_highest(&hulls, ret->slope);
	ret->y.min = minimum_of_lowest(&hulls, ret->slope);
	return true;
}

/*
 * Width of the gap without this exchange; negative: the others still contradict
 * each other.
 */
static double gap_without(struct tsct_plane *plane, unsigned int point)
{
	struct bound_hulls hulls;
	double ret = -HUGE_VAL;

	plane->point[point].sound = false;
	if (build_hulls(plane, 0, &hulls))
		ret = gap(&hulls,
			  widest_gap(&hulls, plausible_slopes(plane)));
	plane->point[point].sound = true;
	return ret;
}

/*
 * Of the exchanges that define the negative gap, the one whose removal widens
 * it most
 */
static unsigned int most_contradicting(struct tsct_plane *plane,
				       double *ret_gap)
{
	unsigned int candidate[4], found, k;
	struct bound_hulls hulls;
	double q, without;

	build_hulls(plane, 0, &hulls);
	q = widest_gap(&hulls, plausible_slopes(plane));
	candidate[0] = upper_corner(&hulls, nextafter(q, -HUGE_VAL))->point;
	candidate[1] = upper_corner(&hulls, nextafter(q, HUGE_VAL))->point;
	candidate[2] = lower_corner(&hulls, nextafter(q, -HUGE_VAL))->point;
	candidate[3] = lower_corner(&hulls, nextafter(q, HUGE_VAL))->point;
	found = candidate[0];
	*ret_gap = -HUGE_VAL;
	for (k = 0; k < 4; k++) {
		without = gap_without(plane, candidate[k]);
		if (without > *ret_gap) {
			*ret_gap = without;
			found = candidate[k];
		}
	}
	return found;
}

/* Drops single exchanges that contradict the rest; false: there are too many. */
static bool drop_contradicting(struct tsct_plane *plane)
{
	unsigned int left = plane->nr / 20 + 1, candidate;
	double without;

	if (plane->nr < 4)
		return false;
	while (left--) {
		candidate = most_contradicting(plane, &without);
		plane->point[candidate].sound = false;
		if (without >= 0)
			return true;
	}
	return false;
}

/*
 * Drops the oldest exchanges until the rest has a solution: those before a
 * change say nothing about the time after it. Returns the first one left.
 */
static unsigned int drop_before_change(struct tsct_plane *plane,
				       struct tsct_fit_bounds *ret)
{
	unsigned int from = 0, to = plane->nr - 1, mid, i;

	while (from < to) {
		mid = from + (to - from) / 2;
		if (solve(plane, mid, ret))
			to = mid;
		else
			from = mid + 1;
	}
	for (i = 0; i < from; i++)
		plane->point[i].sound = false;
	return from;
}

/*
 * Only the last exchange is left and contradicts itself, by less than the error
 * of its packet times.
 */
static void bound_by_last(const struct tsct_plane *plane,
			  struct tsct_fit_bounds *ret)
{
	const struct tsct_point *last = &plane->point[plane->nr - 1];
	double room = plane->rate * plane->hz * TSCT_FIT_RATE_PPM / 1e6;
	double reach = fabs(last->rtt) + 2 * last->slack +
		room * fabs(last->u) + curve_limit(plane, last->u);

	ret->slope = (struct tsct_fit_range) { -room, room };
	ret->y = (struct tsct_fit_range) { last->y - reach, last->y + reach };
}

static void find_bounds(struct tsct_plane *plane, struct tsct_fit_bounds *ret)
{
	unsigned int i;

	if (solve(plane, 0, ret))
		return;
	if (drop_contradicting(plane) && solve(plane, 0, ret))
		return;
	for (i = 0; i < plane->nr; i++)
		plane->point[i].sound = !plane->point[i].rejected;
	if (!solve(plane, drop_before_change(plane, ret), ret))
		bound_by_last(plane, ret);
}

/*
 * The last exchanges may contradict those before them. They may be wrong, or
 * the first after a change: the bound covers both.
 */
static void cover_last(const struct tsct_plane *plane,
		       struct tsct_fit_bounds *ret)
{
	const struct tsct_point *p;
	double steep, far;
	unsigned int i;

	for (i = plane->nr; i-- > 0 && !plane->point[i].sound;) {
		p = &plane->point[i];
		far = fmax(fabs(p->u1), fabs(p->u4));
		steep = fmax(fabs(ret->slope.min), fabs(ret->slope.max));
		far = far * steep + curve_limit(plane, far) + p->slack;
		ret->y.min = fmin(ret->y.min, fmin(p->low, p->up) - far);
		ret->y.max = fmax(ret->y.max, fmax(p->low, p->up) + far);
	}
}

void tsct_fit_bound(struct tsct_plane *plane, struct tsct_fit_bounds *ret)
{
	find_bounds(plane, ret);
	cover_last(plane, ret);
}
