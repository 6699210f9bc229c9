// SPDX-License-Identifier: MIT
/* Matching of messages: examples by hand, and random messages compared with a slow
 * matcher that searches all sends and receives */
#include "lib/core/event_def.h"
#include "lib/query/message_match.h"
#include "seed.h"
#include "suite.h"

#define WINDOW	1000

static struct tsct_message_matcher *matcher;

static void begin_room(__u32 room)
{
	const struct tsct_messages_options options = {
		.room = room, .window = WINDOW, .seed = any64(),
	};

	ck_assert_int_eq(tsct_message_matcher_new(&options, &matcher), 0);
}

static void begin(void)
{
	seed_with(0);
	begin_room(64);
}

static void end(void)
{
	tsct_message_matcher_free(matcher);
	matcher = NULL;
}

static const struct tsct_message_stats *finish_stats(void)
{
	static struct tsct_message_stats stats;

	free(stats.pairs);
	tsct_message_finish(matcher, &stats);
	return &stats;
}

static void sent(__u64 key, __u64 global, __s64 own_ns, __u64 error, __u32 node)
{
	const struct tsct_message_end e = {
		.tick = global, .error = error, .own_ns = own_ns, .node = node,
	};

	tsct_message_sent(matcher, key, &e);
}

static void received(__u64 key, __u64 global, __s64 own_ns, __u64 error,
		     __u32 node)
{
	const struct tsct_message_end e = {
		.tick = global, .error = error, .own_ns = own_ns, .node = node,
	};

	tsct_message_received(matcher, key, &e);
}

static void expect_sums(const struct tsct_message_pair_stats *s, __u64 matched,
			__u64 before, __u64 within, __u64 beyond)
{
	ck_assert_uint_eq(s->matched, matched);
	ck_assert_uint_eq(s->before, before);
	ck_assert_uint_eq(s->within, within);
	ck_assert_uint_eq(s->beyond, beyond);
}

static void expect_unmatched(const struct tsct_message_stats *r, __u64 sends,
			     __u64 receives)
{
	ck_assert_uint_eq(r->unmatched_sends, sends);
	ck_assert_uint_eq(r->unmatched_receives, receives);
	ck_assert_uint_eq(r->sends, r->all.matched + sends);
	ck_assert_uint_eq(r->receives, r->all.matched + receives);
}

/* Ends the matching. Checks the counts of messages, and that no message was received
 * before it was sent. */
static const struct tsct_message_stats *
finish(__u64 matched, __u64 unmatched_sends, __u64 unmatched_receives)
{
	const struct tsct_message_stats *r = finish_stats();

	expect_unmatched(r, unmatched_sends, unmatched_receives);
	expect_sums(&r->all, matched, 0, 0, 0);
	return r;
}

/* ---- messages by hand ---------------------------------------------------- */

CASE("by hand", begin, end);

TEST(test_no_messages)
{
	const struct tsct_message_stats *r = finish_stats();

	expect_sums(&r->all, 0, 0, 0, 0);
	expect_unmatched(r, 0, 0);
	ck_assert_uint_eq(r->nr_pairs, 0);
	ck_assert_int_eq(r->all.least_ns, 0);
}

/*
 * Node 2's clock is 50 ahead of node 0's, so its messages seem to be received before
 * they were sent. On the merged axis, all latencies are 30 or 40.
 */
TEST(test_clock_offset)
{
	const struct tsct_message_stats *r;

	sent(1, 1000, 1000, 5, 0);
	sent(2, 1010, 1060, 5, 2);
	received(1, 1030, 1080, 5, 2);
	sent(3, 1040, 1090, 5, 2);
	received(2, 1050, 1050, 5, 0);
	received(3, 1070, 1070, 5, 0);
	r = finish_stats();
	expect_unmatched(r, 0, 0);
	expect_sums(&r->all, 3, 2, 0, 0);
	ck_assert_int_eq(r->all.least_own_ns, -20);
	ck_assert_int_eq(r->all.least_ns, 30);
	ck_assert_uint_eq(r->nr_pairs, 2);
	ck_assert_uint_eq(r->pairs[0].from, 0);
	ck_assert_uint_eq(r->pairs[0].to, 2);
	expect_sums(&r->pairs[0], 1, 0, 0, 0);
	ck_assert_int_eq(r->pairs[0].least_own_ns, 80);
	ck_assert_uint_eq(r->pairs[1].from, 2);
	ck_assert_uint_eq(r->pairs[1].to, 0);
	expect_sums(&r->pairs[1], 2, 2, 0, 0);
	ck_assert_int_eq(r->pairs[1].least_ns, 30);
}

/* Three messages were received 8, 9 and 10 ticks before they were sent. The error
 * bounds of receives are 4 ticks, of sends 5 ticks, so only the violation by 10 ticks
 * exceeds the bounds. */
TEST(test_violations)
{
	const struct tsct_message_stats *r;

	received(1, 100, 0, 4, 1);
	received(2, 100, 0, 4, 1);
	sent(1, 108, 0, 5, 0);
	received(3, 109, 0, 4, 1);
	sent(2, 109, 0, 5, 0);
	sent(3, 119, -1, 5, 0);
	sent(4, 120, 7, 0, 0);
	received(4, 120, 6, 0, 1);
	r = finish_stats();
	expect_unmatched(r, 0, 0);
	expect_sums(&r->all, 4, 1, 2, 1);
	ck_assert_int_eq(r->all.least_ns, -10);
	ck_assert_int_eq(r->all.least_own_ns, -1);
}

TEST(test_send_and_receive_on_one_tick)
{
	received(1, 100, 10, 0, 1);
	sent(1, 100, 10, 0, 0);
	finish(1, 0, 0);
}

/* Messages with equal numbers are matched in the order of sending, even if a node sends
 * to itself. */
TEST(test_equal_numbers)
{
	const struct tsct_message_stats *r;

	sent(9, 100, 0, 0, 1);
	sent(9, 110, 0, 0, 1);
	sent(9, 120, 0, 0, 1);
	received(9, 130, 0, 0, 1);
	received(9, 135, 0, 0, 1);
	received(9, 140, 0, 0, 1);
	r = finish(3, 0, 0);
	ck_assert_int_eq(r->all.least_ns, 20);
	ck_assert_uint_eq(r->nr_pairs, 1);
}

/* If the first send is missing, the other messages must not become violations. */
TEST(test_missing_first_send)
{
	const struct tsct_message_stats *r;

	received(9, 100, 0, 0, 1);
	sent(9, 110, 0, 0, 0);
	received(9, 120, 0, 0, 1);
	sent(9, 130, 0, 0, 0);
	received(9, 140, 0, 0, 1);
	r = finish(2, 0, 1);
	ck_assert_int_eq(r->all.least_ns, 10);
}

/* Of two sends of one message of MPI, the first has failed. */
TEST(test_failed_send)
{
	sent(1ULL << 63 | 1, 100, 0, 0, 0);
	sent(1ULL << 63 | 1, 150, 0, 0, 0);
	received(1ULL << 63 | 1, 160, 0, 0, 1);
	ck_assert_int_eq(finish(1, 1, 0)->all.least_ns, 10);
}

TEST(test_sent_twice)
{
	sent(1, 100, 0, 0, 0);
	sent(1, 150, 0, 0, 0);
	received(1, 160, 0, 0, 1);
	finish(1, 1, 0);
}

TEST(test_received_twice)
{
	sent(1, 100, 0, 0, 0);
	received(1, 160, 0, 0, 1);
	received(1, 161, 0, 0, 1);
	finish(1, 0, 1);
}

/* A receive waits for its send for the length of the window. A match with a late send
 * stays provisional for the same time. */
TEST(test_window)
{
	const struct tsct_message_stats *r;

	received(1, 100, 0, 0, 1);
	sent(1, 100 + WINDOW, 0, 0, 0);		/* this send is within the window of
						 * receive 1 */
	received(2, 100, 0, 0, 1);
	sent(2, 101 + WINDOW, 0, 0, 0);		/* this send is too late: it and
						 * receive 2 stay unmatched */
	received(1, 100 + 2 * WINDOW, 0, 0, 1);	/* second receive of message 1: takes
						 * the send from the first */
	received(3, 100 + 2 * WINDOW, 0, 0, 1);
	sent(3, 110 + 2 * WINDOW, 0, 0, 0);
	received(3, 111 + 3 * WINDOW, 0, 0, 1);	/* this receive is too late for the
						 * send of message 3 */
	r = finish_stats();
	expect_unmatched(r, 1, 3);
	expect_sums(&r->all, 2, 0, 0, 1);
	ck_assert_int_eq(r->all.least_ns, -10);
}

TEST(test_unnumbered_messages)
{
	const struct tsct_message_stats *r;

	tsct_message_unnumbered(matcher, true);
	tsct_message_unnumbered(matcher, false);
	tsct_message_unnumbered(matcher, false);
	r = finish_stats();
	expect_unmatched(r, 1, 2);
}

/* With room for 64 unmatched sends or receives, the first 36 of 100 sends are
 * discarded. */
TEST(test_more_sends_than_room)
{
	const struct tsct_message_stats *r;
	unsigned int i;

	for (i = 1; i <= 100; i++)
		sent(i, i, 0, 0, 0);
	for (i = 1; i <= 100; i++)
		received(i, 100 + i, 0, 0, 1);
	r = finish_stats();
	/* All room is taken by sends 37 to 100. Each receive finds no send, and is
	 * stored in place of the oldest send or receive, so no message is matched. */
	ck_assert_uint_eq(r->sends, 100);
	ck_assert_uint_eq(r->receives, 100);
	ck_assert_uint_eq(r->unmatched_sends, r->unmatched_receives);
	ck_assert_uint_eq(r->all.matched, 100 - r->unmatched_sends);
	ck_assert_uint_ge(r->given_up, 36);
	ck_assert_uint_eq(r->all.beyond + r->all.within, 0);
}

/* Messages between as many pairs of nodes as statistics have room for, and one pair
 * more */
TEST(test_many_node_pairs)
{
	const struct tsct_message_stats *r;
	unsigned int i;

	for (i = 0; i <= TSCT_MESSAGE_PAIRS_MAX; i++) {
		sent(1, 2 * i, 0, 0, i);
		received(1, 2 * i + 1, 0, 0, i / 2);
	}
	r = finish_stats();
	expect_unmatched(r, 0, 0);
	ck_assert_uint_eq(r->all.matched, TSCT_MESSAGE_PAIRS_MAX + 1);
	ck_assert_uint_eq(r->nr_pairs, TSCT_MESSAGE_PAIRS_MAX);
	ck_assert_uint_eq(r->other_pairs, 1);
	for (i = 0; i < r->nr_pairs; i++) {
		ck_assert_uint_eq(r->pairs[i].from, i);
		ck_assert_uint_eq(r->pairs[i].matched, 1);
	}
}

TEST(test_bounds_of_any_size)
{
	const struct tsct_message_stats *r;

	received(1, 100, INT64_MIN, UINT64_MAX, 1);
	sent(1, 200, INT64_MAX, UINT64_MAX, 0);
	r = finish_stats();
	expect_sums(&r->all, 1, 1, 1, 0);
	ck_assert_int_eq(r->all.least_own_ns, INT64_MIN);
}

TEST(test_rejects_bad_room)
{
	const struct tsct_messages_options options = { .room = 48 };
	struct tsct_message_matcher *m;

	ck_assert_int_eq(tsct_message_matcher_new(&options, &m), -EINVAL);
}

/* ---- comparison with a slow matcher -------------------------------------- */

#define ENDS	400

struct slow {
	struct { __u64 key, at; bool is_send, done; } end[ENDS];
	struct { unsigned int send, receive; bool is_late, done; } pair[ENDS];
	unsigned int nr, nr_pairs;
	__u64 unmatched_receives;
};

/* Returns the index in end[] of the oldest unmatched send or receive with this key, or
 * ENDS if there is none. */
static unsigned int slow_find(const struct slow *s, __u64 key, bool is_send,
			      __u64 now)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		if (s->end[i].key == key && s->end[i].is_send == is_send &&
		    !s->end[i].done && (is_send || now - s->end[i].at <= WINDOW))
			return i;
	return ENDS;
}

static unsigned int slow_late(const struct slow *s, __u64 key, __u64 now)
{
	unsigned int i;

	for (i = 0; i < s->nr_pairs; i++)
		if (s->pair[i].is_late && !s->pair[i].done &&
		    s->end[s->pair[i].send].key == key &&
		    now - s->end[s->pair[i].send].at <= WINDOW)
			return i;
	return ENDS;
}

static void slow_take(struct slow *s, __u64 key, bool is_send, __u64 at)
{
	unsigned int other = slow_find(s, key, !is_send, at), me = s->nr++;
	unsigned int late = slow_late(s, key, at);

	s->end[me].key = key;
	s->end[me].at = at;
	s->end[me].is_send = is_send;
	s->end[me].done = other < ENDS;
	if (other < ENDS) {
		s->end[other].done = true;
		s->pair[s->nr_pairs].send = is_send ? me : other;
		s->pair[s->nr_pairs].receive = is_send ? other : me;
		s->pair[s->nr_pairs].done = false;
		s->pair[s->nr_pairs++].is_late = is_send;
	} else if (!is_send && late < ENDS) {
		s->pair[late].receive = me;
		s->pair[late].done = true;
		s->end[me].done = true;
		s->unmatched_receives++;
	}
}

static void slow_expect(const struct slow *s,
			const struct tsct_message_stats *r)
{
	__u64 violations = 0, sends = 0, receives = s->unmatched_receives;
	unsigned int i;

	for (i = 0; i < s->nr_pairs; i++)
		violations += s->end[s->pair[i].receive].at <
			s->end[s->pair[i].send].at;
	for (i = 0; i < s->nr; i++) {
		sends += s->end[i].is_send && !s->end[i].done;
		receives += !s->end[i].is_send && !s->end[i].done;
	}
	ck_assert_uint_eq(r->all.matched, s->nr_pairs);
	ck_assert_uint_eq(r->all.beyond, violations);
	ck_assert_uint_eq(r->given_up, 0);
	expect_unmatched(r, sends, receives);
}

CASE("many", NULL, NULL);

RANDOM_TEST(test_compared_with_slow_matcher, 300)
{
	static struct slow slow;
	unsigned int keys, i;
	__u64 now = 0;

	memset(&slow, 0, sizeof(slow));
	begin_room(512);
	keys = 1 + any(40);
	for (i = 0; i < ENDS; i++) {
		const __u64 key = 1 + any(keys);
		const bool is_send = any(2);

		now += any(8) ? any(60) : any(3 * WINDOW);
		slow_take(&slow, key, is_send, now);
		if (is_send)
			sent(key, now, 0, 0, any(3));
		else
			received(key, now, 0, 0, any(3));
	}
	slow_expect(&slow, finish_stats());
	end();
}

/* All sends and receives are counted, even if the matcher has very little room. */
RANDOM_TEST(test_counts_add_up, 100)
{
	const struct tsct_message_stats *r;
	unsigned int i, room, keys;
	__u64 now = 0;

	room = 1U << any(6);
	keys = 1 + any(100);
	begin_room(room);
	for (i = 0; i < 3000; i++) {
		now += any(WINDOW / 4);
		if (any(2))
			sent(1 + any(keys), now, any(100), any(50), any(9));
		else
			received(1 + any(keys), now, any(100), any(50), any(9));
	}
	r = finish_stats();
	expect_unmatched(r, r->unmatched_sends, r->unmatched_receives);
	for (i = 0, now = 0; i < r->nr_pairs; i++)
		now += r->pairs[i].matched;
	ck_assert_uint_eq(now, r->all.matched);
	end();
}

/* ---- keys of messages ---------------------------------------------------- */

static __u64 key_of_name(const char *name, const char *fields, const void *payload, __u32 len,
			 __u64 pool)
{
	struct tsct_event_def def;
	struct tsct_trace_event event = {
		.def = &def, .payload = payload, .len = len,
	};

	ck_assert_int_eq(tsct_event_def_parse(name, TSCT_KIND_SEND, fields, &def, NULL),
			 0);
	return tsct_message_key(&event, pool);
}

static __u64 key_of(const char *fields, const void *payload, __u32 len, __u64 pool)
{
	return key_of_name("x", fields, payload, len, pool);
}

CASE("by hand", begin, end);

TEST(test_keys)
{
	const __u32 minus_one = ~0U, five[2] = { 5, 6 }, same_but_bytes[2] = { 5, 7 };
	const __s64 wide = -1, five_wide = 5;
	const unsigned int both = 1U << TSCT_KIND_SEND | 1U << TSCT_KIND_RECEIVE;
	const __u64 pool = tsct_message_pool("ask", both);
	const __u64 others = tsct_message_pool("ask", 1U << TSCT_KIND_SEND);

	ck_assert_uint_ne(pool, others);
	ck_assert_uint_ne(pool, tsct_message_pool("tell", both));
	ck_assert_uint_eq(others, tsct_message_pool("served",
						    1U << TSCT_KIND_RECEIVE));
	/* A message's key depends on the value of the first field, but not on this
	 * field's width or on the second field. */
	ck_assert_uint_eq(key_of("a:u32,b:u32", five, 8, pool),
			  key_of("n:s64", &five_wide, 8, pool));
	ck_assert_uint_eq(key_of("a:s32", &minus_one, 4, pool),
			  key_of("n:s64", &wide, 8, pool));
	ck_assert_uint_ne(key_of("a:u32", &minus_one, 4, pool),
			  key_of("n:s64", &wide, 8, pool));
	ck_assert_uint_ne(key_of("a:u32", five, 4, pool),
			  key_of("a:u32", five, 4, others));
	/* A message of MPI has a length, which is a part of its key. */
	ck_assert_uint_eq(key_of("n:u32,bytes:u32", five, 8, pool),
			  key_of("n:u32", five, 4, pool));
	ck_assert_uint_ne(key_of_name("mpi_message", "n:u32,bytes:u32", five, 8, pool),
			  key_of_name("mpi_message", "n:u32,bytes:u32", same_but_bytes, 8, pool));
	ck_assert_uint_eq(key_of_name("mpi_message", "n:u32,bytes:u32", five, 8, pool),
			  key_of_name("mpi_message", "n:u32,tag:u8,bytes:u16", "\5\0\0\0\7\6", 7,
				      pool));
	ck_assert_uint_eq(key_of("a:f32", five, 4, pool), 0);
	ck_assert_uint_eq(key_of("", NULL, 0, pool), 0);
	ck_assert_uint_ne(key_of("a:u64", "\0\0\0\0\0\0\0", 8, pool), 0);
}

/* ---- message statistics in metadata -------------------------------------- */

static struct tsct_recording rec, back;
static char text[1 << 18];

static void make_merged(void)
{
	__u32 i;

	ck_assert_int_eq(tsct_recording_make(&rec, 2), 0);
	for (i = 0; i < 2; i++) {
		rec.nodes[i].host = strdup("node");
		rec.nodes[i].kernel = strdup("6.1");
		rec.nodes[i].command = strdup("");
		rec.nodes[i].provider = strdup("embedded");
	}
	rec.merged = 1;
	rec.timeline.hz = 1000000000;
	rec.clock_origin = strdup("merge");
	rec.source = TSCT_SOURCE_TSC;
	rec.real.mult = rec.real.slew_mult = 1ULL << TSCT_CLOCK_SHIFT;
	rec.real.void_after_cycles = 1ULL << 50;
	ck_assert_int_eq(tsct_recording_locate(&rec, 2), 0);
	rec.locations[1].node = 1;
	rec.locations[1].cpu = 0;
	ck_assert_int_eq(tsct_recording_add_stream(&rec, "default"), 0);
	rec.nodes[0].correction.shift_ns = INT64_MAX;
	rec.nodes[1].correction.shift_ns = -1675;
	rec.messages = (struct tsct_message_stats) {
		.on = 1, .sends = 9, .receives = 8, .unmatched_sends = 4,
		.unmatched_receives = 3, .given_up = 2, .other_pairs = 1,
		.nr_pairs = 2, .pairs = calloc(2, sizeof(*rec.messages.pairs)),
		.all = { 0, 0, 5, 4, 2, 1, -7, INT64_MIN },
	};
	rec.messages.pairs[0] = (struct tsct_message_pair_stats) {
		0, 1, 3, 2, 1, 0, INT64_MAX, -1 };
	rec.messages.pairs[1] = (struct tsct_message_pair_stats) {
		1, 0, UINT64_MAX, 2, 1, 1, -7, -8 };
}

static int parse(char *why, size_t size)
{
	memset(&back, 0, sizeof(back));
	return tsct_meta_parse(text, strlen(text), &back, why, size);
}

static void render(void)
{
	FILE *to = fmemopen(text, sizeof(text), "w");

	ck_assert_int_eq(tsct_meta_write(&rec, to), 0);
	ck_assert_int_eq(fclose(to), 0);
}

static void free_merged(void)
{
	tsct_recording_free(&rec);
}

CASE("metadata", make_merged, free_merged);

TEST(test_metadata)
{
	const struct tsct_message_stats *a = &rec.messages, *b = &back.messages;
	char why[256];

	render();
	ck_assert_msg(!parse(why, sizeof(why)), "%s", why);
	ck_assert_mem_eq(a, b, offsetof(struct tsct_message_stats, pairs));
	ck_assert_uint_eq(b->nr_pairs, 2);
	ck_assert_mem_eq(a->pairs, b->pairs, 2 * sizeof(*a->pairs));
	ck_assert_int_eq(back.nodes[0].correction.shift_ns, INT64_MAX);
	ck_assert_int_eq(back.nodes[1].correction.shift_ns, -1675);
	tsct_recording_free(&back);
}

static const struct {
	const char *is, *becomes;	/* text in valid metadata, and text that
					 * replaces it */
} mangled[] = {
	{ "messages_1 = \"from=1", "messages_2 = \"from=1" },
	{ "messages_1 = \"from=1", "messages_1 = \"from=2" },
	{ "messages_0 = \"from=0 to=1", "messages_0 = \"from=0 to=9" },
	{ "pairs=2", "pairs=x" },
	{ " given_up=2", " given-up=2" },
	{ " unmatched_sends=4", " unmatched_sends=10" },
	{ " matched=5 before=4", " matched=5 before=6" },
	{ "within=2 beyond=1", "within=2 beyond=4" },
	{ " least_ns=-1\"", " least_ns=--\"" },
	{ "pairs=2 matched", "pairs=16385 matched" },
	{ "\tmessages_0 = ", "\tmessages = " },
	{ "earlier_ns=1675", "earlier_ns=-1675" },
	{ "earlier_ns=1675", "earlier_ns=9223372036854775808" },
	{ "earlier_ns=1675", "ever_ns=1675" },
	{ "earlier_ns=1675", "" },
};

LOOP_TEST(test_invalid_metadata, 0, ROWS(mangled))
{
	char why[256] = "", *at, whole[sizeof(text)];

	render();
	at = strstr(text, mangled[_i].is);
	ck_assert_ptr_nonnull(at);
	strcpy(whole, at + strlen(mangled[_i].is));
	sprintf(at, "%s%s", mangled[_i].becomes, whole);
	ck_assert_int_eq(parse(why, sizeof(why)), -EINVAL);
	ck_assert_msg(strstr(why, "messages") || strstr(why, "correction_shift"),
		      "%s", why);
	tsct_recording_free(&back);
}
