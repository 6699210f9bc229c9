// SPDX-License-Identifier: MIT
/*
 * What causality leaves possible.
 *
 * With f(0) = p and f'(0) = q, and a rate that changes by at most w a second,
 * f(u) is within w u^2 / 2 of p + q u. So for every exchange
 *
 *   p + q u1 <= up + slack + w u1^2 / 2      p + q u4 >= low - slack - w u4^2 / 2
 *
 * All p and q for which that is so, and no others, are possible. Their extremes
 * are a linear program with two unknowns: the highest p for a given q is the
 * lower hull of what stands above, the lowest the upper hull of what stands
 * below, and what lies between them is concave in q.
 */
#include "fit_private.h"

#include <math.h>

/* Of bisections: from half the rate down to what a double tells apart */
#define TURNS	64

struct sides {
	struct tsct_corner *up, *low;	/* hulls of up, and of -low */
	unsigned int nr_up, nr_low;
};

static double sag(const struct tsct_plane *plane, double u)
{
	return plane->wander * u * u / 2;
}

/* Sound points from @from on. An answer that was overtaken adds nothing. */
static bool build(const struct tsct_plane *plane, unsigned int from,
		  struct sides *ret)
{
	const struct tsct_point *p;
	struct tsct_corner corner;
	unsigned int i;

	*ret = (struct sides) { plane->corner, plane->corner + plane->nr, 0, 0 };
	for (i = from; i < plane->nr; i++) {
		p = &plane->point[i];
		if (!p->sound)
			continue;
		corner = (struct tsct_corner) {
			p->u1, p->up + p->slack + sag(plane, p->u1), i
		};
		ret->nr_up = tsct_hull_push(ret->up, ret->nr_up, &corner);
		corner.u = p->u4;
		corner.y = -p->low + p->slack + sag(plane, p->u4);
		if (!ret->nr_low || ret->low[ret->nr_low - 1].u <= corner.u)
			ret->nr_low = tsct_hull_push(ret->low, ret->nr_low,
						     &corner);
	}
	return ret->nr_up > 0;
}

/* The corner of a lower hull that a line of this slope touches from below */
static const struct tsct_corner *touch(const struct tsct_corner *hull,
				       unsigned int nr, double slope)
{
	unsigned int from = 0, to = nr - 1, mid;

	while (from < to) {
		mid = from + (to - from) / 2;
		if (tsct_hull_edge(hull, mid) < slope)
			from = mid + 1;
		else
			to = mid;
	}
	return &hull[from];
}

static const struct tsct_corner *above(const struct sides *sides, double q)
{
	return touch(sides->up, sides->nr_up, q);
}

static const struct tsct_corner *below(const struct sides *sides, double q)
{
	return touch(sides->low, sides->nr_low, -q);
}

static double highest(const struct sides *sides, double q)
{
	const struct tsct_corner *corner = above(sides, q);

	return corner->y - q * corner->u;
}

static double lowest(const struct sides *sides, double q)
{
	const struct tsct_corner *corner = below(sides, q);

	return -corner->y - q * corner->u;
}

static double gap(const struct sides *sides, double q)
{
	return highest(sides, q) - lowest(sides, q);
}

/* Slope of the widest gap, by which of both stands more to the right */
static double widest(const struct sides *sides, struct tsct_fit_range q)
{
	double mid;

	for (unsigned int turn = 0; turn < TURNS; turn++) {
		mid = q.min + (q.max - q.min) / 2;
		if (mid <= q.min || mid >= q.max)
			return mid;
		if (above(sides, mid)->u < below(sides, mid)->u)
			q.min = mid;
		else
			q.max = mid;
	}
	return q.min;
}

/* Where the gap is still none, seen from a slope @in where there is one */
static double edge_of(const struct sides *sides, double in, double out)
{
	double mid;

	if (gap(sides, out) >= 0)
		return out;
	for (unsigned int turn = 0; turn < TURNS; turn++) {
		mid = in + (out - in) / 2;
		if (mid == in || mid == out)
			return out;
		if (gap(sides, mid) >= 0)
			in = mid;
		else
			out = mid;
	}
	return out;
}

/* highest() is concave: it rises as long as what it touches is before `at`. */
static double peak(const struct sides *sides, struct tsct_fit_range q)
{
	double mid;

	for (unsigned int turn = 0; turn < TURNS; turn++) {
		mid = q.min + (q.max - q.min) / 2;
		if (mid <= q.min || mid >= q.max)
			break;
		if (above(sides, mid)->u < 0)
			q.min = mid;
		else
			q.max = mid;
	}
	return fmax(highest(sides, q.min), highest(sides, q.max));
}

static double trough(const struct sides *sides, struct tsct_fit_range q)
{
	double mid;

	for (unsigned int turn = 0; turn < TURNS; turn++) {
		mid = q.min + (q.max - q.min) / 2;
		if (mid <= q.min || mid >= q.max)
			break;
		if (below(sides, mid)->u > 0)
			q.min = mid;
		else
			q.max = mid;
	}
	return fmin(lowest(sides, q.min), lowest(sides, q.max));
}

/*
 * Slopes beyond these make no gap, or are not believed. The plane's own rate may
 * be far off, if there are two exchanges and both took longer than what lies
 * between them.
 */
static struct tsct_fit_range believed(const struct tsct_plane *plane)
{
	double hz = plane->rate * plane->hz;

	return (struct tsct_fit_range) { -0.9 * hz, 9 * hz };
}

static bool cut(struct tsct_fit_range *q, double min, double max)
{
	if (q->min > max || q->max < min)
		return false;
	q->min = fmax(q->min, min);
	q->max = fmin(q->max, max);
	return true;
}

/* False: the constraints contradict each other. */
static bool solve(const struct tsct_plane *plane, unsigned int from,
		  struct tsct_fit_bounds *ret)
{
	struct tsct_fit_range q = believed(plane);
	struct sides sides;
	double mid;

	if (!build(plane, from, &sides))
		return false;
	mid = widest(&sides, q);
	if (!(gap(&sides, mid) >= 0))
		return false;
	ret->slope.min = edge_of(&sides, mid, q.min);
	ret->slope.max = edge_of(&sides, mid, q.max);
	cut(&ret->slope, plane->rate_min, plane->rate_max);
	ret->y.max = peak(&sides, ret->slope);
	ret->y.min = trough(&sides, ret->slope);
	return true;
}

/* How wide the gap is without this exchange; negative: they still contradict */
static double gap_without(struct tsct_plane *plane, unsigned int point)
{
	struct sides sides;
	double ret = -HUGE_VAL;

	plane->point[point].sound = false;
	if (build(plane, 0, &sides))
		ret = gap(&sides, widest(&sides, believed(plane)));
	plane->point[point].sound = true;
	return ret;
}

/* Of those that the contradiction is made of, the one that most depends on */
static unsigned int culprit(struct tsct_plane *plane, double *ret_gap)
{
	unsigned int who[4], found, k;
	struct sides sides;
	double q, without;

	build(plane, 0, &sides);
	q = widest(&sides, believed(plane));
	who[0] = above(&sides, nextafter(q, -HUGE_VAL))->point;
	who[1] = above(&sides, nextafter(q, HUGE_VAL))->point;
	who[2] = below(&sides, nextafter(q, -HUGE_VAL))->point;
	who[3] = below(&sides, nextafter(q, HUGE_VAL))->point;
	found = who[0];
	*ret_gap = -HUGE_VAL;
	for (k = 0; k < 4; k++) {
		without = gap_without(plane, who[k]);
		if (without > *ret_gap) {
			*ret_gap = without;
			found = who[k];
		}
	}
	return found;
}

/* Single exchanges that contradict the rest; false: there are too many. */
static bool trim(struct tsct_plane *plane)
{
	unsigned int left = plane->nr / 20 + 1, who;
	double without;

	if (plane->nr < 4)
		return false;
	while (left--) {
		who = culprit(plane, &without);
		plane->point[who].sound = false;
		if (without >= 0)
			return true;
	}
	return false;
}

/* What came before something happened says nothing about after it. */
static unsigned int newest(struct tsct_plane *plane,
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

/* The last one contradicts itself, by less than what stamps may be off. */
static void last_resort(const struct tsct_plane *plane,
			struct tsct_fit_bounds *ret)
{
	const struct tsct_point *last = &plane->point[plane->nr - 1];
	double room = plane->rate * plane->hz * TSCT_FIT_RATE_PPM / 1e6;
	double reach = fabs(last->width) + 2 * last->slack +
		room * fabs(last->u) + sag(plane, last->u);

	ret->slope = (struct tsct_fit_range) { -room, room };
	ret->y = (struct tsct_fit_range) { last->y - reach, last->y + reach };
}

static void narrow(struct tsct_plane *plane, struct tsct_fit_bounds *ret)
{
	unsigned int i;

	if (solve(plane, 0, ret))
		return;
	if (trim(plane) && solve(plane, 0, ret))
		return;
	for (i = 0; i < plane->nr; i++)
		plane->point[i].sound = !plane->point[i].lonely;
	if (!solve(plane, newest(plane, ret), ret))
		last_resort(plane, ret);
}

/*
 * The last ones contradict those before. They may be wrong, or the first to tell
 * of something that happened: either is possible.
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
		far = far * steep + sag(plane, far) + p->slack;
		ret->y.min = fmin(ret->y.min, fmin(p->low, p->up) - far);
		ret->y.max = fmax(ret->y.max, fmax(p->low, p->up) + far);
	}
}

void tsct_fit_bound(struct tsct_plane *plane, struct tsct_fit_bounds *ret)
{
	narrow(plane, ret);
	cover_last(plane, ret);
}
