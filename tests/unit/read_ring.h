/* SPDX-License-Identifier: MIT */
/* A channel with a reader and a writer of its own, in which tests write any ring. The file
 * that includes this one defines RING_BLOCKS, the number of blocks of a ring. */
#ifndef TESTS_READ_RING_H
#define TESTS_READ_RING_H

#include "serve.h"
#include "suite.h"

static struct tsct_channel *t, *writer;
static struct tsct_reader *reader;

static inline void open_channel(unsigned int policy, unsigned int blocks)
{
	struct tsct_channel_options options = {
		.roles = TSCT_ROLE_READ, .policy = policy,
		.block_size = 4096, .blocks = blocks,
	};

	serve_start();
	t = serve_open(&options);
	/* A client with the WRITE role maps tails writable, which some tests need. */
	options.roles = TSCT_ROLE_WRITE;
	writer = serve_open(&options);
	ck_assert_int_eq(tsct_reader_open(t, &reader), 0);
}

static inline void setup_discard(void)
{
	open_channel(TSCT_POLICY_DISCARD, RING_BLOCKS);
}

static inline void setup_overwrite(void)
{
	open_channel(TSCT_POLICY_OVERWRITE, RING_BLOCKS);
}

static inline void teardown(void)
{
	tsct_reader_close(reader);
	tsct_channel_close(writer);
	tsct_channel_close(t);
	serve_stop();
}

static inline void reopen_reader(void)
{
	tsct_reader_close(reader);
	ck_assert_int_eq(tsct_reader_open(t, &reader), 0);
}

static inline struct tsct_ring_stat stat_of(struct tsct_reader *r, __u32 cpu)
{
	struct tsct_ring_stat stat;

	ck_assert_int_eq(tsct_reader_stat(r, cpu, &stat), 0);
	return stat;
}

/* Checks that every published event counted exactly once: as read, or by its loss. */
static inline void expect_balance(struct tsct_reader *r, __u32 cpu)
{
	struct tsct_ring_stat s = stat_of(r, cpu);

	ck_assert_uint_eq(s.published, s.before + s.read + s.overrun + s.broken + s.unread);
}

#endif /* TESTS_READ_RING_H */
