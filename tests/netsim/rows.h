/* SPDX-License-Identifier: MIT */
/* Conditions under which fits are compared */
#ifndef TESTS_NETSIM_ROWS_H
#define TESTS_NETSIM_ROWS_H

#include "tests/world/network.h"

/* Estimators with published figures; rows.c describes their conditions */
enum published {
	PUBLISHED_ALL,		/* linear regression over all exchanges */
	PUBLISHED_DROP,		/* regression without the tenth of exchanges with the
				 * longest round trips */
	PUBLISHED_HALF,		/* regression over the half with the shortest round
				 * trips */
	PUBLISHED_QUARTER,
	PUBLISHED_WEIGHTED,	/* regression, weights 1 / excess^2 of the round trip */
	PUBLISHED_GAUSS,	/* regression, weights exp(-excess^2) of the round
				 * trip */
	PUBLISHED_THEIL_SEN,	/* Theil-Sen over the half with the shortest round
				 * trips */
	PUBLISHED_HULL,
	PUBLISHED_NR
};

struct row {
	const char *name;
	struct network_path request, answer;
	struct timestamping timestamping;
	double wander;			/* frequency wander per root of a second; 0:
					 * 1e-9 */
	double temp, temp_s;		/* amplitude and period in s of a sine added
					 * to the rate */
	double drift;			/* rate difference of the counters; 0:
					 * random, up to 50e-6 */
	double limit;			/* largest allowed RMS of auto, us */
	unsigned int nr;		/* number of exchanges in the window; 0: 100 */
	double interval_s;		/* time between two exchanges; 0: 1 */
	unsigned int sessions;		/* exchanges are grouped into as many
					 * sessions; 0: none */
	double gap_s;			/* time from the begin of a session to the
					 * next begin */
	double published[PUBLISHED_NR];	/* published RMS in us; 0: not known */
};

extern const struct row rows[];
extern const unsigned int nr_rows;
/* The first rows have published figures of other estimators. */
#define ROWS_PUBLISHED	10

#endif /* TESTS_NETSIM_ROWS_H */
