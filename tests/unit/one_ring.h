/* SPDX-License-Identifier: MIT */
/* A small channel that the test writes and reads on one CPU */
#ifndef TESTS_ONE_RING_H
#define TESTS_ONE_RING_H

#include "serve.h"
#include "suite.h"

#define BLOCK	4096

static struct tsct_channel *t;
static struct tsct_reader *reader;
static int id, cpu;

static inline void setup_policy(unsigned int policy)
{
	struct tsct_channel_options options = {
		.roles = TSCT_ROLE_READ | TSCT_ROLE_WRITE, .policy = policy,
		.block_size = BLOCK, .blocks = 4,
	};

	serve_start();
	cpu = sched_getcpu();
	run_on(cpu);
	t = serve_open(&options);
	ck_assert_int_eq(tsct_reader_open(t, &reader), 0);
	id = tsct_event_define(t, "e", TSCT_KIND_INSTANT, "a:u64");
	ck_assert_int_eq(id, TSCT_ID_FIRST);
}

static inline void setup(void)
{
	setup_policy(TSCT_POLICY_DISCARD);
}

static inline void setup_overwrite(void)
{
	setup_policy(TSCT_POLICY_OVERWRITE);
}

static inline void teardown(void)
{
	tsct_reader_close(reader);
	tsct_channel_close(t);
	serve_stop();
}

static inline __u64 lost(unsigned int cause)
{
	struct tsct_ring_stat stat;

	ck_assert_int_eq(tsct_reader_stat(reader, cpu, &stat), 0);
	ck_assert_uint_eq(stat.broken, 0);
	return stat.lost[cause];
}

static inline struct tsct_event next(void)
{
	struct tsct_event event;

	ck_assert_int_eq(tsct_reader_next(reader, cpu, &event), 1);
	return event;
}

static inline void expect_none(void)
{
	struct tsct_event event;

	ck_assert_int_eq(tsct_reader_next(reader, cpu, &event), 0);
}

static inline void use_clock(unsigned int source)
{
	t->source = source;
	tsct_emit_enable_fast(t);
}

#endif /* TESTS_ONE_RING_H */
