// SPDX-License-Identifier: MIT
/*
 * Theil-Sen estimator: the median of slopes between pairs of points, then the median of
 * the remaining offsets. Only pairs from the earlier half of the time to the later half
 * are used, as the many exchanges of a session do not determine a rate. The result is
 * not very exact, but changes little while less than a quarter of each half is wrong,
 * so other estimates are checked against this one.
 */
#include "fit_plane.h"

#include <math.h>

static double line_at(const struct tsct_plane_line *line, double u)
{
	return line->y0 + line->slope * u;
}

/* Median slope from the points in the earlier half of the time, the first @early
 * of @nr, to points in the later half */
static double slope_of(const struct tsct_plane *plane, const unsigned int *of,
		       unsigned int early, unsigned int nr, double *slopes)
{
	unsigned int late = nr - early, pairs, found = 0, i;
	const struct tsct_point *a, *b;

	pairs = early && late ? (early > late ? early : late) : 0;
	for (i = 0; i < pairs; i++) {
		a = &plane->point[of[(size_t)i * early / pairs]];
		b = &plane->point[of[early + (size_t)i * late / pairs]];
		if (b->u > a->u)
			slopes[found++] = (b->y - a->y) / (b->u - a->u);
	}
	return found ? tsct_median(slopes, found) : 0;
}

/* Collects the indices of the used points in [from, to) with round trips up to the
 * median; returns the number of indices. */
static unsigned int append_short(const struct tsct_plane *plane,
				 unsigned int from, unsigned int to,
				 unsigned int *of)
{
	double limit = tsct_plane_rtt_median(plane, from, to);
	unsigned int nr = 0, i;

	for (i = from; i < to; i++)
		if (tsct_point_has_middle(&plane->point[i]) &&
		    plane->point[i].rtt <= limit)
			of[nr++] = i;
	return nr;
}

void tsct_theil_sen(const struct tsct_plane *plane,
		    const struct tsct_window *window,
		    struct tsct_fit_candidate *ret)
{
	unsigned int from = window->from, to = window->to, half = from;
	unsigned int early, nr, i, *of;
	double *values = plane->scratch, first, last, lever;
	double middle = (plane->point[from].u + plane->point[to - 1].u) / 2;
	const struct tsct_point *p;

	while (half < to && plane->point[half].u < middle)
		half++;
	of = (unsigned int *)(values + plane->nr);
	early = append_short(plane, from, half, of);
	nr = early + append_short(plane, half, to, of + early);
	*ret = (struct tsct_fit_candidate) { .sd = 0 };
	if (!nr)
		return;
	ret->line.slope = slope_of(plane, of, early, nr, values);
	for (i = 0; i < nr; i++) {
		p = &plane->point[of[i]];
		values[i] = p->y - ret->line.slope * p->u;
	}
	ret->line.y0 = tsct_median(values, nr);
	for (i = 0; i < nr; i++) {
		p = &plane->point[of[i]];
		values[i] = fabs(p->y - line_at(&ret->line, p->u));
	}
	/* The factor 1.48 converts a median deviation to the standard deviation of a
	 * normal distribution. */
	ret->spread = 1.48 * tsct_nth_smallest(values, nr, nr / 2);
	first = plane->point[of[0]].u;
	last = plane->point[of[nr - 1]].u;
	/* Standard deviation, at the plane's origin, of a regression line through
	 * evenly spaced points, times 1.25: medians are less exact than means */
	lever = last > first ? fabs(first + last) / (last - first) : 0;
	ret->sd = ret->spread * 1.25 * sqrt((1 + 3 * lever * lever) / nr);
}

/* This many consecutive outliers at the end of the exchanges are due to a change of a
 * counter, not to wrong packet times. */
#define CHANGE_NR	3

/*
 * Rejects points that are too far from the line. The middle of an exchange is off by at
 * most half of the round trip, and so is a line through most middles. A point that is
 * further off has wrong packet times, or its source is wrong.
 */
static void reject_far(struct tsct_plane *plane,
		       const struct tsct_fit_candidate *others)
{
	double median_rtt = tsct_plane_rtt_median(plane, 0, plane->nr);
	unsigned int nr = 0, last = 0, i;

	for (i = 0; i < plane->nr; i++) {
		struct tsct_point *p = &plane->point[i];
		double off = fabs(p->y - line_at(&others->line, p->u));

		p->outlier = off > (fmax(p->rtt, 0) + median_rtt) / 2 +
			p->slack + 6 * others->spread;
		nr += p->outlier;
		last = p->outlier ? last + 1 : 0;
	}
	if (nr > plane->nr / 4 || last >= CHANGE_NR)
		return;
	for (i = 0; i < plane->nr; i++)
		if (plane->point[i].outlier)
			tsct_point_reject(&plane->point[i]);
}

/* Returns the delay of one direction, counts; @up: direction of the request */
static double delay_of(const struct tsct_point *p,
		       const struct tsct_fit_candidate *others, bool up)
{
	double y = line_at(&others->line, p->u);

	return up ? p->up - y : y - p->low;
}

/* Returns the shortest plausible delay of one direction, counts; @up: of requests */
static double shortest_delay(const struct tsct_plane *plane,
			     const struct tsct_fit_candidate *others, bool up)
{
	unsigned int nr = 0, i;

	for (i = 0; i < plane->nr; i++)
		if (plane->point[i].used)
			plane->scratch[nr++] = delay_of(&plane->point[i],
							others, up);
	return tsct_lowest_plausible(plane->scratch, nr, plane->point[0].slack);
}

/*
 * Rejects points whose delay in one direction is implausibly short. A wrong packet time
 * can shorten the delay in one direction although the round trip is plausible. Both
 * directions are measured before any point is rejected, so that neither has fewer
 * points to compare with.
 */
static void reject_early(struct tsct_plane *plane,
			 const struct tsct_fit_candidate *others)
{
	double request = shortest_delay(plane, others, true);
	double answer = shortest_delay(plane, others, false);
	struct tsct_point *p;

	for (p = plane->point; p < plane->point + plane->nr; p++)
		if (p->used && (delay_of(p, others, true) < request ||
				delay_of(p, others, false) < answer))
			tsct_point_reject(p);
}

void tsct_plane_reject_outliers(struct tsct_plane *plane)
{
	const struct tsct_window all = { 0, plane->nr };
	struct tsct_fit_candidate others;

	if (plane->nr < 5)
		return;
	tsct_theil_sen(plane, &all, &others);
	reject_far(plane, &others);
	reject_early(plane, &others);
}
