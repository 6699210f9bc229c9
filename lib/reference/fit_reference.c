// SPDX-License-Identifier: MIT
/*
 * The reference fits: linear, spline, and itc. With no or two sessions, itc is a line of
 * linear regression, else a spline. The exchanges with the longest local round trips are
 * dropped: a tenth of each session, or, where sessions are not used, a tenth of all exchanges.
 */
#include "lib/fit/fit_plane.h"

#include <math.h>
#include <stdlib.h>

/* Orders indices of exchanges by round trip, the longest first; of equal round trips, the
 * later exchange first. */
static int compare_rtts(const void *a, const void *b, void *exchanges)
{
	const struct tsct_exchange *x = exchanges;
	unsigned int i = *(const unsigned int *)a, k = *(const unsigned int *)b;
	__u64 took_i = x[i].t4 - x[i].t1, took_k = x[k].t4 - x[k].t1;

	if (took_i != took_k)
		return took_i > took_k ? -1 : 1;
	return i > k ? -1 : 1;
}

/* Clears the flags in @keep of the tenth of the kept exchanges that has the longest round
 * trips. @index: scratch memory for @nr numbers */
static void drop_longest_tenth(const struct tsct_exchange *x, unsigned int nr,
			       bool *keep, unsigned int *index)
{
	unsigned int possible = 0, i;

	for (i = 0; i < nr; i++)
		if (keep[i])
			index[possible++] = i;
	qsort_r(index, possible, sizeof(*index), compare_rtts, (void *)x);
	for (i = 0; i < possible / 10; i++)
		keep[index[i]] = false;
}

/* Sets the fit to the line of linear regression over the middles of the exchanges whose
 * flag in @keep is set. */
static void regress(struct tsct_plane *plane, const bool *keep, struct tsct_fit *fit)
{
	/* Means of the points, and sums of products about the means, so that large
	 * values lose no precision */
	double used = 0, u = 0, y = 0, uu = 0, uy = 0;
	struct tsct_plane_line line = { 0, 0 };
	struct tsct_point *p;

	for (p = plane->point; p < plane->point + plane->nr; p++) {
		p->used = keep[p->index];
		if (!p->used)
			continue;
		used++;
		u += p->u;
		y += p->y;
	}
	u /= used;
	y /= used;
	for (p = plane->point; p < plane->point + plane->nr; p++) {
		if (!p->used)
			continue;
		uu += (p->u - u) * (p->u - u);
		uy += (p->u - u) * (p->y - y);
	}
	if (uu > 0)
		line.slope = uy / uu;
	line.y0 = y - line.slope * u;
	tsct_plane_to_fit(plane, &line, fit);
	fit->sd = sqrt(1 / used + (uu > 0 ? u * u / uu : 0));
}

/* ---- spline fit --------------------------------------------------------- */

/*
 * Spline: the exchanges of each session are averaged to one knot, the means of the
 * local times t1 and t4 and of the remote times t2 and t3. A constrained cubic spline
 * runs through all knots.
 *
 * The spline's slope at a knot is the harmonic mean of the slopes to both neighbours,
 * so that the spline does not overshoot: it increases wherever the knots do. Beyond the
 * ends the spline is straight.
 */

/* Knot of a spline, the average of a session: whole counts and fractions of both
 * counters */
struct knot {
	__u64 local, remote;
	double local_frac, remote_frac;
};

/* Sets the mean of nr counter values, *ret + *ret_frac. @twice: twice the sum of the
 * values' distances from @from */
static void set_mean(__u64 from, tsct_s128 twice, __s64 nr, __u64 *ret,
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

/* Averages the kept exchanges of a session. Returns false if no exchange is kept. */
static bool average_session(const struct tsct_exchange *x, unsigned int nr,
			    const bool *keep, struct knot *ret)
{
	/* Sums over the kept exchanges, relative to the session's first exchange: of
	 * t1 + t4, the local times, and of t2 + t3, the remote times */
	tsct_s128 local = 0, remote = 0;
	__s64 kept = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!keep[i])
			continue;
		local += (tsct_s128)(__s64)(x[i].t1 - x->t1) +
			(__s64)(x[i].t4 - x->t1);
		remote += (tsct_s128)(__s64)(x[i].t2 - x->t2) +
			(__s64)(x[i].t3 - x->t2);
		kept++;
	}
	if (!kept)
		return false;
	set_mean(x->t1, local, kept, &ret->local, &ret->local_frac);
	set_mean(x->t2, remote, kept, &ret->remote, &ret->remote_frac);
	return true;
}

static double local_between(const struct knot *a, const struct knot *b)
{
	return (double)(__s64)(b->local - a->local) +
		(b->local_frac - a->local_frac);
}

/* Mean slope between two knots, remote counts per local cycle */
static double rise(const struct knot *a, const struct knot *b)
{
	return ((double)(__s64)(b->remote - a->remote) +
		(b->remote_frac - a->remote_frac)) / local_between(a, b);
}

/*
 * Slope of the spline at a knot. At an end of the spline the second derivative is 0:
 * for a cubic with the slopes s and s' at both ends and mean slope r, s = (3 r - s') /
 * 2.
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

/*
 * Stores the piece of a spline that begins at @knot. @slope, @square and @cube are
 * coefficients for the distance from the knot's local counter value, which has a
 * fraction; *ret has coefficients for the distance from that value rounded down.
 */
static void set_cubic(const struct knot *knot, double slope, double square,
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
		ret->base += (__u64)tsct_fit_to_s64(slope);
		ret->c[0] -= slope;
	}
}

/* Number of consecutive exchanges that are treated as a session, if there are no
 * sessions */
#define SESSION_NR	16

static bool has_sessions(const struct tsct_exchange *x, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (x[i].session)
			return true;
	return false;
}

/* Makes a knot of each session. If there are sessions, exchanges outside sessions are
 * dropped. @knot: room for @nr knots */
static int average_sessions(const struct tsct_plane *plane,
			    const struct tsct_exchange *x, unsigned int nr,
			    bool *keep, struct knot *knot, unsigned int *ret_nr)
{
	bool sessions = has_sessions(x, nr);
	unsigned int from, to, i;

	*ret_nr = 0;
	for (from = 0; from < nr; from = to) {
		to = nr - from < 2 * SESSION_NR ? nr : from + SESSION_NR;
		if (sessions)
			for (to = from; to < nr &&
			     x[to].session == x[from].session;)
				to++;
		for (i = from; i < to && sessions && !x[from].session; i++)
			keep[i] = false;
		drop_longest_tenth(x + from, to - from, keep + from,
				    (unsigned int *)plane->scratch);
		if (average_session(x + from, to - from, keep + from,
				    &knot[*ret_nr])) {
			knot[*ret_nr].remote_frac -= plane->shift;
			++*ret_nr;
		}
	}
	return *ret_nr ? 0 : -ENODATA;
}

/* Checks all pairs of neighbouring knots. -ERANGE: the local counter does not
 * increase, or the rate differs too much from the mean rate. */
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

/* Stores the spline through @nr knots: straight before the first knot and after the
 * last one, with a cubic between each two neighbours. Fewer than three knots give a
 * straight line. */
static int run_through(const struct tsct_plane *plane, const struct knot *knot,
		       unsigned int nr, struct tsct_fit *fit)
{
	struct tsct_cubic *piece = tsct_fit_reserve(fit, nr < 3 ? 1 : nr + 1);
	double slope, next, h, r;
	unsigned int k;

	if (!piece)
		return -ENOMEM;
	slope = nr == 1 ? plane->nominal : slope_at(knot, nr, 0);
	set_cubic(&knot[0], slope, 0, 0, piece++);
	if (nr < 3)
		return 0;
	for (k = 0; k + 1 < nr; k++) {
		next = slope_at(knot, nr, k + 1);
		h = local_between(&knot[k], &knot[k + 1]);
		r = rise(&knot[k], &knot[k + 1]);
		set_cubic(&knot[k], slope,
			  (3 * (r - slope) - (next - slope)) / h,
			  ((next - slope) - 2 * (r - slope)) / (h * h), piece++);
		slope = next;
	}
	set_cubic(&knot[k], slope, 0, 0, piece);
	return 0;
}

/* Makes the fit spline of any exchanges, or the fit itc of exchanges that have sessions. */
static int fit_sessions(struct tsct_plane *plane, enum tsct_fit_kind kind,
			const struct tsct_exchange *x, unsigned int nr, bool *keep,
			struct tsct_fit *fit)
{
	struct knot *knot = malloc(nr * sizeof(*knot));
	unsigned int nr_knots;
	int err = -ENOMEM;

	if (knot)
		err = average_sessions(plane, x, nr, keep, knot, &nr_knots);
	if (!err)
		err = check_rises(knot, nr_knots);
	if (!err && kind == TSCT_FIT_ITC && nr_knots == 2) {
		regress(plane, keep, fit);
	} else if (!err) {
		/* Standard error of a session's mean, as a multiple of one
		 * exchange's residual: 1 / sqrt(exchanges per session),
		 * doubled, as extrapolation beyond the sessions has a larger
		 * error. The caller multiplies sd by the residual. */
		fit->sd = 2 / sqrt((double)nr / nr_knots);
		err = run_through(plane, knot, nr_knots, fit);
	}
	free(knot);
	return err;
}

int tsct_fit_reference(struct tsct_plane *plane, enum tsct_fit_kind kind,
		       const struct tsct_exchange *x, unsigned int nr, bool *keep,
		       struct tsct_fit *fit)
{
	if (kind == TSCT_FIT_SPLINE || (kind == TSCT_FIT_ITC && has_sessions(x, nr)))
		return fit_sessions(plane, kind, x, nr, keep, fit);
	drop_longest_tenth(x, nr, keep, (unsigned int *)plane->scratch);
	regress(plane, keep, fit);
	return 0;
}
