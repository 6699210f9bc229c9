/* SPDX-License-Identifier: MIT */
/* Pages of HTML that are complete in one file and need no network. */
#ifndef REPORT_H
#define REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "lib/query/filter.h"

/*
 * Head and foot of a page. Its policy lets the browser run our own script only,
 * and fetch nothing. @of: subject of the page, any text. @script: the foot has
 * our script, which reads data written before it.
 */
void report_begin(FILE *to, const char *title, const char *of, bool script);
void report_end(FILE *to, bool script);

/*
 * Writes any text, with HTML's special characters escaped, and with invisible
 * characters and those that change the text's direction as numbers.
 */
void report_text(FILE *to, const char *text);

struct sync_samples;

/*
 * A recording's samples in the form of the daemon's answer. @kind: -1: the
 * recording's own fit. NULL: out of memory
 */
json_t *report_recording(const struct sync_samples *read, int kind);

/*
 * Writes a page from the daemon's answer to "exchanges", or from the same form.
 * 0 or -ENOMEM
 */
int report_sync(FILE *to, const json_t *window);

/* Writes the same as a part of a page, without head and foot. */
int report_sync_sections(FILE *to, const json_t *window);

/* Options for the page of a recording */
struct report_options {
	const char *recording, *output;
	struct tsct_filter filter;	/* freed by report_trace() */
	unsigned long long max_events;	/* 0: the default */
	int fit;		/* fit of its sync samples; -1: its own */
	bool quiet;
};

/* Returns cmd_report's exit status EXIT_*. */
int report_trace(struct report_options *options);

#endif /* REPORT_H */
