/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The ring's arithmetic: where a record goes, whether it fits, and how a
 * reader that trusts nobody walks records. Shared by the kernel's writer, the
 * library's writer and every reader. See section 3 of tsctrace/abi.h.
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

/* Where a record of some size goes. */
struct tsct_place {
	__u64 pos;		/* of the record */
	__u64 pad_pos;		/* of the pad before it, where pad_len != 0 */
	__u32 pad_len;		/* 0, or what is left of the block */
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

/* Largest payload that fits a block and the 16-bit length. */
static inline __u32 tsct_payload_max(const struct tsct_geometry *geo)
{
	__u32 max = 65528;

	if (geo->block_size < max)
		max = geo->block_size;
	return max - sizeof(struct tsct_record);
}

/*
 * Place a record of `size` bytes (tsct_record_size(), <= block_size) behind
 * `head`. An arbitrary head, even a misaligned one, gives a place inside the
 * data: head is rounded down to 8 first.
 */
static inline struct tsct_place tsct_ring_place(const struct tsct_geometry *geo,
						__u64 head, __u32 size)
{
	struct tsct_place place = { .size = size };
	__u32 left;

	head &= ~(__u64)(TSCT_RECORD_ALIGN - 1);
	left = geo->block_size - (__u32)(head & (geo->block_size - 1));
	place.pos = head;
	if (size > left) {
		place.pad_pos = head;
		place.pad_len = left;
		place.pos = head + left;
	}
	return place;
}

/* Does [.., end) fit before the reader's tail? Junk in tail reads as full. */
static inline bool tsct_ring_fits(const struct tsct_geometry *geo, __u64 end,
				  __u64 tail)
{
	return geo->policy == TSCT_POLICY_OVERWRITE ||
		end - tail <= geo->data_size;
}

/*
 * First position that an overwrite ring's reader may trust while the head is
 * `head`: two blocks from the writer's are in its hands.
 */
static inline __u64 tsct_ring_oldest(const struct tsct_geometry *geo, __u64 head)
{
	__u64 block = head & ~(__u64)(geo->block_size - 1);
	__u64 end = block + 2ULL * geo->block_size;

	return end > geo->data_size ? end - geo->data_size : 0;
}

/* What tsct_ring_next() found at a position. */
enum tsct_ring_step {
	TSCT_STEP_EMPTY,	/* pos == head */
	TSCT_STEP_RECORD,	/* a well-formed record, header copied out */
	TSCT_STEP_PAD,		/* skip to *ret_next */
	TSCT_STEP_BROKEN,	/* not a record; *ret_next is the next block or head */
};

/*
 * tsct_ring_next - look at the record at @pos, trusting nothing
 * @geo: checked geometry
 * @data: the ring's data, geo->data_size bytes, may change under us
 * @pos: position to look at; at most @head
 * @head: as loaded with acquire
 * @ret_header: the header, copied once; its len and id are in range
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
