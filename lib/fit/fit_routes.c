// SPDX-License-Identifier: MIT
/*
 * Slow routes: stretches of time in which no exchange was fast, because all packets took a
 * longer route, or waited.
 *
 * All exchanges on a longer route have the same error, up to half of the additional round
 * trip, so no mean removes the error. The exchanges before and after a stretch determine the
 * function within the stretch, too, but less well the longer the stretch is. It is unknown
 * how the additional round trip x is divided between both directions: an offset between -x/2
 * and x/2, each equally likely, has the standard deviation x / sqrt(12). So an estimate
 * without the stretch is better if its standard deviation is less than x / sqrt(12).
 */
#include "fit_plane.h"

#include <math.h>

/*
 * Least number of successive slow polls in a stretch. On one route, one poll in four is
 * above the upper quartile of all round trips; STRETCH such polls follow each other with a
 * probability of 4^-STRETCH: once in 65000 polls.
 */
#define STRETCH		8
/* Number of blocks of STRETCH polls that show the round trips of the fastest route: the
 * blocks whose slowest poll is fastest. The upper quartile of their round trips is the
 * route's upper quartile, within a tenth of the polls (sqrt(1/4 * 3/4 / 24) = 0.09). */
#define FAST_BLOCKS	3

/* A block of STRETCH successive polls */
struct block {
	unsigned int from, to;	/* points with index in [from, to) */
	double slowest;		/* longest round trip of these points, counts */
};

/* Returns true if the point represents its poll, as its round trip is the shortest. */
static bool is_poll(const struct tsct_point *p)
{
	return p->used && p->shortest;
}

/* Measures the block of polls from point @from on. Returns false if there are
 * fewer than STRETCH polls. */
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

/* Inserts a block into @fast, which is sorted by `slowest`, the smallest first, and drops
 * the last block. */
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
