/* SPDX-License-Identifier: MIT */
/* HTML pages. A page is one file, which contains everything that it shows, and needs no network. */
#ifndef REPORT_H
#define REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "lib/query/filter.h"

/*
 * Write the head and the foot of a page. A content security policy in the head permits only
 * the page's own script, and no network access.
 * @of: subject of the page, any text
 * @script: the page has a script, which the foot contains; the script's data must be written
 *	before the foot
 */
void report_begin(FILE *to, const char *title, const char *of, bool script);
void report_end(FILE *to, bool script);

/*
 * Writes an untrusted text. HTML's special characters are escaped; invisible
 * characters, and characters that change the direction of text, are written as numbers.
 */
void report_text(FILE *to, const char *text);

/*
 * Prints HTML. @format is HTML; texts for %s are escaped as by report_text().
 * The only valid conversions are %s, %u, %llu, %.Nf and %.Ng; and %'llu, which
 * prints thin spaces between groups of three digits: 1 234 567
 */
__attribute__((format(printf, 2, 3)))
void report_print(FILE *to, const char *format, ...);

/* Cells of a table, for report_print(): first cell of a row, cell with a text, cell with a count */
#define REPORT_HEAD	"<tr><th scope=\"row\">%s</th>"
#define REPORT_CELL	"<td class=\"left\">%s</td>"
#define REPORT_COUNT	"<td>%'llu</td>"

/* Writes the canvases of the timeline and of the rates, on which the page's script draws. */
void report_canvases(FILE *to);

/* ---- charts ------------------------------------------------------------------ */

/* A chart as SVG in an HTML page: axes with round numbers, marks, lines, bands */

struct chart {
	FILE *to;
	double x_min, x_max, y_min, y_max;	/* ranges of x and y that are visible */
	const char *title, *x_title, *y_title;
};

/* Begins an empty chart. Each element is drawn on top of the elements that were added before. */
void chart_begin(const struct chart *chart);
void chart_end(const struct chart *chart);

/*
 * Draw marks, lines and bands. Marks outside the visible ranges are not drawn; lines
 * and bands are clipped.
 * @style: CSS class in the page's style sheet
 * @hint: text that the browser shows when the pointer is at the mark
 */
void chart_mark(const struct chart *chart, double x, double y,
		const char *style, const char *hint);
void chart_line(const struct chart *chart, const double *x, const double *y,
		unsigned int nr, const char *style);
void chart_band(const struct chart *chart, const double *x, const double *low,
		const double *high, unsigned int nr, const char *style);

/* Widens a range by 5 % at both ends. Widens an empty range by 1 at both ends. */
void chart_pad(double *min, double *max);

/* ---- sync samples and recordings ---------------------------------------------- */

struct sync_samples;

/*
 * Returns a recording's sync samples as JSON, in the form of the daemon's answer to the
 * request "exchanges"; NULL: out of memory.
 * @kind: fit to compute, enum tsct_fit_kind; -1: the kind that the recording states
 */
json_t *report_recording(const struct sync_samples *read, int kind);

/* Writes a page of sync samples and their fits. @window: the daemon's answer to the
 * request "exchanges", or the result of report_recording(). Returns 0 or -ENOMEM. */
int report_sync(FILE *to, const json_t *window);

/* Writes the sections of report_sync() without head and foot. Returns 0 or -ENOMEM. */
int report_sync_sections(FILE *to, const json_t *window);

/* Options for the report of a recording */
struct report_options {
	const char *recording, *output;
	struct tsct_filter filter;	/* events to show; freed by report_trace() */
	/* limit of the number of events drawn individually; 0: EVENTS_DEFAULT */
	unsigned long long max_events;
	/* fit of sync samples, enum tsct_fit_kind; -1: the kind that the recording states */
	int fit;
	bool quiet;
};

/* Writes the report of a recording. Returns an exit status EXIT_*. */
int report_trace(struct report_options *options);

#endif /* REPORT_H */
