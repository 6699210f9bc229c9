/* SPDX-License-Identifier: MIT */
/*
 * Sorts the sends and receives of a rank's inputs by time, in bounded memory: sorted runs
 * go to a file without a name, and are read again together. Ends with the same tick stay in
 * the order in which they were added.
 */
#ifndef TSCT_MERGE_ENDS_H
#define TSCT_MERGE_ENDS_H

#include "lib/core/port.h"

/* One end of a message, in memory and on its way to another rank */
struct merge_end {
	__u64 tick;		/* global tick */
	__u64 key;		/* tsct_message_key(), not 0 */
	__u64 error;		/* bound of the tick's error, in ticks */
	__s64 own_ns;		/* time by the node's own clock, ns */
	__u32 node;		/* index among the nodes of all ranks */
	__u32 is_send : 1;	/* flag: a send, else a receive */
	__u32 seq : 31;		/* number in its run */
};

struct merge_ends;

/* Returns NULL if there is no memory. @run_max: number of ends in memory, below 2^31 */
struct merge_ends *merge_ends_new(size_t run_max);
void merge_ends_free(struct merge_ends *ends);	/* may be NULL */

/* Adds an end. Returns 0 or -errno of memory or of the file. */
int merge_ends_add(struct merge_ends *ends, const struct merge_end *end);

/*
 * merge_ends_sort - to be called once, after all ends were added. Returns 0 or -errno.
 * merge_ends_next - the next end in order; stays the same until merge_ends_drop().
 *	Returns 1; 0: there is none; or -errno of the file
 */
int merge_ends_sort(struct merge_ends *ends);
int merge_ends_next(struct merge_ends *ends, const struct merge_end **ret);
void merge_ends_drop(struct merge_ends *ends);

#endif /* TSCT_MERGE_ENDS_H */
