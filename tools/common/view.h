/* SPDX-License-Identifier: MIT */
/* Common to all commands that read recordings: opening, losses, text, times */
#ifndef VIEW_H
#define VIEW_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "lib/ctf/trace_reader.h"
#include "lib/query/value_text.h"

/*
 * Opens the recording in @dir. Prints errors, and damage found while it is
 * read, as "trace-ctl @verb"; @verb must outlive the trace. Returns 0 or -errno.
 */
int view_open(const char *verb, const char *dir, struct tsct_trace **ret_trace);

/* An argp parser for the one argument of a command, a recording: sets *dir. */
error_t view_parse_recording(int key, char *arg, struct argp_state *state,
			     const char **dir);

/*
 * Prints on standard error the events missing from a recording that was read to
 * its end. Returns EXIT_DONE or EXIT_LOST.
 */
int view_print_missing(const char *verb, const struct tsct_trace *trace);

/*
 * Splits @ns, since the epoch or before it, into seconds, rounded down, and
 * *ret_rest_ns, 0 to 999999999.
 */
time_t view_split_ns(__s64 ns, __s64 *ret_rest_ns);

/* The plural ending of a noun: "" for one, else "s" */
static inline const char *view_plural(__u64 nr)
{
	return nr == 1 ? "" : "s";
}

/* Prints untrusted text, with control characters escaped. */
void view_print_escaped(FILE *to, const char *text);

/* A JSON object of lost events by cause */
json_t *view_json_loss(const struct tsct_loss *loss);

#endif /* VIEW_H */
