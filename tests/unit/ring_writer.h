/* SPDX-License-Identifier: MIT */
/*
 * A writer in C for the ring of any CPU. Tests can make rings with any contents, and
 * sanitizers see its accesses. Only one thread may write to a ring.
 */
#ifndef TESTS_RING_WRITER_H
#define TESTS_RING_WRITER_H

#include "lib/client/channel.h"

static inline void ring_store(struct tsct_channel *w, unsigned int cpu, __u64 pos,
			      const void *from, size_t len)
{
	char *data = (char *)tsct_ring_data(w, cpu);
	__u64 word;

	for (size_t i = 0; i < len; i += 8) {
		word = 0;
		memcpy(&word, (const char *)from + i, len - i < 8 ? len - i : 8);
		WRITE_ONCE(*(__u64 *)(data + ((pos + i) &
					      (w->geo.data_size - 1))), word);
	}
}

/* Stores the pad and the next block's header, without publishing them to readers. */
static inline void ring_begin(struct tsct_channel *w, unsigned int cpu, __u64 head,
			      const struct tsct_ring_slot *place, __u64 cycles)
{
	__u64 pad = tsct_pad_word(place->pad_len);
	struct tsct_block last, block;

	tsct_ring_block(&w->geo, tsct_ring_data(w, cpu), head, &last);
	tsct_block_next(&w->geo, &last, head, cycles, &block);
	ring_store(w, cpu, place->pad_pos, &pad, sizeof(pad));
	ring_store(w, cpu, place->pos - TSCT_BLOCK_HEADER, &block,
		   sizeof(block));
}

static inline bool ring_emit(struct tsct_channel *w, unsigned int cpu, __u32 id,
			     __u64 cycles, const void *payload, __u32 len)
{
	struct tsct_producer *p = tsct_ring_producer(w, cpu);
	struct tsct_record record = {
		.len = sizeof(record) + len, .id = id, .cycles = cycles,
	};
	const __u64 head = READ_ONCE(p->head);
	const struct tsct_ring_slot place = tsct_ring_place(&w->geo, head,
							tsct_record_size(len));

	/* This load pairs with the reader's store of the tail. */
	if (!tsct_ring_fits(&w->geo, place.pos + place.size, smp_load_acquire(
			    &tsct_ring_consumer(w, cpu)->tail))) {
		__atomic_fetch_add(&p->lost[TSCT_LOST_FULL], 1,
				   __ATOMIC_RELAXED);
		return false;
	}
	if (place.pad_len)
		ring_begin(w, cpu, head, &place, cycles);
	ring_store(w, cpu, place.pos, &record, sizeof(record));
	ring_store(w, cpu, place.pos + sizeof(record), payload, len);
	smp_store_release(&p->head, place.head);
	return true;
}

/* Makes an empty ring whose head is at the begin of a block, after @events events. */
static inline void ring_age(struct tsct_channel *w, unsigned int cpu, __u64 pos,
			    __u64 events)
{
	struct tsct_block block = {
		.len = TSCT_BLOCK_HEADER, .id = TSCT_ID_BLOCK, .pos = pos,
		.events = events,
	};
	const __u64 pad = tsct_pad_word(8);

	/* Make all blocks of the ring empty, including the blocks before head. */
	for (unsigned int i = 0; i < w->geo.data_size / w->geo.block_size; i++) {
		ring_store(w, cpu, block.pos, &block, sizeof(block));
		ring_store(w, cpu, block.pos + sizeof(block), &pad,
			   sizeof(pad));
		block.pos -= w->geo.block_size;
	}
	tsct_ring_producer(w, cpu)->head =
		TSCT_HEAD_POS(pos + TSCT_BLOCK_HEADER) |
		events << TSCT_POS_BITS;
}

#endif /* TESTS_RING_WRITER_H */
