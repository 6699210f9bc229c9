// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "order.h"

static bool before(const struct tsct_order_cursor *a, const struct tsct_order_cursor *b)
{
	if (a->stamp != b->stamp)
		return a->stamp < b->stamp;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->index < b->index;
}

/* Let the head at the top sink to where it belongs. */
static void sink(struct tsct_order *order)
{
	struct tsct_order_cursor moving = order->heap[0];
	__u32 at = 0, child;

	while ((child = 2 * at + 1) < order->nr) {
		if (child + 1 < order->nr &&
		    before(&order->heap[child + 1], &order->heap[child]))
			child++;
		if (!before(&order->heap[child], &moving))
			break;
		order->heap[at] = order->heap[child];
		at = child;
	}
	order->heap[at] = moving;
}

void tsct_order_init(struct tsct_order *order, struct tsct_order_cursor *heap,
		     __u32 room)
{
	order->heap = heap;
	order->nr = 0;
	order->room = room;
}

int tsct_order_add(struct tsct_order *order, const struct tsct_order_cursor *head)
{
	__u32 at, parent;

	if (order->nr == order->room)
		return -ENOSPC;
	for (at = order->nr++; at; at = parent) {
		parent = (at - 1) / 2;
		if (!before(head, &order->heap[parent]))
			break;
		order->heap[at] = order->heap[parent];
	}
	order->heap[at] = *head;
	return 0;
}

void tsct_order_advance(struct tsct_order *order, __u64 stamp)
{
	order->heap[0].stamp = stamp;
	sink(order);
}

void tsct_order_drop(struct tsct_order *order)
{
	order->heap[0] = order->heap[--order->nr];
	if (order->nr)
		sink(order);
}
