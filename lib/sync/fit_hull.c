// SPDX-License-Identifier: MIT
/*
 * The line of the largest margin between the causal constraints.
 *
 * Requests bound the function from above, answers from below. Of lines with slope
 * q, p + q u, those fit in between whose p is less than the least up - q u and
 * more than the most low - q u. The gap between these two is concave in q and has
 * corners only at the slopes of edges of the two convex hulls, so one walk along
 * both finds where it is widest.
 *
 * Where queueing delays are exponential, equally on both ways, this is the line
 * of maximum likelihood.
 */
#include "fit_private.h"

#include <math.h>

/* Is b on or above the chord from a to c? */
static bool above(const struct tsct_corner *a, const struct tsct_corner *b,
		  const struct tsct_corner *c)
{
	return (b->y - a->y) * (c->u - a->u) >= (c->y - a->y) * (b->u - a->u);
}

unsigned int tsct_hull_push(struct tsct_corner *hull, unsigned int nr,
			    const struct tsct_corner *next)
{
	while (nr && hull[nr - 1].u == next->u) {
		if (hull[nr - 1].y <= next->y)
			return nr;
		nr--;
	}
	while (nr > 1 && above(&hull[nr - 2], &hull[nr - 1], next))
		nr--;
	hull[nr] = *next;
	return nr + 1;
}

double tsct_hull_edge(const struct tsct_corner *hull, unsigned int k)
{
	return (hull[k + 1].y - hull[k].y) / (hull[k + 1].u - hull[k].u);
}

/*
 * Both constraints of an exchange are taken to be at its middle: the line is so
 * nearly level that this is no difference, and the walk may stop between them.
 */
static void build(const struct tsct_plane *plane, unsigned int from,
		  unsigned int to, struct tsct_hull *ret)
{
	const struct tsct_point *p;
	struct tsct_corner corner;
	double u = -HUGE_VAL;
	unsigned int i;

	ret->up = plane->corner;
	ret->low = ret->up + plane->nr;
	ret->nr_up = 0;
	ret->nr_low = 0;
	for (i = from; i < to; i++) {
		p = &plane->point[i];
		if (!p->used)
			continue;
		/* Answers may overtake each other. */
		u = fmax(u, p->u);
		corner = (struct tsct_corner) { u, p->up, i };
		ret->nr_up = tsct_hull_push(ret->up, ret->nr_up, &corner);
		corner.y = -p->low;
		ret->nr_low = tsct_hull_push(ret->low, ret->nr_low, &corner);
	}
}

/* The slope at which the next corner above, or below, takes over */
static double next_up(const struct tsct_hull *hull)
{
	return hull->i + 1 < hull->nr_up ?
		tsct_hull_edge(hull->up, hull->i) : HUGE_VAL;
}

static double next_low(const struct tsct_hull *hull)
{
	return hull->j > 0 ? -tsct_hull_edge(hull->low, hull->j - 1) : HUGE_VAL;
}

/*
 * With growing slope, what supports above moves from left to right, and below
 * from right to left. The gap is widest where they pass each other; or as wide
 * anywhere between two slopes, where they meet.
 */
static double walk(struct tsct_hull *hull)
{
	double q = 0, up, low;

	hull->i = 0;
	hull->j = hull->nr_low - 1;
	for (;;) {
		up = next_up(hull);
		low = next_low(hull);
		if (hull->up[hull->i].u >= hull->low[hull->j].u)
			break;
		q = fmin(up, low);
		if (up <= low)
			hull->i++;
		else
			hull->j--;
	}
	if (hull->up[hull->i].u > hull->low[hull->j].u || fmin(up, low) == HUGE_VAL)
		return q;
	return (q + fmin(up, low)) / 2;
}

int tsct_hull_fit(const struct tsct_plane *plane, unsigned int from,
		  unsigned int to, struct tsct_hull *ret)
{
	const struct tsct_corner *up, *low;

	build(plane, from, to, ret);
	if (!ret->nr_up)
		return -ENODATA;
	ret->slope = walk(ret);
	up = &ret->up[ret->i];
	low = &ret->low[ret->j];
	ret->above = up->y - ret->slope * up->u;
	ret->below = -(low->y + ret->slope * low->u);
	ret->support[0] = up->point;
	ret->support[1] = low->point;
	ret->support[2] = ret->i ? up[-1].point : up->point;
	ret->support[3] = ret->j + 1 < ret->nr_low ? low[1].point : low->point;
	return 0;
}
