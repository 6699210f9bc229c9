/* SPDX-License-Identifier: MIT */
/*
 * Numbers of a communicator's messages. Sender and receiver compute the same number without
 * exchanging data: MPI delivers messages of one stream (source, destination, tag) in the
 * order in which they were sent. So the sender counts the messages that it sends on each
 * stream, and the receiver counts the receives that it posts on each stream. A receive has
 * the stream of the message that it gets.
 *
 * A receive from any source or with any tag has no stream until it is matched. Until then,
 * later receives of each stream of which it could take a message have no number either,
 * even if they complete first:
 *
 *	post A (any source)		stream unknown
 *	post B (source 1)		number 0 or 1 of source 1's messages
 *	B completes			no number yet
 *	A completes, by source 1	A has number 0, and B number 1
 *
 * A receive whose cancel was requested has the same effect: it may take a message or none.
 *
 * Threads: this library and MPI may see the blocking receives of several threads in
 * different orders. So if a receive completes before an earlier blocking receive that could
 * take the same message, the two receives swap their numbers, so that each message is sent
 * before it is received. But two messages received at the same time may swap their numbers.
 *
 * Computation only, without MPI or clock. The caller must hold a lock.
 */
#ifndef TSCT_MPI_MESSAGE_ORDER_H
#define TSCT_MPI_MESSAGE_ORDER_H

#include "lib/base/index.h"

/* Value of `source` or `tag` in a receive of messages from any source or with any tag */
#define TSCT_MPI_ANY	(-1)

/* A receive. It exists until its message is received and the number of that message is known. */
struct tsct_receive {
	struct tsct_receive *next, *prev;	/* list in the order of posting */
	__s32 source, tag;	/* of the posted receive; once matched: of the message */
	__u64 number;		/* number of the message in its stream */
	__u64 bytes;		/* set and used by the caller: length of the message */
	__u64 cycles;		/* set and used by the caller: counter value at the receive */
	__u64 request;		/* set and used by the caller: number of the request */
	bool blocking;		/* flag: a thread waits in the receiving call */
	bool matched;		/* flag: the receive is matched with a message */
	bool received;		/* flag: the message was received */
	bool numbered;
	bool cancelling;	/* flag: a cancel was requested, but its result is unknown */
};

struct tsct_message_order {
	struct tsct_receive *first, *last;	/* list of incomplete or unnumbered receives */
	struct tsct_index sent;		/* per stream: number of the next send + 1 */
	struct tsct_index received;	/* per stream: number of the next receive + 1 */
	__u32 nr_unnumbered, nr_cancelling, nr_blocking;
	/* Called for each received message when its number is known; must free @r. */
	void (*known)(struct tsct_message_order *order, struct tsct_receive *r);
};

/* tsct_message_sending - get the number of the next message that this process sends to @dest
 * with @tag */
__u64 tsct_message_sending(struct tsct_message_order *order, __s32 dest, __s32 tag);

/* tsct_message_not_sent - give back @number, the stream's last number, after a failed send */
void tsct_message_not_sent(struct tsct_message_order *order, __s32 dest, __s32 tag,
			   __u64 number);

/* tsct_receive_post - add a receive that was posted with @source and @tag (or TSCT_MPI_ANY).
 * All members of @r must be zero, except `blocking` and members that the caller uses. */
void tsct_receive_post(struct tsct_message_order *order, struct tsct_receive *r,
		       __s32 source, __s32 tag);

/* tsct_receive_matched - set that @r is matched with a message from @source
 * with @tag, which is not received yet (MPI_Mprobe) */
void tsct_receive_matched(struct tsct_message_order *order, struct tsct_receive *r,
			  __s32 source, __s32 tag);

/* tsct_receive_done - set that the message of @r was received. If the number of
 * @r is certain, calls order->known() before it returns. */
void tsct_receive_done(struct tsct_message_order *order, struct tsct_receive *r,
		       __s32 source, __s32 tag);

/* tsct_receive_cancelling - set that a cancel of @r was requested */
void tsct_receive_cancelling(struct tsct_message_order *order, struct tsct_receive *r);

/* tsct_receive_cancelled - remove @r, which got no message; the caller frees @r */
void tsct_receive_cancelled(struct tsct_message_order *order, struct tsct_receive *r);

/* Frees all memory except the receives, which are in the list that begins at order->first. */
void tsct_message_order_free(struct tsct_message_order *order);

#endif /* TSCT_MPI_MESSAGE_ORDER_H */
