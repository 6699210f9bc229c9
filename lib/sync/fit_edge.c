// SPDX-License-Identifier: MIT
/*
 * The hull as an estimate: of which exchanges, and what is likely between the
 * lines that support it.
 *
 * Seen from the line of the largest margin, delays of each direction begin at
 * an edge. Where there are k of them per count just behind it, the true edge is
 * some 1 / k before the first; and a line that leaves the hull a gap less by x is
 * less likely by e^(-k x). The estimate is the mean of all lines, so weighted. For
 * exponential delays that is exact, and else it is so as far as an edge matters.
 */
#include "fit_private.h"

#include <math.h>

/* Delays of so many of the exchanges are taken to be behind the edge */
#define BEHIND		4
/* A support is no edge if the gap is wider without it by so many delays */
#define STANDS_OUT	8.0
/* An edge looks blurred as long as a window is too long: so often it is looked at */
#define TURNS		4
#define STEPS		48
#define RANGE		14.0	/* e^-14 is nothing */

struct edge {
	double density;		/* delays per count behind it */
	double u;		/* where those are, on average */
	double softness;
	unsigned int nr;
};

static double delay(const struct tsct_point *p, const struct tsct_hull *hull,
		    bool up)
{
	double sunk = hull->slope * p->u;

	return up ? p->up - hull->above - sunk : hull->below + sunk - p->low;
}

/* The window's exchanges that are used: their delays, into scratch */
static unsigned int delays(const struct tsct_plane *plane,
			   const struct tsct_window *window,
			   const struct tsct_hull *hull, bool up)
{
	unsigned int nr = 0, i;

	for (i = window->from; i < window->to; i++)
		if (plane->point[i].used)
			plane->scratch[nr++] = delay(&plane->point[i], hull, up);
	return nr;
}

/* Mean of the shorter half over the longest of it */
static double softness_of(double *of, unsigned int nr)
{
	unsigned int half = nr / 2, i;
	double longest = tsct_fit_select(of, nr, half), sum = 0;

	for (i = 0; i < half; i++)
		sum += of[i];
	return half && longest > 0 ? sum / half / longest : 0;
}

static struct edge look_at(const struct tsct_plane *plane,
			   const struct tsct_window *window,
			   const struct tsct_hull *hull, bool up)
{
	unsigned int nr = delays(plane, window, hull, up), behind, near = 0, i;
	double longest, grain = 1 + plane->rate, d;
	struct edge edge = { .nr = nr };

	behind = nr / BEHIND < 2 ? 2 : nr / BEHIND;
	if (behind >= nr)
		behind = nr - 1;
	longest = tsct_fit_select(plane->scratch, nr, behind);
	edge.softness = softness_of(plane->scratch, nr);
	longest = fmax(longest, grain);
	edge.density = behind / longest;
	for (i = window->from; i < window->to; i++) {
		if (!plane->point[i].used)
			continue;
		d = delay(&plane->point[i], hull, up);
		if (d > 2 * longest)
			continue;
		edge.u += plane->point[i].u;
		near++;
	}
	edge.u /= near;
	return edge;
}

static double least_up(const struct tsct_hull *hull, double q)
{
	double least = HUGE_VAL;
	unsigned int i;

	for (i = 0; i < hull->nr_up; i++)
		least = fmin(least, hull->up[i].y - q * hull->up[i].u);
	return least;
}

static double most_low(const struct tsct_hull *hull, double q)
{
	double least = HUGE_VAL;
	unsigned int i;

	for (i = 0; i < hull->nr_low; i++)
		least = fmin(least, hull->low[i].y + q * hull->low[i].u);
	return -least;
}

/* Of a slope: logarithm of its likelihood, and the best offset with it */
static double weight_of(const struct tsct_hull *hull, const struct edge edge[2],
			double q, double *ret_y)
{
	double up = least_up(hull, q), low = most_low(hull, q);

	*ret_y = (up - 1 / edge[0].density + low + 1 / edge[1].density) / 2;
	return edge[0].density * (up + q * edge[0].u) -
		edge[1].density * (low + q * edge[1].u);
}

/* How far from slope q likely ones reach, in the direction of @step */
static double reach(const struct tsct_hull *hull, const struct edge edge[2],
		    double q, double step)
{
	double top = weight_of(hull, edge, q, &(double) { 0 }), is;
	unsigned int turn;

	for (turn = 0; turn < 60; turn++, step *= 2) {
		is = weight_of(hull, edge, q + step, &(double) { 0 });
		if (is < top - RANGE)
			break;
		top = fmax(top, is);
	}
	return step;
}

struct sums {
	double w, q, y, yy;
};

static struct sums mean_between(const struct tsct_hull *hull,
				const struct edge edge[2], double from,
				double to)
{
	double top = weight_of(hull, edge, hull->slope, &(double) { 0 });
	double q, y, w, middle;
	struct sums sums = { 0 };
	int k;

	weight_of(hull, edge, hull->slope, &middle);
	for (k = 0; k <= 2 * STEPS; k++) {
		q = from + (to - from) * k / (2 * STEPS);
		w = exp(weight_of(hull, edge, q, &y) - top);
		sums.w += w;
		sums.q += w * q;
		sums.y += w * (y - middle);
		sums.yy += w * (y - middle) * (y - middle);
	}
	sums.q /= sums.w;
	sums.y /= sums.w;
	sums.yy = sums.yy / sums.w - sums.y * sums.y;
	sums.y += middle;
	return sums;
}

static void mean_line(const struct tsct_plane *plane,
		      const struct tsct_hull *hull, const struct edge edge[2],
		      struct tsct_fit_candidate *ret)
{
	double a = 1 / edge[0].density, b = 1 / edge[1].density, span, step;
	struct sums sums;

	span = hull->up[hull->nr_up - 1].u - hull->up[0].u;
	ret->line.slope = hull->slope;
	ret->line.y0 = (hull->above + hull->below) / 2 - plane->shift;
	ret->softness = 0;
	ret->lean = fabs(log(edge[0].density / edge[1].density));
	if (edge[0].nr < TSCT_FIT_EDGE_FEW) {
		ret->sd = (hull->above - hull->below) / 4;
		return;
	}
	ret->line.y0 = (hull->above - a + hull->below + b) / 2 - plane->shift;
	ret->sd = sqrt(a * a + b * b) / 2;
	ret->softness = (edge[0].softness + edge[1].softness) / 2;
	if (!(span > 0))
		return;
	step = fmin(a, b) / span;
	sums = mean_between(hull, edge,
			    hull->slope + reach(hull, edge, hull->slope, -step),
			    hull->slope + reach(hull, edge, hull->slope, step));
	ret->line.slope = sums.q;
	ret->line.y0 = sums.y - plane->shift;
	ret->sd = sqrt(ret->sd * ret->sd + fmax(sums.yy, 0));
}

/* What the gap would be without this point */
static double gap_without(struct tsct_plane *plane,
			  const struct tsct_window *window, unsigned int point)
{
	struct tsct_hull hull;
	double gap = 0;

	plane->point[point].used = false;
	if (!tsct_hull_fit(plane, window->from, window->to, &hull))
		gap = hull.above - hull.below;
	plane->point[point].used = true;
	return gap;
}

/* A point that stands out takes more off the gap than chance; false: none does */
static bool trim(struct tsct_plane *plane, const struct tsct_window *window,
		 struct tsct_hull *hull, const struct edge edge[2])
{
	double gap = hull->above - hull->below, most = 0, is;
	double limit = STANDS_OUT / fmin(edge[0].density, edge[1].density);
	unsigned int support[4], found = 0, k;

	memcpy(support, hull->support, sizeof(support));
	for (k = 0; k < 4; k++) {
		is = gap_without(plane, window, support[k]) - gap;
		if (is > most) {
			most = is;
			found = support[k];
		}
	}
	if (most > limit) {
		plane->point[found].used = false;
		plane->point[found].sound = false;
	}
	tsct_hull_fit(plane, window->from, window->to, hull);
	return most > limit;
}

static void see(struct tsct_plane *plane, const struct tsct_window *window,
		struct tsct_hull *ret_hull, struct edge ret_edge[2])
{
	tsct_hull_fit(plane, window->from, window->to, ret_hull);
	ret_edge[0] = look_at(plane, window, ret_hull, true);
	ret_edge[1] = look_at(plane, window, ret_hull, false);
}

void tsct_hull_estimate(struct tsct_plane *plane, double wander,
			struct tsct_fit_candidate *ret)
{
	struct tsct_window all = { 0, plane->nr }, window = all, next;
	unsigned int left = plane->nr / 20 + 1, turn;
	struct tsct_hull hull;
	struct edge edge[2];
	double bent = 0;

	wander = fmax(wander, TSCT_FIT_WANDER_LEAST * plane->rate * plane->hz);
	see(plane, &all, &hull, edge);
	while (plane->nr >= TSCT_FIT_EDGE_FEW && left-- && trim(plane, &all, &hull, edge))
		see(plane, &all, &hull, edge);
	mean_line(plane, &hull, edge, ret);
	for (turn = 0; turn < TURNS; turn++) {
		next = tsct_window_choose(plane, &window, ret->sd, wander,
					  &bent);
		if (next.to - next.from >= window.to - window.from)
			break;
		window = next;
		see(plane, &window, &hull, edge);
		mean_line(plane, &hull, edge, ret);
	}
	ret->sd = sqrt(ret->sd * ret->sd + bent * bent);
	ret->wander = wander;
	ret->from = window.from;
	ret->to = window.to;
}
