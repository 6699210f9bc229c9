/* SPDX-License-Identifier: MIT */
/* Compares all fits of the same exchanges with the truth. */
#ifndef TESTS_NETSIM_TRIAL_H
#define TESTS_NETSIM_TRIAL_H

#include "rows.h"
#include "lib/sync/fit.h"

#define SIMPLE_NR	4	/* PUBLISHED_ALL to PUBLISHED_QUARTER */

/* Results of one fit over trials, us */
struct score {
	double squares, max;	/* of the error at the window's end */
	double within;		/* sum over trials of the mean square in
				 * the whole window */
	double sds;		/* sum of squares of the fit's own standard
				 * deviation */
	double bounds;		/* sum */
	unsigned int trials, failed;
	unsigned int readings, held;
	unsigned int hulls;	/* auto chose the hull */
	double over;		/* worst error in excess of its bound */
};

struct result {
	struct score fits[TSCT_FIT_NR];
	double simple[SIMPLE_NR];	/* sums of squares */
	double seconds[TSCT_FIT_NR];	/* of CPU */
};

double score_rms(const struct score *score);

/* @mask: kinds of fits, bits 1 << kind */
void trial_run(const struct row *row, uint64_t seed, unsigned int mask,
	       bool verbose, struct result *result);

#endif /* TESTS_NETSIM_TRIAL_H */
