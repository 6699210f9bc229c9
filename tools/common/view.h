/* SPDX-License-Identifier: MIT */
/* Functions that several commands use to open recordings and to print losses, texts and times */
#ifndef VIEW_H
#define VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "lib/ctf/trace_reader.h"
#include "lib/query/value_text.h"

/*
 * Opens the recording in @dir. Prints errors and damage in the statedump now, and damage in
 * other files when they are read. Returns 0 or -errno.
 */
int view_open(const char *dir, struct tsct_trace **ret_trace);

/*
 * Prints on standard error which events are missing from a recording. Call it when the
 * whole recording was read. Returns EXIT_DONE or EXIT_LOST.
 */
int view_print_missing(const struct tsct_trace *trace);

/* Prints on standard error why a recording is incomplete, after @head, and what may be missing at
 * its end. @what: "events" or "samples" */
void view_print_incomplete(const struct tsct_trace *trace, const char *head, const char *what);

/* Splits a time into seconds, rounded down, and ns: *ret_rest_ns, 0 to 999999999. */
time_t view_split_ns(__s64 ns, __s64 *ret_rest_ns);

/* Returns the plural ending of a noun that follows a number: "" after 1, else "s" */
static inline const char *view_plural(__u64 nr)
{
	return nr == 1 ? "" : "s";
}

/* Formats a time in the unit that needs one to three digits before the point, such as
 * "1.50 us"; NaN: "-". Returns @text. */
const char *view_format_ns(double ns, char *text, size_t size);

#define VIEW_BOUND_TEXT_MAX	64

/* Writes the bound of a recording's times, such as "within 34 ns of CLOCK_REALTIME".
 * UINT64_MAX: writes that the bound is unknown for a part of the time. Returns @text. */
const char *view_bound_text(__u64 error_ns, char text[VIEW_BOUND_TEXT_MAX]);

/* Writes the largest distance of CLOCK_REALTIME from UTC, such as "within 5000000 ns of UTC
 * (kernel)", or why the distance is unknown. @err: result of tsct_clock_utc() */
void view_utc_text(const struct tsct_utc *utc, int err, char *text, size_t size);

/* Sets members of @json: "utc_error_ns" (largest distance of CLOCK_REALTIME from UTC; null:
 * unknown) and "utc_source". */
void view_json_utc(json_t *json, const struct tsct_utc *utc);

/* Prints @before, @text with its control characters escaped, and @after. Use it for texts from
 * untrusted files and peers. */
void view_print_escaped(FILE *to, const char *before, const char *text, const char *after);

/* Prints lost events by cause, such as "full 12, no_ring 1". @gap: text between causes */
void view_print_loss(FILE *to, const struct tsct_loss *loss, const char *gap);

/* Returns a JSON object with the number of lost events for each cause */
json_t *view_json_loss(const struct tsct_loss *loss);

/* Prints a line "published = recorded + lost", with the events that a rate limit dropped. */
void view_print_sum(FILE *to, const struct tsct_balance *sum);

/* Prints one line: the number of events that the rate limit dropped, by event name. @rec:
 * recording of one node whose rate limit dropped events */
void view_print_limited(FILE *to, const struct tsct_recording *rec);

/* Returns a list: for each event that the rate limit dropped on a node, its name and a count */
json_t *view_json_limited(const struct tsct_recorded_node *node);

/* Prints message statistics for each pair of nodes, if sends and receives were matched. */
void view_print_messages(const struct tsct_recording *rec);

/*
 * Returns message statistics as JSON; null if sends and receives were not matched.
 * @has_names: add the names of nodes; @rec must have all nodes. (A rank of a merge has only
 * its own nodes.)
 */
json_t *view_json_messages(const struct tsct_recording *rec, bool has_names);

#endif /* VIEW_H */
