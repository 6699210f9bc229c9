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
	double middle, bound;	/* correctness interval: middle +- bound, any unit */
	bool falseticker;	/* true: a majority of the intervals has a point in
				 * common, and this interval is not in that majority */
};

struct tsct_intersection_result {
	unsigned int agree;	/* largest number of intervals that have a point
				 * in common */
	bool majority;		/* true: more than half of all intervals have a
				 * point in common */
	/*
	 * Range of the true time if at most (nr - 1) / 2 intervals are wrong: the
	 * hull of all points that are in at least nr - (nr - 1) / 2 intervals.
	 * Empty (lo > hi) without a majority.
	 */
	double lo, hi;
};

/*
 * Sets `falseticker` of each of @nr intervals. If a majority of them overlap, a
 * falseticker is an interval outside every largest group. Without a majority there is
 * no falseticker: which of two contradicting sources is wrong is unknown. Pure; cubic
 * in
 * @nr.
 */
struct tsct_intersection_result
tsct_intersection(struct tsct_correctness_interval *intervals, unsigned int nr);

#endif /* TSCT_SYNC_INTERSECTION_H */
