/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * K-way ordering: which of many streams, each in order by itself, comes next?
 * A binary heap over the streams' heads. Memory grows with the streams, and
 * the caller provides it.
 */
#ifndef TSCT_CORE_ORDER_H
#define TSCT_CORE_ORDER_H

#include "port.h"

/* The head of one stream. Earlier stamp first, then lower rank, then index. */
struct tsct_order_cursor {
	__u64 stamp;
	__u32 rank;
	__u32 index;		/* the caller's name for the stream */
};

struct tsct_order {
	struct tsct_order_cursor *heap;	/* room for as many heads as there are streams */
	__u32 nr;
	__u32 room;
};

/* tsct_order_init - no streams yet; @heap has room for @room of them */
void tsct_order_init(struct tsct_order *order, struct tsct_order_cursor *heap,
		     __u32 room);

/* tsct_order_add - one more stream. Returns 0 or -ENOSPC. */
int tsct_order_add(struct tsct_order *order, const struct tsct_order_cursor *head);

/* tsct_order_first - the earliest head, NULL if no stream is left */
static inline const struct tsct_order_cursor *
tsct_order_first(const struct tsct_order *order)
{
	return order->nr ? order->heap : NULL;
}

/* tsct_order_advance - the first stream's head now has @stamp */
void tsct_order_advance(struct tsct_order *order, __u64 stamp);

/* tsct_order_drop - the first stream is at its end */
void tsct_order_drop(struct tsct_order *order);

#endif /* TSCT_CORE_ORDER_H */
