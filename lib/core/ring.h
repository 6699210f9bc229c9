/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The ring's arithmetic: where a record goes, whether it fits, and how a
 * reader that trusts nobody walks records. Shared by the kernel's writer, the
 * library's writer and every reader. See section 3 of tsctrace/abi_channel.h.
 */
#ifndef TSCT_CORE_RING_H
#define TSCT_CORE_RING_H

#include "port.h"

/* Geometry of one ring; every field was checked by tsct_geometry_check(). */
struct tsct_geometry {
	__u64 data_size;	/* power of two */
	__u32 block_size;	/* power of two */
	__u32 policy;
};

/* Where a record of some size goes, and how it gets there. Bits 0..47. */
struct tsct_ring_slot {
	__u64 pos;		/* of the record */
	__u64 head;		/* what publishes it */
	__u64 pad_pos;		/* where pad_len != 0: a pad, and behind it the */
	__u32 pad_len;		/* header of a new block, right before pos */
	__u32 size;		/* of the record, rounded up */
};

/*
 * tsct_geometry_check - may a channel look like this?
 *
 * Returns 0 or -EINVAL. Safe on any input.
 */
int tsct_geometry_check(__u32 policy, __u32 block_size, __u32 blocks);

/*
 * tsct_channel_name_valid - may a channel be called so?
 * @name: nothing behind its NUL, or behind TSCT_NAME_MAX bytes, is read
 */
bool tsct_channel_name_valid(const char *name);

/* Bytes that a record with `payload` bytes of payload occupies. */
static inline __u32 tsct_record_size(__u32 payload)
{
	return (sizeof(struct tsct_record) + payload + TSCT_RECORD_ALIGN - 1) &
		~(TSCT_RECORD_ALIGN - 1U);
}

static inline __u32 tsct_payload_max(const struct tsct_geometry *geo)
{
	return TSCT_PAYLOAD_MAX(geo->block_size);
}

/* ---- positions: 48 bits that wrap ------------------------------------- */

/* Bytes from one position forward to another; what lies above is ignored. */
static inline __u64 tsct_pos_distance(__u64 from, __u64 to)
{
	return TSCT_HEAD_POS(to - from);
}

/* The full position nearest to @near whose lower 48 bits are those of @head. */
static inline __u64 tsct_pos_extend(__u64 near, __u64 head)
{
	return near + (__u64)((__s64)((head - near) << 16) >> 16);
}

/* ---- writing ----------------------------------------------------------- */

/*
 * Place a record of `size` bytes (tsct_record_size() of at most
 * tsct_payload_max()) behind `head`. An arbitrary head, even a misaligned one,
 * gives a place whose every byte lies inside the data.
 */
static inline struct tsct_ring_slot tsct_ring_place(const struct tsct_geometry *geo,
						    __u64 head, __u32 size)
{
	struct tsct_ring_slot place = { .size = size };
	__u32 left;

	head &= ~(__u64)(TSCT_RECORD_ALIGN - 1);
	left = geo->block_size - (__u32)(head & (geo->block_size - 1));
	place.pos = TSCT_HEAD_POS(head);
	if (size >= left) {
		place.pad_pos = place.pos;
		place.pad_len = left;
		place.pos = TSCT_HEAD_POS(head + left + TSCT_BLOCK_HEADER);
	}
	place.head = ((head & ~TSCT_HEAD_POS(~0ULL)) | (place.pos + size)) +
		TSCT_HEAD_ONE_EVENT;
	return place;
}

/* Does [.., end) fit before the reader's tail? Junk in tail reads as full. */
static inline bool tsct_ring_fits(const struct tsct_geometry *geo, __u64 end,
				  __u64 tail)
{
	return geo->policy == TSCT_POLICY_OVERWRITE ||
		tsct_pos_distance(tail, end) <= geo->data_size;
}

/* Events published in all, by @block, which head lies in, and @head. */
static inline __u64 tsct_block_events(const struct tsct_block *block,
				      __u64 head)
{
	return block->events + (__u16)(TSCT_HEAD_EVENTS(head) - block->events);
}

/* The first word of the pad in front of the next block. */
static inline __u64 tsct_pad_word(__u32 pad_len)
{
	return (__u16)pad_len | (__u64)TSCT_ID_PAD << 16;
}

/*
 * tsct_block_next - the header of the block behind the one that @head is in
 * @last: that one's header; figures rest on it, and nothing else
 * @stamp: not before that of the last record
 */
void tsct_block_next(const struct tsct_geometry *geo,
		     const struct tsct_block *last, __u64 head, __u64 stamp,
		     struct tsct_block *ret_block);

/* tsct_ring_init - an empty ring: the first block's header, and the head */
void tsct_ring_init(struct tsct_producer *producer, void *data);

/* ---- reading ----------------------------------------------------------- */

/*
 * First position that an overwrite ring's reader may trust while the head is
 * at `head` (full): two blocks from the writer's are in its hands.
 */
static inline __u64 tsct_ring_oldest(const struct tsct_geometry *geo, __u64 head)
{
	const __u64 block = head & ~(__u64)(geo->block_size - 1);
	const __u64 behind = geo->data_size - 2ULL * geo->block_size;

	return block > behind ? block - behind : 0;
}

/*
 * Bytes that the consumer of a discard ring has not taken. A block's header
 * right at tail is nothing to wake anybody for: it is there before any record.
 * At most data_size, whatever tail and head say.
 */
static inline __u64 tsct_ring_unread(const struct tsct_geometry *geo,
				     __u64 tail, __u64 head)
{
	__u64 bytes = tsct_pos_distance(tail, head);

	if (bytes >= TSCT_BLOCK_HEADER && !(tail & (geo->block_size - 1)))
		bytes -= TSCT_BLOCK_HEADER;
	return bytes < geo->data_size ? bytes : geo->data_size;
}

/*
 * Does what lies at @pos, or in its block, stay as it is while the head is at
 * @head, which is not before it? The block behind the head's may be being
 * begun, and lies where the one that is as far before it lay.
 */
static inline bool tsct_ring_holds(const struct tsct_geometry *geo, __u64 pos,
				   __u64 head)
{
	const __u64 block = pos & ~(__u64)(geo->block_size - 1);

	return tsct_pos_distance(block, head) <
		geo->data_size - geo->block_size;
}

/*
 * tsct_ring_block - the header of the block that @pos lies in
 *
 * Copies it, and says whether the copy is one: that it names itself a header,
 * and the place where it was found. In an overwrite ring, look afterwards
 * whether it was still the reader's. Never reads outside @data.
 */
bool tsct_ring_block(const struct tsct_geometry *geo, const void *data,
		     __u64 pos, struct tsct_block *ret_block);

/*
 * tsct_ring_events - events published in a ring whose head is @head
 *
 * Returns false where no header tells. Where writers may be at work, and may
 * come round the ring meanwhile, the figure is good if tsct_ring_holds() for
 * @head and the head loaded afterwards; or take tsct_ring_count().
 */
bool tsct_ring_events(const struct tsct_geometry *geo, const void *data,
		      __u64 head, __u64 *ret_events);

/* What a ring says of itself; figures, and nothing may rest on them. */
struct tsct_ring_count {
	__u64 head;		/* position, all 64 bits */
	__u64 events;		/* published up to there */
	__u64 oldest;		/* overwrite: a valid block's beginning, */
	__u64 overwritten;	/* and how many of these lie before it */
};

/*
 * tsct_ring_count - the figures of a ring, of one moment, while it is written
 *
 * The valid block is the oldest one, or the head's own where writers begin
 * blocks faster than we can look at that one. Returns false where the headers do
 * not tell, or writers came round too often all the same: then the figures are
 * what the head's own bits say.
 */
bool tsct_ring_count(const struct tsct_geometry *geo,
		     const struct tsct_producer *producer, const void *data,
		     struct tsct_ring_count *ret);

/*
 * tsct_ring_count_unread - the same, and what its one consumer has not taken
 *
 * Returns these bytes. Of one moment, too, unless the consumer goes on every
 * time we look: then they are more than that by what it took meanwhile.
 */
__u64 tsct_ring_count_unread(const struct tsct_geometry *geo,
			     const struct tsct_producer *producer,
			     const struct tsct_consumer *consumer,
			     const void *data, struct tsct_ring_count *ret);

/* What tsct_ring_next() found at a position. */
enum tsct_ring_step {
	TSCT_STEP_EMPTY,	/* pos == head */
	TSCT_STEP_RECORD,	/* a well-formed record, header copied out */
	TSCT_STEP_PAD,		/* skip to *ret_next */
	TSCT_STEP_BLOCK,	/* a block's header: see tsct_ring_block() */
	TSCT_STEP_BROKEN,	/* not a record; *ret_next is the next block or head */
};

/*
 * tsct_ring_next - look at the record at @pos, trusting nothing
 * @geo: checked geometry
 * @data: the ring's data, geo->data_size bytes, may change under us
 * @pos: position to look at; at most @head. Full, or its lower 48 bits
 * @head: as loaded with acquire, and extended where @pos is full
 * @ret_header: the header, copied once; its id is in range, and its payload
 *              is at most tsct_payload_max()
 * @ret_next: position behind it
 *
 * Never reads outside @data, and *ret_next > pos except where EMPTY. The
 * caller copies the payload (len - 16 bytes at data + (pos & (data_size - 1))
 * + 16, never wrapping) before it interprets it.
 */
enum tsct_ring_step tsct_ring_next(const struct tsct_geometry *geo,
				   const void *data, __u64 pos, __u64 head,
				   struct tsct_record *ret_header,
				   __u64 *ret_next);

#endif /* TSCT_CORE_RING_H */
