// SPDX-License-Identifier: MIT
/* Matching of messages: random messages compared with a slow matcher that searches all
 * sends and receives; limits; keys */
#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "lib/query/message_match.h"
#include "seed.h"
#include "suite.h"

#define WINDOW	1000

static struct tsct_message_matcher *matcher;

static void begin_room(__u32 room)
{
	const struct tsct_messages_options options = {
		.room = room, .window = WINDOW,
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

static const struct tsct_message_stats *finish(void)
{
	static struct tsct_message_stats stats;

	free(stats.pairs);
	tsct_message_finish(matcher, &stats);
	return &stats;
}

static void add(bool is_send, __u64 key, const struct tsct_message_end *end)
{
	if (is_send)
		tsct_message_sent(matcher, key, end);
	else
		tsct_message_received(matcher, key, end);
}

static void expect_unmatched(const struct tsct_message_stats *r, __u64 sends,
			     __u64 receives)
{
	ck_assert_uint_eq(r->unmatched_sends, sends);
	ck_assert_uint_eq(r->unmatched_receives, receives);
	ck_assert_uint_eq(r->sends, r->all.matched + sends);
	ck_assert_uint_eq(r->receives, r->all.matched + receives);
}

/* ---- limits -------------------------------------------------------------- */

CASE("limits", begin, end);

/* With room for 64 unmatched sends or receives, the first 36 of 100 sends are
 * discarded. */
TEST(test_more_sends_than_room)
{
	const struct tsct_message_stats *r;

	for (__u64 i = 1; i <= 200; i++)
		add(i <= 100, 1 + (i - 1) % 100, &(struct tsct_message_end) { .tick = i });
	r = finish();
	/* All room is taken by sends 37 to 100. Each receive finds no send, and is
	 * stored in place of the oldest send or receive, so no message is matched. */
	ck_assert_uint_eq(r->sends, 100);
	ck_assert_uint_eq(r->receives, 100);
	ck_assert_uint_eq(r->unmatched_sends, r->unmatched_receives);
	ck_assert_uint_eq(r->all.matched, 100 - r->unmatched_sends);
	ck_assert_uint_ge(r->given_up, 36);
	ck_assert_uint_eq(r->all.beyond + r->all.within, 0);
}

/* Of two sends of one message of MPI, the first has failed. */
TEST(test_failed_send)
{
	const __u64 key = 1ULL << 63 | 1;
	const struct tsct_message_stats *r;

	add(true, key, &(struct tsct_message_end) { .tick = 100 });
	add(true, key, &(struct tsct_message_end) { .tick = 150 });
	add(false, key, &(struct tsct_message_end) { .tick = 160, .node = 1 });
	r = finish();
	expect_unmatched(r, 1, 0);
	ck_assert_uint_eq(r->all.matched, 1);
	ck_assert_int_eq(r->all.least_ns, 10);
}

/* Messages between as many pairs of nodes as statistics have room for, and one pair
 * more */
TEST(test_many_node_pairs)
{
	const struct tsct_message_stats *r;
	struct tsct_message_end e = { 0 };

	for (__u32 i = 0; i <= TSCT_MESSAGE_PAIRS_MAX; i++, e.tick++) {
		e.node = i;
		add(true, 1, &e);
		e.node = i / 2;
		add(false, 1, &e);
	}
	r = finish();
	expect_unmatched(r, 0, 0);
	ck_assert_uint_eq(r->all.matched, TSCT_MESSAGE_PAIRS_MAX + 1);
	ck_assert_uint_eq(r->nr_pairs, TSCT_MESSAGE_PAIRS_MAX);
	ck_assert_uint_eq(r->other_pairs, 1);
	for (__u32 i = 0; i < r->nr_pairs; i++) {
		ck_assert_uint_eq(r->pairs[i].from, i);
		ck_assert_uint_eq(r->pairs[i].matched, 1);
	}
}

TEST(test_rejects_bad_room)
{
	const struct tsct_messages_options options = { .room = 48 };
	struct tsct_message_matcher *m;

	ck_assert_int_eq(tsct_message_matcher_new(&options, &m), -EINVAL);
}

/* ---- comparison with a slow matcher -------------------------------------- */

#define ENDS	400
#define NODES	3

struct slow {
	struct { struct tsct_message_end e; __u64 key; bool is_send, done; } end[ENDS];
	struct { unsigned int send, receive; bool is_late, done; } pair[ENDS];
	unsigned int nr, nr_pairs;
	__u64 unmatched_sends, unmatched_receives;
	struct tsct_message_pair_stats all, by_nodes[NODES][NODES];
};

/* Returns the index in end[] of the oldest unmatched send or receive with this key, or
 * ENDS if there is none. */
static unsigned int slow_find(const struct slow *s, __u64 key, bool is_send,
			      __u64 now)
{
	for (unsigned int i = 0; i < s->nr; i++)
		if (s->end[i].key == key && s->end[i].is_send == is_send &&
		    !s->end[i].done && (is_send || now - s->end[i].e.tick <= WINDOW))
			return i;
	return ENDS;
}

static unsigned int slow_late(const struct slow *s, __u64 key, __u64 now)
{
	for (unsigned int i = 0; i < s->nr_pairs; i++)
		if (s->pair[i].is_late && !s->pair[i].done &&
		    s->end[s->pair[i].send].key == key &&
		    now - s->end[s->pair[i].send].e.tick <= WINDOW)
			return i;
	return ENDS;
}

static void slow_take(struct slow *s, __u64 key, bool is_send,
		      const struct tsct_message_end *e)
{
	unsigned int other = slow_find(s, key, !is_send, e->tick), me = s->nr++;
	unsigned int late = slow_late(s, key, e->tick);

	s->end[me].key = key;
	s->end[me].e = *e;
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

static void slow_count(struct tsct_message_pair_stats *sum, const struct tsct_message_end *send,
		       const struct tsct_message_end *receive)
{
	const __s64 ns = (__s64)(receive->tick - send->tick);
	const tsct_u128 bound = (tsct_u128)send->error + receive->error;
	tsct_s128 own = (tsct_s128)receive->own_ns - send->own_ns;

	own = own > INT64_MAX ? INT64_MAX : own < INT64_MIN ? INT64_MIN : own;
	if (!sum->matched || own < sum->least_own_ns)
		sum->least_own_ns = (__s64)own;
	if (!sum->matched || ns < sum->least_ns)
		sum->least_ns = ns;
	sum->matched++;
	sum->before += own < 0;
	sum->within += ns < 0 && (tsct_u128)-ns <= bound;
	sum->beyond += ns < 0 && (tsct_u128)-ns > bound;
}

static void slow_expect(struct slow *s, const struct tsct_message_stats *r)
{
	__u32 i, from, to, nr = 0;

	for (i = 0; i < s->nr_pairs; i++) {
		const struct tsct_message_end *send = &s->end[s->pair[i].send].e;
		const struct tsct_message_end *receive = &s->end[s->pair[i].receive].e;

		slow_count(&s->all, send, receive);
		slow_count(&s->by_nodes[send->node][receive->node], send, receive);
	}
	for (i = 0; i < s->nr; i++) {
		s->unmatched_sends += s->end[i].is_send && !s->end[i].done;
		s->unmatched_receives += !s->end[i].is_send && !s->end[i].done;
	}
	expect_unmatched(r, s->unmatched_sends, s->unmatched_receives);
	ck_assert_uint_eq(r->given_up, 0);
	ck_assert_mem_eq(&r->all, &s->all, sizeof(s->all));
	for (from = 0; from < NODES; from++)
		for (to = 0; to < NODES; to++) {
			if (!s->by_nodes[from][to].matched)
				continue;
			s->by_nodes[from][to].from = from;
			s->by_nodes[from][to].to = to;
			ck_assert_uint_lt(nr, r->nr_pairs);
			ck_assert_mem_eq(&r->pairs[nr++], &s->by_nodes[from][to], sizeof(s->all));
		}
	ck_assert_uint_eq(nr, r->nr_pairs);
}

/* An end of any message; now and then with times and bounds of any size */
static struct tsct_message_end any_end(__u64 tick)
{
	const bool extreme = !any(60);

	return (struct tsct_message_end) {
		.tick = tick, .node = any(NODES),
		.error = extreme ? UINT64_MAX : any(40),
		.own_ns = extreme ? any(2) ? INT64_MIN : INT64_MAX :
			(__s64)tick + (int)any(100) - 50,
	};
}

CASE("many", NULL, NULL);

RANDOM_TEST(test_compared_with_slow_matcher, 300)
{
	static struct slow slow;
	const unsigned int keys = 1 + any(40), nr = any(ENDS + 1);
	__u64 now = 0;

	memset(&slow, 0, sizeof(slow));
	begin_room(512);
	for (unsigned int i = 0; i < nr; i++) {
		const __u64 key = 1 + any(keys);
		const bool is_send = any(2);
		struct tsct_message_end e;

		switch (any(16)) {
		case 0:
			now += any(3 * WINDOW);
			break;
		case 1:		/* to the window's last tick, or beyond it */
			now += WINDOW - 1 + any(3);
			break;
		default:
			now += any(60);
		}
		e = any_end(now);
		slow_take(&slow, key, is_send, &e);
		add(is_send, key, &e);
		if (any(8))
			continue;
		tsct_message_unnumbered(matcher, is_send);
		slow.unmatched_sends += is_send;
		slow.unmatched_receives += !is_send;
	}
	slow_expect(&slow, finish());
	end();
}

/* All sends and receives are counted, even if the matcher has very little room. */
RANDOM_TEST(test_counts_add_up, 100)
{
	const unsigned int room = 1U << any(6), keys = 1 + any(100);
	const struct tsct_message_stats *r;
	__u64 now = 0;

	begin_room(room);
	for (unsigned int i = 0; i < 3000; i++) {
		struct tsct_message_end e = any_end(now += any(WINDOW / 4));

		add(any(2), 1 + any(keys), &e);
	}
	r = finish();
	expect_unmatched(r, r->unmatched_sends, r->unmatched_receives);
	now = 0;
	for (unsigned int i = 0; i < r->nr_pairs; i++)
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

CASE("keys", begin, end);

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
	ck_assert_int_eq(tsct_recording_make(&rec, 2), 0);
	for (__u32 i = 0; i < 2; i++) {
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
