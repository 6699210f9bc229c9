/* SPDX-License-Identifier: MIT */
/*
 * Intersection algorithm (cf. RFC 5905, 11.2.1): finds falsetickers among
 * sources by their correctness intervals. The intervals of all correct sources
 * contain the true time, so they overlap.
 */
#ifndef TSCT_SYNC_INTERSECTION_H
#define TSCT_SYNC_INTERSECTION_H

#include "lib/core/port.h"

struct tsct_correctness_interval {
	double middle, bound;	/* [middle - bound, middle + bound], any unit */
	bool falseticker;	/* result of tsct_intersection() */
};

struct tsct_intersection_result {
	unsigned int agree;	/* largest number of intervals that have a point
				 * in common */
	bool majority;		/* agree is more than half of all */
	/*
	 * Range of the truth if at most (nr - 1) / 2 intervals are wrong: the
	 * hull of all points in at least the others. Empty (lo > hi) without a
	 * majority.
	 */
	double lo, hi;
};

/*
 * Sets `falseticker` of each of @nr intervals: with a majority, it is one that
 * is part of no largest group; without one, none is: two that contradict each
 * other cannot outvote each other. Pure; cubic in @nr.
 */
struct tsct_intersection_result
tsct_intersection(struct tsct_correctness_interval *intervals, unsigned int nr);

#endif /* TSCT_SYNC_INTERSECTION_H */
