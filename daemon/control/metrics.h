/* SPDX-License-Identifier: MIT */
/* Metrics of the daemon as text for Prometheus */
#ifndef TSCTRACED_METRICS_H
#define TSCTRACED_METRICS_H

#include <stdbool.h>
#include <stdio.h>

#include "daemon/clock/timekeeper.h"

struct metrics {
	const char *version;
	const char *clocksource;	/* the kernel's */
	__u32 status;			/* TSCT_STATUS_* now */
	__u32 epoch;
	__u32 cause;			/* TSCT_CAUSE_* of the epoch */
	__u32 source;			/* TSCT_SOURCE_* */
	bool skewed;
	/* NaN: unknown */
	double error_s;			/* bound of the clock's error now */
	double growth;			/* growth of error_s per second */
	double age_s;			/* time since the last sample */
	double epoch_age_s;		/* time since the epoch began */
	double hz;			/* counter's rate */
	double hz_error;		/* bound of its error, relative */
	struct timekeeper_stats stats;
	bool module;			/* the module has this daemon's clock
					 * state */
	__u64 channels;			/* channels held by this daemon */
	__u64 bytes;			/* memory of these channels */
	__u32 segments;			/* clock segments in the clock file */
};

void metrics_print(const struct metrics *m, FILE *to);

/* Fills in the fields that come from the timekeeper: all but version, module,
 * channels, bytes and segments. */
void metrics_from_timekeeper(const struct timekeeper *k, struct metrics *ret);

#endif /* TSCTRACED_METRICS_H */
