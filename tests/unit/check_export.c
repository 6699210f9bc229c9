// SPDX-License-Identifier: MIT
/* test-wing: formats */
/* Functions of exports that do no I/O: times, sets, threads, slices, messages, text */

#include "lib/export/export.c"
#include "lib/query/message_match.h"
#include "lib/export/spans.h"
#include "lib/export/threads.h"
#include "lib/query/filter.h"
#include "seed.h"
#include "suite.h"

static void before(void)
{
	/* Sets a time zone by a rule, which needs no zoneinfo files. */
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
}

/* ---- times ------------------------------------------------------------- */

#define S	1000000000LL

/* Begin of the recording: 2026-11-21 12:27:50.5 UTC, 13:27:50.5 in the test's time
 * zone */
#define BEGIN	(1795264070LL * S + S / 2)

static const struct {
	const char *text;
	__s64 ns;
	int err;
} times[] = {
	{ "0", 0, -EDOM },
	{ "2026", 0, -EDOM },
	{ "20260131", 0, -EDOM },
	{ "20260131123000", 0, -EDOM },
	{ "1795264070", 0, -EDOM },	/* times given in seconds since 1970 */
	{ "1795264070500000", 0, -EDOM },
	{ "999999999999999999", 0, -EDOM },
	{ "1000000000000000000", 1000000000000000000LL, 0 },
	{ "0ns", 0, 0 },
	{ "2026ns", 2026, 0 },
	{ "1763678962123456789ns", 1763678962123456789LL, 0 },
	{ "9223372036854775808ns", 0, -ERANGE },
	{ "2026s", 0, -EINVAL },
	{ "2026 ns", 0, -EINVAL },
	{ "1763678962123456789", 1763678962123456789LL, 0 },
	{ "9223372036854775807", INT64_MAX, 0 },
	{ "9223372036854775808", 0, -ERANGE },
	{ "+0", BEGIN, 0 },
	{ "+1", BEGIN + S, 0 },
	{ "+1.5", BEGIN + S + S / 2, 0 },
	{ "+1.5s", BEGIN + S + S / 2, 0 },
	{ "+0.000000001", BEGIN + 1, 0 },
	{ "+0.0000000001", 0, -EINVAL },
	{ "+0.0000000010", BEGIN + 1, 0 },
	{ "+20ms", BEGIN + 20000000, 0 },
	{ "+1.25us", BEGIN + 1250, 0 },
	{ "+7ns", BEGIN + 7, 0 },
	{ "+7.5ns", 0, -EINVAL },
	{ "+7.0ns", BEGIN + 7, 0 },
	{ "+7.00ns", BEGIN + 7, 0 },
	{ "+7.05ns", 0, -EINVAL },
	{ "+9223372036854775807", 0, -ERANGE },
	{ "+9223372036854775807ns", 0, -ERANGE },
	{ "+", 0, -EINVAL },
	{ "+.5", 0, -EINVAL },
	{ "+1.", 0, -EINVAL },
	{ "+1h", 0, -EINVAL },
	{ "+-1", 0, -EINVAL },
	{ "+1.5.5", 0, -EINVAL },
	{ "-1", 0, -EINVAL },
	{ "", 0, -EINVAL },
	{ "12x", 0, -EINVAL },
	{ "2026-11-21T12:27:50Z", BEGIN - S / 2, 0 },
	{ "2026-11-21T12:27:50.500000001Z", BEGIN + 1, 0 },
	{ "2026-11-21 13:27:50.5", BEGIN, 0 },
	{ "2026-11-21T13:27", 1795264020LL * S, 0 },
	{ "2026-11-21", 1795215600LL * S, 0 },
	{ "2026-11-21Z", 1795219200LL * S, 0 },
	/* a local time in summer, when the time zone has another offset */
	{ "2026-07-01T00:00:00", 1782856800LL * S, 0 },
	{ "1969-12-31T23:59:59.25Z", -750000000LL, 0 },
	{ "2026-02-30", 0, -EINVAL },
	{ "2026-04-31T00:00:00Z", 0, -EINVAL },
	{ "2024-02-29T00:00:00Z", 1709164800LL * S, 0 },
	{ "2026-13-01", 0, -EINVAL },
	{ "2026-00-01", 0, -EINVAL },
	{ "2026-1-1", 0, -EINVAL },
	{ "2026-11-21T24:00:00Z", 0, -EINVAL },
	{ "2026-11-21T12:60:00Z", 0, -EINVAL },
	{ "2026-11-21T12:27:50ZZ", 0, -EINVAL },
	{ "2026-11-21X12:27:50", 0, -EINVAL },
	{ "9999-01-01T00:00:00Z", 0, -ERANGE },
	{ "13:27:50", BEGIN - S / 2, 0 },	/* a time of day in the same second
						 * as BEGIN */
	{ "13:27:50.75", BEGIN + S / 4, 0 },
	/* a time of day that is before BEGIN, so it is on the next day */
	{ "13:27:49", BEGIN - S / 2 + 86399 * S, 0 },
	{ "14:00", 1795266000LL * S, 0 },
	{ "13:27:50Z", BEGIN - S / 2 + 3600 * S, 0 },
	{ "13:27:50+01:00", BEGIN - S / 2, 0 },
	{ "13:27:50+0100", BEGIN - S / 2, 0 },
	{ "06:57:50.5-0530", BEGIN, 0 },
	{ "2026-11-21T14:27:50.5+02", BEGIN, 0 },
	{ "2026-11-21+01:00", 1795215600LL * S, 0 },
	{ "2026-11-21T14:27:50.5+2", 0, -EINVAL },
	{ "2026-11-21T14:27:50.5+24:00", 0, -EINVAL },
	{ "2026-11-21T14:27:50.5+02:0", 0, -EINVAL },
	{ "2026-11-21T14:27:50.5+02:00Z", 0, -EINVAL },
	{ "2026-11-21T14:27:50.5+", 0, -EINVAL },
	/* The hour that occurs twice, and the one that does not occur */
	{ "2026-10-25T02:30", 0, -ENOTUNIQ },
	{ "2026-10-25T02:00", 0, -ENOTUNIQ },
	{ "2026-10-25T03:00", 1792893600LL * S, 0 },
	{ "2026-10-25T01:59:59", 1792886399LL * S, 0 },
	{ "2026-10-25T02:30+02:00", 1792888200LL * S, 0 },
	{ "2026-10-25T02:30+01:00", 1792891800LL * S, 0 },
	{ "2026-10-25T00:30Z", 1792888200LL * S, 0 },
	{ "2026-03-29T02:30", 0, -ENXIO },
	{ "2026-03-29T01:59:59", 1774745999LL * S, 0 },
	{ "2026-03-29T03:00", 1774746000LL * S, 0 },
	{ "1:27:50", 0, -EINVAL },
};

CASE("filter", before, NULL);

LOOP_TEST(test_parses_times, 0, ROWS(times))
{
	__s64 ns = 0;
	int err = tsct_filter_time(times[_i].text, BEGIN, &ns);

	ck_assert_msg(err == times[_i].err, "%s: %d", times[_i].text, err);
	if (!err)
		ck_assert_msg(ns == times[_i].ns, "%s: %lld", times[_i].text,
			      (long long)ns);
}

/* Times of day in a recording that begins in the hour that occurs twice, the first time */
TEST(test_repeated_hour)
{
	const __s64 begin = (1792886400LL + 40 * 60) * S;	/* 02:40 in summer time */
	__s64 ns;

	ck_assert_int_eq(tsct_filter_time("02:50", begin, &ns), -ENOTUNIQ);
	ck_assert_int_eq(ns, begin + 600 * S);
	ck_assert_int_eq(tsct_filter_time("02:30", begin, &ns), 0);
	ck_assert_int_eq(ns, begin + 50 * 60 * S);
	ck_assert_int_eq(tsct_filter_time("02:50+01:00", begin, &ns), 0);
	ck_assert_int_eq(ns, begin + 70 * 60 * S);
	ck_assert(tsct_local_occurs_twice(begin / S));
	ck_assert(tsct_local_occurs_twice(begin / S + 3600));
	ck_assert(!tsct_local_occurs_twice(begin / S + 7200));
	ck_assert(!tsct_local_occurs_twice(begin / S - 3600));
}

/* ---- filters: sets of CPUs and ids --------------------------------------- */

TEST(test_sets)
{
	struct tsct_filter f = { 0 };

	ck_assert(tsct_filter_in(&f.cpus, 17));
	ck_assert_int_eq(tsct_filter_ranges("3", 100, &f.cpus), 0);
	ck_assert_int_eq(tsct_filter_ranges("5-7,100", 100, &f.cpus), 0);
	ck_assert(tsct_filter_in(&f.cpus, 3));
	ck_assert(!tsct_filter_in(&f.cpus, 4));
	ck_assert(tsct_filter_in(&f.cpus, 5) && tsct_filter_in(&f.cpus, 7));
	ck_assert(!tsct_filter_in(&f.cpus, 8));
	ck_assert(tsct_filter_in(&f.cpus, 100));
	ck_assert_int_eq(tsct_filter_ranges("0-4294967295", UINT32_MAX,
					    &f.threads), 0);
	ck_assert(tsct_filter_in(&f.threads, UINT32_MAX));
	tsct_filter_free(&f);
}

static const char *const bad_sets[] = {
	"", "-", "x", "1-", "-1", "3-2", "1,", ",1", "1,,2", "1 2", "101",
	"1-101", "99999999999999999999", "1-2-3",
};

LOOP_TEST(test_rejects_bad_sets, 0, ROWS(bad_sets))
{
	struct tsct_filter f = { 0 };

	ck_assert_int_eq(tsct_filter_ranges(bad_sets[_i], 100, &f.cpus),
			 -EINVAL);
	tsct_filter_free(&f);
}

TEST(test_patterns)
{
	ck_assert(tsct_filter_event("job", "job", "begin"));
	ck_assert(!tsct_filter_event("job", "jobs", "begin"));
	ck_assert(tsct_filter_event("job*", "jobs", "begin"));
	ck_assert(tsct_filter_event("*", "jobs", "begin"));
	ck_assert(tsct_filter_event("job/begin", "job", "begin"));
	ck_assert(!tsct_filter_event("job/begin", "job", "end"));
	ck_assert(tsct_filter_event("*/counter", "depth", "counter"));
	ck_assert(tsct_filter_event("j?b/[be]*", "job", "end"));
}

/* ---- times of events --------------------------------------------------- */

CASE("times of events", NULL, NULL);

#define PER_GHZ	(1ULL << TSCT_CLOCK_SHIFT)	/* multiplier of a counter of 1 GHz */

/* Params with a slew, and whether one multiplication gives the times after it */
static const struct {
	struct tsct_clock_params real;
	bool fast;
} clocks[] = {
	{ { .base_cycles = 7, .base_ns = BEGIN, .mult = PER_GHZ / 3, .slew_mult = PER_GHZ / 3 }, true },
	{ { .base_cycles = S, .base_ns = BEGIN, .mult = PER_GHZ / 3, .slew_mult = PER_GHZ / 3 + 12345,
	    .slew_cycles = S }, true },
	{ { .base_cycles = -5ULL, .base_ns = 0, .mult = PER_GHZ, .slew_mult = PER_GHZ - 9,
	    .slew_cycles = 10 }, true },
	/* The sum of base and ticks is near the limit of 64 bits, or above it. */
	{ { .base_cycles = S, .base_ns = (1LL << 62) - 1, .mult = ~0ULL, .slew_mult = ~0ULL }, true },
	{ { .base_cycles = S, .base_ns = 1LL << 62, .mult = ~0ULL, .slew_mult = ~0ULL }, false },
	{ { .base_cycles = S, .base_ns = INT64_MAX - 3, .mult = ~0ULL, .slew_mult = PER_GHZ,
	    .slew_cycles = 2 }, false },
	{ { .base_cycles = S, .base_ns = 1, .mult = ~0ULL, .slew_mult = 1, .slew_cycles = (1ULL << 60) - 1 },
	  true },
	{ { .base_cycles = S, .base_ns = 1, .mult = ~0ULL, .slew_mult = 1, .slew_cycles = 1ULL << 60 },
	  false },
	/* Before 1970, also only at the begin of the slew */
	{ { .base_cycles = S, .base_ns = -1, .mult = PER_GHZ / 3, .slew_mult = PER_GHZ / 3 }, false },
	{ { .base_cycles = S, .base_ns = -S, .mult = PER_GHZ / 3, .slew_mult = PER_GHZ,
	    .slew_cycles = 2 * S }, true },
	{ { .base_cycles = S, .base_ns = INT64_MIN, .mult = ~0ULL, .slew_mult = 1, .slew_cycles = 9 }, false },
};

LOOP_TEST(test_times_of_events, 0, sizeof(clocks) / sizeof(*clocks))
{
	const struct tsct_clock_params *real = &clocks[_i].real;
	const struct tsct_recording rec = { .real = *real };
	struct tsct_export x = { .rec = &rec };
	const __u64 slew_end = real->base_cycles + real->slew_cycles;
	const __u64 near[] = { 0, real->base_cycles, real->base_cycles + real->slew_cycles / 2, slew_end,
		slew_end + (1ULL << 54), slew_end + (1ULL << 62), real->base_cycles + (1ULL << 63), any64() };
	unsigned int i, d;

	set_straight(&x);
	ck_assert_int_eq(x.straight_ticks > 0, clocks[_i].fast);
	for (i = 0; i < sizeof(near) / sizeof(*near); i++)
		for (d = 0; d < 9; d++)
			ck_assert_int_eq(tsct_export_time(&x, near[i] + d - 4),
					 tsct_clock_params_ns(real, near[i] + d - 4));
}

/* ---- threads ----------------------------------------------------------- */

CASE("threads", before, NULL);

TEST(test_many_threads)
{
	struct tsct_threads t = { 0 };
	struct tsct_thread *one, *idle;

	for (__u32 i = 0; i < 20000; i++) {
		one = tsct_threads_get(&t, i % 3, i * 7919, i % 5);
		ck_assert_ptr_nonnull(one);
		ck_assert_uint_eq(one->index, i);
	}
	for (__u32 i = 1; i < 20000; i++)	/* node and tid identify a thread, whatever its
					 * CPU */
		ck_assert_uint_eq(tsct_threads_get(&t, i % 3, i * 7919,
						   9)->index, i);
	idle = tsct_threads_get(&t, 0, 0, 1);
	ck_assert_uint_eq(idle->index, 20000);
	ck_assert_ptr_ne(idle, tsct_threads_get(&t, 0, 0, 2));
	ck_assert_ptr_eq(idle, tsct_threads_get(&t, 0, 0, 1));
	ck_assert_ptr_ne(idle, tsct_threads_get(&t, 1, 0, 1));
	tsct_threads_free(&t);
}

static void expect_title(const struct tsct_thread *t, const char *want)
{
	char title[TSCT_THREAD_TITLE_MAX];

	tsct_thread_title(t, title);
	ck_assert_str_eq(title, want);
}

TEST(test_thread_titles)
{
	struct tsct_thread t = { .tid = UINT32_MAX }, idle = { .cpu = 3 };

	expect_title(&t, "thread 4294967295");
	expect_title(&idle, "swapper/3");
	tsct_thread_rename(&t, "sh\0rest", 2);
	expect_title(&t, "sh");
	ck_assert(t.renamed);
	t.renamed = false;
	tsct_thread_rename(&t, "sh", 2);
	tsct_thread_rename(&t, "", 0);
	ck_assert(!t.renamed);
	tsct_thread_rename(&t, "s", 1);
	ck_assert(t.renamed);
	tsct_thread_rename(&t, "0123456789abcdefgh", 18);
	expect_title(&t, "0123456789abcde");
}

/* Spans that closed in a test, as text: "NAME:WHY" each */
static char closed[128];

static int note_closed(void *arg, __u32 row, struct tsct_span *span, enum tsct_span_why why,
		       const struct tsct_trace_event *e)
{
	const size_t len = strlen(closed);

	ck_assert_ptr_eq(arg, closed);
	ck_assert_int_eq(!e, why == TSCT_SPAN_OPEN);
	snprintf(closed + len, sizeof(closed) - len, "%u/%lld:%d ", row, span->name, why);
	return span->name == 13 ? -EIO : 0;
}

TEST(test_open_slices)
{
	struct tsct_spans s = { .size = sizeof(struct tsct_span), .several = true };
	const struct tsct_trace_event e = { .tick = 5 };
	struct tsct_span *span;
	__u64 ambiguous = 0;

	ck_assert_int_eq(tsct_spans_find(&s, 9, 1, 0, &ambiguous), -1);
	for (__u32 i = 0; i < 4; i++)		/* opens slices of names 0, 1, 2, 1 */
		ck_assert_int_eq(tsct_spans_begin(&s, 9, i < 3 ? i : 1, &e), 0);
	ck_assert_int_eq(tsct_spans_find(&s, 9, 1, 0, &ambiguous), 3);
	ck_assert_int_eq(tsct_spans_find(&s, 9, 0, 0, &ambiguous), 0);
	ck_assert_int_eq(tsct_spans_find(&s, 9, 3, 0, &ambiguous), -1);
	ck_assert_int_eq(tsct_spans_find(&s, 8, 1, 0, &ambiguous), -1);
	ck_assert_int_eq(tsct_spans_close(&s, 9, 0, TSCT_SPAN_ENDED, &e), 0);	/* 1, 2 and 1 stay open */
	ck_assert_uint_eq(tsct_spans_open(&s, 9), 3);
	tsct_spans_close(&s, 9, 2, TSCT_SPAN_ENDED, &e);
	ck_assert_int_eq(tsct_spans_find(&s, 9, 1, 0, &ambiguous), 0);
	ck_assert_int_eq(tsct_spans_find(&s, 9, 2, 0, &ambiguous), 1);
	span = tsct_span_last(&s, 9);
	ck_assert_uint_eq(span->begin, 5);
	/* Three slices of name 7: their keys pair them in any order. */
	for (__u32 i = 0; i < 3; i++) {
		ck_assert_int_eq(tsct_spans_begin(&s, 9, 7, &e), 0);
		span = tsct_span_last(&s, 9);
		span->key = 10 + i;
		ck_assert_int_eq(tsct_spans_find(&s, 9, 7, 10, &ambiguous), 2);
		ck_assert_uint_eq(ambiguous, 0);
	}
	ck_assert_int_eq(tsct_spans_find(&s, 9, 7, 11, &ambiguous), 3);
	ck_assert_uint_eq(ambiguous, 0);
	ck_assert_int_eq(tsct_spans_find(&s, 9, 7, 9, &ambiguous), 4);
	ck_assert_uint_eq(ambiguous, 1);
	tsct_spans_close(&s, 9, 4, TSCT_SPAN_ENDED, &e);
	ck_assert_int_eq(tsct_spans_find(&s, 9, 7, 10, &ambiguous), 2);
	tsct_spans_close(&s, 9, 2, TSCT_SPAN_ENDED, &e);
	ck_assert_uint_eq(ambiguous, 1);
	ck_assert_int_eq(tsct_spans_find(&s, 9, 7, 9, &ambiguous), 2);
	ck_assert_uint_eq(ambiguous, 2);
	/* The key is not that of the only slice of name 2, either. */
	ck_assert_int_eq(tsct_spans_find(&s, 9, 2, 9, &ambiguous), 1);
	ck_assert_uint_eq(ambiguous, 3);
	for (__u32 i = tsct_spans_open(&s, 9); i < TSCT_SPANS_OPEN_MAX; i++)
		ck_assert_int_eq(tsct_spans_begin(&s, 9, 7, &e), 0);
	ck_assert_int_eq(tsct_spans_begin(&s, 9, 7, &e), -ENOSPC);
	ck_assert_uint_eq(tsct_spans_open(&s, 9), TSCT_SPANS_OPEN_MAX);
	tsct_spans_free(&s);
}

TEST(test_one_open_span)
{
	struct tsct_spans s = {
		.size = sizeof(struct tsct_span), .closed = note_closed, .arg = closed,
	};
	const struct tsct_trace_event e = { .tick = 5 };

	ck_assert_int_eq(tsct_spans_end(&s, 0, 1, &e), 0);
	ck_assert_ptr_null(tsct_span_last(&s, 0));
	ck_assert_int_eq(tsct_spans_begin(&s, 0, 1, &e), 0);
	ck_assert_int_eq(tsct_spans_end(&s, 0, 1, &e), 1);
	ck_assert_str_eq(closed, "0/1:0 ");
	tsct_spans_begin(&s, 0, 2, &e);
	tsct_spans_begin(&s, 0, 2, &e);
	ck_assert_int_eq(tsct_spans_end(&s, 0, 3, &e), 0);
	ck_assert_str_eq(closed, "0/1:0 0/2:1 0/2:1 ");
	tsct_spans_begin(&s, 4, 13, &e);
	ck_assert_int_eq(tsct_spans_end(&s, 4, 13, &e), -EIO);
	tsct_spans_begin(&s, 2, 6, &e);
	ck_assert_int_eq(tsct_spans_finish(&s), 0);
	ck_assert_str_eq(closed, "0/1:0 0/2:1 0/2:1 4/13:0 2/6:2 ");
	tsct_spans_free(&s);
}

/* ---- messages ---------------------------------------------------------- */

#define ROOM	16

static struct tsct_message_matcher *make_matcher(void)
{
	const struct tsct_messages_options options = {
		.room = ROOM, .sends_only = true,
	};
	struct tsct_message_matcher *m;

	ck_assert_int_eq(tsct_message_matcher_new(&options, &m), 0);
	return m;
}

static const struct tsct_message_end *receive(struct tsct_message_matcher *m, __u64 key)
{
	return tsct_message_received(m, key, &(struct tsct_message_end) { 0 });
}

static void expect_send(struct tsct_message_matcher *m, __u64 key, __u64 number)
{
	const struct tsct_message_end *s = receive(m, key);

	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(s->number, number);
	ck_assert_uint_eq(s->row, number * 3);
	ck_assert_uint_eq(s->bytes, number * 5);
}

static void send(struct tsct_message_matcher *m, __u64 key, __u64 number)
{
	tsct_message_sent(m, key, &(struct tsct_message_end) {
			  .number = number, .row = (__u32)number * 3,
			  .bytes = number * 5 });
}

CASE("messages", before, NULL);

/* The matcher is compared with a plain list; more messages are open than the matcher
 * has room for. */
LOOP_TEST(test_compared_with_a_list, 0, 8)
{
	struct { __u64 key; bool waits; } list[4000] = { 0 };
	struct tsct_message_matcher *m = make_matcher();
	__u64 key, nr = 0, i, nr_open = 0, unmatched = 0;
	struct tsct_message_stats stats;

	for (int round = 0; round < 4000; round++) {
		key = any(24);
		if (any(2)) {
			for (i = 0; nr_open == ROOM; i++)
				if (list[i].waits) {
					list[i].waits = false;
					nr_open--;
				}
			list[nr].key = key;
			list[nr].waits = true;
			nr_open++;
			send(m, key, nr++);
			continue;
		}
		for (i = 0; i < nr; i++)
			if (list[i].waits && list[i].key == key)
				break;
		if (i == nr) {
			ck_assert_ptr_null(receive(m, key));
			unmatched++;
		} else {
			expect_send(m, key, i);
			list[i].waits = false;
			nr_open--;
		}
	}
	tsct_message_finish(m, &stats);
	ck_assert_uint_eq(stats.unmatched_receives, unmatched);
	ck_assert_uint_eq(stats.receives, 4000 - nr);
	ck_assert_uint_eq(stats.unmatched_sends, nr - stats.receives + unmatched);
	ck_assert_uint_eq(stats.nr_pairs, 0);
	tsct_message_matcher_free(m);
}
