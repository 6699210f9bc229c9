/* SPDX-License-Identifier: MIT */
/* Reads the clock, and shows the readings as text and JSON */
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
	int error;		/* -errno if `time` could not be computed */
	/* counter's cycles per us of MONOTONIC_RAW; 0: unknown */
	double mhz;
	double error_ppb;	/* error bound of mhz, parts per billion */
	double growth_ppb;	/* growth of the time's error bound, ns/s */
	double age_s;		/* time since the clock's last sample, s */
	double epoch_age_s;	/* time since the epoch began, s; negative: unknown */
	int64_t epoch_ns;	/* time when the clock's current epoch began, in ns
				 * since 1970-01-01 00:00 UTC */
	unsigned int segments;	/* number of clock segments, past and present */
	double segments_s;	/* time since the oldest clock segment began, s */
	char clocksource[32];	/* name of the kernel's clocksource; "": unknown */
	struct tsct_utc utc;	/* bound of CLOCK_REALTIME to UTC */
	int utc_error;		/* result of tsct_clock_utc() */
	struct tsct_time cluster;	/* reading of cluster time */
	int cluster_error;		/* -errno if `cluster` could not be computed */
};

/* Reads the clock. Returns 0, or -EAGAIN if no clock params were published yet. */
int clock_read(const struct tsct_clock *clock, struct clock_reading *r);

/* Returns true if the time is valid; otherwise clock_problem() returns the reason. */
bool clock_usable(const struct clock_reading *r);
const char *clock_problem(const struct clock_reading *r);

void clock_print_text(FILE *to, const struct clock_reading *r);

/* Print the header of a table of clock readings, and the row of one reading. */
void clock_print_header(void);
void clock_print_row(const struct clock_reading *r);

json_t *clock_json(const struct clock_reading *r);

#endif /* CLOCK_VIEW_H */
