/* SPDX-License-Identifier: MIT */
/* Conditions under which fits are compared */
#ifndef TESTS_NETSIM_ROWS_H
#define TESTS_NETSIM_ROWS_H

#include "tests/world/network.h"

/* Estimators with published figures; see rows.c */
enum published {
	PUBLISHED_ALL,		/* regression over all exchanges */
	PUBLISHED_DROP,		/* without the tenth with the longest round trips */
	PUBLISHED_HALF,		/* over the half with the shortest round trips */
	PUBLISHED_QUARTER,
	PUBLISHED_WEIGHTED,	/* by 1 / excess^2 of the round trip */
	PUBLISHED_GAUSS,	/* by exp(-excess^2) */
	PUBLISHED_THEIL_SEN,	/* over the half with the shortest round trips */
	PUBLISHED_HULL,
	PUBLISHED_NR
};

struct row {
	const char *name;
	struct network_path request, answer;
	struct timestamping timestamping;
	double wander;			/* 0: 1e-9 per sqrt(s) */
	double temp, temp_s;		/* amplitude and period of a sine, added */
	double drift;			/* between both; 0: random, up to
					 * 50e-6 */
	double limit;			/* of the RMS of auto, us */
	unsigned int nr;		/* exchanges; 0: 100 */
	double interval_s;		/* between two exchanges; 0: 1 */
	unsigned int sessions;		/* 0: none */
	double gap_s;			/* from begin to begin of sessions */
	double published[PUBLISHED_NR];	/* us; all 0: none; 0: not known */
};

extern const struct row rows[];
extern const unsigned int nr_rows;
/* The first rows have published figures. */
#define ROWS_PUBLISHED	10

#endif /* TESTS_NETSIM_ROWS_H */
