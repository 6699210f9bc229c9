// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ring.h"

static bool is_power_of_two(__u64 value)
{
	return value && !(value & (value - 1));
}

static bool name_char(char c)
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
		if (!name_char(name[i]))
			return false;
	return true;
}

int tsct_geometry_check(__u32 policy, __u32 block_size, __u32 blocks)
{
	__u32 least = TSCT_BLOCKS_MIN;

	if (policy == TSCT_POLICY_OVERWRITE)
		least = TSCT_BLOCKS_MIN_OVERWRITE;
	else if (policy != TSCT_POLICY_DISCARD)
		return -EINVAL;
	if (!is_power_of_two(block_size) || !is_power_of_two(blocks))
		return -EINVAL;
	if (block_size < TSCT_BLOCK_SIZE_MIN ||
	    block_size > TSCT_BLOCK_SIZE_MAX ||
	    blocks < least || blocks > TSCT_BLOCKS_MAX)
		return -EINVAL;
	if ((__u64)block_size * blocks > TSCT_DATA_SIZE_MAX)
		return -EINVAL;
	return 0;
}

/*
 * The first 8 bytes of a record in one load, so that a writer who changes
 * them between check and use changes nothing for us. x86 is little endian.
 */
static void load_header(const void *at, struct tsct_record *ret_header)
{
	__u64 word = READ_ONCE(*(const __u64 *)at);

	ret_header->len = (__u16)word;
	ret_header->id = (__u16)(word >> 16);
	ret_header->tid = (__u32)(word >> 32);
	ret_header->tsc = 0;
}

enum tsct_ring_step tsct_ring_next(const struct tsct_geometry *geo,
				   const void *data, __u64 pos, __u64 head,
				   struct tsct_record *ret_header,
				   __u64 *ret_next)
{
	const char *at = (const char *)data + (pos & (geo->data_size - 1));
	__u64 left = geo->block_size - (pos & (geo->block_size - 1));
	__u64 published = head - pos;
	__u64 skip, size;

	*ret_next = pos;
	if (!published)
		return TSCT_STEP_EMPTY;
	/*
	 * Both limits: nothing beyond the block, nothing beyond the head.
	 * All positions are compared as distances from pos, which survives
	 * the wrap of the 64-bit counter and a head that lies behind pos.
	 */
	skip = left < published ? left : published;

	/* A hostile head that a reader had to take may be misaligned. */
	if (pos & (TSCT_RECORD_ALIGN - 1)) {
		left = TSCT_RECORD_ALIGN - (pos & (TSCT_RECORD_ALIGN - 1));
		*ret_next = pos + (left < published ? left : published);
		return TSCT_STEP_BROKEN;
	}
	*ret_next = pos + skip;
	if (skip < TSCT_RECORD_ALIGN)
		return TSCT_STEP_BROKEN;

	load_header(at, ret_header);
	if (ret_header->id == TSCT_ID_PAD)
		return left <= published ? TSCT_STEP_PAD : TSCT_STEP_BROKEN;

	size = ((__u64)ret_header->len + TSCT_RECORD_ALIGN - 1) &
		~(__u64)(TSCT_RECORD_ALIGN - 1);
	if (ret_header->id < TSCT_ID_FIRST ||
	    ret_header->len < sizeof(struct tsct_record) || size > skip)
		return TSCT_STEP_BROKEN;

	ret_header->tsc = READ_ONCE(*(const __u64 *)(at + 8));
	*ret_next = pos + size;
	return TSCT_STEP_RECORD;
}
