// SPDX-License-Identifier: MIT
/*
 * Pairs: the first exchange of a poll, after a pause, and the exchange whose request was
 * sent right after the first answer.
 *
 * A pause makes packets slow on some paths (idle CPUs, cold caches), and mostly not by
 * the same amount in both directions, which no fit can see. On other paths the second
 * exchange is as good as the first one, or worse. A pair shows which exchange is slower:
 * the unknown offset between both counters is the same for both exchanges, so the difference
 * of their delays in one direction is known. If neither place is slower, the difference is
 * as often positive as negative. Of n differences, the number of positive ones minus
 * the number of negative ones then has the standard deviation sqrt(n) (sign test: holds for
 * delays of any distribution).
 */
#include "fit_plane.h"

#include <math.h>

/*
 * A difference is significant beyond this many standard deviations: of a normal
 * distribution, 1.25 % are beyond it at each side. Each of two directions is tested, to
 * both sides, so if neither place is slower, one fit in 20 drops half of its exchanges
 * needlessly.
 */
#define SIGNIFICANT	2.24
/*
 * Limit used in place of SIGNIFICANT if most polls are a single request, so that dropping
 * the polls' first exchanges would leave less than the fraction LEFT_MIN of all exchanges. With
 * this limit, if neither place is slower, one fit in 200 drops these exchanges needlessly. With
 * a larger limit, more fits would keep first exchanges that are slower.
 */
#define SIGNIFICANT_LEFT	2.8
#define LEFT_MIN		0.4

/* Longest time from an answer to the next request of the same poll, s: half of the shortest
 * poll interval, 2^-6 s */
#define FOLLOWS_MAX_S	0x1p-7

/* Differences of delays in one direction, the first exchange's delay minus the second exchange's */
struct differences {
	unsigned int positive, negative;
};

static void add_difference(struct differences *to, double counts)
{
	to->positive += counts > 0;
	to->negative += counts < 0;
}

/* Returns the number of positive minus the number of negative differences, in standard
 * deviations. */
static double sign_statistic(const struct differences *of)
{
	double nr = of->positive + of->negative;

	return nr > 0 ? ((double)of->positive - of->negative) / sqrt(nr) : 0;
}

static bool follows_answer(const struct tsct_exchange *x, const struct tsct_point *p)
{
	return x[p->index].flags & TSCT_EXCHANGE_FOLLOWS;
}

/* Returns true if the request of the next point was sent right after the answer
 * of point @p. The flag TSCT_EXCHANGE_FOLLOWS does not prove that: a full
 * window drops exchanges (lib/sync/source_fit.c), so a poll's first exchange
 * may be beside another poll's second exchange. */
static bool is_followed(const struct tsct_exchange *x, const struct tsct_point *p)
{
	return follows_answer(x, p + 1) && p[1].u1 - p->u4 < FOLLOWS_MAX_S;
}

/* Returns true if point @p is the first of a pair, and the next point is the second. */
static bool begins_pair(const struct tsct_plane *plane, const struct tsct_exchange *x,
			const struct tsct_point *p)
{
	return p + 1 < plane->point + plane->nr && !follows_answer(x, p) &&
		is_followed(x, p) && p[1].index == p->index + 1 &&
		!p->rejected && !p[1].rejected;
}

/* Clears `shortest` of each used point whose poll has a used point with a shorter round
 * trip. */
static void find_shortest(struct tsct_plane *plane, const struct tsct_exchange *x)
{
	struct tsct_point *end = plane->point + plane->nr, *best = NULL, *p;

	for (p = plane->point; p < end; p++) {
		if (p == plane->point || !is_followed(x, p - 1))
			best = NULL;
		if (!p->used)
			continue;
		p->shortest = !best || p->rtt < best->rtt;
		if (!p->shortest)
			continue;
		if (best)
			best->shortest = false;
		best = p;
	}
}

/* Finds the place in polls whose exchanges are slower in either direction, and excludes the
 * exchanges of that place from the estimate. */
static void compare_places(struct tsct_plane *plane, const struct tsct_exchange *x)
{
	struct tsct_point *end = plane->point + plane->nr, *p;
	struct differences request = { 0 }, answer = { 0 };
	double a, b, most, least, limit;
	unsigned int left = 0;
	bool drop_first;

	plane->nr_pairs = 0;
	plane->slow_place = TSCT_FIT_PLACE_NONE;
	for (p = plane->point; p < end; p++) {
		left += follows_answer(x, p);
		if (!begins_pair(plane, x, p))
			continue;
		plane->nr_pairs++;
		add_difference(&request, p->up - p[1].up);
		add_difference(&answer, p[1].low - p->low);
	}
	a = sign_statistic(&request);
	b = sign_statistic(&answer);
	most = fmax(a, b);
	least = fmin(a, b);
	limit = left < LEFT_MIN * plane->nr ? SIGNIFICANT_LEFT : SIGNIFICANT;
	drop_first = most > limit && most > -least;
	if (!drop_first && !(-least > SIGNIFICANT && -least > most))
		return;
	plane->slow_place = drop_first ? TSCT_FIT_PLACE_FIRST : TSCT_FIT_PLACE_FURTHER;
	for (p = plane->point; p < end; p++) {
		p->in_slow_place = !x[p->index].session && follows_answer(x, p) != drop_first;
		p->used = p->used && !p->in_slow_place;
	}
}

void tsct_plane_compare_pairs(struct tsct_plane *plane, const struct tsct_exchange *x)
{
	compare_places(plane, x);
	find_shortest(plane, x);
}
