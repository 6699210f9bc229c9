/* SPDX-License-Identifier: MIT */
/* Conditions under which fits are compared */
#ifndef TESTS_NETSIM_ROWS_H
#define TESTS_NETSIM_ROWS_H

#include "tests/world/network.h"

/* Estimators that figures were published for; see rows.c */
enum published {
	PUBLISHED_ALL,		/* regression over everything */
	PUBLISHED_DROP,		/* without the tenth of the highest round trips */
	PUBLISHED_HALF,		/* over the half of the lowest round trips */
	PUBLISHED_QUARTER,
	PUBLISHED_WEIGHTED,	/* by 1 / excess^2 of the round trip */
	PUBLISHED_GAUSS,	/* by exp(-excess^2) */
	PUBLISHED_THEIL_SEN,	/* of the lowest half */
	PUBLISHED_HULL,
	PUBLISHED_NR
};

struct row {
	const char *name;
	struct network_path request, answer;
	struct timestamping timestamping;
	double wander;			/* 0: 1e-9 per sqrt(s) */
	double temp, temp_s;		/* added: a sine */
	double drift;			/* between both; 0: random, up to
					 * 50e-6 */
	double limit;			/* RMS of auto, us: no worse */
	unsigned int nr;		/* exchanges; 0: 100 */
	double interval_s;		/* between two; 0: 1 */
	unsigned int sessions;		/* number of sessions, 0: none; each
					 * begins ... */
	double gap_s;			/* ... as long after the one before */
	double published[PUBLISHED_NR];	/* us; all 0: none; 0: not known */
};

extern const struct row rows[];
extern const unsigned int nr_rows;
/* The first of them are those with published figures. */
#define ROWS_PUBLISHED	10

#endif /* TESTS_NETSIM_ROWS_H */
