// SPDX-License-Identifier: MIT
/* Writes events into rings that have no other writer */
#include <string.h>

#include "lib/client/channel.h"
#include "ring_fill.h"

/* Stores a pad up to the end of the block at @head, and the header of the next block. */
static void begin_block(const struct tsct_geometry *geo, char *data,
			const struct tsct_ring_slot *slot, __u64 head, __u64 cycles)
{
	const __u64 mask = geo->data_size - 1;
	const __u64 pad = tsct_pad_word(slot->pad_len);
	struct tsct_block last = { 0 }, next;

	tsct_ring_block(geo, data, head, &last);
	tsct_block_next(geo, &last, head, cycles, &next);
	memcpy(data + (slot->pad_pos & mask), &pad, sizeof(pad));
	memcpy(data + ((slot->pos - sizeof(next)) & mask), &next, sizeof(next));
}

bool tsct_ring_fill(struct tsct_channel *channel, unsigned int cpu,
		    const struct tsct_record *event, const void *payload)
{
	struct tsct_producer *producer = tsct_ring_producer(channel, cpu);
	const struct tsct_geometry *geo = &channel->geo;
	char *data = (char *)producer + TSCT_PAGE_SIZE;
	const __u32 len = event->len - sizeof(*event);
	const __u64 head = producer->head;
	struct tsct_ring_slot slot;
	char *at;

	slot = tsct_ring_place(geo, head, tsct_record_size(len));
	/* Acquire: pairs with the reader's release of the tail, after its last use of
	 * the bytes that this event overwrites. */
	if (!tsct_ring_fits(geo, slot.head,
			    smp_load_acquire(&tsct_ring_consumer(channel, cpu)->tail)))
		return false;
	if (slot.pad_len)
		begin_block(geo, data, &slot, head, event->cycles);
	at = data + (slot.pos & (geo->data_size - 1));
	memcpy(at, event, sizeof(*event));
	memcpy(at + sizeof(*event), payload, len);
	/* release: pairs with the reader's acquire of head */
	smp_store_release(&producer->head, slot.head);
	return true;
}

void tsct_ring_fill_lost(struct tsct_channel *channel, unsigned int cpu,
			 unsigned int cause, __u64 events)
{
	WRITE_ONCE(tsct_ring_producer(channel, cpu)->lost[cause], events);
}
