// SPDX-License-Identifier: MIT
/*
 * The reference for more than two sessions: each is condensed to one pair, the
 * average of its middles, and a constrained cubic spline runs through all pairs.
 *
 * Its slope at a pair is the harmonic mean of the slopes to its neighbours, so
 * that it does not overshoot: between two pairs it rises as they do. At the ends
 * it goes on straight.
 */
#include "fit_private.h"

#include <math.h>

/* A condensed session: whole counts and what is left of both */
struct knot {
	__u64 local, remote;
	double local_frac, remote_frac;
};

/* Twice the middles, less twice @from; of both counters */
struct sums {
	tsct_s128 local, remote;
	__s64 nr;
};

static void mean(__u64 from, tsct_s128 twice, __s64 nr, __u64 *ret,
		 double *ret_frac)
{
	tsct_s128 whole = twice / (2 * nr), left = twice % (2 * nr);

	if (left < 0) {
		left += 2 * nr;
		whole--;
	}
	*ret = from + (__u64)whole;
	*ret_frac = (double)left / (double)(2 * nr);
}

/* False: none of them is kept. */
static bool condense(const struct tsct_exchange *x, unsigned int nr,
		     const bool *keep, struct knot *ret)
{
	struct sums sums = { 0, 0, 0 };
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!keep[i])
			continue;
		sums.local += (tsct_s128)(__s64)(x[i].t1 - x->t1) +
			(__s64)(x[i].t4 - x->t1);
		sums.remote += (tsct_s128)(__s64)(x[i].t2 - x->t2) +
			(__s64)(x[i].t3 - x->t2);
		sums.nr++;
	}
	if (!sums.nr)
		return false;
	mean(x->t1, sums.local, sums.nr, &ret->local, &ret->local_frac);
	mean(x->t2, sums.remote, sums.nr, &ret->remote, &ret->remote_frac);
	return true;
}

static double local_between(const struct knot *a, const struct knot *b)
{
	return (double)(__s64)(b->local - a->local) +
		(b->local_frac - a->local_frac);
}

static double remote_between(const struct knot *a, const struct knot *b)
{
	return (double)(__s64)(b->remote - a->remote) +
		(b->remote_frac - a->remote_frac);
}

static double rise(const struct knot *a, const struct knot *b)
{
	return remote_between(a, b) / local_between(a, b);
}

/*
 * The slope at a knot. At an end it is so that the spline is not bent there:
 * of a cubic with slopes s and s' at its ends that rises by r, that is
 * s = (3 r - s') / 2.
 */
static double slope_at(const struct knot *knot, unsigned int nr, unsigned int k)
{
	double before, after;

	if (nr == 2)
		return rise(&knot[0], &knot[1]);
	if (k == 0)
		return 1.5 * rise(&knot[0], &knot[1]) -
			slope_at(knot, nr, 1) / 2;
	if (k == nr - 1)
		return 1.5 * rise(&knot[k - 1], &knot[k]) -
			slope_at(knot, nr, k - 1) / 2;
	before = rise(&knot[k - 1], &knot[k]);
	after = rise(&knot[k], &knot[k + 1]);
	return before > 0 && after > 0 ?
		2 / (1 / before + 1 / after) : 0;
}

/* A cubic from a knot, by d - local_frac: as one of d, from its whole count */
static void place(const struct knot *knot, double slope, double square,
		  double cube, struct tsct_cubic *ret)
{
	double f = knot->local_frac;

	ret->from = knot->local;
	ret->base = knot->remote;
	ret->c[0] = knot->remote_frac - f * (slope - f * (square - f * cube));
	ret->c[1] = slope - f * (2 * square - f * 3 * cube);
	ret->c[2] = square - 3 * f * cube;
	ret->c[3] = cube;
	if (ret->c[0] < 0 || ret->c[0] >= 1) {
		slope = floor(ret->c[0]);
		ret->base += (__u64)tsct_fit_whole(slope);
		ret->c[0] -= slope;
	}
}

static void cubic(const struct knot *a, const struct knot *b, double slope_a,
		  double slope_b, struct tsct_cubic *ret)
{
	double h = local_between(a, b), r = rise(a, b);

	place(a, slope_a, (3 * (r - slope_a) - (slope_b - slope_a)) / h,
	      ((slope_b - slope_a) - 2 * (r - slope_a)) / (h * h), ret);
}

static void connect(const struct knot *knot, unsigned int nr,
		    struct tsct_fit *fit)
{
	double slope = slope_at(knot, nr, 0), next;
	unsigned int k;

	place(&knot[0], slope, 0, 0, &fit->piece[0]);
	fit->nr_pieces = 1;
	if (nr == 2)
		return;
	for (k = 0; k + 1 < nr; k++) {
		next = slope_at(knot, nr, k + 1);
		cubic(&knot[k], &knot[k + 1], slope, next,
		      &fit->piece[fit->nr_pieces++]);
		slope = next;
	}
	place(&knot[nr - 1], slope, 0, 0, &fit->piece[fit->nr_pieces++]);
}

/*
 * Exchanges of no session do not count beside sessions. Where there are no
 * sessions at all, so many exchanges in a row are taken for one.
 */
#define AS_SESSION	16

static bool any_session(const struct tsct_exchange *x, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (x[i].session)
			return true;
	return false;
}

/* Where the group that begins at @from ends */
static unsigned int group_end(const struct tsct_exchange *x, unsigned int nr,
			      unsigned int from, bool sessions)
{
	unsigned int i = from;

	if (!sessions)
		return nr - from < 2 * AS_SESSION ? nr : from + AS_SESSION;
	while (i < nr && x[i].session == x[from].session)
		i++;
	return i;
}

static int condense_all(const struct tsct_plane *plane,
			const struct tsct_exchange *x, unsigned int nr,
			bool *keep, struct knot *knot, unsigned int *ret_nr)
{
	bool sessions = any_session(x, nr);
	unsigned int from, to, i;

	*ret_nr = 0;
	for (from = 0; from < nr; from = to) {
		to = group_end(x, nr, from, sessions);
		for (i = from; i < to && sessions && !x[from].session; i++)
			keep[i] = false;
		tsct_fit_drop_tenth(x + from, to - from, keep + from,
				    (unsigned int *)plane->scratch);
		if (*ret_nr == TSCT_CUBICS_MAX - 1)
			return -E2BIG;
		if (condense(x + from, to - from, keep + from, &knot[*ret_nr])) {
			knot[*ret_nr].remote_frac -= plane->shift;
			++*ret_nr;
		}
	}
	return *ret_nr ? 0 : -ENODATA;
}

/* Counters that do not run, or at another rate altogether, from one to the next */
static int check_rises(const struct knot *knot, unsigned int nr)
{
	double all, r;
	unsigned int k;

	if (nr < 2)
		return 0;
	if (!(local_between(&knot[0], &knot[nr - 1]) > 0))
		return -ERANGE;
	all = rise(&knot[0], &knot[nr - 1]);
	for (k = 0; k + 1 < nr; k++) {
		if (!(local_between(&knot[k], &knot[k + 1]) > 0))
			return -ERANGE;
		r = rise(&knot[k], &knot[k + 1]);
		if (!(r > all / 2 && r < all * 2))
			return -ERANGE;
	}
	return 0;
}

int tsct_fit_spline(struct tsct_plane *plane, const struct tsct_exchange *x,
		    unsigned int nr, bool *keep, struct tsct_fit *fit)
{
	struct knot knot[TSCT_CUBICS_MAX];
	unsigned int nr_knots;
	int err;

	err = condense_all(plane, x, nr, keep, knot, &nr_knots);
	if (!err)
		err = check_rises(knot, nr_knots);
	if (err)
		return err;
	/* The last session's average, and further on what its slope carries */
	fit->sd = 2 / sqrt((double)nr / nr_knots);
	if (nr_knots == 1) {
		place(&knot[0], plane->nominal, 0, 0, &fit->piece[0]);
		fit->nr_pieces = 1;
	} else {
		connect(knot, nr_knots, fit);
	}
	return 0;
}
