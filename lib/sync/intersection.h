/* SPDX-License-Identifier: MIT */
/*
 * Who of several sources can be right. Each claims that the truth is in an
 * interval; those that are honest all have it in theirs, so they overlap.
 */
#ifndef TSCT_SYNC_SELECT_H
#define TSCT_SYNC_SELECT_H

#include "lib/core/port.h"

struct tsct_correctness_interval {
	double at, bound;	/* the truth is in [at - bound, at + bound] */
	bool liar;		/* said by tsct_intersection() */
};

struct tsct_intersection_result {
	unsigned int agree;	/* as many can be right at once */
	bool majority;		/* those are more than half of all */
	/*
	 * Where the truth is if no more than (nr - 1) / 2 lie: what at least all
	 * the others claim. Empty (lo > hi) unless there is a majority.
	 */
	double lo, hi;
};

/*
 * tsct_intersection - compare claims
 *
 * With a majority, who is not part of any that is as large is a liar. Without
 * one nobody is: two that contradict each other cannot outvote each other.
 */
struct tsct_intersection_result tsct_intersection(struct tsct_correctness_interval *claims, unsigned int nr);

#endif /* TSCT_SYNC_SELECT_H */
