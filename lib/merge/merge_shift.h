/* SPDX-License-Identifier: MIT */
/*
 * By how much nodes' times have to be put later or earlier so that no message is
 * received before it was sent. Pure.
 *
 * If the fastest message from A to B took l by their times, then B may be put earlier,
 * against A, by no more than that:
 *
 *	l + shift(B) - shift(A) >= 0
 *
 * Shifts that satisfy this for all pairs of nodes are looked for, near to none: what a
 * pair lacks is shared out between its nodes by how far each of them may go, until
 * nothing is lacking. The order of nodes, and of pairs, does not matter.
 */
#ifndef TSCT_MERGE_SHIFT_H
#define TSCT_MERGE_SHIFT_H

#include "lib/core/port.h"

/* The least that a message from one node to another took, before anybody is put later */
struct tsct_latency {
	__u32 from, to;		/* two different ones */
	__s64 least_ns;
};

struct tsct_shift {
	__s64 limit_ns;		/* how far at most, to either side; 0: not at all */
	__s64 ns;		/* result: later by so much; below 0: earlier */
	__s64 later, earlier;	/* wanted of it in this round */
};

/* A message that took less than nothing takes so long then. */
#define TSCT_SHIFT_LEAST_NS	10

/*
 * tsct_shift_find - by how much each node is to be put later
 * @node: limits in, results out; limits are less than 2^60
 *
 * Pairs of nodes that may not move at all are left as they are. Returns false where no
 * such shifts were found, as messages contradict each other or the limits; then nobody
 * is put anywhere.
 */
bool tsct_shift_find(const struct tsct_latency *latency, __u32 nr,
		     struct tsct_shift *node, __u32 nodes);

#endif /* TSCT_MERGE_SHIFT_H */
