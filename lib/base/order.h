/* SPDX-License-Identifier: MIT */
/*
 * K-way merge: selects the next event of several streams, each of which is in order.
 * A binary heap has one cursor per stream, in memory of the caller.
 */
#ifndef TSCT_BASE_ORDER_H
#define TSCT_BASE_ORDER_H

#include "lib/core/port.h"

/* Cursor: the next event of one stream. Cursors are sorted by key, then rank, then index. */
struct tsct_order_cursor {
	__u64 key;		/* counter value or tick of the event; all streams have
				 * the same unit */
	__u32 rank;		/* order of streams whose events have the same key; may wrap
				 * around, as all ranks differ by less than 2^31 */
	__u32 index;		/* number of the stream, given by the caller */
};

struct tsct_order {
	struct tsct_order_cursor *heap;	/* room for one cursor per stream */
	__u32 nr;
	__u32 room;
};

static inline bool tsct_order_before_(const struct tsct_order_cursor *a,
				      const struct tsct_order_cursor *b)
{
	if (likely(a->key != b->key))
		return a->key < b->key;
	if (a->rank != b->rank)
		return (__s32)(a->rank - b->rank) < 0;
	return a->index < b->index;
}

/* Restores the heap's order after its top has changed. */
static inline void tsct_order_sink_(struct tsct_order *order)
{
	struct tsct_order_cursor moving = order->heap[0];
	__u32 at = 0, child;

	while ((child = 2 * at + 1) < order->nr) {
		/* An addition, not a branch: the CPU cannot predict which child is earlier. */
		if (child + 1 < order->nr)
			child += tsct_order_before_(&order->heap[child + 1], &order->heap[child]);
		if (!tsct_order_before_(&order->heap[child], &moving))
			break;
		order->heap[at] = order->heap[child];
		at = child;
	}
	order->heap[at] = moving;
}

/* tsct_order_init - make an empty heap; @heap has room for @room streams */
static inline void tsct_order_init(struct tsct_order *order,
				   struct tsct_order_cursor *heap, __u32 room)
{
	order->heap = heap;
	order->nr = 0;
	order->room = room;
}

/* tsct_order_add - add a stream's cursor. Returns 0 or -ENOSPC. */
static inline int tsct_order_add(struct tsct_order *order,
				 const struct tsct_order_cursor *cursor)
{
	__u32 at, parent;

	if (order->nr == order->room)
		return -ENOSPC;
	for (at = order->nr++; at; at = parent) {
		parent = (at - 1) / 2;
		if (!tsct_order_before_(cursor, &order->heap[parent]))
			break;
		order->heap[at] = order->heap[parent];
	}
	order->heap[at] = *cursor;
	return 0;
}

/* tsct_order_first - the earliest cursor; NULL if there is no stream */
static inline const struct tsct_order_cursor *
tsct_order_first(const struct tsct_order *order)
{
	return order->nr ? order->heap : NULL;
}

/* tsct_order_alone - return the key before which only the first stream has events */
static inline __u64 tsct_order_alone(const struct tsct_order *order)
{
	__u64 key = order->nr > 1 ? order->heap[1].key : ~0ULL;

	return order->nr > 2 && order->heap[2].key < key ? order->heap[2].key : key;
}

/* tsct_order_advance - set the key of the first stream's next event */
static inline void tsct_order_advance(struct tsct_order *order, __u64 key)
{
	order->heap[0].key = key;
	if (key >= tsct_order_alone(order))
		tsct_order_sink_(order);
}

/* tsct_order_drop - remove the first stream, which has ended */
static inline void tsct_order_drop(struct tsct_order *order)
{
	order->heap[0] = order->heap[--order->nr];
	if (order->nr)
		tsct_order_sink_(order);
}

#endif /* TSCT_BASE_ORDER_H */
