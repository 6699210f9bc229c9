/* SPDX-License-Identifier: MIT */
/* Readings of the clock, as text and JSON */
#ifndef CLOCK_VIEW_H
#define CLOCK_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <tsctrace/tsctrace.h>

struct clock_reading {
	const struct tsct_clock *clock;
	uint64_t cycles;
	struct tsct_clock_state state;
	struct tsct_time time;
	int error;		/* -errno: `time` is not valid */
	double mhz;		/* cycles per us of MONOTONIC_RAW; 0: unknown */
	double error_ppb;	/* error bound of mhz */
	double growth_ppb;	/* growth of the time's error bound, ns/s */
	double age_s;		/* time since the last sample */
	double epoch_age_s;	/* time since the epoch began; negative: unknown */
	int64_t epoch_ns;	/* begin of the epoch, ns since 1970 */
	unsigned int segments;	/* number of clock segments of the past */
	double segments_s;	/* time since the first segment began */
	char clocksource[32];	/* the kernel's clocksource; "": unknown */
	struct tsct_time cluster;	/* cluster time */
	int cluster_error;		/* -errno: `cluster` is not valid */
};

/* Reads the clock. Returns 0, or -EAGAIN if nothing was published yet. */
int clock_read(const struct tsct_clock *clock, struct clock_reading *r);

/* True if the time is valid; else clock_problem() returns the reason. */
bool clock_usable(const struct clock_reading *r);
const char *clock_problem(const struct clock_reading *r);

void clock_print_text(FILE *to, const struct clock_reading *r);

/* Header of a table of readings, and one row */
void clock_print_header(void);
void clock_print_row(const struct clock_reading *r);

json_t *clock_json(const struct clock_reading *r);

#endif /* CLOCK_VIEW_H */
