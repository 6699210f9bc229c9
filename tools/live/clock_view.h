/* SPDX-License-Identifier: MIT */
/* One look at the clock, and how it is shown. For the verb clock. */
#ifndef CLOCK_VIEW_H
#define CLOCK_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <tsctrace/tsctrace.h>

struct clock_reading {
	const struct tsct_clock *clock;
	uint64_t stamp;
	struct tsct_clock_state state;
	struct tsct_time time;
	int error;		/* why `time` says nothing; 0: it does */
	double mhz;		/* ticks per us of MONOTONIC_RAW, 0: not known */
	double error_ppb;	/* of it, a bound */
	double growth_ppb;	/* of the bound of the time */
	double age_s;		/* since the last sample */
	double epoch_age_s;	/* since the epoch began, negative: not known */
	int64_t epoch_ns;	/* when that was */
	unsigned int segments;	/* lines of past stamps */
	double segments_s;	/* how far they reach back */
	char clocksource[32];	/* the kernel's; "" not known */
	struct tsct_time cluster;	/* on the cluster's timeline */
	int cluster_error;		/* as error */
};

/* Returns 0, or -EAGAIN: nothing was published yet. */
int clock_read(const struct tsct_clock *clock, struct clock_reading *r);

/* May the time be gone by? And if not, why */
bool clock_usable(const struct clock_reading *r);
const char *clock_trouble(const struct clock_reading *r);

void clock_print_text(FILE *to, const struct clock_reading *r);
void clock_print_header(void);
void clock_print_row(const struct clock_reading *r);
json_t *clock_json(const struct clock_reading *r);

/* "2026-08-01T12:34:56.123456789Z" */
void clock_format_utc(int64_t ns, char *text, size_t size);

/* ---- cluster_view.c: nothing is shown, and null, where none was ever known -- */

void clock_read_cluster(struct clock_reading *r,
			const struct tsct_time_point *point);
void clock_print_cluster(FILE *to, const struct clock_reading *r);
json_t *clock_cluster_json(const struct clock_reading *r);

#endif /* CLOCK_VIEW_H */
