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

struct both {
	struct tsct_corner *up, *low;	/* hulls of up, and of -low */
	unsigned int nr_up, nr_low;
	unsigned int i, j;		/* what supports the line */
};

/*
 * Both constraints of an exchange are taken to be at its middle: the line is so
 * nearly level that this is no difference, and the walk may stop between them.
 */
static void build(const struct tsct_plane *plane, unsigned int from,
		  unsigned int to, struct both *ret)
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
static double next_up(const struct both *both)
{
	return both->i + 1 < both->nr_up ?
		tsct_hull_edge(both->up, both->i) : HUGE_VAL;
}

static double next_low(const struct both *both)
{
	return both->j > 0 ? -tsct_hull_edge(both->low, both->j - 1) : HUGE_VAL;
}

/*
 * With growing slope, what supports above moves from left to right, and below
 * from right to left. The gap is widest where they pass each other; or as wide
 * anywhere between two slopes, where they meet.
 */
static double walk(struct both *both)
{
	double q = 0, up, low;

	both->i = 0;
	both->j = both->nr_low - 1;
	for (;;) {
		up = next_up(both);
		low = next_low(both);
		if (both->up[both->i].u >= both->low[both->j].u)
			break;
		q = fmin(up, low);
		if (up <= low)
			both->i++;
		else
			both->j--;
	}
	if (both->up[both->i].u == both->low[both->j].u && fmin(up, low) < HUGE_VAL)
		q = both->i || both->j + 1 < both->nr_low ?
			(q + fmin(up, low)) / 2 : fmin(up, low);
	return q;
}

int tsct_hull_fit(const struct tsct_plane *plane, unsigned int from,
		  unsigned int to, struct tsct_hull *ret)
{
	const struct tsct_corner *up, *low;
	struct both both;
	double q;

	build(plane, from, to, &both);
	if (!both.nr_up)
		return -ENODATA;
	q = walk(&both);
	up = &both.up[both.i];
	low = &both.low[both.j];
	ret->line.slope = q;
	ret->gap = (up->y - q * up->u) + (low->y + q * low->u);
	ret->line.y0 = ((up->y - q * up->u) - (low->y + q * low->u)) / 2 -
		plane->shift;
	ret->support[0] = up->point;
	ret->support[1] = low->point;
	ret->support[2] = both.i ? up[-1].point : up->point;
	ret->support[3] = both.j + 1 < both.nr_low ? low[1].point : low->point;
	return 0;
}
