/* SPDX-License-Identifier: MIT */
/* Opens a node's history of clocks (lib/history), which the daemon writes, and prints errors */
#ifndef NODE_HISTORY_H
#define NODE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/history/history.h"

#define NODE_HISTORY_STATE_DIR	"/var/lib/tsctrace"

/* Parses a boot id of 32 hexadecimal digits, with or without hyphens. */
bool node_history_parse_boot(const char *text, __u8 ret[16]);

/* Get the id of the current boot. node_history_read_boot() returns 0 or -EIO.
 * node_history_present_boot() returns EXIT_DONE, or prints an error and returns EXIT_FAILED. */
int node_history_read_boot(__u8 ret[16]);
int node_history_present_boot(__u8 ret[16]);

/* Composes the path of the history in state directory @dir; NULL: the local daemon's */
void node_history_path(const char *dir, char *text, size_t size);

/*
 * Reads the history of boot @boot (NULL: the current boot), and ends it by node_history_end().
 * Prints errors and the number of omitted records. Returns an exit status.
 */
int node_history_open(const char *dir, const __u8 *boot, struct tsct_history **ret);

/*
 * Ends the history of a boot. For the current boot, compares the clocks with the history and,
 * unless @dir is given, adds the clock that this host's daemon publishes now, because the newest
 * record is a few seconds old. Returns 0, even without a daemon, or -ENOMEM.
 */
int node_history_end(struct tsct_history *history, bool is_present, const char *dir);

/* Returns a clause that says why tsct_history_convert() failed. @err: its result */
const char *node_history_reason(int err);

/* The middle of an interval, and the distance of its ends from the middle */
struct node_history_middle {
	__s64 ns;
	__u64 error_ns;
};

static inline struct node_history_middle node_history_middle(__s64 lo, __s64 hi)
{
	__u64 width = (__u64)hi - (__u64)lo;

	return (struct node_history_middle) { lo + (__s64)(width / 2), width - width / 2 };
}

#endif /* NODE_HISTORY_H */
