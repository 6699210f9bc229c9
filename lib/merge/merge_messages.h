/* SPDX-License-Identifier: MIT */
/* Messages of all inputs: their sends and receives in the order of time, their counts, and the
 * shifts of nodes' times that are made so that no message is received before it was sent */
#ifndef TSCT_MERGE_MESSAGES_H
#define TSCT_MERGE_MESSAGES_H

#include "merge.h"

/* ---- ends of messages (merge_ends.c) ------------------------------------------------- */

/* An end: the send or the receive of a message. The form in memory, in the file of sorted runs,
 * and on the way to another rank */
struct merge_end {
	__u64 tick;		/* global tick */
	__u64 key;		/* tsct_message_key(), not 0 */
	__u64 error;		/* bound of the tick's error, in ticks */
	__s64 own_ns;		/* time by the node's own clock, ns */
	__u32 node;		/* index among the nodes of all ranks */
	__u32 is_send : 1;	/* flag: a send, else a receive */
	__u32 seq : 31;		/* number of the send or receive in its run */
};

struct merge_ends;

/* Makes an empty sorter of sends and receives; NULL: out of memory. @run_max: largest number
 * that is kept in memory, below 2^31; more are written to a file, as sorted runs */
struct merge_ends *merge_ends_new(size_t run_max);
void merge_ends_free(struct merge_ends *ends);	/* may be NULL */

/* Adds a send or receive. Returns 0, -ENOMEM, or -errno of creating or writing the file. */
int merge_ends_add(struct merge_ends *ends, const struct merge_end *end);

/*
 * merge_ends_sort - sort by ticks; call it once, after all were added. Returns 0 or -errno.
 * merge_ends_next - get the first send or receive, in order of ticks, that merge_ends_drop()
 *	has not dropped. Returns 1; 0: there is none; or -errno of reading the file of runs
 */
int merge_ends_sort(struct merge_ends *ends);
int merge_ends_next(struct merge_ends *ends, const struct merge_end **ret);
void merge_ends_drop(struct merge_ends *ends);

/* ---- counts (merge_messages.c) ------------------------------------------------------- */

/* Counts the messages of all inputs, by the mappings of the plan; may be called before or
 * after the result is written. Returns 0, or -errno after merge_fail(). */
int merge_count_messages(struct tsct_merge *m, struct tsct_message_stats *ret);

/* Least number of sends and receives that a rank reads per exchange with others; tests lower it */
extern unsigned int merge_batch;

/* ---- shifts (merge_shift.c) ---------------------------------------------------------- */

/* Shortest latency of messages from one node to another, before any shift */
struct tsct_latency {
	__u32 from, to;		/* indices of two different nodes */
	__s64 least_ns;
};

struct tsct_shift {
	__s64 limit_ns;	/* limit of the shift in either direction, ns; 0: no shift */
	__s64 ns; /* resulting shift to later times, ns; below 0: to earlier times */
	/* largest shifts to later and to earlier times in this round of the
	 * search, ns */
	__s64 later, earlier;
};

/* Latency to which shifts raise a negative latency, ns */
#define TSCT_SHIFT_LEAST_NS	10

/*
 * tsct_shift_find - find a shift of each node's times, so that no latency is negative
 * @node: array of all nodes: reads limit_ns, which is below 2^60, and sets ns
 *
 * Ignores latencies between two nodes that both have the limit 0. Returns false, and sets all
 * shifts to 0, if the latencies contradict each other or the limits.
 */
bool tsct_shift_find(const struct tsct_latency *latency, __u32 nr,
		     struct tsct_shift *node, __u32 nodes);

/* Step of the merge: shifts nodes */
int merge_shift(struct tsct_merge *m);

#endif /* TSCT_MERGE_MESSAGES_H */
