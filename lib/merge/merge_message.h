/* SPDX-License-Identifier: MIT */
/*
 * Which receive belongs to which send, over all nodes, and is it later? Pure: told of
 * both ends of messages in the order of their global ticks.
 *
 * A receive belongs to the oldest send that is open and has its key. Where there is
 * none, it may be that the send is said to have been later: so it waits for that, and
 * the two are a violation of causality. But it may as well be that its send was never
 * recorded, and that the number is used again. So it waits for the window only
 * (tsct_messages_options), and what it is matched with is its own for good only when
 * no other receive came for that in the window:
 *
 *	send  receive		in order
 *	receive  send		a violation
 *	receive  send  receive	the first one has no send; the others are in order
 *
 * So it may fail to see a violation among messages of equal keys, but it never sees
 * one that may be none. What is sent twice (retransmissions) and received once leaves
 * an open send; what is received twice, a receive without a send.
 *
 * Memory does not grow: at most `room` ends are open, and where there are more, the
 * oldest are given up, and counted.
 */
#ifndef TSCT_MERGE_MESSAGE_H
#define TSCT_MERGE_MESSAGE_H

#include "lib/core/remap.h"

/* One end of a message */
struct tsct_message_end {
	__u64 global;		/* global tick */
	__u64 error;		/* bound of that, ticks */
	__s64 own_ns;		/* by the node's own clock, before correction */
	__u32 node;
};

/* Of messages between two nodes, or of all */
struct tsct_message_sums {
	__u64 matched;
	/* Of them, received before they were sent: */
	__u64 before;		/* by the nodes' own clocks, before correction */
	__u64 within;		/* after it, by no more than the sum of both bounds */
	__u64 beyond;		/* after it, by more than that */
	__s64 least_own_ns;	/* receive minus send, least: before correction */
	__s64 least;		/* and after it, ticks. 0 where none was matched */
};

struct tsct_message_pair {
	__u32 from, to;		/* nodes; one that talks to itself, too */
	struct tsct_message_sums sums;
};

struct tsct_messages_result {
	__u64 sends, receives;
	__u64 unmatched_sends, unmatched_receives;
	__u64 given_up;		/* of those, for lack of room */
	struct tsct_message_sums all;
	const struct tsct_message_pair *pairs;	/* by from, to */
	__u32 nr_pairs;
	__u64 other_pairs;	/* messages of pairs that there was no room for */
};

#define TSCT_MESSAGES_ROOM	(1U << 16)	/* open ends: 8 MiB */
#define TSCT_MESSAGE_PAIRS_MAX	16384U	/* 128 nodes, each with each */

/* All zero: the defaults */
struct tsct_messages_options {
	__u32 room;		/* open ends; 0: TSCT_MESSAGES_ROOM */
	__u64 window;		/* ticks; 0: 10^9 */
	__u64 seed;		/* random: what others know of it, they can pile up */
};

struct tsct_message_matcher;

/* 0, -EINVAL (the room is no power of two) or -ENOMEM */
int tsct_message_matcher_new(const struct tsct_messages_options *options,
			     struct tsct_message_matcher **ret);
void tsct_message_matcher_free(struct tsct_message_matcher *m);

/*
 * An end that has @key, which is not 0. Global ticks never decrease from one call to
 * the next; of equal ones, whichever comes first.
 */
void tsct_message_sent(struct tsct_message_matcher *m, __u64 key,
		       const struct tsct_message_end *end);
void tsct_message_received(struct tsct_message_matcher *m, __u64 key,
			   const struct tsct_message_end *end);

/* One without a key: no number, so nothing that it can be matched by */
void tsct_message_unnumbered(struct tsct_message_matcher *m, bool is_send);

/*
 * tsct_message_finish - no more ends
 * The result is the matcher's, and valid until that is freed.
 */
const struct tsct_messages_result *
tsct_message_finish(struct tsct_message_matcher *m);

#endif /* TSCT_MERGE_MESSAGE_H */
