/* SPDX-License-Identifier: MIT */
/* What the daemon knows, as text for Prometheus. */
#ifndef TSCTRACED_METRICS_H
#define TSCTRACED_METRICS_H

#include <stdbool.h>
#include <stdio.h>

#include "daemon/clock/timekeeper.h"

struct metrics {
	const char *version;
	const char *clocksource;	/* the kernel's */
	__u32 status;			/* of now */
	__u32 epoch;
	__u32 cause;			/* of the epoch */
	__u32 source;
	bool skewed;
	/* NaN where there is nothing to say */
	double error_s;			/* bound, now */
	double growth;			/* of it, seconds per second */
	double age_s;			/* since the last sample */
	double epoch_age_s;
	double hz;
	double hz_error;		/* relative, a bound */
	struct timekeeper_stats stats;
	bool module;			/* has our state */
	__u64 channels;			/* that we hold, and their memory */
	__u64 bytes;
	__u32 segments;			/* in the clock file */
};

/* Pure but for the output. */
void metrics_print(const struct metrics *m, FILE *to);

/* Fills in what the keeper knows. */
void metrics_of_keeper(const struct timekeeper *k, struct metrics *ret);

#endif /* TSCTRACED_METRICS_H */
