// SPDX-License-Identifier: MIT
/*
 * Error bound of a fit: the range of functions f that causality allows.
 *
 * f(u) is the remote counter, in counts above a straight function, at u seconds of the
 * local counter (see fit_plane.h). A request, sent at u1 and received at `up`, shows
 * f(u1) <= up; an answer, sent at `low` and received at u4, shows f(u4) >= low. `slack`
 * is the error of these times. With offset f(0) = p, slope f'(0) = q and a slope that
 * changes by at most w per second, f(u) is within w u^2 / 2 of p + q u. So for every
 * exchange
 *
 *   p + q u1 <= up + slack + w u1^2 / 2      p + q u4 >= low - slack - w u4^2 / 2
 *
 * Exactly the p and q that satisfy all these inequalities are possible. To find their
 * extremes is a linear program with two unknowns: the highest p for a given q follows
 * from the lower hull of the upper constraints, the lowest p from the upper hull of the
 * lower constraints. The gap, highest p minus lowest p, is concave in q.
 */
#include "fit_plane.h"

#include <math.h>
#include <stdlib.h>

/* Largest number of steps of a bisection of a range of slopes: enough to halve the
 * range of plausible_slopes() down to the resolution of a double */
#define BISECTION_STEPS	64

struct bound_hulls {
	/* Each exchange gives an upper and a lower limit of the remote counter's
	 * offset. up: corners of the lower convex hull of the upper limits; low:
	 * corners of the lower convex hull of the lower limits, negated. The limits
	 * include the error bound of the packet times, and the wander. */
	struct tsct_corner *up, *low;
	unsigned int nr_up, nr_low;
};

static double curve_limit(const struct tsct_plane *plane, double u)
{
	return plane->wander * u * u / 2;
}

static int compare_times(const void *a, const void *b)
{
	const struct tsct_corner *x = a, *y = b;

	if (x->u != y->u)
		return x->u < y->u ? -1 : 1;
	return (x->point > y->point) - (x->point < y->point);
}

/* Replaces an array of corners by the lower hull of these corners. Returns the number
 * of corners of the hull. @sorted: true if the array is in order of time */
static unsigned int make_hull(struct tsct_corner *corners, unsigned int nr, bool sorted)
{
	struct tsct_corner next;
	unsigned int size = 0, i;

	if (!sorted)
		qsort(corners, nr, sizeof(*corners), compare_times);
	for (i = 0; i < nr; i++) {
		next = corners[i];
		size = tsct_hull_push(corners, size, &next);
	}
	return size;
}

/*
 * Builds the hulls of the points with index @from and above whose flag `sound` is set.
 * Returns false if there are no such points. Points are in order of the requests'
 * times. Their answers may be in another order, if one answer overtook another.
 */
static bool build_hulls(const struct tsct_plane *plane, unsigned int from,
			struct bound_hulls *ret)
{
	struct tsct_corner *up = plane->corner, *low = up + plane->nr;
	const struct tsct_point *p;
	bool sorted = true;
	unsigned int nr = 0, i;

	for (i = from; i < plane->nr; i++) {
		p = &plane->point[i];
		if (!p->sound)
			continue;
		up[nr] = (struct tsct_corner) {
			p->u1, p->up + p->slack + curve_limit(plane, p->u1), i
		};
		low[nr] = (struct tsct_corner) {
			p->u4, -p->low + p->slack + curve_limit(plane, p->u4), i
		};
		if (nr && low[nr].u < low[nr - 1].u)
			sorted = false;
		nr++;
	}
	*ret = (struct bound_hulls) {
		.up = up, .nr_up = make_hull(up, nr, true),
		.low = low, .nr_low = make_hull(low, nr, sorted),
	};
	return nr > 0;
}

/* Returns the corner where a line of a given slope touches a lower hull from below. */
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

/* Highest and lowest offset of the remote counter at the plane's origin (u = 0) that
 * the constraints allow for slope @q. gap() is the highest minus the lowest offset,
 * negative if no line with slope @q is possible. */
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

/* Predicates for bisect(): true if slope q is less than the slope to be found */
static bool is_before_widest_gap(const struct bound_hulls *hulls, double q)
{
	return upper_corner(hulls, q)->u < lower_corner(hulls, q)->u;
}

static bool has_gap(const struct bound_hulls *hulls, double q)
{
	return gap(hulls, q) >= 0;
}

/* Returns true if slope q is less than the slope for which highest() is largest: the
 * highest offset of the remote counter at the plane's origin that the constraints
 * allow. highest() is concave in q, and rises while the line of slope q touches the
 * hull of the upper constraints at a time u before the origin (u < 0). */
static bool is_before_maximum(const struct bound_hulls *hulls, double q)
{
	return upper_corner(hulls, q)->u < 0;
}

static bool is_before_minimum(const struct bound_hulls *hulls, double q)
{
	return lower_corner(hulls, q)->u > 0;
}

/* Bisects the range of slopes @q, to find the slope at which @test changes: @test is true
 * on the side of q.min, false on the side of q.max. q.min may be the larger end. */
static struct tsct_fit_range
bisect(const struct bound_hulls *hulls, struct tsct_fit_range q,
       bool (*test)(const struct bound_hulls *hulls, double q))
{
	unsigned int step;
	double mid;

	for (step = 0; step < BISECTION_STEPS; step++) {
		mid = q.min + (q.max - q.min) / 2;
		if (mid == q.min || mid == q.max)
			break;
		if (test(hulls, mid))
			q.min = mid;
		else
			q.max = mid;
	}
	return q;
}

/*
 * Range of plausible slopes: from a tenth to ten times plane->rate, minus that rate, in
 * counts / s. The range is wide because plane->rate may be far off, if there are two
 * exchanges and both took longer than the interval between them.
 */
static struct tsct_fit_range plausible_slopes(const struct tsct_plane *plane)
{
	double hz = plane->rate * plane->hz;

	return (struct tsct_fit_range) { -0.9 * hz, 9 * hz };
}

/* Returns the slope with the widest gap, as a range so small that the gap is the same
 * at both ends. Lines of the slopes at the two ends may touch different corners: all
 * these corners limit the gap. */
static struct tsct_fit_range widest_gap(const struct tsct_plane *plane,
					const struct bound_hulls *hulls)
{
	return bisect(hulls, plausible_slopes(plane), is_before_widest_gap);
}

/* Returns the slope between @in and @out at which gap() becomes negative, rounded
 * towards @out; @out if gap() is not negative there. gap() at @in is not negative. */
static double end_of_gap(const struct bound_hulls *hulls, double in, double out)
{
	struct tsct_fit_range q = { in, out };

	return has_gap(hulls, out) ? out : bisect(hulls, q, has_gap).max;
}

/* Finds the range of the offset f(0) and of the slope f'(0) that the constraints allow,
 * by the points with index @from and above whose flag `sound` is set. Returns false if
 * the constraints contradict each other, or there are no such points. */
static bool solve_bounds(const struct tsct_plane *plane, unsigned int from,
			 struct tsct_fit_bounds *ret)
{
	struct tsct_fit_range q = plausible_slopes(plane);
	struct bound_hulls hulls;
	double mid;

	if (!build_hulls(plane, from, &hulls))
		return false;
	mid = widest_gap(plane, &hulls).min;
	if (!has_gap(&hulls, mid))
		return false;
	ret->slope.min = end_of_gap(&hulls, mid, q.min);
	ret->slope.max = end_of_gap(&hulls, mid, q.max);
	if (ret->slope.min <= plane->rate_max &&
	    ret->slope.max >= plane->rate_min) {
		ret->slope.min = fmax(ret->slope.min, plane->rate_min);
		ret->slope.max = fmin(ret->slope.max, plane->rate_max);
	}
	q = bisect(&hulls, ret->slope, is_before_maximum);
	ret->y.max = fmax(highest(&hulls, q.min), highest(&hulls, q.max));
	q = bisect(&hulls, ret->slope, is_before_minimum);
	ret->y.min = fmin(lowest(&hulls, q.min), lowest(&hulls, q.max));
	return true;
}

/*
 * Drops one exchange, if the exchanges' constraints contradict each other. The highest
 * minus the lowest offset that they allow, gap(), is then negative for every slope. At
 * most four exchanges determine the maximum of gap() over all slopes: drops that one of
 * the four whose removal raises the maximum most. Returns the new maximum.
 */
static double drop_most_contradicting(struct tsct_plane *plane)
{
	struct tsct_fit_range q;
	double width, widest = -HUGE_VAL;
	unsigned int candidate[4], found, k;
	struct bound_hulls hulls;

	build_hulls(plane, 0, &hulls);
	q = widest_gap(plane, &hulls);
	candidate[0] = upper_corner(&hulls, q.min)->point;
	candidate[1] = upper_corner(&hulls, q.max)->point;
	candidate[2] = lower_corner(&hulls, q.min)->point;
	candidate[3] = lower_corner(&hulls, q.max)->point;
	found = candidate[0];
	for (k = 0; k < 4; k++) {
		plane->point[candidate[k]].sound = false;
		width = build_hulls(plane, 0, &hulls) ?
			gap(&hulls, widest_gap(plane, &hulls).min) : -HUGE_VAL;
		plane->point[candidate[k]].sound = true;
		if (width > widest) {
			widest = width;
			found = candidate[k];
		}
	}
	plane->point[found].sound = false;
	return widest;
}

/*
 * Sets the bounds by the last exchange alone, which contradicts itself: the answer
 * seems to be sent before the request was received, by less than the error of the
 * packet times.
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
	unsigned int left = plane->nr < 4 ? 0 : plane->nr / 20 + 1;
	unsigned int from = 0, to = plane->nr - 1, mid, i;

	if (solve_bounds(plane, 0, ret))
		return;
	/* Drops single exchanges that contradict the other exchanges, up to a twentieth
	 * of all. */
	while (left--)
		if (drop_most_contradicting(plane) >= 0) {
			if (solve_bounds(plane, 0, ret))
				return;
			break;
		}
	/* If no function from local to remote counter meets the constraints of the
	 * exchanges that were not dropped, a counter has changed. Then takes back the
	 * dropped exchanges, and drops the oldest instead: bisection finds the smallest
	 * number to drop for which a function meets the constraints of the rest. */
	for (i = 0; i < plane->nr; i++)
		plane->point[i].sound = !plane->point[i].rejected;
	while (from < to) {
		mid = from + (to - from) / 2;
		if (solve_bounds(plane, mid, ret))
			to = mid;
		else
			from = mid + 1;
	}
	for (i = 0; i < from; i++)
		plane->point[i].sound = false;
	if (!solve_bounds(plane, from, ret))
		bound_by_last(plane, ret);
}

void tsct_fit_bound(struct tsct_plane *plane, struct tsct_fit_bounds *ret)
{
	const struct tsct_point *p;
	double steep, far;
	unsigned int i;

	find_bounds(plane, ret);
	/*
	 * If the last exchanges contradict the exchanges before them, either the last
	 * exchanges are wrong, or they are the first after a change of a counter: the
	 * bound covers both cases.
	 */
	for (i = plane->nr; i-- > 0 && !plane->point[i].sound;) {
		p = &plane->point[i];
		far = fmax(fabs(p->u1), fabs(p->u4));
		steep = fmax(fabs(ret->slope.min), fabs(ret->slope.max));
		far = far * steep + curve_limit(plane, far) + p->slack;
		ret->y.min = fmin(ret->y.min, fmin(p->low, p->up) - far);
		ret->y.max = fmax(ret->y.max, fmax(p->low, p->up) + far);
	}
}
