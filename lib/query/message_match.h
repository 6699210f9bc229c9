/* SPDX-License-Identifier: MIT */
/*
 * Matches the sends and receives of messages by key. A key is a hash of the first field
 * of both events, an integer by which the program numbers its messages. Two messages
 * that are in flight at the same time are unlikely to have equal keys if their numbers
 * differ.
 *
 * A receive matches the oldest open send with the same key. If there is no such send, the
 * receive waits for a send with a later tick; the match is then a violation. But the true
 * send may also be lost, and the later send may be of another message with the same key. So
 * a receive waits only for a limited time, the window (tsct_messages_options), and its match
 * with a later send is final only if no other receive of the same key follows in the window:
 *
 *	send  receive		in order
 *	receive  send		a violation
 *	receive  send  receive	the first receive has no send; the others are in order
 *
 * So a violation among messages of equal keys may be missed, but each reported violation
 * is certain. A message that is sent twice (retransmission) and received once leaves an
 * open send; a message that is received twice leaves a receive without a send.
 *
 * Memory is bounded: at most `room` messages wait for a send, a receive or the end of
 * the window. A further message replaces the oldest message, which is counted if unmatched.
 */
#ifndef TSCT_MESSAGE_MATCH_H
#define TSCT_MESSAGE_MATCH_H

#include "lib/base/index.h"
#include "lib/ctf/trace_reader.h"

/* ---- keys ------------------------------------------------------------------ */

/* Returns true if events of a definition have a message number: an integer as first field. */
static inline bool tsct_message_has_key(const struct tsct_event_def *def)
{
	return def->nr_fields && def->fields[0].type <= TSCT_TYPE_S64;
}

static inline bool tsct_message_is_end(const struct tsct_event_def *def)
{
	return def->kind == TSCT_KIND_SEND || def->kind == TSCT_KIND_RECEIVE;
}

/*
 * tsct_message_pool - get the pool of the events of a name: a number of the set of events
 *	among which equal message numbers match
 * @kinds: bit mask of 1 << kind, of all definitions with that name that have a key
 *
 * If events of one name are sends as well as receives, they have a pool of their own. All
 * other names share one pool (if all events "ask" are sends, and all "served" are receives).
 */
__u64 tsct_message_pool(const char *name, unsigned int kinds);

/*
 * tsct_message_kinds_add - add a definition to @kinds, if it is one of sends or receives;
 *	returns 0 or -ENOMEM
 * tsct_message_pool_of - return tsct_message_pool() for the name of a definition, after all
 *	definitions were added
 * @kinds: for each hash of a name, the mask @kinds of tsct_message_pool(); empty at first
 */
int tsct_message_kinds_add(struct tsct_index *kinds, const struct tsct_event_def *def);
__u64 tsct_message_pool_of(const struct tsct_index *kinds, const struct tsct_event_def *def);

/*
 * tsct_message_key - get the key that matches sends with receives; 0: no key
 * @pool: result of tsct_message_pool() for the event's name
 *
 * Both ends of an MPI message have the message's length, which is a part of the key: two ends with
 * equal numbers, but different lengths, are of different messages (Documentation/mpi.rst).
 * A packet with the number 0 (net_send, net_receive) has no key: its number is unknown.
 */
__u64 tsct_message_key(const struct tsct_trace_event *event, __u64 pool);

/* ---- matching: sends and receives are passed in the order of their ticks ----- */

/* One end of a message: a send or a receive */
struct tsct_message_end {
	__u64 tick;		/* tick of the event, on the axis common to all nodes */
	__u64 error;		/* bound of the tick's error, in ticks */
	__s64 own_ns;	/* time by the node's own clock, before correction, ns */
	__u32 node;
	/* Values for the caller's own use, which are returned with a matched send: */
	__u32 row;
	__u64 number, bytes;
};

#define TSCT_MESSAGES_ROOM	(1U << 16)

struct tsct_message_matcher;

/* Options of a matcher; a field of 0 selects the default */
struct tsct_messages_options {
	/* capacity: largest number of waiting messages, a power of two; 0 selects 2^16 */
	__u32 room;
	/* longest time that a receive waits for its send, ticks; 0 selects 10^9 ticks */
	__u64 window;
	__u64 mult;		/* length of a tick, ns << TSCT_CLOCK_SHIFT; 0 selects 1 ns */
	/* flag: a receive is matched with earlier sends only, does not wait for a later
	 * send, and statistics of matched messages are not made */
	bool sends_only;
	/* matcher to whose statistics this matcher adds, so that several matchers may each
	 * match a part of the keys; it must outlive this matcher. NULL: own statistics */
	struct tsct_message_matcher *counts;
};

/* Makes a matcher. Returns 0, -EINVAL (the capacity is not a power of two) or -ENOMEM. */
int tsct_message_matcher_new(const struct tsct_messages_options *options,
			     struct tsct_message_matcher **ret);
void tsct_message_matcher_free(struct tsct_message_matcher *m);

/* tsct_message_sent, tsct_message_received - add one end with @key, which is not 0.
 * Ticks never decrease from one call to the next. tsct_message_received() returns the
 * matched send, valid until the next call, or NULL if there is no match yet. */
void tsct_message_sent(struct tsct_message_matcher *m, __u64 key,
		       const struct tsct_message_end *end);
const struct tsct_message_end *
tsct_message_received(struct tsct_message_matcher *m, __u64 key,
		      const struct tsct_message_end *end);

/* Counts an end of a message that has no key, so it cannot be matched. */
void tsct_message_unnumbered(struct tsct_message_matcher *m, bool is_send);

/*
 * tsct_message_finish - finish the matching, after all sends and receives were added
 * @ret: statistics of all messages, with pairs sorted by nodes; the caller frees @ret->pairs.
 *	NULL for a matcher with options.counts: the matcher named there has the statistics
 *
 * Call this function once per matcher. If there are more than TSCT_MESSAGE_PAIRS_MAX pairs,
 * only those of the lowest nodes have statistics of their own.
 */
void tsct_message_finish(struct tsct_message_matcher *m,
			 struct tsct_message_stats *ret);

/*
 * tsct_message_stats_add - add the statistics of other messages, with other keys, to @to
 * @to: to->pairs gets new memory; its old memory is not freed. Returns 0 or -ENOMEM.
 */
int tsct_message_stats_add(struct tsct_message_stats *to,
			   const struct tsct_message_stats *from);

#endif /* TSCT_MESSAGE_MATCH_H */
