/* SPDX-License-Identifier: MIT */
/* Tables that are shown periodically, such as trace-ctl top's: samples, rows, terminal */
#ifndef TOP_H
#define TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "lib/base/table.h"

/* ---- samples: top_sample.c ---------------------------------------------- */

struct top_sample {
	__s64 time_ns;		/* time of the sample, CLOCK_MONOTONIC */
	double seconds;		/* time since the previous sample, s; 0: first sample */
	json_t *channels;	/* rows: figures of each channel, sorted by provider and id */
	unsigned int providers;	/* number of providers that answered */
};

/*
 * Reads the figures of all channels and, if @cpus is true, of each of their CPUs, and adds the
 * rates since the sample @before. The rates are null if @before is all zero. Prints errors.
 * Returns 0 or -ENOMEM. Call top_sample_free() later, even after an error.
 */
int top_sample_read(const struct top_sample *before, struct top_sample *sample, bool cpus);
void top_sample_free(struct top_sample *sample);

/* ---- rows: top_rows.c ---------------------------------------------------- */

/* Returns a figure that is a number, or the sum of an object's numbers; 0 if missing or null */
double top_figure(const json_t *row, const char *key);

/* Returns the sums of all rows: events and losses so far and per second, bytes per second, and
 * "unread_percent", the fill of the fullest ring; null: unknown. NULL: out of memory */
json_t *top_sums(const json_t *rows);

/*
 * Returns the rows sorted by @figure, descending; NULL: by name. Rows with equal figures are
 * sorted by figure @then, then by name. NULL: out of memory
 */
json_t *top_sort(const json_t *rows, const char *figure, const char *then);

/*
 * Prints a line with the time of day, @what, the sums of the rows, and @end; then a table of the
 * rows, each followed by its "cpus". @height: number of lines of the terminal; 0: unlimited.
 * @row_name: word for one row, such as "line"
 */
void top_print(const struct tsct_table *table, const json_t *rows, const char *what,
	       const char *end, int height, const char *row_name);

/* ---- terminal: top_term.c ----------------------------------------------- */

/* Prints a table as text. @width, @height: size of the terminal, characters; 0: unlimited */
typedef void (*top_print_fn)(const json_t *table, FILE *to, int width, int height);

/*
 * Adds the present time, "time_ns", to a table. Prints the table as one line of JSON or as
 * text, on the alternate screen if top_term_is_open(). Frees @table. @table: NULL: out of
 * memory. Prints errors. Returns 0 or -EIO.
 */
int top_term_show(json_t *table, bool json, top_print_fn print);

/*
 * Catches signals. If @screen is true and standard output is a terminal, also switches
 * to the terminal's alternate screen and reads keys without waiting for Enter.
 */
void top_term_open(bool screen);

/* Returns true if the terminal's alternate screen is in use. */
bool top_term_is_open(void);

/* Restores the terminal's modes and its normal screen. */
void top_term_close(void);

/*
 * Waits for a key until the time @until_ns, CLOCK_MONOTONIC. Returns the key; 0: no key
 * was pressed; 'q' also if a signal ends the program; ' ' also if the table must be
 * drawn again.
 */
int top_term_wait(__s64 until_ns);

/* Format a number in up to seven columns. rate: "123", "45.6k", "7.89M"; mb: a number of
 * bytes in MB; percent: a percentage. Return @text. */
const char *top_format_rate(double rate, char *text, size_t size);
const char *top_format_mb(double bytes, char *text, size_t size);
const char *top_format_percent(double percent, char *text, size_t size);

/* Formats the local time of day. Returns @text. */
const char *top_format_clock(char *text, size_t size);

#endif /* TOP_H */
