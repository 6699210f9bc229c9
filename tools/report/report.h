/* SPDX-License-Identifier: MIT */
/* Pages of HTML that are complete in one file and need no network */
#ifndef REPORT_H
#define REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "lib/query/filter.h"

/*
 * Head and foot of a page. Its policy lets the browser run the page's own script only,
 * and fetch nothing.
 * @of: subject of the page, any text
 * @script: the foot has the page's script, which reads data written before it
 */
void report_begin(FILE *to, const char *title, const char *of, bool script);
void report_end(FILE *to, bool script);

/*
 * Writes any text. HTML's special characters are escaped; invisible characters and
 * those that change the text's direction are written as numbers.
 */
void report_text(FILE *to, const char *text);

struct sync_samples;

/*
 * Returns a recording's samples in the form of the daemon's answer to "exchanges".
 * @kind: enum tsct_fit_kind; -1: the recording's own. NULL: out of memory
 */
json_t *report_recording(const struct sync_samples *read, int kind);

/* Writes a page of data in the form of the answer to "exchanges". 0 or -ENOMEM */
int report_sync(FILE *to, const json_t *window);

/* Writes the sections of report_sync() without a page's head and foot. 0 or -ENOMEM */
int report_sync_sections(FILE *to, const json_t *window);

/* Options for the page of a recording */
struct report_options {
	const char *recording, *output;
	struct tsct_filter filter;	/* selected events; freed by report_trace() */
	unsigned long long max_events;	/* events that are drawn individually; 0: default */
	int fit;		/* enum tsct_fit_kind for the sync samples; -1: the
				 * recording's own */
	bool quiet;
};

/* Returns cmd_report's exit status EXIT_*. */
int report_trace(struct report_options *options);

#endif /* REPORT_H */
