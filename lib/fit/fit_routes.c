// SPDX-License-Identifier: MIT
/*
 * Routes: stretches of time in which no exchange was fast, as packets took a longer route,
 * or all of them waited.
 *
 * An exchange on a longer route is off by up to half of the additional round trip, and all
 * of that route alike, so that no mean removes it. The exchanges before and after a
 * stretch determine the function within it, too, but less well the longer it is. Nothing is
 * known of how the additional round trip x divides itself between both directions: an
 * offset between -x/2 and x/2, each equally likely, has the standard deviation x / sqrt(12).
 * So an estimate without the stretch is the better one while its deviation is less than
 * that.
 */
#include "fit_plane.h"

#include <math.h>

/*
 * Number of successive polls of a stretch. On one route, one poll in four is above the upper
 * quartile of all round trips, and so many are one after another with a probability of
 * 4^-STRETCH: of 65000 polls, once.
 */
#define STRETCH		8
/* Number of blocks of STRETCH polls, those in which no poll was slow, that show the round
 * trips of the fastest route: their quartile is that of the route to a tenth of its polls
 * (sqrt(1/4 * 3/4 / 24) = 0.09) */
#define FAST_BLOCKS	3

/* A block of STRETCH successive polls */
struct block {
	unsigned int from, to;	/* points with index in [from, to) */
	double slowest;		/* the longest round trip of these, counts */
};

/* True: the point stands for its poll. */
static bool is_poll(const struct tsct_point *p)
{
	return p->used && p->shortest;
}

/* Measures the block of polls from point @from on. False: there are too few. */
static bool measure_block(const struct tsct_plane *plane, unsigned int from,
			  struct block *ret)
{
	unsigned int nr = 0, i;

	*ret = (struct block) { .from = from, .slowest = -HUGE_VAL };
	for (i = from; i < plane->nr && nr < STRETCH; i++) {
		if (!is_poll(&plane->point[i]))
			continue;
		ret->slowest = fmax(ret->slowest, plane->point[i].rtt);
		nr++;
	}
	ret->to = i;
	return nr == STRETCH;
}

/* Inserts a block into @fast, which is in order of the slowest poll, the fastest first, and
 * drops the last one. */
static void insert_block(struct block fast[FAST_BLOCKS], struct block block)
{
	struct block was;
	unsigned int k;

	for (k = 0; k < FAST_BLOCKS; k++) {
		if (!(block.slowest < fast[k].slowest))
			continue;
		was = fast[k];
		fast[k] = block;
		block = was;
	}
}

/* Returns the upper quartile of the round trips of polls on the fastest route, counts;
 * HUGE_VAL: there are too few exchanges. */
static double quartile_of_fast(const struct tsct_plane *plane)
{
	struct block fast[FAST_BLOCKS], block = { .to = 0 };
	unsigned int nr = 0, k, i;

	for (k = 0; k < FAST_BLOCKS; k++)
		fast[k] = (struct block) { .slowest = HUGE_VAL };
	while (measure_block(plane, block.to, &block))
		insert_block(fast, block);
	if (fast[FAST_BLOCKS - 1].slowest == HUGE_VAL)
		return HUGE_VAL;
	for (k = 0; k < FAST_BLOCKS; k++)
		for (i = fast[k].from; i < fast[k].to; i++)
			if (is_poll(&plane->point[i]))
				plane->scratch[nr++] = plane->point[i].rtt;
	return tsct_nth_smallest(plane->scratch, nr, nr * 3 / 4);
}

double tsct_plane_find_slow_routes(struct tsct_plane *plane)
{
	double quartile = quartile_of_fast(plane), fastest = HUGE_VAL, least = HUGE_VAL;
	unsigned int from = 0, polls = 0, i;

	for (i = 0; i <= plane->nr; i++) {
		const struct tsct_point *p = &plane->point[i];

		if (i < plane->nr && (!is_poll(p) || p->rtt > quartile)) {
			if (!is_poll(p))
				continue;
			polls++;
			fastest = fmin(fastest, p->rtt);
			continue;
		}
		if (polls >= STRETCH) {
			for (; from < i; from++)
				plane->point[from].slow_route = true;
			least = fmin(least, fastest - plane->min_rtt);
		}
		from = i + 1;
		polls = 0;
		fastest = HUGE_VAL;
	}
	return least / sqrt(12);
}
