/* SPDX-License-Identifier: MIT */
/* Metrics of the daemon as text for Prometheus */
#ifndef TSCTRACED_METRICS_H
#define TSCTRACED_METRICS_H

#include <stdbool.h>
#include <stdio.h>

#include "daemon/clock/timekeeper.h"

struct metrics {
	const char *version;
	const char *clocksource;	/* of the kernel */
	__u32 status;			/* at this time */
	__u32 epoch;
	__u32 cause;			/* of the epoch */
	__u32 source;
	bool skewed;
	/* NaN: not known */
	double error_s;			/* bound at this time */
	double growth;			/* of the bound, seconds per second */
	double age_s;			/* since the last sample */
	double epoch_age_s;
	double hz;
	double hz_error;		/* bound, relative */
	struct timekeeper_stats stats;
	bool module;			/* the module has this daemon's clock
					 * state */
	__u64 channels;			/* held by this daemon, and their
					 * memory */
	__u64 bytes;
	__u32 segments;			/* in the clock file */
};

/* Prints all metrics; does nothing else. */
void metrics_print(const struct metrics *m, FILE *to);

/* Fills in all fields of the timekeeper's state. */
void metrics_from_timekeeper(const struct timekeeper *k, struct metrics *ret);

#endif /* TSCTRACED_METRICS_H */
