/* SPDX-License-Identifier: MIT */
/* Pages of HTML that need nothing else: one file, no network. */
#ifndef REPORT_H
#define REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "lib/query/filter.h"

/*
 * Head and foot of a page, of which the browser is told that nothing but our own
 * script may run in it, and that nothing is to be fetched. @of: what it is about, any
 * text. @script: our script ends it; what that reads was written before.
 */
void report_begin(FILE *to, const char *title, const char *of, bool script);
void report_end(FILE *to, bool script);

/*
 * Any text, with what HTML would take for its own made harmless, and characters that
 * are not seen, or that turn the text around, by their numbers
 */
void report_text(FILE *to, const char *text);

struct sync_samples;

/* A recording's samples, as the daemon answers. @kind: -1: as it says. NULL: no memory */
json_t *report_recording(const struct sync_samples *read, int kind);

/* From what the daemon answers to "exchanges", or from that. 0 or -ENOMEM */
int report_sync(FILE *to, const json_t *window);

/* The same as a part of a page, without head and foot */
int report_sync_sections(FILE *to, const json_t *window);

/* The page of a recording */
struct report_options {
	const char *recording, *output;
	struct tsct_filter filter;	/* report_trace() frees it */
	unsigned long long max_events;	/* 0: the default */
	int fit;		/* of its sync samples; -1: as it says */
	bool quiet;
};

/* cmd_report's: EXIT_* */
int report_trace(struct report_options *options);

#endif /* REPORT_H */
