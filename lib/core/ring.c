// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ring.h"

static bool is_power_of_two(__u64 value)
{
	return value && !(value & (value - 1));
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

bool tsct_channel_name_valid(const char *name)
{
	size_t len = strnlen(name, TSCT_NAME_MAX), i;

	if (!len || len == TSCT_NAME_MAX)
		return false;
	for (i = 0; i < len; i++)
		if (!is_name_char(name[i]))
			return false;
	return true;
}

int tsct_geometry_check(__u32 policy, __u32 block_size, __u32 blocks)
{
	__u32 min = TSCT_BLOCKS_MIN;

	if (policy == TSCT_POLICY_OVERWRITE)
		min = TSCT_BLOCKS_MIN_OVERWRITE;
	else if (policy != TSCT_POLICY_DISCARD)
		return -EINVAL;
	if (!is_power_of_two(block_size) || !is_power_of_two(blocks))
		return -EINVAL;
	if (block_size < TSCT_BLOCK_SIZE_MIN ||
	    block_size > TSCT_BLOCK_SIZE_MAX ||
	    blocks < min || blocks > TSCT_BLOCKS_MAX)
		return -EINVAL;
	if ((__u64)block_size * blocks > TSCT_DATA_SIZE_MAX)
		return -EINVAL;
	return 0;
}

/* ---- writing ----------------------------------------------------------- */

void tsct_block_next(const struct tsct_geometry *geo,
		     const struct tsct_block *last, __u64 head, __u64 cycles,
		     struct tsct_block *ret_block)
{
	const __u64 mask = TSCT_HEAD_POS(~0ULL);
	const __u64 pos = (head & mask & ~(__u64)(geo->block_size - 1)) +
		geo->block_size;
	/* The lower 48 bits of a head are the position; higher bits are statistics. */
	const __u64 wraps = last->pos + geo->block_size;

	*ret_block = (struct tsct_block) {
		.len = TSCT_BLOCK_HEADER,
		.id = TSCT_ID_BLOCK,
		.cycles = cycles,
		.pos = (wraps & ~mask) | (pos & mask),
		.events = tsct_block_events(last, head),
	};
}

void tsct_ring_init(struct tsct_producer *producer, void *data)
{
	*(struct tsct_block *)data = (struct tsct_block) {
		.len = TSCT_BLOCK_HEADER, .id = TSCT_ID_BLOCK,
	};
	producer->head = TSCT_BLOCK_HEADER;
}

/* ---- reading ----------------------------------------------------------- */

bool tsct_ring_block(const struct tsct_geometry *geo, const void *data,
		     __u64 pos, struct tsct_block *ret_block)
{
	const __u64 start = pos & ~(__u64)(geo->block_size - 1);
	const __u64 *at = (const void *)((const char *)data +
					 (start & (geo->data_size - 1)));
	const __u64 first = READ_ONCE(at[0]);

	*ret_block = (struct tsct_block) {
		.len = (__u16)first,
		.id = (__u16)(first >> 16),
		.reserved = (__u32)(first >> 32),
		.cycles = READ_ONCE(at[1]),
		.pos = READ_ONCE(at[2]),
		.events = READ_ONCE(at[3]),
	};
	return ret_block->len == TSCT_BLOCK_HEADER &&
		ret_block->id == TSCT_ID_BLOCK &&
		!tsct_pos_distance(start, ret_block->pos);
}

bool tsct_ring_events(const struct tsct_geometry *geo, const void *data,
		      __u64 head, __u64 *ret_events)
{
	struct tsct_block block;

	if (!tsct_ring_block(geo, data, head, &block))
		return false;
	*ret_events = tsct_block_events(&block, head);
	return true;
}

/*
 * Number of attempts to count the events of a ring from its oldest block to the head,
 * while a writer overwrites blocks. If all attempts fail, the same number of attempts
 * follows to count only the events of the newest block, which contains the head.
 */
#define COUNT_TRIES	4

enum count { COUNT_GOOD, COUNT_AGAIN, COUNT_BROKEN };

/*
 * Counts the events of a ring, from its oldest block on or, if @use_head_block, from
 * the newest block on, which contains the head. Returns COUNT_AGAIN if a writer may
 * have overwritten the header of the block from which events were counted. A writer
 * overwrites the oldest block when it begins a new block: at each event, if events are
 * as large as blocks. The writer does not overwrite the newest block before it has
 * begun two more blocks.
 */
static enum count count_once(const struct tsct_geometry *geo,
			     const struct tsct_producer *producer,
			     const void *data, bool use_head_block,
			     struct tsct_ring_count *ret)
{
	/* acquire: pairs with the writer's release of head */
	const __u64 head = smp_load_acquire(&producer->head);
	struct tsct_block block, first = { .events = 0 };
	__u64 oldest = 0;
	bool known;

	*ret = (struct tsct_ring_count) { .head = TSCT_HEAD_POS(head) };
	known = tsct_ring_block(geo, data, head, &block);
	if (known) {
		ret->head = tsct_pos_extend(block.pos, head);
		ret->events = tsct_block_events(&block, head);
	}
	if (known && geo->policy == TSCT_POLICY_OVERWRITE)
		oldest = use_head_block ? block.pos : tsct_ring_oldest(geo, ret->head);
	if (oldest)
		known = tsct_ring_block(geo, data, oldest, &first);
	ret->oldest = oldest;
	ret->overwritten = first.events;
	/* The second load of the head confirms the headers, so their loads come first. */
	smp_rmb();
	if (!tsct_ring_holds(geo, oldest ? oldest : head,
			     READ_ONCE(producer->head)))
		return COUNT_AGAIN;
	return known ? COUNT_GOOD : COUNT_BROKEN;
}

bool tsct_ring_count(const struct tsct_geometry *geo,
		     const struct tsct_producer *producer, const void *data,
		     struct tsct_ring_count *ret)
{
	enum count count = COUNT_AGAIN;
	int tries;

	for (tries = 0; tries < 2 * COUNT_TRIES && count == COUNT_AGAIN; tries++)
		count = count_once(geo, producer, data, tries >= COUNT_TRIES,
				   ret);
	if (count == COUNT_GOOD)
		return true;
	ret->head = TSCT_HEAD_POS(ret->head);
	ret->events = TSCT_HEAD_EVENTS(READ_ONCE(producer->head));
	ret->oldest = ret->overwritten = 0;
	return false;
}

void tsct_ring_describe(const struct tsct_geometry *geo,
			const struct tsct_producer *producer,
			const struct tsct_consumer *consumer, const void *data,
			struct tsct_channel_cpu *ret)
{
	struct tsct_ring_count count;
	int tries = 8, i;
	__u64 tail;

	do {
		/*
		 * The tail is loaded before the head. If the loaded tail were ahead of
		 * the loaded head, tsct_ring_unread() would report a full ring.
		 */
		tail = smp_load_acquire(&consumer->tail);
		tsct_ring_count(geo, producer, data, &count);
		/* The head is loaded before the second load of the tail, which confirms
		 * that the tail has not changed meanwhile. */
		smp_rmb();
	} while (READ_ONCE(consumer->tail) != tail && --tries);
	ret->state = TSCT_CPU_READY;
	ret->events = count.events;
	ret->written = count.head;
	ret->overwritten = count.overwritten;
	if (geo->policy == TSCT_POLICY_DISCARD)
		ret->unread = tsct_ring_unread(geo, tail, count.head);
	for (i = 0; i < TSCT_LOST_MAX; i++)
		ret->lost[i] = READ_ONCE(producer->lost[i]);
}

void tsct_channel_describe(const struct tsct_channel_header *header,
			   struct tsct_channel_info *ret)
{
	*ret = (struct tsct_channel_info) {
		.id = header->id,
		.uid = header->uid,
		.policy = header->policy,
		.flags = header->flags,
		.source = header->source,
		.block_size = header->block_size,
		.blocks = header->blocks,
	};
	memcpy(ret->name, header->name, sizeof(ret->name));
}

void tsct_channel_describe_ring(struct tsct_channel_info *info,
				const struct tsct_channel_cpu *ring)
{
	int i;

	info->nr_cpus_ready += ring->state == TSCT_CPU_READY;
	info->events += ring->events;
	info->written += ring->written;
	info->unread += ring->unread;
	for (i = 0; i < TSCT_LOST_MAX; i++)
		info->lost[i] += ring->lost[i];
}

/*
 * Loads the first 8 bytes of a record at once: all checks and uses are of this
 * copy, which a writer cannot change. x86 is little endian.
 */
static void load_header(const void *at, struct tsct_record *ret_header)
{
	__u64 word = READ_ONCE(*(const __u64 *)at);

	ret_header->len = (__u16)word;
	ret_header->id = (__u16)(word >> 16);
	ret_header->tid = (__u32)(word >> 32);
	ret_header->cycles = 0;
}

static __u64 round_up_len(__u16 len)
{
	return ((__u64)len + TSCT_RECORD_ALIGN - 1) &
		~(__u64)(TSCT_RECORD_ALIGN - 1);
}

/*
 * Classifies a record. Block headers are at the beginnings of blocks and nowhere else,
 * and records leave room for a pad after them.
 * @left: bytes up to the block's end
 * @room: how many of the @left bytes are published
 */
static enum tsct_ring_step step_of(const struct tsct_geometry *geo,
				   const struct tsct_record *header, __u64 left,
				   __u64 room)
{
	const __u64 size = round_up_len(header->len);

	if (left == geo->block_size)
		return header->id == TSCT_ID_BLOCK &&
			header->len == TSCT_BLOCK_HEADER && size <= room ?
			TSCT_STEP_BLOCK : TSCT_STEP_BROKEN;
	if (header->id == TSCT_ID_PAD)
		return left <= room ? TSCT_STEP_PAD : TSCT_STEP_BROKEN;
	if ((header->id < TSCT_ID_FIRST && header->id != TSCT_ID_WIDE) || size > room ||
	    size >= left || header->len < sizeof(struct tsct_record) +
	    (header->id == TSCT_ID_WIDE ? sizeof(__u64) : 0) ||
	    header->len - sizeof(struct tsct_record) > tsct_payload_max(geo))
		return TSCT_STEP_BROKEN;
	return TSCT_STEP_RECORD;
}

enum tsct_ring_step tsct_ring_next(const struct tsct_geometry *geo,
				   const void *data, __u64 pos, __u64 head,
				   struct tsct_record *ret_header,
				   __u64 *ret_next)
{
	const char *at = (const char *)data + (pos & (geo->data_size - 1));
	__u64 offset = pos & (geo->block_size - 1);
	__u64 left = geo->block_size - offset;
	/*
	 * The record ends within its block and before the head. Positions are compared
	 * by their distances from pos: this is right even if positions wrap, or the
	 * head lies before pos.
	 */
	__u64 published = tsct_pos_distance(pos, head);
	__u64 room = left < published ? left : published;
	enum tsct_ring_step step;

	*ret_next = pos;
	if (!published)
		return TSCT_STEP_EMPTY;

	/* pos is misaligned if it was computed from a hostile writer's head. */
	if (pos & (TSCT_RECORD_ALIGN - 1)) {
		left = TSCT_RECORD_ALIGN - (pos & (TSCT_RECORD_ALIGN - 1));
		*ret_next = pos + (left < published ? left : published);
		return TSCT_STEP_BROKEN;
	}
	*ret_next = pos + room;
	if (room < TSCT_RECORD_ALIGN)
		return TSCT_STEP_BROKEN;

	load_header(at, ret_header);
	step = step_of(geo, ret_header, left, room);
	if (step == TSCT_STEP_RECORD) {
		ret_header->cycles = READ_ONCE(*(const __u64 *)(at + 8));
		*ret_next = pos + round_up_len(ret_header->len);
	} else if (step == TSCT_STEP_BLOCK) {
		*ret_next = pos + TSCT_BLOCK_HEADER;
	}
	return step;
}
