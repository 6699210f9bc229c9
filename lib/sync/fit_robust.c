// SPDX-License-Identifier: MIT
/*
 * Theil-Sen: the median of slopes, and of what is left then. Of all pairs only some
 * from one half of the time to the other are used: a session is many exchanges, but
 * says nothing of the rate. It is not very exact, but up to a quarter of each half
 * may lie without that it moves much: a witness.
 */
#include "fit_private.h"

#include <math.h>

/* From each one in the earlier half of the time to one in the later */
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
	return found ? tsct_fit_select(slopes, found, found / 2) : 0;
}

static double spread_of(const struct tsct_plane *plane, const unsigned int *of,
			unsigned int nr, const struct tsct_plane_line *line,
			double *values)
{
	const struct tsct_point *p;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		p = &plane->point[of[i]];
		values[i] = fabs(p->y - tsct_plane_line_at(line, p->u));
	}
	return 1.48 * tsct_fit_select(values, nr, nr / 2);
}

/* The median of the round trips, of those in [from, to) that are used */
static double median_width(const struct tsct_plane *plane, unsigned int from,
			   unsigned int to)
{
	unsigned int nr = 0, i;

	for (i = from; i < to; i++)
		if (plane->point[i].used)
			plane->scratch[nr++] = plane->point[i].width;
	return nr ? tsct_fit_select(plane->scratch, nr, nr / 2) : 0;
}

/* Of those in [from, to), half: the ones with the shorter round trips */
static unsigned int add_short(const struct tsct_plane *plane, unsigned int from,
			      unsigned int to, unsigned int *of)
{
	double limit = median_width(plane, from, to);
	unsigned int nr = 0, i;

	for (i = from; i < to; i++)
		if (plane->point[i].used && plane->point[i].width <= limit)
			of[nr++] = i;
	return nr;
}

/* The first that is in the later half of the time */
static unsigned int halfway(const struct tsct_plane *plane, unsigned int from,
			    unsigned int to)
{
	double middle = (plane->point[from].u + plane->point[to - 1].u) / 2;
	unsigned int i = from;

	while (i < to && plane->point[i].u < middle)
		i++;
	return i;
}

void tsct_theil_sen(const struct tsct_plane *plane, unsigned int from,
		    unsigned int to, struct tsct_fit_candidate *ret)
{
	unsigned int half = halfway(plane, from, to), early, nr, i, *of;
	double *values = plane->scratch, first, last, lever;
	const struct tsct_point *p;

	of = (unsigned int *)(values + plane->nr);
	early = add_short(plane, from, half, of);
	nr = early + add_short(plane, half, to, of + early);
	*ret = (struct tsct_fit_candidate) { .sd = 0 };
	if (!nr)
		return;
	ret->line.slope = slope_of(plane, of, early, nr, values);
	for (i = 0; i < nr; i++) {
		p = &plane->point[of[i]];
		values[i] = p->y - ret->line.slope * p->u;
	}
	ret->line.y0 = tsct_fit_select(values, nr, nr / 2);
	ret->spread = spread_of(plane, of, nr, &ret->line, values);
	first = plane->point[of[0]].u;
	last = plane->point[of[nr - 1]].u;
	/* As for a regression over evenly spaced ones, and a median's 1.25 */
	lever = last > first ? fabs(first + last) / (last - first) : 0;
	ret->sd = ret->spread * 1.25 * sqrt((1 + 3 * lever * lever) / nr);
}

/*
 * The middle of an exchange is off by half its round trip at most, and so is the
 * line through most of them. Who is further off lies, or its stamps do.
 */
static bool is_liar(const struct tsct_point *p, const struct tsct_fit_candidate *of,
		    double width)
{
	double off = fabs(p->y - tsct_plane_line_at(&of->line, p->u));

	return off > (fmax(p->width, 0) + width) / 2 + p->slack +
		6 * of->spread;
}

/* So many of the last say so: something happened to a counter. */
#define WITNESSES	3

static void drop_liars(struct tsct_plane *plane,
		       const struct tsct_fit_candidate *most)
{
	double width = median_width(plane, 0, plane->nr);
	unsigned int nr = 0, last = 0, i;

	for (i = 0; i < plane->nr; i++) {
		plane->point[i].liar = is_liar(&plane->point[i], most, width);
		nr += plane->point[i].liar;
		last = plane->point[i].liar ? last + 1 : 0;
	}
	if (nr > plane->nr / 4 || last >= WITNESSES)
		return;
	for (i = 0; i < plane->nr; i++)
		if (plane->point[i].liar)
			tsct_plane_drop(&plane->point[i]);
}

static double delay_of(const struct tsct_point *p,
		       const struct tsct_fit_candidate *of, bool up)
{
	double line = tsct_plane_line_at(&of->line, p->u);

	return up ? p->up - line : line - p->low;
}

/* A stamp that is wrong may make one way too short and not the round trip. */
static void drop_early(struct tsct_plane *plane,
		       const struct tsct_fit_candidate *most, bool up)
{
	unsigned int nr = 0, i;
	struct tsct_point *p;
	double first;

	for (i = 0; i < plane->nr; i++)
		if (plane->point[i].used)
			plane->scratch[nr++] = delay_of(&plane->point[i], most,
							up);
	first = tsct_fit_first(plane->scratch, nr, plane->point[0].slack);
	for (i = 0; i < plane->nr; i++) {
		p = &plane->point[i];
		if (p->used && delay_of(p, most, up) < first)
			tsct_plane_drop(p);
	}
}

void tsct_plane_outvote(struct tsct_plane *plane)
{
	struct tsct_fit_candidate most;

	if (plane->nr < 5)
		return;
	tsct_theil_sen(plane, 0, plane->nr, &most);
	drop_liars(plane, &most);
	drop_early(plane, &most, true);
	drop_early(plane, &most, false);
}
