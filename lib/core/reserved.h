/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Structures in reserved memory: their checksums, and checks of their values. The module
 * writes these structures; after the next boot, trace-ctl reads them. See section 5 of
 * tsctrace/abi_reserved.h.
 */
#ifndef TSCT_CORE_RESERVED_H
#define TSCT_CORE_RESERVED_H

#include "port.h"

/*
 * Returns the checksum of @bytes bytes, a multiple of 8: FNV-1a over 64-bit words instead of bytes;
 * a product moves bits only up, so its upper half is then XORed into its lower half. Each step is a
 * bijection, so a change of one word always changes the sum. The sum of zeros is not 0.
 */
static inline __u64 tsct_reserved_checksum(const void *start, __u64 bytes)
{
	const tsct_word *word = start;
	__u64 sum = 0xcbf29ce484222325ULL, i;

	for (i = 0; i < bytes / sizeof(*word); i++) {
		sum = (sum ^ READ_ONCE(word[i])) * 0x100000001b3ULL;
		sum ^= sum >> 32;
	}
	return sum;
}

/* Returns the checksum of a structure of @bytes bytes, whose first member is the checksum. */
static inline __u64 tsct_reserved_sum(const void *from, __u64 bytes)
{
	return tsct_reserved_checksum((const __u64 *)from + 1, bytes - sizeof(__u64));
}

static inline __u64 tsct_reserved_header_sum(const struct tsct_reserved_header *header)
{
	return tsct_reserved_sum(header, offsetof(struct tsct_reserved_header, panic));
}

/*
 * tsct_reserved_layout - set size and offsets in the header of a reserved memory of @size bytes
 *
 * The caller has set header->nr_cpus. Returns 0, or -ENOSPC: the memory is too small.
 */
static inline int tsct_reserved_layout(struct tsct_reserved_header *header, __u64 size)
{
	const __u64 mask = TSCT_PAGE_SIZE - 1;

	header->size = size & ~mask;
	header->clock_offset = TSCT_PAGE_SIZE;
	header->clock_stride = (TSCT_RESERVED_CLOCK_SIZE(header->nr_cpus) + mask) & ~mask;
	header->data_offset = header->clock_offset +
		TSCT_RESERVED_CLOCKS * header->clock_stride;
	return header->data_offset < header->size ? 0 : -ENOSPC;
}

/*
 * tsct_reserved_header_check - validate a header in a memory of @size bytes
 *
 * Returns 0; -ENOENT: there is no header, or its checksum is wrong; -EPROTO: the
 * header has another version; -EINVAL: sizes or offsets are impossible.
 */
static inline int tsct_reserved_header_check(const struct tsct_reserved_header *header,
					     __u64 size)
{
	struct tsct_reserved_header own = { .nr_cpus = header->nr_cpus };

	if (header->magic != TSCT_RESERVED_MAGIC ||
	    header->checksum != tsct_reserved_header_sum(header))
		return -ENOENT;
	if (header->version != TSCT_RESERVED_VERSION)
		return -EPROTO;
	if (!own.nr_cpus || own.nr_cpus > TSCT_CPUS_MAX ||
	    tsct_reserved_layout(&own, size) || header->size != own.size ||
	    header->clock_offset != own.clock_offset ||
	    header->clock_stride != own.clock_stride ||
	    header->data_offset != own.data_offset ||
	    strnlen(header->kernel, sizeof(header->kernel)) == sizeof(header->kernel))
		return -EINVAL;
	return 0;
}

static inline __u64 tsct_reserved_panic_sum(const struct tsct_reserved_panic *panic)
{
	return tsct_reserved_sum(panic, sizeof(*panic));
}

static inline __u64 tsct_reserved_clock_sum(const struct tsct_reserved_clock *clock,
					    __u32 nr_cpus)
{
	return tsct_reserved_sum(clock, TSCT_RESERVED_CLOCK_SIZE(nr_cpus));
}

/* Returns true if @clock is a complete copy, with @nr_cpus CPUs. */
static inline bool tsct_reserved_clock_valid(const struct tsct_reserved_clock *clock,
					     __u32 nr_cpus)
{
	return clock->nr_cpus == nr_cpus &&
		clock->checksum == tsct_reserved_clock_sum(clock, nr_cpus);
}

static inline __u64 tsct_reserved_channel_sum(const struct tsct_reserved_channel *channel)
{
	return tsct_reserved_sum(channel,
				 TSCT_RESERVED_CHANNEL_SIZE(channel->header.nr_cpus));
}

/* Returns true if @bytes bytes at @offset lie between @from and @to, without overflow. */
static inline bool tsct_reserved_within(__u64 offset, __u64 bytes, __u64 from, __u64 to)
{
	return offset >= from && offset <= to && bytes <= to - offset;
}

/*
 * tsct_reserved_channel_check - validate the channel at @offset, but not its file header
 * @header: checked by tsct_reserved_header_check()
 * @channel: copy of the structure, in a buffer of @room bytes
 *
 * Returns 0 if all rings and the file header (consumer_offset bytes) lie in the reserved
 * memory, else -EINVAL.
 */
static inline int tsct_reserved_channel_check(const struct tsct_reserved_header *header,
					      const struct tsct_reserved_channel *channel,
					      __u64 offset, __u64 room)
{
	const __u32 nr_cpus = channel->header.nr_cpus;
	const __u64 own = TSCT_RESERVED_CHANNEL_SIZE(nr_cpus);
	__u64 end, ring;
	__u32 i;

	if (channel->magic != TSCT_RESERVED_CHANNEL_MAGIC || !nr_cpus ||
	    nr_cpus > TSCT_CPUS_MAX || own > room ||
	    channel->checksum != tsct_reserved_channel_sum(channel))
		return -EINVAL;
	if (channel->offset != offset || offset % TSCT_PAGE_SIZE ||
	    memcmp(channel->id, header->id, sizeof(channel->id)) ||
	    !tsct_reserved_within(offset, channel->bytes, header->data_offset,
				  header->size))
		return -EINVAL;
	end = offset + channel->bytes;
	if (!tsct_reserved_within(channel->head_offset, channel->header.consumer_offset,
				  offset + own, end) ||
	    channel->header.data_size > TSCT_DATA_SIZE_MAX)
		return -EINVAL;
	ring = 2 * TSCT_PAGE_SIZE + channel->header.data_size;
	for (i = 0; i < nr_cpus; i++)
		if (channel->rings[i] &&
		    (channel->rings[i] % TSCT_PAGE_SIZE ||
		     !tsct_reserved_within(channel->rings[i], ring, offset + own, end)))
			return -EINVAL;
	return 0;
}

#endif /* TSCT_CORE_RESERVED_H */
