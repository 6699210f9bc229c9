// SPDX-License-Identifier: MIT
/*
 * Hull fit.
 *
 * Requests bound the function from above, answers from below. Of the lines p +
 * q u with slope q, those between the constraints have p between the largest
 * low - q u and the smallest up - q u. This gap is concave in q, and has
 * corners only at the slopes of edges of the two convex hulls, so one walk
 * along both finds the line of the largest margin. For exponential delays of
 * equal mean in both directions it has the maximum likelihood.
 *
 * The estimate is a mean over all lines. Seen from the line of the largest
 * margin, the delays of each direction begin at an edge. With a density of k
 * delays per count behind it, the true edge is about 1 / k before the first of
 * them, and a line with a gap smaller by x is less likely by e^(-k x). For
 * exponential delays that is exact; for others, as far as the edge determines
 * the result.
 */
#include "fit_plane.h"

#include <math.h>

/* Fewer exchanges have no edge: the estimate is the line of the largest margin. */
#define EDGE_NR_MIN	8
/*
 * The density behind the edge is measured on the shortest 1 / NEAR_FRACTION of
 * the delays.
 */
#define NEAR_FRACTION	4
/*
 * An exchange is dropped as an outlier if that widens the gap by more than this
 * many mean distances between the delays behind the edge.
 */
#define OUTLIER_GAPS	8.0
/*
 * While the window is too long, the edge looks blurred: iterations to shorten
 * it
 */
#define WINDOW_TURNS	4
/* Half the number of steps of the integral over slopes */
#define STEPS		48
/* Slopes less likely than e^-RANGE are left out. */
#define RANGE		14.0
/*
 * Least wander of crystals, relative, per root of a second: behind long queues
 * no regression can measure it.
 */
#define WANDER_MIN	8e-10

/* ---- the line of the largest margin -------------------------------------- */

struct hull {
	double slope;
	double above, below;	/* constraints at u = 0, with that slope */
	unsigned int support[4];	/* points; maybe one of them twice */
	struct tsct_corner *up, *low;	/* hulls of up and of -low, in the plane */
	unsigned int nr_up, nr_low;
	unsigned int i, j;	/* corners that the line touches */
};

/* True: b is on or above the chord from a to c. */
static bool is_above_chord(const struct tsct_corner *a,
			   const struct tsct_corner *b,
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
	while (nr > 1 && is_above_chord(&hull[nr - 2], &hull[nr - 1], next))
		nr--;
	hull[nr] = *next;
	return nr + 1;
}

double tsct_hull_slope(const struct tsct_corner *hull, unsigned int k)
{
	return (hull[k + 1].y - hull[k].y) / (hull[k + 1].u - hull[k].u);
}

/*
 * Both constraints of an exchange are taken to be at its middle: the line is so
 * nearly level that this makes no difference, and the walk may end between
 * them.
 */
static void build_hulls(const struct tsct_plane *plane,
			const struct tsct_window *window, struct hull *ret)
{
	const struct tsct_point *p;
	struct tsct_corner corner;
	double u = -HUGE_VAL;
	unsigned int i;

	ret->up = plane->corner;
	ret->low = ret->up + plane->nr;
	ret->nr_up = 0;
	ret->nr_low = 0;
	for (i = window->from; i < window->to; i++) {
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
static double next_up(const struct hull *hull)
{
	return hull->i + 1 < hull->nr_up ?
		tsct_hull_slope(hull->up, hull->i) : HUGE_VAL;
}

static double next_low(const struct hull *hull)
{
	return hull->j > 0 ? -tsct_hull_slope(hull->low, hull->j - 1) : HUGE_VAL;
}

/*
 * Returns the slope of the widest gap. With growing slope, the touched corner
 * of the upper constraints moves from left to right, that of the lower ones
 * from right to left. The gap is widest where they pass each other; where they
 * meet, it is equally wide for all slopes in between.
 */
static double widest_gap(struct hull *hull)
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
	if (hull->up[hull->i].u > hull->low[hull->j].u ||
	    fmin(up, low) == HUGE_VAL)
		return q;
	return (q + fmin(up, low)) / 2;
}

/* Line of the largest margin between the used points; -ENODATA: there are none */
static int fit_hull(const struct tsct_plane *plane,
		    const struct tsct_window *window, struct hull *ret)
{
	const struct tsct_corner *up, *low;

	build_hulls(plane, window, ret);
	if (!ret->nr_up)
		return -ENODATA;
	ret->slope = widest_gap(ret);
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

/* ---- the window of exchanges --------------------------------------------- */

/*
 * More exchanges determine the edge better, but they take longer, and the rate
 * wanders meanwhile, which bends the true function. The resulting error of the
 * line at `at` depends on where the exchanges are; it is calculated as if the
 * line were a regression.
 */

/* The @size exchanges that are nearest to `at` */
static struct tsct_window nearest_window(const struct tsct_plane *plane,
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

/* Enough used points for an edge */
static bool is_filled(const struct tsct_plane *plane,
		      const struct tsct_window *window)
{
	unsigned int used = 0, i;

	for (i = window->from; i < window->to; i++)
		used += plane->point[i].used;
	return used >= EDGE_NR_MIN && used >= (window->to - window->from) / 2;
}

/*
 * Weights of the exchanges in the value at some u of a regression through a
 * window
 */
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
 * Variance at @at of a line through the exchanges on one side of it, if the
 * slope of the true function does a random walk away from @at, of one unit per
 * root of a second. A step of the slope at distance x moves a point at distance
 * d > x by d - x, and the line by the weighted sum of these movements. As a
 * function of x that sum is linear between two exchanges; the result is the
 * integral of its square.
 */
static double wander_variance(const struct tsct_plane *plane,
			      const struct tsct_window *window,
			      const struct weights *w, double at, bool left)
{
	unsigned int nr = window->to - window->from, k;
	double sum = 0, weighted = 0, far = 0, g = 0, next, is, weight, all = 0;
	const struct tsct_point *p;

	for (k = 0; k < nr; k++) {
		p = &plane->point[left ? window->from + k : window->to - 1 - k];
		next = left ? at - p->u : p->u - at;
		if (!p->used)
			continue;
		if (!(next > 0))
			break;
		is = weighted - sum * next;
		all += fmax(far - next, 0) * (g * g + g * is + is * is) / 3;
		g = is;
		far = next;
		weight = w->each + w->steep * (p->u - w->middle);
		sum += weight;
		weighted += weight * next;
	}
	return all + far * (g * g + g * weighted + weighted * weighted) / 3;
}

/*
 * Standard deviation at @at of a line through the window, due to the rate's
 * wander
 */
static double bend_at(const struct tsct_plane *plane,
		      const struct tsct_window *window, double at,
		      double wander)
{
	struct weights w = weights_of(plane, window, at);

	return wander * sqrt(wander_variance(plane, window, &w, at, true) +
			     wander_variance(plane, window, &w, at, false));
}

/*
 * The time beyond its exchanges for which the fit is used, s: up to `at`; if the
 * last exchange is there, half the longest interval between two exchanges.
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

/* Factor by which extrapolation beyond the window makes the edge less certain */
static double lever(const struct tsct_plane *plane,
		    const struct tsct_window *window, double beyond)
{
	double span = plane->point[window->to - 1].u -
		plane->point[window->from].u;

	return span > 0 ? 1 + 2 * beyond / span : 1;
}

/*
 * The part of @seen with the least expected error. The edge's deviation, @sd
 * for all of @seen, is inversely proportional to the number of exchanges, if
 * delays do not change. *ret_bend: deviation of the resulting line at `at` due
 * to @wander, counts / s per root of a second.
 */
static struct tsct_window choose_window(const struct tsct_plane *plane,
					const struct tsct_window *seen,
					double sd, double wander,
					double *ret_bend)
{
	struct tsct_window window, best = *seen;
	double lowest_cost = HUGE_VAL, edge, bend, cost;
	double beyond = used_beyond(plane), first = lever(plane, seen, beyond);
	double last = plane->point[plane->nr - 1].u;
	double at = last <= 0 ? last + beyond : 0;
	unsigned int nr = seen->to - seen->from, size;

	for (size = nr; size >= EDGE_NR_MIN || size == nr; size = size * 5 / 6) {
		window = nearest_window(plane, size);
		if (size < nr && !is_filled(plane, &window))
			break;
		edge = sd * nr / size * lever(plane, &window, beyond) / first;
		bend = bend_at(plane, &window, at, wander);
		cost = edge * edge + bend * bend;
		if (cost < lowest_cost) {
			lowest_cost = cost;
			best = window;
		}
	}
	*ret_bend = bend_at(plane, &best, 0, wander);
	return best;
}

/* ---- the mean of likely lines -------------------------------------------- */

/* Distribution of the delays of one direction */
struct hull_edge {
	double density;		/* delays per count behind the edge */
	double u;		/* mean u of these */
	double half_mean_ratio;	/* see fit_auto.c */
	unsigned int nr;	/* all delays */
};

static double delay_of(const struct tsct_point *p, const struct hull *hull,
		       bool up)
{
	double sag = hull->slope * p->u;

	return up ? p->up - hull->above - sag : hull->below + sag - p->low;
}

/* Delays of the window's used exchanges, into scratch; how many */
static unsigned int collect_delays(const struct tsct_plane *plane,
				   const struct tsct_window *window,
				   const struct hull *hull, bool up)
{
	unsigned int nr = 0, i;

	for (i = window->from; i < window->to; i++)
		if (plane->point[i].used)
			plane->scratch[nr++] = delay_of(&plane->point[i], hull,
							up);
	return nr;
}

/* Mean of the shorter half of the values over its maximum; reorders them. */
static double half_mean_ratio_of(double *of, unsigned int nr)
{
	unsigned int half = nr / 2, i;
	double longest = tsct_nth_smallest(of, nr, half), sum = 0;

	for (i = 0; i < half; i++)
		sum += of[i];
	return half && longest > 0 ? sum / half / longest : 0;
}

static struct hull_edge measure_edge(const struct tsct_plane *plane,
				     const struct tsct_window *window,
				     const struct hull *hull, bool up)
{
	unsigned int nr = collect_delays(plane, window, hull, up);
	unsigned int near_nr, points = 0, i;
	double longest, resolution = 1 + plane->rate, d;
	struct hull_edge edge = { .nr = nr };

	near_nr = nr / NEAR_FRACTION < 2 ? 2 : nr / NEAR_FRACTION;
	if (near_nr >= nr)
		near_nr = nr - 1;
	longest = tsct_nth_smallest(plane->scratch, nr, near_nr);
	edge.half_mean_ratio = half_mean_ratio_of(plane->scratch, nr);
	longest = fmax(longest, resolution);
	edge.density = near_nr / longest;
	for (i = window->from; i < window->to; i++) {
		if (!plane->point[i].used)
			continue;
		d = delay_of(&plane->point[i], hull, up);
		if (d > 2 * longest)
			continue;
		edge.u += plane->point[i].u;
		points++;
	}
	edge.u /= points;
	return edge;
}

static double least_up(const struct hull *hull, double q)
{
	double least = HUGE_VAL;
	unsigned int i;

	for (i = 0; i < hull->nr_up; i++)
		least = fmin(least, hull->up[i].y - q * hull->up[i].u);
	return least;
}

static double most_low(const struct hull *hull, double q)
{
	double least = HUGE_VAL;
	unsigned int i;

	for (i = 0; i < hull->nr_low; i++)
		least = fmin(least, hull->low[i].y + q * hull->low[i].u);
	return -least;
}

/* Logarithm of the likelihood of slope q; *ret_y: the best offset with it */
static double log_likelihood(const struct hull *hull,
			     const struct hull_edge edge[2], double q,
			     double *ret_y)
{
	double up = least_up(hull, q), low = most_low(hull, q);

	*ret_y = (up - 1 / edge[0].density + low + 1 / edge[1].density) / 2;
	return edge[0].density * (up + q * edge[0].u) -
		edge[1].density * (low + q * edge[1].u);
}

/* Distance from slope q to unlikely ones, in the direction of @step */
static double reach(const struct hull *hull, const struct hull_edge edge[2],
		    double q, double step)
{
	double top = log_likelihood(hull, edge, q, &(double) { 0 }), is;
	unsigned int turn;

	for (turn = 0; turn < 60; turn++, step *= 2) {
		is = log_likelihood(hull, edge, q + step, &(double) { 0 });
		if (is < top - RANGE)
			break;
		top = fmax(top, is);
	}
	return step;
}

/* Likelihood-weighted mean of lines: slope, offset, variance of the offset */
struct line_mean {
	double w, q, y, yy;
};

static struct line_mean mean_between(const struct hull *hull,
				     const struct hull_edge edge[2],
				     double from, double to)
{
	double top = log_likelihood(hull, edge, hull->slope, &(double) { 0 });
	double q, y, w, middle;
	struct line_mean mean = { 0 };
	int k;

	log_likelihood(hull, edge, hull->slope, &middle);
	for (k = 0; k <= 2 * STEPS; k++) {
		q = from + (to - from) * k / (2 * STEPS);
		w = exp(log_likelihood(hull, edge, q, &y) - top);
		mean.w += w;
		mean.q += w * q;
		mean.y += w * (y - middle);
		mean.yy += w * (y - middle) * (y - middle);
	}
	mean.q /= mean.w;
	mean.y /= mean.w;
	mean.yy = mean.yy / mean.w - mean.y * mean.y;
	mean.y += middle;
	return mean;
}

static void set_mean_line(const struct tsct_plane *plane,
			  const struct hull *hull,
			  const struct hull_edge edge[2],
			  struct tsct_fit_candidate *ret)
{
	double a = 1 / edge[0].density, b = 1 / edge[1].density, span, step;
	struct line_mean mean;

	span = hull->up[hull->nr_up - 1].u - hull->up[0].u;
	ret->line.slope = hull->slope;
	ret->line.y0 = (hull->above + hull->below) / 2 - plane->shift;
	ret->half_mean_ratio = 0;
	ret->log_asymmetry = fabs(log(edge[0].density / edge[1].density));
	if (edge[0].nr < EDGE_NR_MIN) {
		ret->sd = (hull->above - hull->below) / 4;
		return;
	}
	ret->line.y0 = (hull->above - a + hull->below + b) / 2 - plane->shift;
	ret->sd = sqrt(a * a + b * b) / 2;
	ret->half_mean_ratio = (edge[0].half_mean_ratio +
				edge[1].half_mean_ratio) / 2;
	if (!(span > 0))
		return;
	step = fmin(a, b) / span;
	mean = mean_between(hull, edge,
			    hull->slope + reach(hull, edge, hull->slope, -step),
			    hull->slope + reach(hull, edge, hull->slope, step));
	ret->line.slope = mean.q;
	ret->line.y0 = mean.y - plane->shift;
	ret->sd = sqrt(ret->sd * ret->sd + fmax(mean.yy, 0));
}

/* Width of the gap without a point */
static double gap_without(struct tsct_plane *plane,
			  const struct tsct_window *window, unsigned int point)
{
	struct hull hull;
	double gap = 0;

	plane->point[point].used = false;
	if (!fit_hull(plane, window, &hull))
		gap = hull.above - hull.below;
	plane->point[point].used = true;
	return gap;
}

/* Drops the support that is an outlier; false: none is. */
static bool drop_outlier(struct tsct_plane *plane,
			 const struct tsct_window *window, struct hull *hull,
			 const struct hull_edge edge[2])
{
	double gap = hull->above - hull->below, most = 0, wider;
	double limit = OUTLIER_GAPS / fmin(edge[0].density, edge[1].density);
	unsigned int support[4], found = 0, k;

	memcpy(support, hull->support, sizeof(support));
	for (k = 0; k < 4; k++) {
		wider = gap_without(plane, window, support[k]) - gap;
		if (wider > most) {
			most = wider;
			found = support[k];
		}
	}
	if (most > limit) {
		plane->point[found].used = false;
		plane->point[found].sound = false;
	}
	fit_hull(plane, window, hull);
	return most > limit;
}

static void fit_window(struct tsct_plane *plane,
		       const struct tsct_window *window, struct hull *ret_hull,
		       struct hull_edge ret_edge[2])
{
	fit_hull(plane, window, ret_hull);
	ret_edge[0] = measure_edge(plane, window, ret_hull, true);
	ret_edge[1] = measure_edge(plane, window, ret_hull, false);
}

void tsct_hull_estimate(struct tsct_plane *plane, double wander,
			struct tsct_fit_candidate *ret)
{
	const struct tsct_window all = { 0, plane->nr };
	struct tsct_window window = all, next;
	unsigned int left = plane->nr / 20 + 1, turn;
	struct hull hull;
	struct hull_edge edge[2];
	double bend = 0;

	wander = fmax(wander, WANDER_MIN * plane->rate * plane->hz);
	fit_window(plane, &all, &hull, edge);
	while (plane->nr >= EDGE_NR_MIN && left-- &&
	       drop_outlier(plane, &all, &hull, edge))
		fit_window(plane, &all, &hull, edge);
	set_mean_line(plane, &hull, edge, ret);
	for (turn = 0; turn < WINDOW_TURNS; turn++) {
		next = choose_window(plane, &window, ret->sd, wander, &bend);
		if (next.to - next.from >= window.to - window.from)
			break;
		window = next;
		fit_window(plane, &window, &hull, edge);
		set_mean_line(plane, &hull, edge, ret);
	}
	ret->sd = sqrt(ret->sd * ret->sd + bend * bend);
	ret->wander = wander;
	ret->window = window;
}
