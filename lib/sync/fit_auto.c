// SPDX-License-Identifier: MIT
/*
 * The hull or the regression, and of how many of the last exchanges: whatever
 * would have foretold exchanges that it was not given best.
 *
 * From time to time along the window, each candidate is made of the exchanges
 * before, and tried on those that follow. What is off counts against what may be
 * off by the round trip of the exchange it is tried on, and no more than so much.
 */
#include "fit_private.h"

#include <math.h>
#include <stdlib.h>

#define WINDOWS_MAX	16
#define SHARES		3	/* weights of the regression */
#define TRIALS		32
#define WINDOW_MIN	4

/* How much of the median excess over the least round trip is nothing to weigh */
static const double shares[SHARES] = { 0.05, 0.3, 3 };

struct moments {
	double w, u, y, uu, uy;
};

struct candidate {
	unsigned int window;
	double loss;
};

struct contest {
	struct tsct_plane *plane;
	unsigned int nr_windows, first, step;
	struct candidate hull[WINDOWS_MAX];
	struct candidate regression[SHARES][WINDOWS_MAX];
	struct moments *sums[SHARES];	/* of the points before, each */
	double excess;			/* median, counts */
	double noise;
};

static double excess_of(const struct tsct_plane *plane,
			const struct tsct_point *p)
{
	return fmax(p->width - plane->least, 0);
}

static void add_up(struct contest *contest, unsigned int share)
{
	const struct tsct_plane *plane = contest->plane;
	struct moments *sums = contest->sums[share];
	double floor = shares[share] * contest->excess + 1e-9, e, w;
	const struct tsct_point *p;
	unsigned int i;

	sums[0] = (struct moments) { 0 };
	for (i = 0; i < plane->nr; i++) {
		p = &plane->point[i];
		sums[i + 1] = sums[i];
		if (!p->used)
			continue;
		e = excess_of(plane, p) / floor;
		w = 1 / (1 + e * e);
		sums[i + 1].w += w;
		sums[i + 1].u += w * p->u;
		sums[i + 1].y += w * p->y;
		sums[i + 1].uu += w * p->u * p->u;
		sums[i + 1].uy += w * p->u * p->y;
	}
}

/* The line through points [from, to) */
static bool regress(const struct contest *contest, unsigned int share,
		    unsigned int from, unsigned int to,
		    struct tsct_fit_line *ret)
{
	const struct moments *a = &contest->sums[share][from];
	const struct moments *b = &contest->sums[share][to];
	double w = b->w - a->w, u, y, uu, uy;

	if (!(w > 0))
		return false;
	u = (b->u - a->u) / w;
	y = (b->y - a->y) / w;
	uu = (b->uu - a->uu) / w - u * u;
	uy = (b->uy - a->uy) / w - u * y;
	ret->slope = uu > 1e-9 * u * u ? uy / uu : 0;
	ret->y0 = y - ret->slope * u;
	return true;
}

static unsigned int start_of(unsigned int to, unsigned int window)
{
	return to > window ? to - window : 0;
}

static double loss_of(const struct contest *contest,
		      const struct tsct_fit_line *line, unsigned int from,
		      unsigned int to)
{
	const struct tsct_plane *plane = contest->plane;
	const struct tsct_point *p;
	double loss = 0, e, var, off;
	unsigned int i;

	for (i = from; i < to; i++) {
		p = &plane->point[i];
		if (!p->used)
			continue;
		e = excess_of(plane, p);
		var = e * e / 12 + contest->noise * contest->noise;
		off = p->y - tsct_fit_line_at(line, p->u);
		loss += fmin(off * off / var, 16);
	}
	return loss;
}

static void try_at(struct contest *contest, unsigned int at)
{
	unsigned int to = at + contest->step, from, k, s;
	struct tsct_fit_line line;
	struct tsct_hull hull;

	if (to > contest->plane->nr)
		to = contest->plane->nr;
	for (k = 0; k < contest->nr_windows; k++) {
		from = start_of(at, contest->hull[k].window);
		if (!tsct_hull_fit(contest->plane, from, at, &hull))
			contest->hull[k].loss +=
				loss_of(contest, &hull.line, at, to);
		for (s = 0; s < SHARES; s++)
			if (regress(contest, s, from, at, &line))
				contest->regression[s][k].loss +=
					loss_of(contest, &line, at, to);
	}
}

static void set_windows(struct contest *contest)
{
	unsigned int size = contest->plane->nr, k = 0, s;

	for (;; size = size * 5 / 8) {
		contest->hull[k] = (struct candidate) { size, 0 };
		for (s = 0; s < SHARES; s++)
			contest->regression[s][k] = contest->hull[k];
		if (++k == WINDOWS_MAX || size * 5 / 8 < WINDOW_MIN)
			break;
	}
	contest->nr_windows = k;
}

static void hold(struct contest *contest)
{
	unsigned int nr = contest->plane->nr, at;

	contest->first = nr / 4;
	contest->step = (nr - contest->first) / TRIALS + 1;
	if (contest->first < WINDOW_MIN)
		contest->first = WINDOW_MIN;
	for (at = contest->first; at < nr; at += contest->step)
		try_at(contest, at);
}

static const struct candidate *best_of(const struct candidate *of,
				       unsigned int nr)
{
	const struct candidate *best = of;
	unsigned int k;

	for (k = 1; k < nr; k++)
		if (of[k].loss < best->loss)
			best = &of[k];
	return best;
}

int tsct_fit_best(struct tsct_plane *plane, enum tsct_fit_kind kind,
		  struct tsct_fit *fit)
{
	struct contest contest = { .plane = plane };
	const struct candidate *of_hull, *of_regression;
	struct tsct_fit_line line;
	struct tsct_hull hull;
	unsigned int s, share = 0;
	struct moments *sums = malloc((plane->nr + 1) * SHARES * sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	contest.excess = tsct_plane_quantile(plane, 0.5) - plane->least;
	contest.noise = (tsct_plane_quantile(plane, 0.1) - plane->least) / 4 +
		1e-9;
	for (s = 0; s < SHARES; s++) {
		contest.sums[s] = sums + s * (plane->nr + 1);
		add_up(&contest, s);
	}
	set_windows(&contest);
	hold(&contest);
	of_hull = best_of(contest.hull, contest.nr_windows);
	of_regression = best_of(contest.regression[0], contest.nr_windows);
	for (s = 1; s < SHARES; s++) {
		const struct candidate *c = best_of(contest.regression[s],
						    contest.nr_windows);
		if (c->loss < of_regression->loss) {
			of_regression = c;
			share = s;
		}
	}
	if (tsct_hull_fit(plane, start_of(plane->nr, of_hull->window), plane->nr,
			  &hull))
		return -ENODATA;
	regress(&contest, share, start_of(plane->nr, of_regression->window),
		plane->nr, &line);
	fit->kind = kind;
	if (kind == TSCT_FIT_AUTO)
		fit->kind = of_hull->loss <= of_regression->loss ?
			TSCT_FIT_HULL : TSCT_FIT_REGRESSION;
	fit->doubt = fabs(hull.line.y0 - line.y0);
	if (fit->kind == TSCT_FIT_HULL)
		line = hull.line;
	tsct_plane_put(plane, &line, fit);
	free(sums);
	return 0;
}
