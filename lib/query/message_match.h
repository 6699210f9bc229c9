/* SPDX-License-Identifier: MIT */
/*
 * Matches sends and receives of messages by key. Pure: the caller passes both ends of
 * all messages in the order of their ticks.
 *
 * A receive belongs to the oldest open send with its key. If there is none, the send
 * may have a later tick, so the receive waits for it, and the two then violate
 * causality. But its send may as well have been lost, and its key be in use again. So a
 * receive waits only for the window (tsct_messages_options), and its match is final only
 * if no other receive with that key arrives within the window:
 *
 *	send  receive		in order
 *	receive  send		a violation
 *	receive  send  receive	the first one has no send; the others are in order
 *
 * So a violation among messages of equal keys may be missed, but none is reported that
 * may not be one. A message sent twice (retransmission) and received once leaves an
 * open send; one that is received twice leaves a receive without a send.
 *
 * Memory is bounded: at most `room` ends are open. Beyond that the oldest are given up
 * and counted.
 */
#ifndef TSCT_MESSAGE_MATCH_H
#define TSCT_MESSAGE_MATCH_H

#include "lib/ctf/recording.h"

/* One end of a message */
struct tsct_message_end {
	__u64 tick;		/* on the axis that all ends share */
	__u64 error;		/* bound of its error, in such ticks */
	__s64 own_ns;		/* by the node's own clock, before correction */
	__u32 node;
	/* The caller's; returned with a matched send */
	__u32 row;
	__u64 number, bytes;
};

#define TSCT_MESSAGES_ROOM	(1U << 16)

/* All zero: the defaults */
struct tsct_messages_options {
	__u32 room;		/* open ends, a power of two; 0: TSCT_MESSAGES_ROOM */
	__u64 window;		/* ticks; 0: 10^9 */
	__u64 mult;		/* ns per tick << TSCT_CLOCK_SHIFT; 0: ticks are ns */
	__u64 seed;		/* random, against inputs made to collide in the hash */
	/* Receives do not wait, and nothing is counted by pair: for exports */
	bool sends_only;
};

struct tsct_message_matcher;

/* 0, -EINVAL (the room is not a power of two) or -ENOMEM */
int tsct_message_matcher_new(const struct tsct_messages_options *options,
			     struct tsct_message_matcher **ret);
void tsct_message_matcher_free(struct tsct_message_matcher *m);

/*
 * tsct_message_sent, tsct_message_received - one end with @key, which is not 0
 * Ticks never decrease from one call to the next. tsct_message_received() returns the
 * send that it matches now, valid until the next call; NULL: none (it may wait for one).
 */
void tsct_message_sent(struct tsct_message_matcher *m, __u64 key,
		       const struct tsct_message_end *end);
const struct tsct_message_end *
tsct_message_received(struct tsct_message_matcher *m, __u64 key,
		      const struct tsct_message_end *end);

/* An end without a key, which nothing can match */
void tsct_message_unnumbered(struct tsct_message_matcher *m, bool is_send);

/*
 * tsct_message_finish - finish the matching, after the last end of a message
 * @ret: @ret->pairs, sorted by nodes, is the caller's to free. Call it once.
 */
void tsct_message_finish(struct tsct_message_matcher *m,
			 struct tsct_message_stats *ret);

#endif /* TSCT_MESSAGE_MATCH_H */
