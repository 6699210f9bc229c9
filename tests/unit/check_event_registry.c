// SPDX-License-Identifier: MIT
/* The registry of typed events: recording, enabling, loading and unloading. */
#include <tsctrace/event.h>

#include "lib/core/event_def.h"
#include "one_ring.h"

TSCT_EVENT(ev_none, TSCT_KIND_INSTANT);
TSCT_EVENT(ev_ints, TSCT_KIND_COUNTER,
	   TSCT_U8(a), TSCT_S64(b), TSCT_U16_HEX(c), TSCT_S32(d), TSCT_U64(e),
	   TSCT_S8(f), TSCT_U32_HEX(g), TSCT_S16(h));
TSCT_EVENT(ev_floats, TSCT_KIND_SEND, TSCT_F32(a), TSCT_U8(b), TSCT_F64(c));
TSCT_EVENT(ev_small, TSCT_KIND_RECEIVE,
	   TSCT_U8(a), TSCT_BYTES(b, 5), TSCT_U32(c), TSCT_CHARS(d, 6));
TSCT_EVENT(ev_large, TSCT_KIND_BEGIN,
	   TSCT_U16(a), TSCT_BYTES(b, 100), TSCT_CHARS(c, 70), TSCT_F64(d));
TSCT_EVENT(ev_text, TSCT_KIND_END,
	   TSCT_STRING(a), TSCT_U32(b), TSCT_STRING(c), TSCT_CHARS(d, 4));
TSCT_EVENT_AS(ev_most, ev_title, TSCT_KIND_INSTANT,
	      TSCT_U64(a), TSCT_U64(b), TSCT_U64(c), TSCT_U64(d), TSCT_U64(e),
	      TSCT_U64(f), TSCT_U64(g), TSCT_U64(h), TSCT_U8(i), TSCT_U8(j),
	      TSCT_U8(k), TSCT_U8(l), TSCT_U8(m), TSCT_U8(n), TSCT_U8(o),
	      TSCT_U8(p), TSCT_U8(q), TSCT_U8(r), TSCT_U8(s), TSCT_U8(u),
	      TSCT_U8(v), TSCT_U8(w), TSCT_U8(x), TSCT_U8(y), TSCT_U8(z),
	      TSCT_U8(aa), TSCT_U8(bb), TSCT_U8(cc), TSCT_U8(dd), TSCT_U8(ee),
	      TSCT_U8(ff), TSCT_U8(gg));

#define NR_EVENTS	7

/* Expects that the next event of the channel has this definition and payload. */
static struct tsct_event expect(const struct tsct_event_type *type,
				const void *payload, unsigned int len)
{
	const struct tsct_event event = next();
	const struct tsct_event_def *def = tsct_reader_def(reader, event.id);

	ck_assert_ptr_nonnull(def);
	ck_assert_str_eq(def->name, type->name);
	ck_assert_uint_eq(def->kind, type->kind);
	ck_assert_uint_eq(def->nr_fields, type->nr_fields);
	ck_assert_mem_eq(def->fields, type->fields,
			 def->nr_fields * sizeof(def->fields[0]));
	ck_assert_int_eq(tsct_event_def_check_payload(def, event.payload, event.len), 0);
	ck_assert_uint_eq(event.len, len);
	ck_assert_mem_eq(event.payload, payload, len);
	ck_assert_uint_eq(event.tid, gettid());
	return event;
}

static const struct __attribute__((packed)) {
	__u8 a; __s64 b; __u16 c; __s32 d; __u64 e; __s8 f; __u32 g; __s16 h;
} ints = { 255, -2, 0xfedc, -4, ~0ULL - 4, -6, 0xfedcba98, -8 };

static int emit_ints(bool ordered)
{
	return ordered ?
		ev_ints_emit(ints.a, ints.b, ints.c, ints.d, ints.e, ints.f,
			     ints.g, ints.h) :
		ev_ints_emit_unordered(ints.a, ints.b, ints.c, ints.d, ints.e,
				       ints.f, ints.g, ints.h);
}

static void emit_and_expect(bool ordered)
{
	static const struct __attribute__((packed)) {
		float a; __u8 b; double c;
	} floats = { -1.5f, 7, 1e300 };

	ck_assert_int_eq(ordered ? ev_none_emit() : ev_none_emit_unordered(),
			 0);
	expect(&ev_none_event, "", 0);
	ck_assert_int_eq(emit_ints(ordered), 0);
	expect(&ev_ints_event, &ints, sizeof(ints));
	ck_assert_int_eq((ordered ? ev_floats_emit : ev_floats_emit_unordered)
			 (-1.5f, 7, 1e300), 0);
	expect(&ev_floats_event, &floats, sizeof(floats));
	ck_assert_int_eq((ordered ? ev_small_emit : ev_small_emit_unordered)
			 (1, "\2\3\4\5\6", 0x0a090807, "ab"), 0);
	expect(&ev_small_event, "\1\2\3\4\5\6\7\10\11\12ab\0\0\0\0", 16);
	ck_assert_int_eq((ordered ? ev_text_emit : ev_text_emit_unordered)
			 ("one", 0x04030201, "", "abcdef"), 0);
	expect(&ev_text_event, "one\0\1\2\3\4\0abcd", 13);
	ck_assert_int_eq((ordered ? ev_text_emit : ev_text_emit_unordered)
			 (NULL, 0, NULL, NULL), 0);
	expect(&ev_text_event, "(null)\0\0\0\0\0(null)\0(nul", 22);
}

static void emit_large(void)
{
	struct __attribute__((packed)) {
		__u16 a; __u8 b[100]; char c[70]; double d;
	} large = { 7, "bytes", "seventy at most", 0.25 };
	struct __attribute__((packed)) {
		__u64 eight[8]; __u8 rest[24];
	} most = { { 1, 2, 3, 4, 5, 6, 7, 8 },
		   { 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
		     24, 25, 26, 27, 28, 29, 30, 31, 32 } };

	ck_assert_int_eq(ev_large_emit(7, large.b, "seventy at most", 0.25), 0);
	expect(&ev_large_event, &large, sizeof(large));
	ck_assert_int_eq(ev_most_emit(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
				      13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
				      23, 24, 25, 26, 27, 28, 29, 30, 31, 32),
			 0);
	expect(&ev_most_event, &most, sizeof(most));
	ck_assert_str_eq(ev_most_event.name, "ev_title");
}

static void stop(void)
{
	tsct_events_disable(t);
	teardown();
}

CASE("events", setup, stop);

TEST(test_every_type)
{
	ck_assert_int_eq(tsct_events_enable(t, "ev_*"), NR_EVENTS);
	/* Emits several rings full of events, so that blocks begin with each type of
	 * event. */
	for (unsigned int i = 0; i < 300; i++) {
		emit_and_expect(i % 2);
		emit_large();
		expect_none();
		tsct_reader_release(reader, cpu);
	}
	ck_assert_uint_eq(lost(TSCT_LOST_FULL) + lost(TSCT_LOST_ABORTED), 0);
}

/* Emits an event of each type through the slow path, as in a channel with another
 * source than the TSC. */
TEST(test_every_type_slow_path)
{
	use_clock(TSCT_SOURCE_MONOTONIC);
	ck_assert_int_eq(tsct_events_enable(t, "ev_*"), NR_EVENTS);
	emit_and_expect(true);
	emit_and_expect(false);
	emit_large();
	expect_none();
}

TEST(test_losses)
{
	char text[2 * BLOCK];
	unsigned int i, full = 0;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	ck_assert_int_eq(tsct_events_enable(t, NULL), NR_EVENTS);
	ck_assert_int_eq(ev_text_emit(text, 0, "", ""), -EMSGSIZE);
	ck_assert_uint_eq(lost(TSCT_LOST_TOO_BIG), 1);
	for (i = 0; i < 1000; i++) {
		const int error = emit_ints(i % 2);

		ck_assert(!error || error == -ENOSPC);
		full += error != 0;
	}
	ck_assert_uint_gt(full, 0);
	ck_assert_uint_eq(lost(TSCT_LOST_FULL), full);
	for (i = 0; i < 1000 - full; i++)
		expect(&ev_ints_event, &ints, sizeof(ints));
	expect_none();
}

/* ---- enabling events ----------------------------------------------------- */

static const struct {
	const char *patterns;
	int on;			/* expected number of enabled events, or -errno */
	bool none, ints, text;
} switches[] = {
	{ "*", 7, true, true, true },
	{ "", 0, false, false, false },
	{ " , ,", 0, false, false, false },
	{ "ev_ints", 1, false, true, false },
	{ "ev_ints ev_text", 2, false, true, true },
	{ "-ev_ints", 6, true, false, true },
	{ "*,-ev_i*", 6, true, false, true },
	{ "-ev_i*,ev_ints", 7, true, true, true },
	{ "ev_*,-*t*", 3, true, false, false },
	{ "?v_tex?", 1, false, false, true },
	{ "*e*t*t", 1, false, false, true },
	{ "ev_int", 0, false, false, false },
	{ "ev_intss", 0, false, false, false },
	{ "nothing_of_the_kind*", 0, false, false, false },
	{ "ev_[a-z]*", -EINVAL, false, false, false },
	{ "-", -EINVAL, false, false, false },
	{ "a,--b", -EINVAL, false, false, false },
	{ "a-b", -EINVAL, false, false, false },
};

LOOP_TEST(test_patterns, 0, ROWS(switches))
{
	ck_assert_int_eq(tsct_events_enable(t, switches[_i].patterns),
			 switches[_i].on);
	ck_assert_int_eq(ev_none_enabled(), switches[_i].none);
	ck_assert_int_eq(ev_ints_enabled(), switches[_i].ints);
	ck_assert_int_eq(ev_text_enabled(), switches[_i].text);
	ck_assert_int_eq(ev_none_emit(), 0);
	if (switches[_i].none)
		expect(&ev_none_event, "", 0);
	expect_none();
	/* A second call of tsct_events_enable() for the same channel replaces the
	 * patterns. */
	ck_assert_int_eq(tsct_events_enable(t, "ev_none"), 1);
	ck_assert(ev_none_enabled() && !ev_ints_enabled());
}

TEST(test_environment)
{
	setenv("TSCTRACE_EVENTS", "ev_*,-ev_ints", 1);
	ck_assert_int_eq(tsct_events_enable(t, NULL), NR_EVENTS - 1);
	ck_assert(!ev_ints_enabled());
	ck_assert_int_eq(tsct_events_enable(t, "ev_ints"), 1);
	setenv("TSCTRACE_EVENTS", "", 1);
	ck_assert_int_eq(tsct_events_enable(t, NULL), NR_EVENTS);
	setenv("TSCTRACE_EVENTS", "%", 1);
	ck_assert_int_eq(tsct_events_enable(t, NULL), -EINVAL);
	ck_assert(ev_ints_enabled());
}

TEST(test_switching)
{
	/* tsct_events_set_enabled() skips events without a channel. No event has one
	 * before tsct_events_enable(), so the pattern "*" matches none. */
	ck_assert_int_eq(tsct_events_set_enabled("*", true), 0);
	ck_assert_int_eq(tsct_events_enable(t, ""), 0);
	ck_assert_int_eq(tsct_events_set_enabled("ev_none", true), 1);
	ck_assert(ev_none_enabled() && !ev_ints_enabled());
	ck_assert_int_eq(tsct_events_set_enabled("ev_*", true), NR_EVENTS);
	ck_assert_int_eq(emit_ints(true), 0);
	expect(&ev_ints_event, &ints, sizeof(ints));
	ck_assert_int_eq(tsct_events_set_enabled("*", false), NR_EVENTS);
	ck_assert(!ev_none_enabled() && !ev_ints_enabled());
	ck_assert_int_eq(tsct_events_set_enabled("", true), -EINVAL);
	ck_assert_int_eq(tsct_events_set_enabled("-ev_ints", true), -EINVAL);
	ck_assert_int_eq(tsct_events_set_enabled("a,b", true), -EINVAL);
	tsct_events_disable(t);
	tsct_events_disable(t);
	tsct_events_disable(NULL);
	ck_assert_int_eq(tsct_events_set_enabled("*", true), 0);
	expect_none();
}

TEST(test_bound_channel)
{
	struct tsct_channel_options options = {
		.name = "own", .roles = TSCT_ROLE_READ | TSCT_ROLE_WRITE,
	};
	struct tsct_channel *own = serve_open(&options), *nobody;
	struct tsct_reader *of_own;
	struct tsct_event event;

	ck_assert_int_eq(tsct_reader_open(own, &of_own), 0);
	ck_assert_int_eq(tsct_event_bind(&ev_ints_event, own), 0);
	ck_assert_int_eq(tsct_events_enable(own, "ev_ints"), 0);
	ck_assert_int_eq(tsct_events_enable(t, "*"), -EBUSY);
	tsct_events_disable(own);
	ck_assert(!ev_ints_enabled());
	ck_assert_int_eq(tsct_event_bind(&ev_ints_event, own), 0);
	ck_assert_int_eq(tsct_events_enable(t, "*"), NR_EVENTS - 1);
	ck_assert_int_eq(emit_ints(true), 0);
	ck_assert_int_eq(ev_none_emit(), 0);
	expect(&ev_none_event, "", 0);
	expect_none();
	ck_assert_int_eq(tsct_reader_next(of_own, cpu, &event), 1);
	ck_assert_mem_eq(event.payload, &ints, sizeof(ints));
	/* After a channel is closed, its events are disabled, and another channel can
	 * enable them. */
	tsct_reader_close(of_own);
	tsct_channel_close(own);
	ck_assert(!ev_ints_enabled() && ev_none_enabled());
	ck_assert_int_eq(emit_ints(true), 0);
	ck_assert_int_eq(tsct_events_enable(t, "*"), NR_EVENTS);
	ck_assert_int_eq(tsct_event_bind(&ev_ints_event, NULL), 0);
	ck_assert(!ev_ints_enabled());
	ck_assert_int_eq(tsct_events_set_enabled("ev_ints", true), 1);
	ck_assert_int_eq(emit_ints(true), 0);
	expect(&ev_ints_event, &ints, sizeof(ints));
	ck_assert_int_eq(tsct_channel_open_at("/nowhere", NULL, &nobody), -ENODEV);
	ck_assert_int_eq(tsct_event_bind(&ev_ints_event, nobody), -ENODEV);
	tsct_events_disable(t);
	ck_assert_int_eq(tsct_events_enable(nobody, NULL), -ENODEV);
	ck_assert(!ev_none_enabled());
	tsct_channel_close(nobody);
}

TEST(test_roles)
{
	struct tsct_channel_options options = { .roles = TSCT_ROLE_READ };
	struct tsct_channel *other;

	tsct_reader_close(reader);
	tsct_channel_close(t);
	other = serve_open(&options);
	ck_assert_int_eq(tsct_events_enable(other, NULL), -EACCES);
	ck_assert(!ev_none_enabled());
	tsct_channel_close(other);
	setup_policy(TSCT_POLICY_DISCARD);
}

/* The definition area of the channel is full. */
TEST(test_definition_area_full)
{
	const char *const fields[] = { "a:chars[1] b:u8 c:u8 d:u8 e:u8 f:u8 g:u8 h:u8 i:u8 j:u8"
		" k:u8 l:u8 m:u8 n:u8 o:u8 p:u8 q:u8 r:u8 s:u8 t:u8 u:u8 v:u8 w:u8 x:u8", "" };
	int i, got = 0, kind;
	char name[32];

	/* The largest definitions first, to be quick, then the smallest ones */
	for (kind = 0; kind < 2; kind++)
		for (i = 0, got = 0; got >= 0; i++) {
			snprintf(name, sizeof(name), "filler_%d", i);
			got = tsct_event_define(t, name, 0, fields[kind]);
		}
	ck_assert_int_eq(got, -ENOSPC);
	ck_assert_int_eq(tsct_emit(t, got, NULL, 0), -EINVAL);
	ck_assert_int_eq(tsct_events_enable(t, NULL), -ENOSPC);
	ck_assert_int_eq(ev_none_emit(), -ENOSPC);
	ck_assert_int_eq(ev_text_emit_unordered("one", 1, "", ""), -ENOSPC);
	ck_assert_int_eq(emit_ints(false), -ENOSPC);
	ck_assert_int_eq(tsct_event_bind(&ev_none_event, t), -ENOSPC);
	ck_assert_int_eq(ev_none_emit(), -ENOSPC);
	ck_assert_uint_eq(lost(TSCT_LOST_REFUSED), 5);
	ck_assert_uint_eq(tsct_channel_dropped(t), 5);
	tsct_events_disable(t);
	ck_assert_int_eq(ev_none_emit(), 0);
	ck_assert_uint_eq(lost(TSCT_LOST_REFUSED), 5);
	expect_none();
}

/* ---- enabling while other threads emit ------------------------------------ */

static int stop_switching;

static void *switch_on_and_off(void *)
{
	while (!__atomic_load_n(&stop_switching, __ATOMIC_RELAXED)) {
		tsct_events_set_enabled("ev_ints", false);
		tsct_events_set_enabled("ev_*", true);
		tsct_events_enable(t, "-ev_none");
	}
	return NULL;
}

TEST(test_switching_while_emitting)
{
	pthread_t thread;
	pid_t pid;

	ck_assert_int_eq(tsct_events_enable(t, NULL), NR_EVENTS);
	pthread_create(&thread, NULL, switch_on_and_off, NULL);
	for (unsigned int i = 0; i < 20000; i++) {
		struct tsct_event event;

		ck_assert_int_eq(emit_ints(true), 0);
		if (tsct_reader_next(reader, cpu, &event) == 1)
			ck_assert_mem_eq(event.payload, &ints, sizeof(ints));
		tsct_reader_release(reader, cpu);
	}
	/* In a child process the registry's lock is free, whichever thread held it at
	 * the fork. */
	for (unsigned int i = 0; i < 50; i++) {
		pid = fork();
		if (!pid)
			_exit(tsct_events_set_enabled("ev_text", true) != 1);
		expect_exit(pid, 0);
	}
	__atomic_store_n(&stop_switching, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}
