/* SPDX-License-Identifier: MIT */
/*
 * Which receive belongs to which send? Those that have the same key, first come
 * first served. Only so many sends are remembered: the oldest are given up.
 */
#ifndef TSCT_EXPORT_MESSAGE_H
#define TSCT_EXPORT_MESSAGE_H

#include "lib/core/port.h"

struct tsct_message_send {
	__u64 key;
	__u64 number, bytes;	/* the caller's */
	__u32 from;		/* likewise */
	__u32 next;		/* in its bucket, + 1 */
	bool waits;
};

struct tsct_message_match {
	struct tsct_message_send *sent;	/* a ring */
	__u32 *first, *last;	/* of buckets, + 1 */
	__u32 room;		/* a power of two, of both */
	__u64 nr;		/* ever sent */
	__u64 unmatched;	/* sends given up, receives of nothing */
};

int tsct_message_match_init(struct tsct_message_match *messages, __u32 room);
void tsct_message_match_free(struct tsct_message_match *messages);

void tsct_message_match_send(struct tsct_message_match *messages, __u64 key, __u64 number,
			__u32 from, __u64 bytes);

/* The oldest send with that key, which is taken out; NULL: there is none. */
const struct tsct_message_send *tsct_message_match_receive(struct tsct_message_match *messages,
					      __u64 key);

#endif /* TSCT_EXPORT_MESSAGE_H */
