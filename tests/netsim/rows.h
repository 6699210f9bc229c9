/* SPDX-License-Identifier: MIT */
/* Conditions under which fits are compared */
#ifndef TESTS_NETSIM_ROWS_H
#define TESTS_NETSIM_ROWS_H

#include "tests/world/paths.h"

/* Offset estimators for which the literature states the RMS of the errors under the
 * conditions that rows.c describes */
enum published {
	PUBLISHED_ALL,		/* linear regression over all exchanges */
	PUBLISHED_DROP,		/* linear regression without the tenth of exchanges
				 * with the longest round trips */
	PUBLISHED_HALF,		/* linear regression over the half of exchanges with
				 * the shortest round trips */
	PUBLISHED_QUARTER,
	PUBLISHED_WEIGHTED,	/* linear regression; weights 1 / e^2, e: excess of
				 * the round trip over the shortest */
	PUBLISHED_GAUSS,	/* linear regression; weights exp(-e^2), e: excess of
				 * the round trip over the shortest */
	PUBLISHED_THEIL_SEN,	/* Theil-Sen estimator over the half of exchanges
				 * with the shortest round trips */
	PUBLISHED_HULL,
	PUBLISHED_NR
};

struct row {
	const char *name;
	struct network_path request, answer;
	const struct named_path *path;	/* path of requests and answers, instead of the
					 * two members above; or NULL */
	struct timestamping timestamping;
	double wander;			/* frequency wander of the crystals per root
					 * of a second; 0: 1e-9 */
	double temp, temp_s;		/* sine that is added to the rate: amplitude
					 * (relative), period in s */
	double drift;			/* relative difference of the counters'
					 * rates; 0: random, up to 50e-6 */
	double limit;			/* largest allowed RMS of the offset's error of
					 * the default fit (TSCT_FIT_AUTO) at the end
					 * of the window, us; 0: not checked */
	unsigned int nr;		/* number of exchanges in the window; 0: 100 */
	double interval_s;		/* time between two exchanges, s; 0: 1 s */
	unsigned int sessions;		/* number of sessions into which the
					 * exchanges are grouped; 0: none */
	double gap_s;			/* time from the begin of a session to the
					 * begin of the next one, s */
	double published[PUBLISHED_NR];	/* RMS of the offset's error of each estimator
					 * (enum published), from the literature, us;
					 * 0: unknown */
};

extern const struct row rows[];
extern const unsigned int nr_rows;
/* Number of rows, at the begin of the table, with published figures of estimators */
#define ROWS_PUBLISHED	10

#endif /* TESTS_NETSIM_ROWS_H */
