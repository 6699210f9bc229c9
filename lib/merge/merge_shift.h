/* SPDX-License-Identifier: MIT */
/*
 * Finds shifts of nodes such that no message is received before it was sent.
 * Pure.
 *
 * If the shortest latency from A to B is l, then B may be shifted earlier than A by no
 * more than that:
 *
 *	l + shift(B) - shift(A) >= 0
 *
 * The search looks for shifts close to 0 that satisfy this for all pairs: the deficit
 * of a pair is shared between its nodes in proportion to their limits, until there is
 * none. The order of nodes and pairs does not matter.
 */
#ifndef TSCT_MERGE_SHIFT_H
#define TSCT_MERGE_SHIFT_H

#include "lib/core/port.h"

/* Shortest latency of messages from one node to another, before any shift */
struct tsct_latency {
	__u32 from, to;		/* numbers of two different nodes */
	__s64 least_ns;
};

struct tsct_shift {
	__s64 limit_ns;	/* limit of the shift in either direction, ns; 0: fixed node */
	__s64 ns; /* resulting shift to later times, ns; below 0: to earlier times */
	/* largest shifts to later and to earlier times in this round of the
	 * search, ns */
	__s64 later, earlier;
};

/* Latency that a message with a negative latency gets, ns */
#define TSCT_SHIFT_LEAST_NS	10

/*
 * tsct_shift_find - find the shift of each node
 * @node: limits in, results out; limits are below 2^60
 *
 * Pairs of two fixed nodes are ignored. Returns false if no shifts were found,
 * because messages contradict each other or the limits; all shifts are then 0.
 */
bool tsct_shift_find(const struct tsct_latency *latency, __u32 nr,
		     struct tsct_shift *node, __u32 nodes);

#endif /* TSCT_MERGE_SHIFT_H */
