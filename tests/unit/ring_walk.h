/* SPDX-License-Identifier: MIT */
/* Writes and reads a ring's memory record by record. */
#ifndef TESTS_RING_WALK_H
#define TESTS_RING_WALK_H

#include <check.h>
#include <string.h>

#include "lib/core/ring.h"

#define MASK48	0xffffffffffffULL

static inline struct tsct_geometry
geometry(uint32_t block_size, uint32_t blocks, uint32_t policy)
{
	struct tsct_geometry geo = {
		.data_size = (uint64_t)block_size * blocks,
		.block_size = block_size,
		.policy = policy,
	};

	ck_assert_int_eq(tsct_geometry_check(policy, block_size, blocks), 0);
	return geo;
}

static inline void put(void *data, uint64_t at, uint16_t len, uint16_t id,
		       uint32_t tid, uint64_t cycles)
{
	struct tsct_record record = {
		.len = len, .id = id, .tid = tid, .cycles = cycles,
	};

	memcpy((char *)data + at, &record, sizeof(record));
}

/* Result of the last call of tsct_ring_next() */
static struct {
	enum tsct_ring_step step;
	struct tsct_record header;
	__u64 next;
} l;

static inline void read_step(const struct tsct_geometry *geo, const void *data,
			     uint64_t pos, uint64_t head)
{
	memset(&l.header, 0xff, sizeof(l.header));
	l.step = tsct_ring_next(geo, data, pos, head, &l.header, &l.next);
}

/* Stores a block header, as a writer does. */
static inline void put_block(void *data, const struct tsct_geometry *geo,
			     uint64_t pos, uint64_t events)
{
	struct tsct_block block = {
		.len = TSCT_BLOCK_HEADER, .id = TSCT_ID_BLOCK,
		.pos = pos, .events = events,
	};

	memcpy((char *)data + (pos & (geo->data_size - 1)), &block,
	       sizeof(block));
}

#endif /* TESTS_RING_WALK_H */
