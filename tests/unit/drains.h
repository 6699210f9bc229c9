/* SPDX-License-Identifier: MIT */
/* A channel with a writer to one of its rings, and a recording made from it by a
 * drain */
#ifndef TESTS_DRAINS_H
#define TESTS_DRAINS_H

#include "recordings.h"
#include "serve.h"
#include "suite.h"

#define CPU	0	/* CPU on which all events are written */

static struct tsct_channel *t, *writer;
static struct tsct_clock *clock_;
static struct tsct_recording rec;
static struct tsct_recording_writer *out;
static struct tsct_drain *drain;
static int dirfd_, ev;

static inline void open_rings_of(unsigned int policy, unsigned int blocks)
{
	struct tsct_channel_options options = {
		.roles = TSCT_ROLE_READ, .block_size = 4096, .blocks = blocks,
		.policy = policy,
	};

	serve_start();
	t = serve_open(&options);
	writer = serve_open(NULL);
	run_on(CPU);
	ev = tsct_event_define(writer, "ev", TSCT_KIND_INSTANT, "n:u64");
	ck_assert_int_ge(ev, TSCT_ID_FIRST);
	ck_assert_int_eq(tsct_clock_open(&clock_), 0);
}

/* Opens a channel with rings of 4 blocks. */
static inline void open_rings(void)
{
	open_rings_of(TSCT_POLICY_DISCARD, 4);
}

/* Removes the event definitions that make_recording() added to `rec`, because the drain
 * adds the definition of each id that occurs in the channel. */
static inline void forget_definitions(void)
{
	struct tsct_stream_class *s = rec.streams;

	for (__u32 i = 0; i < s->nr_defs; i++)
		free(s->defs[i]);
	s->nr_defs = 0;
}

static inline void begin_at(__u64 stamp, __u32 is_snapshot)
{
	struct tsct_clock_state state;

	dirfd_ = make_dir();
	make_recording(&rec, tsct_channel_info(t)->nr_cpus);
	forget_definitions();
	ck_assert_int_eq(tsct_clock_snapshot(clock_, &state), 0);
	ck_assert_uint_eq(state.source, tsct_channel_info(t)->source);
	rec.source = state.source;
	rec.real = state.real;
	rec.begin = rec.end = stamp;
	rec.snapshot = is_snapshot;
	ck_assert_int_eq(tsct_recording_writer_open(dirfd_, &rec, &out), 0);
	ck_assert_int_eq(tsct_drain_open(t, clock_, out, &rec, 0, &drain), 0);
}

/* Begins a recording at the present time. */
static inline void begin(void)
{
	begin_at(tsct_clock_cycles(clock_), 0);
}

static inline void teardown(void)
{
	tsct_drain_close(drain);
	tsct_recording_writer_close(out);
	tsct_clock_close(clock_);
	tsct_recording_free(&rec);
	drop_dir(dirfd_);
	tsct_channel_close(writer);
	tsct_channel_close(t);
	serve_stop();
}

static inline int emit(__u64 n)
{
	return tsct_emit(writer, ev, &n, sizeof(n));
}

/* Writes an arbitrary record to the ring, as a hostile writer can. */
static inline void forge(__u32 id, __u64 stamp, __u32 len)
{
	struct tsct_producer *p = tsct_ring_producer(writer, CPU);
	char *data = (char *)tsct_ring_data(writer, CPU);
	struct tsct_record r = { .id = id, .cycles = stamp,
				 .len = sizeof(r) + len };

	memcpy(data + p->head % tsct_channel_info(t)->data_size, &r, sizeof(r));
	__atomic_store_n(&p->head, p->head + tsct_record_size(len) +
			 TSCT_HEAD_ONE_EVENT, __ATOMIC_RELEASE);
}

static inline __u64 pass(__u64 until)
{
	__u64 taken;

	ck_assert_int_eq(tsct_drain_pass(drain, until, &taken), 0);
	return taken;
}

static inline __u64 lost(enum tsct_loss_cause cause)
{
	return rec.streams[0].loss[CPU].cause[cause];
}

static inline __u64 events(void)
{
	return tsct_recording_writer_cpu_events(out, 0, CPU);
}

static inline void check_readable(void)
{
	struct tsct_trace *trace;
	char why[256];

	ck_assert_msg(!tsct_trace_open(dir_name, NULL, NULL, &trace, why,
				       sizeof(why)), "%s", why);
	tsct_trace_close(trace);
}

#endif /* TESTS_DRAINS_H */
