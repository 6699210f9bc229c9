// SPDX-License-Identifier: MIT
/*
 * How many of the exchanges a hull is made of.
 *
 * An edge is known the better, the more of them there are. The longer they took,
 * the more has the rate wandered meanwhile, which bends what is taken for a line.
 * How far that moves the line where it is used depends on where exchanges are:
 * it is looked at as if the line were a regression's.
 */
#include "fit_private.h"

#include <math.h>

/* The @size exchanges that are nearest to `at` */
static struct tsct_window nearest(const struct tsct_plane *plane,
				  unsigned int size)
{
	const struct tsct_point *p = plane->point;
	struct tsct_window window = { 0, plane->nr };

	while (window.to - window.from > size) {
		if (fabs(p[window.from].u) >= fabs(p[window.to - 1].u))
			window.from++;
		else
			window.to--;
	}
	return window;
}

/* Not so few that an edge is nothing */
static bool is_filled(const struct tsct_plane *plane,
		      const struct tsct_window *window)
{
	unsigned int used = 0, i;

	for (i = window->from; i < window->to; i++)
		used += plane->point[i].used;
	return used >= TSCT_FIT_EDGE_FEW && used >= (window->to - window->from) / 2;
}

/* What exchanges are to a regression through a window, at some u: a weight each */
struct weights {
	double middle, each, steep;	/* each + steep (u - middle) */
};

static struct weights weights_of(const struct tsct_plane *plane,
				 const struct tsct_window *window, double at)
{
	struct weights w = { 0 };
	unsigned int nr = 0, i;
	double square = 0, d;

	for (i = window->from; i < window->to; i++) {
		if (!plane->point[i].used)
			continue;
		w.middle += plane->point[i].u;
		nr++;
	}
	if (!nr)
		return w;
	w.middle /= nr;
	w.each = 1.0 / nr;
	for (i = window->from; i < window->to; i++) {
		d = plane->point[i].u - w.middle;
		square += plane->point[i].used ? d * d : 0;
	}
	w.steep = square > 0 ? (at - w.middle) / square : 0;
	return w;
}

/*
 * Of a function whose slope does a random walk away from @at, one unit per root of
 * a second: variance there of a line through exchanges on one side of it. A kick of
 * the slope at a distance x moves what is d away by d - x, if that is more than x,
 * and the line by the weighted sum of those. That goes on straight between two
 * exchanges; what is summed up is its square.
 */
static double kicked(const struct tsct_plane *plane,
		     const struct tsct_window *window, const struct weights *w,
		     double at, bool left)
{
	unsigned int nr = window->to - window->from, k;
	double sum = 0, sum_far = 0, far = 0, g = 0, next, is, weight, all = 0;
	const struct tsct_point *p;

	for (k = 0; k < nr; k++) {
		p = &plane->point[left ? window->from + k : window->to - 1 - k];
		next = left ? at - p->u : p->u - at;
		if (!p->used)
			continue;
		if (!(next > 0))
			break;
		is = sum_far - sum * next;
		all += fmax(far - next, 0) * (g * g + g * is + is * is) / 3;
		g = is;
		far = next;
		weight = w->each + w->steep * (p->u - w->middle);
		sum += weight;
		sum_far += weight * next;
	}
	return all + far * (g * g + g * sum_far + sum_far * sum_far) / 3;
}

/* How far a line through the window is off at @at, by a rate that wanders */
static double bent_by(const struct tsct_plane *plane,
		      const struct tsct_window *window, double at, double wander)
{
	struct weights w = weights_of(plane, window, at);

	return wander * sqrt(kicked(plane, window, &w, at, true) +
			     kicked(plane, window, &w, at, false));
}

/*
 * How far beyond its exchanges a line is used: to `at`; and if that is the last
 * one, for half as long as it ever took until the next one came.
 */
static double used_beyond(const struct tsct_plane *plane)
{
	const struct tsct_point *p = plane->point;
	double beyond = fmax(p[0].u, -p[plane->nr - 1].u), gap = 0;
	unsigned int i;

	for (i = 1; i < plane->nr; i++)
		gap = fmax(gap, p[i].u1 - p[i - 1].u1);
	return p[plane->nr - 1].u <= 0 ? fmax(beyond, gap / 2) : fmax(beyond, 0);
}

/* What going on beyond a window adds to how well its edge is known: a factor */
static double lever(const struct tsct_plane *plane,
		    const struct tsct_window *window, double beyond)
{
	double span = plane->point[window->to - 1].u -
		plane->point[window->from].u;

	return span > 0 ? 1 + 2 * beyond / span : 1;
}

/*
 * The more exchanges, the better is the edge known: in proportion, if their
 * delays do not change. The longer they took, the more the rate has wandered.
 */
struct tsct_window tsct_window_choose(const struct tsct_plane *plane,
				      const struct tsct_window *seen, double sd,
				      double wander, double *ret_bent)
{
	struct tsct_window window, best = *seen;
	double least = HUGE_VAL, edge, bent, cost;
	double beyond = used_beyond(plane), first = lever(plane, seen, beyond);
	double last = plane->point[plane->nr - 1].u;
	double at = last <= 0 ? last + beyond : 0;
	unsigned int nr = seen->to - seen->from, size;

	for (size = nr; size >= TSCT_FIT_EDGE_FEW || size == nr; size = size * 5 / 6) {
		window = nearest(plane, size);
		if (size < nr && !is_filled(plane, &window))
			break;
		edge = sd * nr / size * lever(plane, &window, beyond) / first;
		bent = bent_by(plane, &window, at, wander);
		cost = edge * edge + bent * bent;
		if (cost < least) {
			least = cost;
			best = window;
		}
	}
	*ret_bent = bent_by(plane, &best, 0, wander);
	return best;
}
