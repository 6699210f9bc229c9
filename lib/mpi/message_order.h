/* SPDX-License-Identifier: MIT */
/*
 * The numbers of a communicator's messages, which sender and receiver compute without
 * exchanging anything. Messages of one stream (source, destination, tag) are received in
 * the order in which they are sent: MPI's messages do not overtake. So the sender counts
 * what it sends, and the receiver gives its receives the same numbers in the order in
 * which they are posted, each in the stream of the message that it gets.
 *
 * A receive of any source or any tag has no stream until it is matched. Until then, a
 * later receive of a stream that it could take a message of has no number either, even if
 * it completes first:
 *
 *	post A (any source)		stream unknown
 *	post B (source 1)		number 0 or 1 of source 1's messages
 *	B completes			no number yet
 *	A completes, by source 1	A has number 0, and B number 1
 *
 * A receive that is being cancelled is as uncertain: it takes a message, or none.
 *
 * Threads: a thread that is in a blocking receive may have noted it before or after MPI
 * did. So where another receive of the same stream completes first, the two change their
 * places. Then a number is never received before its message was sent, but two messages
 * that threads receive at the same time may have each other's number.
 *
 * Data in, data out: no MPI, no clock. The caller locks.
 */
#ifndef TSCT_MPI_MESSAGE_ORDER_H
#define TSCT_MPI_MESSAGE_ORDER_H

#include "lib/base/index.h"

/* As source or tag of a receive: any */
#define TSCT_MPI_ANY	(-1)

/* A receive, from its posting until its number is known and its message received */
struct tsct_receive {
	struct tsct_receive *next, *prev;	/* in the order of posting */
	__s32 source, tag;	/* those of the message, once it is matched */
	__u64 number;		/* number of the message in its stream */
	__u64 bytes;		/* for the caller: length of the message */
	__u64 cycles;		/* for the caller: when it was received */
	bool blocking;		/* flag: a thread waits in this call */
	bool matched;		/* flag: it has a message */
	bool received;		/* flag: the message was received */
	bool numbered;
	bool cancelling;	/* flag: a cancel was requested, with unknown result */
};

struct tsct_message_order {
	struct tsct_receive *first, *last;	/* all receives without a result */
	struct tsct_index sent;		/* next number + 1, by stream */
	struct tsct_index received;	/* the same for receives */
	__u32 nr_unnumbered, nr_cancelling, nr_blocking;
	/* Called for each received message when its number is known; frees @r. */
	void (*known)(struct tsct_message_order *order, struct tsct_receive *r);
};

/* tsct_message_sending - take the number of the next message that is sent to @dest. The
 * numbers are those of one source: the process itself */
__u64 tsct_message_sending(struct tsct_message_order *order, __s32 dest, __s32 tag);

/* tsct_message_not_sent - give back @number, the last of its stream: the call failed */
void tsct_message_not_sent(struct tsct_message_order *order, __s32 dest, __s32 tag,
			   __u64 number);

/* tsct_receive_post - note that @r, all zero but for `blocking` and the caller's fields,
 * was posted with @source and @tag, which may be TSCT_MPI_ANY */
void tsct_receive_post(struct tsct_message_order *order, struct tsct_receive *r,
		       __s32 source, __s32 tag);

/* tsct_receive_matched - note that @r has a message of @source with @tag, which is not
 * received yet (MPI_Mprobe) */
void tsct_receive_matched(struct tsct_message_order *order, struct tsct_receive *r,
			  __s32 source, __s32 tag);

/* tsct_receive_done - note that @r, posted or matched, has received its message. If all
 * numbers are known, calls order->known() before it returns. */
void tsct_receive_done(struct tsct_message_order *order, struct tsct_receive *r,
		       __s32 source, __s32 tag);

/* tsct_receive_cancelling - note that a cancel of @r was requested */
void tsct_receive_cancelling(struct tsct_message_order *order, struct tsct_receive *r);

/* tsct_receive_cancelled - note that @r has taken no message, and forget it; the caller
 * frees it */
void tsct_receive_cancelled(struct tsct_message_order *order, struct tsct_receive *r);

/* Frees all memory but the receives, which the caller finds from order->first on. */
void tsct_message_order_free(struct tsct_message_order *order);

#endif /* TSCT_MPI_MESSAGE_ORDER_H */
