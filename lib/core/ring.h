/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Arithmetic of the ring: finds the position of a record, checks whether the record
 * fits, and reads untrusted records. Used by the kernel's writer, the library's writer
 * and all readers. See section 3 of tsctrace/abi_channel.h.
 */
#ifndef TSCT_CORE_RING_H
#define TSCT_CORE_RING_H

#include "port.h"

/* Geometry of one ring, checked by tsct_geometry_check() */
struct tsct_geometry {
	__u64 data_size;	/* bytes of data, a power of two */
	__u32 block_size;	/* bytes of a block, a power of two */
	__u32 policy;		/* policy of the channel, one of TSCT_POLICY_* */
};

/* Slot: position of a new record, and of the pad before it. Positions have 48 bits. */
struct tsct_ring_slot {
	__u64 pos;		/* position of the record */
	__u64 head;		/* new head, whose store publishes the record */
	__u64 pad_pos;		/* position of the pad; valid if pad_len is not 0 */
	__u32 pad_len;		/* bytes from the pad to the end of the block; 0: no
				 * pad. If there is a pad, a new block's header lies
				 * between pad and record */
	__u32 size;		/* size of the record in bytes, rounded up */
};

/*
 * tsct_geometry_check - validate the geometry of a channel
 *
 * Returns 0 or -EINVAL. Safe on any input.
 */
int tsct_geometry_check(__u32 policy, __u32 block_size, __u32 blocks);

/*
 * tsct_channel_name_valid - returns true if a channel may have the name
 * @name: text, read up to its NUL, at most TSCT_NAME_MAX bytes
 */
bool tsct_channel_name_valid(const char *name);

/* Returns the default limit of one user's ring memory on a machine of @nr_cpus CPUs, bytes:
 * enough for three channels of the default size, which is 1 MiB and two pages per CPU */
static inline __u64 tsct_user_bytes_default(__u32 nr_cpus)
{
	const __u64 least = 256ULL << 20, bytes = (__u64)nr_cpus << 22;

	return bytes < least ? least : bytes;
}

/* Returns the size of a record with @payload bytes of payload, in bytes, rounded up. */
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

/* Returns the bytes from position @from forward to position @to, modulo 2^48. */
static inline __u64 tsct_pos_distance(__u64 from, __u64 to)
{
	return TSCT_HEAD_POS(to - from);
}

/* Returns the 64-bit position nearest to @near that has the lower 48 bits of @head. */
static inline __u64 tsct_pos_extend(__u64 near, __u64 head)
{
	return near + (__u64)((__s64)((head - near) << 16) >> 16);
}

/* ---- writing ----------------------------------------------------------- */

/*
 * Finds the slot for the next record, of @size bytes (tsct_record_size() of at most
 * tsct_payload_max()): at @head, or in the next block if the block of @head has no room. For any
 * @head, even a misaligned one, every byte of the slot lies inside the data.
 */
static inline struct tsct_ring_slot tsct_ring_place(const struct tsct_geometry *geo,
						    __u64 head, __u32 size)
{
	struct tsct_ring_slot slot = { .size = size };
	__u32 left;

	head &= ~(__u64)(TSCT_RECORD_ALIGN - 1);
	left = geo->block_size - (__u32)(head & (geo->block_size - 1));
	slot.pos = TSCT_HEAD_POS(head);
	if (size >= left) {
		slot.pad_pos = slot.pos;
		slot.pad_len = left;
		slot.pos = TSCT_HEAD_POS(head + left + TSCT_BLOCK_HEADER);
	}
	slot.head = ((head & ~TSCT_HEAD_POS(~0ULL)) | (slot.pos + size)) +
		TSCT_HEAD_ONE_EVENT;
	return slot;
}

/* Returns true if a record may end at @end: always in an overwrite ring; in a discard ring,
 * if no unread data is overwritten. @tail: position up to which the consumer has read */
static inline bool tsct_ring_fits(const struct tsct_geometry *geo, __u64 end,
				  __u64 tail)
{
	return geo->policy == TSCT_POLICY_OVERWRITE ||
		tsct_pos_distance(tail, end) <= geo->data_size;
}

/* Returns the number of events published in a ring, from @head and the header of the block
 * that @head is in. */
static inline __u64 tsct_block_events(const struct tsct_block *block,
				      __u64 head)
{
	return block->events + (__u16)(TSCT_HEAD_EVENTS(head) - block->events);
}

/* Returns the first 8 bytes of a pad, which extends to the end of a block. */
static inline __u64 tsct_pad_word(__u32 pad_len)
{
	return (__u16)pad_len | (__u64)TSCT_ID_PAD << 16;
}

/*
 * tsct_block_next - make the header of the block after that of @head
 * @last: header of the block of @head; only the new header's statistics depend on @last
 * @cycles: counter value now; not lower than the last record's
 */
void tsct_block_next(const struct tsct_geometry *geo,
		     const struct tsct_block *last, __u64 head, __u64 cycles,
		     struct tsct_block *ret_block);

/* tsct_ring_init - make a ring empty: set the first block's header, and the head */
void tsct_ring_init(struct tsct_producer *producer, void *data);

/* ---- reading ----------------------------------------------------------- */

/*
 * Returns the oldest position with valid data in an overwrite ring, for a 64-bit @head: the writer
 * may have overwritten older data, as it may be writing to the next block already.
 */
static inline __u64 tsct_ring_oldest(const struct tsct_geometry *geo, __u64 head)
{
	const __u64 block = head & ~(__u64)(geo->block_size - 1);
	const __u64 behind = geo->data_size - 2ULL * geo->block_size;

	return block > behind ? block - behind : 0;
}

/*
 * Returns the number of bytes that the consumer of a discard ring has not read; at most
 * data_size for any tail and head. A block header right at the tail does not count: the
 * header exists before any record of the block, and must not wake the consumer.
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
 * tsct_ring_holds - true if the block of @pos is not overwritten while the head is at
 * @head, which is not before @pos. The writer may have started to write the block after
 * the block of @head, in the place of the block one whole ring earlier.
 */
static inline bool tsct_ring_holds(const struct tsct_geometry *geo, __u64 pos,
				   __u64 head)
{
	const __u64 block = pos & ~(__u64)(geo->block_size - 1);

	return tsct_pos_distance(block, head) <
		geo->data_size - geo->block_size;
}

/*
 * tsct_ring_block - copy the header of the block in which @pos lies
 *
 * Returns true if the copy is a valid header of that block. In an overwrite ring, check
 * afterwards that the header was not overwritten meanwhile. Never reads outside @data.
 */
bool tsct_ring_block(const struct tsct_geometry *geo, const void *data,
		     __u64 pos, struct tsct_block *ret_block);

/*
 * tsct_ring_events - number of events published in a ring whose head is @head
 *
 * Returns false if the header of the block with @head is invalid. A writer may overwrite that
 * header meanwhile: load the ring's head again afterwards. The number is valid if
 * tsct_ring_holds(geo, @head, head loaded again). tsct_ring_count() does all this.
 */
bool tsct_ring_events(const struct tsct_geometry *geo, const void *data,
		      __u64 head, __u64 *ret_events);

/* Statistics of a ring, from headers that writers can falsify: for reports only */
struct tsct_ring_count {
	__u64 head;		/* position of the head, all 64 bits */
	__u64 events;		/* number of events published up to head */
	/* overwrite rings: position of the oldest block; or, if writers overwrote the
	 * oldest block during each attempt to read it, of the newest block */
	__u64 oldest;
	__u64 overwritten;	/* overwrite rings: number of events before `oldest` */
};

/*
 * tsct_ring_count - consistent statistics of a ring that may be written meanwhile
 *
 * Returns false if headers are invalid, or writers overwrote them during each attempt to
 * read them: then *ret has only the figures that the bits of the head give.
 */
bool tsct_ring_count(const struct tsct_geometry *geo,
		     const struct tsct_producer *producer, const void *data,
		     struct tsct_ring_count *ret);

/*
 * tsct_ring_describe - set the figures in *ret, which must be 0 before the call
 *
 * If the consumer advances during each attempt to read its position, the unread bytes
 * include bytes that the consumer has read meanwhile.
 */
void tsct_ring_describe(const struct tsct_geometry *geo,
			const struct tsct_producer *producer,
			const struct tsct_consumer *consumer, const void *data,
			struct tsct_channel_cpu *ret);

/* Copies the channel's properties from @header to *ret; sets all figures to 0. */
void tsct_channel_describe(const struct tsct_channel_header *header,
			   struct tsct_channel_info *ret);

/* Adds the figures of a ring to those of its channel. */
void tsct_channel_describe_ring(struct tsct_channel_info *info,
				const struct tsct_channel_cpu *ring);

/* Result of tsct_ring_next() */
enum tsct_ring_step {
	TSCT_STEP_EMPTY,	/* no record: pos is at the head */
	TSCT_STEP_RECORD,	/* a valid record; its header was copied */
	TSCT_STEP_PAD,		/* a pad record; the block ends at *ret_next */
	TSCT_STEP_BLOCK,	/* a block's header: see tsct_ring_block() */
	TSCT_STEP_BROKEN,	/* no valid record; *ret_next is the next block or the head */
};

/*
 * tsct_ring_next - read the untrusted header of the record at @pos
 * @geo: checked geometry
 * @data: the ring's data, geo->data_size bytes, which may change at any time
 * @pos: position to read, at most @head: all 64 bits, or the lower 48
 * @head: the head, loaded with acquire; extended to 64 bits if @pos has 64
 * @ret_header: the header, copied once; its id is in range, and its payload
 *              is at most tsct_payload_max()
 * @ret_next: position after the record
 *
 * Never reads outside @data. *ret_next > pos unless the result is EMPTY. The caller
 * must copy the payload (len - 16 bytes at data + (pos & (data_size - 1)) + 16, which
 * do not wrap), and interpret only the copy.
 */
enum tsct_ring_step tsct_ring_next(const struct tsct_geometry *geo,
				   const void *data, __u64 pos, __u64 head,
				   struct tsct_record *ret_header,
				   __u64 *ret_next);

#endif /* TSCT_CORE_RING_H */
