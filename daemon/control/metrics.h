/* SPDX-License-Identifier: MIT */
/* Metrics of the daemon as text for Prometheus */
#ifndef TSCTRACED_METRICS_H
#define TSCTRACED_METRICS_H

#include <stdbool.h>
#include <stdio.h>

#include "daemon/clock/timekeeper.h"

struct metrics {
	const char *version;
	const char *clocksource;	/* the kernel's clocksource */
	__u32 status;			/* present status of the clock, TSCT_STATUS_* */
	__u32 epoch;
	__u32 cause;			/* cause of the epoch, TSCT_CAUSE_* */
	__u32 source;			/* counter of the clock, TSCT_SOURCE_* */
	bool skewed;
	/* The times, errors and rates below: NaN if unknown */
	double error_s;			/* present bound of the clock's error, s */
	double utc_error_s;		/* bound of CLOCK_REALTIME's error to UTC, s */
	double growth;			/* growth of error_s, s per s */
	double age_s;			/* time since the last sample, s */
	double epoch_age_s;		/* time since the epoch began, s */
	double hz;			/* frequency of the counter */
	double hz_error;		/* bound of the relative error of hz */
	struct timekeeper_stats stats;
	bool module;			/* true: the kernel module has this daemon's
					 * clock state */
	__u64 channels;			/* number of channels held by this daemon */
	__u64 bytes;			/* memory of this daemon's channels, bytes */
	__u32 segments;			/* number of clock segments in the clock file */
};

void metrics_print(const struct metrics *m, FILE *to);

/* Fills in the metrics that come from the timekeeper: all but version, module,
 * channels, bytes and segments. */
void metrics_from_timekeeper(const struct timekeeper *k, struct metrics *ret);

#endif /* TSCTRACED_METRICS_H */
