/* SPDX-License-Identifier: MIT */
/* Compares all fits of the same exchanges with the truth. */
#ifndef TESTS_NETSIM_TRIAL_H
#define TESTS_NETSIM_TRIAL_H

#include "rows.h"
#include "lib/fit/fit.h"

#define SIMPLE_NR	4	/* number of simple estimators computed for
				 * comparison: PUBLISHED_ALL to PUBLISHED_QUARTER */

/* Errors of one fit over all trials, us */
struct score {
	double squares, max;	/* errors of the fit at a trial's last exchange: sum of
				 * squares, us^2, and largest, us */
	double within;		/* mean square, us^2, of the fit's errors between the
				 * first and last exchange of a trial; sum over all
				 * trials */
	double sds;		/* sum of squares of the standard deviation that the
				 * fit itself states */
	double bounds;		/* sum of the error bounds that the fit itself states */
	unsigned int trials, failed;
	unsigned int readings, held;
	unsigned int hulls;	/* number of trials in which auto chose the hull fit */
	double over;		/* largest excess of an error over its bound */
};

struct result {
	struct score fits[TSCT_FIT_NR];
	double simple[SIMPLE_NR];	/* sums of squared errors by estimator */
	double seconds[TSCT_FIT_NR];	/* CPU time spent on each kind of fit, s */
};

double score_rms(const struct score *score);

/* Runs one trial of a row. @mask: kinds of fits to compute, as bits 1 << kind */
void trial_run(const struct row *row, uint64_t seed, unsigned int mask,
	       bool verbose, struct result *result);

#endif /* TESTS_NETSIM_TRIAL_H */
