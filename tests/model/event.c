// SPDX-License-Identifier: MIT
/* Contents of events; stores of events, pads and headers into the ring */
#include <string.h>

#include "model.h"

/* Events have two sizes, so that pads have different lengths and some blocks are
 * exactly full. */
static __u32 payload_of(unsigned int actor, unsigned int event)
{
	return (event + 2 * actor) % 5 == 4 ? 0 : 8;
}

__u32 event_size(unsigned int actor, unsigned int event)
{
	return tsct_record_size(payload_of(actor, event));
}

/* Each word of a payload identifies its event. */
__u64 event_word(unsigned int actor, unsigned int event, unsigned int word,
		 __u64 stamp)
{
	const __u64 len = sizeof(struct tsct_record) + payload_of(actor, event);

	switch (word) {
	case 0:
		return len | (__u64)(TSCT_ID_FIRST + event) << 16 |
			(__u64)(actor + 1) << 32;
	case 1:
		return stamp;
	default:
		return 0x7000 + 16 * (actor + 1) + event;
	}
}

unsigned int data_word(__u64 pos)
{
	return (pos & (ring_geo.data_size - 1)) / sizeof(__u64);
}

void store_event_of(unsigned int actor, unsigned int event, __u64 pos, __u64 stamp)
{
	for (unsigned int word = 0; word < event_size(actor, event) / 8; word++)
		store(data_word(pos + 8 * word),
		      event_word(actor, event, word, stamp));
}

void store_event(__u64 pos, __u64 stamp)
{
	store_event_of(self() - now()->actors, self()->vars.event, pos, stamp);
}

void store_pad(const struct tsct_ring_slot *place)
{
	if (!mutated(NO_PAD))
		store(data_word(place->pad_pos), tsct_pad_word(place->pad_len));
}

void store_header(__u64 pos, const struct tsct_block *block)
{
	__u64 words[4];

	_Static_assert(sizeof(words) == sizeof(*block), "four words");
	if (mutated(NO_HEADER))
		return;
	memcpy(words, block, sizeof(words));
	for (unsigned int i = 0; i < 4; i++)
		store(data_word(pos + 8 * i), words[i]);
}

/* Builds the header of the next block from that of the block in which head is. The old
 * header is read from the ring. */
struct tsct_block next_header(__u64 head, __u64 stamp)
{
	struct tsct_block last, next;

	tsct_ring_block(&ring_geo, now()->words, head, &last);
	tsct_block_next(&ring_geo, &last, head, stamp, &next);
	if (mutated(BLOCK_MISCOUNTS))
		next.events++;
	return next;
}
