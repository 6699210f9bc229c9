// SPDX-License-Identifier: MIT
/*
 * Hull fit.
 *
 * Requests bound the function from above (up), answers from below (low), each at a
 * local time u. A line p + q u with slope q is between the constraints if p is between
 * the largest low - q u and the smallest up - q u. The gap, between these limits, is
 * concave in q, and has corners only at the slopes of sides of the two convex hulls, so
 * one walk along both hulls finds the slope with the widest gap. The line in the middle
 * of that gap is the line of the largest margin. For exponential delays of equal mean
 * in both directions that line has the maximum likelihood.
 *
 * The estimate is a mean over all lines. Relative to the line of the largest
 * margin, the delays of each direction have a sharp minimum. With a density of k delays
 * per count just above the minimum, the true minimum is about 1 / k below the
 * shortest delay, and a line with a gap smaller by x is less likely by
 * e^(-k x). That is exact for exponential delays.
 */
#include "fit_plane.h"

#include <math.h>

/* Least number of exchanges from which the distribution of delays near their minimum is
 * measured; with fewer, the estimate is the line in the middle between the constraints
 * (up and low), at the slope where these leave the widest gap. */
#define EDGE_NR_MIN	8
/* The density of delays just above their minimum is measured on the shortest 1 /
 * NEAR_FRACTION of the delays. */
#define NEAR_FRACTION	4
/*
 * An exchange is an outlier if without it the gap between the upper and the lower
 * constraints is wider by more than OUTLIER_GAPS / density counts. The density is that
 * of the delays near their minimum, in delays per count.
 */
#define OUTLIER_GAPS	8.0
/* Maximum number of times that a shorter window of exchanges is chosen. Each choice uses the
 * distribution of delays in the previous window. If the rate changed during that window,
 * the distribution is too wide. */
#define WINDOW_TURNS	4
/* Half the number of steps of the integral over slopes */
#define STEPS		48
/* The integral over slopes ends at slopes that are e^-RANGE as likely as the best
 * slope. */
#define RANGE		14.0

/* ---- the line of the largest margin -------------------------------------- */

/* Convex hulls of the constraints, and the slope at which lines have the widest gap
 * between the upper and the lower constraints */
struct hull {
	/* slope with the widest gap, counts / s: the gap is that between the upper and
	 * the lower constraints, along lines of this slope */
	double slope;
	/* upper and lower end of the gap: largest and least offset, at the plane's
	 * origin, of lines that have this slope and satisfy all constraints, counts */
	double above, below;
	/* indices of the points that determine the widest gap between the upper and the
	 * lower constraints; an index may occur twice */
	unsigned int support[4];
	/* corners of the lower hulls of the points' constraints `up` and -`low`; both
	 * arrays are in plane->corner */
	struct tsct_corner *up, *low;
	unsigned int nr_up, nr_low;	/* numbers of corners of both hulls */
	/* indices in `up` and `low` of the corners that lines with `slope` touch */
	unsigned int i, j;
};

unsigned int tsct_hull_push(struct tsct_corner *hull, unsigned int nr,
			    const struct tsct_corner *next)
{
	const struct tsct_corner *a, *b;

	while (nr && hull[nr - 1].u == next->u) {
		if (hull[nr - 1].y <= next->y)
			return nr;
		nr--;
	}
	/* Removes the last corner b of the hull while b is on or above the chord from
	 * the previous corner to the new corner. */
	for (; nr > 1; nr--) {
		a = &hull[nr - 2];
		b = &hull[nr - 1];
		if (!((b->y - a->y) * (next->u - a->u) >=
		      (next->y - a->y) * (b->u - a->u)))
			break;
	}
	hull[nr] = *next;
	return nr + 1;
}

double tsct_hull_slope(const struct tsct_corner *hull, unsigned int k)
{
	return (hull[k + 1].y - hull[k].y) / (hull[k + 1].u - hull[k].u);
}

/*
 * Builds the hulls of a window. Both constraints of an exchange on the remote counter's
 * offset are placed at the middle of the exchange, not at t1 and t4: the offset changes
 * so little during an exchange that this makes no difference.
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
		/* tsct_hull_push() needs points in order of time (u). If answers
		 * overtook each other, takes the latest time of the points so far. */
		u = fmax(u, p->u);
		corner = (struct tsct_corner) { u, p->up, i };
		ret->nr_up = tsct_hull_push(ret->up, ret->nr_up, &corner);
		corner.y = -p->low;
		ret->nr_low = tsct_hull_push(ret->low, ret->nr_low, &corner);
	}
}

/*
 * Returns the slope with the widest gap. For each slope, the gap is between two lines:
 * one touches a corner of the hull of the upper constraints, one a corner of the hull
 * of the lower constraints. As the slope increases, the upper corner moves to later
 * times, the lower corner to earlier times. The gap is widest where the two corners
 * pass each other. If both meet at one time, the gap is equally wide for a range of
 * slopes: returns the middle of that range.
 */
static double widest_gap(struct hull *hull)
{
	double q = 0, up, low;

	hull->i = 0;
	hull->j = hull->nr_low - 1;
	for (;;) {
		/* Slopes at which a line lies along the next side of each hull, and so
		 * touches two corners */
		up = hull->i + 1 < hull->nr_up ?
			tsct_hull_slope(hull->up, hull->i) : HUGE_VAL;
		low = hull->j > 0 ?
			-tsct_hull_slope(hull->low, hull->j - 1) : HUGE_VAL;
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

/* Finds the slope for which the gap between the upper and the lower constraints of a
 * window's used points is widest, and the highest and lowest line of that slope that
 * satisfy all constraints. -ENODATA: no point is used. */
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
 * A longer window has more exchanges, so the minimum of the delays is more accurate.
 * But the rate wanders during the window, so the true function is not straight. The
 * error that the line has for that reason is calculated as if the line were a
 * regression.
 */

/* Returns the window of the @size exchanges that are nearest to `at`. */
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

/* Returns true if the window has enough used points to measure the minimum of the delays. */
static bool is_filled(const struct tsct_plane *plane,
		      const struct tsct_window *window)
{
	unsigned int used = 0, i;

	for (i = window->from; i < window->to; i++)
		used += plane->point[i].used;
	return used >= EDGE_NR_MIN && used >= (window->to - window->from) / 2;
}

/*
 * Weights of a window's exchanges. The offset of a regression line at one given time is
 * the sum of the exchanges' offsets, each multiplied by its weight. With the fields
 * below, the weight of an exchange at time u is `each` + `steep` * (u - `middle`).
 */
struct weights {
	/* `middle`: mean time of the exchanges, s since `at`; `each`: 1 / number of
	 * exchanges; `steep`: increase of the weight with time, per s */
	double middle, each, steep;
};

/*
 * Variance of a regression line at time @at, due to the exchanges before (@left) or
 * after @at, if the true function's slope does a random walk of variance 1 per second.
 * Let the slope step by 1 at a distance of x seconds from @at. The offset of an
 * exchange at a distance of d > x seconds then moves by d - x, and the line at @at
 * moves by g(x): the sum of (d - x) times the weight (@w) of each such exchange. g is
 * linear between exchanges; the result is the integral of g^2 over x.
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

/* Standard deviation, at @at, of a line through the window, due to the wander of the
 * rate */
static double bend_at(const struct tsct_plane *plane,
		      const struct tsct_window *window, double at,
		      double wander)
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
		return 0;
	w.middle /= nr;
	w.each = 1.0 / nr;
	for (i = window->from; i < window->to; i++) {
		d = plane->point[i].u - w.middle;
		square += plane->point[i].used ? d * d : 0;
	}
	w.steep = square > 0 ? (at - w.middle) / square : 0;
	return wander * sqrt(wander_variance(plane, window, &w, at, true) +
			     wander_variance(plane, window, &w, at, false));
}

/* Factor by which the line's uncertainty grows from the window to a point @beyond
 * seconds outside of the window, due to the uncertainty of the slope */
static double lever(const struct tsct_plane *plane,
		    const struct tsct_window *window, double beyond)
{
	double span = plane->point[window->to - 1].u -
		plane->point[window->from].u;

	return span > 0 ? 1 + 2 * beyond / span : 1;
}

/*
 * Returns the part of the window @seen in which the fitted line has the least expected
 * error: due to delays, and due to the wander of the rate.
 * @sd: standard deviation, due to delays, of the line fitted to all of @seen, counts;
 *	taken as inversely proportional to the number of exchanges in a window
 * @wander: wander of the rate, counts / s per root of a second
 * @ret_bend: standard deviation due to wander, at the plane's origin plane->at, of the
 *	line fitted to the returned window, counts
 *
 * The errors of the lines are compared at the plane's origin if the last exchange is
 * after the origin. Otherwise they are compared at the origin, or at the time of the
 * last exchange plus half the longest interval between two exchanges, whichever is
 * later.
 */
static struct tsct_window choose_window(const struct tsct_plane *plane,
					const struct tsct_window *seen,
					double sd, double wander,
					double *ret_bend)
{
	const struct tsct_point *p = plane->point;
	unsigned int nr = seen->to - seen->from, size, i;
	double last = p[plane->nr - 1].u, beyond = fmax(p[0].u, -last), gap = 0;
	double lowest_cost = HUGE_VAL, at = 0, first, edge, bend, cost;
	struct tsct_window window, best = *seen;

	for (i = 1; i < plane->nr; i++)
		gap = fmax(gap, p[i].u1 - p[i - 1].u1);
	beyond = last <= 0 ? fmax(beyond, gap / 2) : fmax(beyond, 0);
	first = lever(plane, seen, beyond);
	if (last <= 0)
		at = last + beyond;
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

/* Distribution of the delays of one direction, near their minimum */
struct hull_edge {
	double density;		/* density of the shortest delays, delays per count */
	/* mean time of the exchanges with the shortest delays, s since `at` */
	double u;
	/* mean of the shorter half of the delays, divided by that half's maximum */
	double half_mean_ratio;
	unsigned int nr;	/* number of used exchanges: each has one delay */
};

/* Returns the excess of an exchange's delay in one direction over the minimum that the hull
 * gives, counts. @up: true for the delay of the request, false for that of the answer */
static double delay_of(const struct tsct_point *p, const struct hull *hull,
		       bool up)
{
	double sag = hull->slope * p->u;

	return up ? p->up - hull->above - sag : hull->below + sag - p->low;
}

/* Mean number of delays per direction that are 0 because the hull's line touches
 * their points: three delays of both directions determine the line's slope and
 * offset, and the gap. These delays do not belong to the distribution. */
#define TOUCHED	1.5

/* Mean of the shorter half of some delays, without the TOUCHED ones, divided by the maximum
 * of that half. Reorders the delays. */
static double half_mean_ratio_of(double *of, unsigned int nr)
{
	unsigned int half = nr / 2, i;
	double longest = tsct_nth_smallest(of, nr, half), sum = 0;

	for (i = 0; i < half; i++)
		sum += of[i];
	return half > TOUCHED && longest > 0 ? sum / (half - TOUCHED) / longest : 0;
}

static struct hull_edge measure_edge(const struct tsct_plane *plane,
				     const struct tsct_window *window,
				     const struct hull *hull, bool up)
{
	unsigned int nr = 0, near_nr, points = 0, i;
	double longest, resolution = 1 + plane->rate;
	struct hull_edge edge = { .nr = 0 };

	for (i = window->from; i < window->to; i++)
		if (plane->point[i].used)
			plane->scratch[nr++] = delay_of(&plane->point[i], hull,
							up);
	edge.nr = nr;
	near_nr = nr / NEAR_FRACTION < 2 ? 2 : nr / NEAR_FRACTION;
	if (near_nr >= nr)
		near_nr = nr - 1;
	longest = tsct_nth_smallest(plane->scratch, nr, near_nr);
	edge.half_mean_ratio = half_mean_ratio_of(plane->scratch, nr);
	longest = fmax(longest, resolution);
	edge.density = near_nr / longest;
	for (i = window->from; i < window->to; i++) {
		if (!plane->point[i].used ||
		    delay_of(&plane->point[i], hull, up) > 2 * longest)
			continue;
		edge.u += plane->point[i].u;
		points++;
	}
	edge.u /= points;
	return edge;
}

/* Of the lines with slope @q through the corners of a lower hull, returns the smallest
 * offset at the plane's origin, counts. */
static double least_offset(const struct tsct_corner *corner, unsigned int nr, double q)
{
	double ret = HUGE_VAL;
	unsigned int i;

	for (i = 0; i < nr; i++)
		ret = fmin(ret, corner[i].y - q * corner[i].u);
	return ret;
}

/* Returns the logarithm of the likelihood of lines with slope @q; *ret_y: the best
 * offset of such a line at the plane's origin, counts */
static double log_likelihood(const struct hull *hull,
			     const struct hull_edge edge[2], double q,
			     double *ret_y)
{
	double up = least_offset(hull->up, hull->nr_up, q);
	double low = -least_offset(hull->low, hull->nr_low, -q);

	*ret_y = (up - 1 / edge[0].density + low + 1 / edge[1].density) / 2;
	return edge[0].density * (up + q * edge[0].u) -
		edge[1].density * (low + q * edge[1].u);
}

/* Doubles @step, a change of slope in counts / s, until lines with the slope @q + @step
 * have a negligible likelihood. Returns the last step. */
static double widen_step(const struct hull *hull, const struct hull_edge edge[2],
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

/* Mean of lines, weighted by the likelihood of each line */
struct line_mean {
	double w;		/* sum of the lines' weights */
	double q, y;		/* mean slope, counts / s; mean offset, counts */
	double yy;		/* variance of the lines' offsets, counts^2 */
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
			    hull->slope + widen_step(hull, edge, hull->slope, -step),
			    hull->slope + widen_step(hull, edge, hull->slope, step));
	ret->line.slope = mean.q;
	ret->line.y0 = mean.y - plane->shift;
	ret->sd = sqrt(ret->sd * ret->sd + fmax(mean.yy, 0));
}

/* Of the points that determine the gap between the upper and the lower constraints,
 * drops the point whose removal widens the gap most, if that point is an outlier.
 * Returns false if there is no outlier. */
static bool drop_outlier(struct tsct_plane *plane,
			 const struct tsct_window *window, struct hull *hull,
			 const struct hull_edge edge[2])
{
	double gap = hull->above - hull->below, most = 0, wider;
	double limit = OUTLIER_GAPS / fmin(edge[0].density, edge[1].density);
	struct tsct_point *point, *found = NULL;
	struct hull without;
	unsigned int k;

	for (k = 0; k < 4; k++) {
		point = &plane->point[hull->support[k]];
		point->used = false;
		wider = (fit_hull(plane, window, &without) ? 0 :
			 without.above - without.below) - gap;
		point->used = true;
		if (wider > most) {
			most = wider;
			found = point;
		}
	}
	if (most > limit) {
		found->used = false;
		found->sound = false;
	}
	/* The trial hulls above have overwritten the corners of @hull, which are in
	 * plane->corner, so @hull is built again. */
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

	wander = fmax(wander, TSCT_FIT_WANDER_MIN * plane->rate * plane->hz);
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
