/* SPDX-License-Identifier: MIT */
/*
 * What dump and stat share: opening a recording, and fields as JSON; and with
 * clock, how a time comes apart.
 */
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
 * Opens the recording in @dir; complains as @verb on failure, and of damage
 * while it is read. 0 or -errno.
 */
int view_open(const char *verb, const char *dir, struct tsct_trace **ret_trace);

/*
 * What a parser of options leaves of the command line: the one recording that is to
 * be named, into *dir.
 */
error_t view_parse_recording(int key, char *arg, struct argp_state *state,
			     const char **dir);

/*
 * Says on stderr what is missing from a recording that was read to its end.
 * Returns EXIT_DONE or EXIT_LOST.
 */
int view_missing(const char *verb, const struct tsct_trace *trace);

/*
 * The second that @ns, since the epoch or before it, lies in. *ret_rest_ns: how
 * far in, never negative.
 */
time_t view_second(__s64 ns, __s64 *ret_rest_ns);

/* Text from outside, without bytes that mean to act on a terminal. */
void view_print_plain(FILE *to, const char *text);

/* Lost events by cause, over all streams and CPUs. */
json_t *view_json_loss(const struct tsct_loss *loss);

#endif /* VIEW_H */
