/* SPDX-License-Identifier: MIT */
/* Unique stamps: conversions compared with exact results; uniqueness and order */
#include <tsctrace/stamp.h>

#include "golden/stamp.h"
#include "seed.h"
#include "suite.h"

/* Stamps are compared as plain integers. */
#define STAMP(bits)	((struct tsct_stamp) { bits })

static int stamp_at_ns(uint64_t ns, const struct tsct_stamp_rate *rate,
		       uint64_t *ret_segment, uint64_t *ret_bits)
{
	struct tsct_stamp stamp = { *ret_bits };
	int err = tsct_stamp_at_ns(ns, rate, ret_segment, &stamp);

	*ret_bits = stamp.bits;
	return err;
}

static int stamper_next(struct tsct_stamper *stamper, uint64_t source_tick,
			uint64_t *ret_bits)
{
	struct tsct_stamp stamp = { *ret_bits };
	int ret = tsct_stamper_next(stamper, source_tick, &stamp);

	*ret_bits = stamp.bits;
	return ret;
}

#define SEGMENT		(UINT64_C(1) << TSCT_STAMP_TICK_BITS)

CASE("stamp", NULL, NULL);

TEST(test_parts)
{
	ck_assert_uint_eq(tsct_stamp_make(1, 0).bits, 8192);
	ck_assert_uint_eq(tsct_stamp_make(SEGMENT - 1, 8191).bits, UINT64_MAX);
	ck_assert_uint_eq(tsct_stamp_tick(STAMP(UINT64_MAX)), TSCT_STAMP_TICK_MAX);
	ck_assert_uint_eq(tsct_stamp_event(STAMP(UINT64_MAX)), TSCT_STAMP_EVENT_MAX);
	/* A stamp has 51 bits for the tick, 13 for the event number: bits above are
	 * cut off. */
	ck_assert_uint_eq(tsct_stamp_make(SEGMENT + 5, 8192 + 3).bits,
			  tsct_stamp_make(5, 3).bits);
}

static void run(const struct golden_run *golden)
{
	struct tsct_stamper stamper;
	uint64_t stamp = 0, nr;
	int ret;

	tsct_stamper_init(&stamper, golden->origin);
	for (unsigned int i = 0; i < golden->nr; i++) {
		const struct golden_step *step = &golden->step[i];

		for (nr = 0; nr < step->count; nr++) {
			ret = stamper_next(&stamper, step->tick, &stamp);
			if (!nr)
				ck_assert_int_eq(ret, step->first_ret);
		}
		ck_assert_msg(stamp == step->last &&
			      tsct_stamper_segment(&stamper) == step->segment,
			      "%s, step %u: %#llx, not %#llx", golden->name, i,
			      (unsigned long long)stamp,
			      (unsigned long long)step->last);
	}
	ck_assert_uint_eq(stamper.moved, golden->moved);
	ck_assert_uint_eq(stamper.max_events, golden->max_events);
}

TEST(test_golden_runs)
{
	for (unsigned int i = 0; i < ROWS(golden_runs); i++)
		run(&golden_runs[i]);
}

static void expect_refused(struct tsct_stamper *stamper, uint64_t tick)
{
	struct tsct_stamper before = *stamper;
	uint64_t stamp = 77;

	ck_assert_int_eq(stamper_next(stamper, tick, &stamp), -EINVAL);
	ck_assert_uint_eq(stamp, 77);
	ck_assert_mem_eq(stamper, &before, sizeof(before));
}

TEST(test_decreasing_source)
{
	struct tsct_stamper stamper;
	uint64_t stamp;

	tsct_stamper_init(&stamper, 1000);
	expect_refused(&stamper, 999);
	expect_refused(&stamper, 1000 + (1ULL << 63));
	/* After more than 8192 events at one tick of the counter, the stamps' tick is
	 * ahead of the counter, until the counter catches up. */
	for (unsigned int i = 0; i < 3 * 8192; i++)
		ck_assert(!stamper_next(&stamper, 2000, &stamp));
	ck_assert_uint_eq(tsct_stamp_tick(STAMP(stamp)), 1002);
	expect_refused(&stamper, 1999);
	ck_assert_int_eq(stamper_next(&stamper, 2001, &stamp), 0);
	ck_assert_uint_eq(stamp, tsct_stamp_make(1003, 0).bits);
	expect_refused(&stamper, 2000);
	ck_assert_int_eq(stamper_next(&stamper, 999 + (1ULL << 63), &stamp),
			 1);
	expect_refused(&stamper, 2001);
}

CASE("times", NULL, NULL);

TEST(test_golden_ns)
{
	for (unsigned int i = 0; i < ROWS(golden_ns); i++) {
		const struct golden_ns *g = &golden_ns[i];
		struct tsct_stamp_rate rate = { g->ns, g->ticks };

		ck_assert_uint_eq(tsct_stamp_ns(g->segment, STAMP(g->stamp), &rate),
				  g->exact);
		ck_assert_uint_eq(tsct_stamp_ns_legacy(g->segment, STAMP(g->stamp), &rate), g->legacy);
	}
}

TEST(test_golden_at)
{
	for (unsigned int i = 0; i < ROWS(golden_at); i++) {
		const struct golden_at *g = &golden_at[i];
		struct tsct_stamp_rate rate = { g->rate_ns, g->ticks };
		uint64_t segment = 0, stamp = 0;

		ck_assert_int_eq(stamp_at_ns(g->ns, &rate, &segment, &stamp),
				 g->ret);
		ck_assert_uint_eq(segment, g->segment);
		ck_assert_uint_eq(stamp, g->stamp);
	}
}

TEST(test_bad_rates)
{
	const struct tsct_stamp_rate still = { 0, 1 }, none = { 1, 0 };
	uint64_t segment, stamp;

	ck_assert_uint_eq(tsct_stamp_ns(0, STAMP(8192), &none), UINT64_MAX);
	ck_assert_uint_eq(tsct_stamp_ns_legacy(0, STAMP(8192), &none), UINT64_MAX);
	ck_assert_uint_eq(tsct_stamp_ns(0, STAMP(8192), &still), 0);
	ck_assert_int_eq(stamp_at_ns(1, &still, &segment, &stamp), -EINVAL);
	ck_assert_int_eq(stamp_at_ns(1, &none, &segment, &stamp), -EINVAL);
}

/* A time converts to the first stamp that is not before it, and that stamp converts
 * back to the same time. */
TEST(test_both_ways)
{
	struct tsct_stamp_rate rate;
	uint64_t stamp, segment, ns, at;

	for (unsigned int i = 0; i < 100000; i++) {
		rate.ns = 1000000000;
		rate.ticks = 1000 + any64() % 100000000000;
		segment = any(3);
		stamp = any64() >> any(64);
		ns = tsct_stamp_ns(segment, STAMP(stamp), &rate);
		if (ns == UINT64_MAX)
			continue;
		ck_assert(!stamp_at_ns(ns, &rate, &segment, &at));
		ck_assert(tsct_stamp_ns(segment, STAMP(at), &rate) >= ns);
		ck_assert(!at || tsct_stamp_ns(segment, STAMP(at - 1), &rate) < ns);
	}
}

/* tsct_stamp_seconds() ignores a stamp's event number; tsct_stamp_seconds_legacy() adds
 * the event number as a fraction of a tick. */
TEST(test_seconds)
{
	double period = tsct_stamp_period(1e9), accurate, legacy;
	uint64_t stamp;

	ck_assert(period == 1e-9 / 8192);
	ck_assert(tsct_stamp_seconds(tsct_stamp_make(3000000000, 4096), period) ==
		  3e9 * 1e-9);
	ck_assert(tsct_stamp_seconds_legacy(tsct_stamp_make(3000000000, 0), period) ==
		  tsct_stamp_seconds(tsct_stamp_make(3000000000, 8191), period));
	seed_with(2);
	for (unsigned int i = 0; i < 100000; i++) {
		stamp = any64() >> any(64);
		accurate = tsct_stamp_seconds(STAMP(stamp), period);
		legacy = tsct_stamp_seconds_legacy(STAMP(stamp), period);
		/* The legacy function takes the stamp's event number as a fraction
		 * of a tick, in 1/8192. Its result is larger by that fraction. */
		ck_assert(fabs(legacy - accurate - tsct_stamp_event(STAMP(stamp)) *
			       period) <= 4 * legacy * 0x1p-53);
		if (!tsct_stamp_event(STAMP(stamp)))
			ck_assert(legacy == accurate);
		if (stamp >> 63)
			continue;
		ck_assert(tsct_stamp_at_seconds(accurate, period).bits ==
		     tsct_stamp_make(tsct_stamp_tick(STAMP(stamp)), 0).bits);
	}
}

TEST(test_seconds_out_of_range)
{
	double period = tsct_stamp_period(2.6e9);
	uint64_t last = tsct_stamp_make(TSCT_STAMP_TICK_MAX, 0).bits;

	ck_assert_uint_eq(tsct_stamp_at_seconds(-1, period).bits, 0);
	ck_assert_uint_eq(tsct_stamp_at_seconds((double)NAN, period).bits, 0);
	ck_assert_uint_eq(tsct_stamp_at_seconds((double)INFINITY, period).bits, last);
	ck_assert_uint_eq(tsct_stamp_at_seconds(1e30, period).bits, last);
	ck_assert_uint_eq(tsct_stamp_at_seconds(1, 0).bits, last);
}

CASE("stamp", NULL, NULL);

/* Stamps are unique and increase, whatever values the source returns. */
LOOP_TEST(test_unique_and_increasing, 0, 20)
{
	struct tsct_stamper stamper;
	uint64_t tick, stamp, origin, segment = 0;
	unsigned __int128 last = 0, now, floor;
	unsigned int i;
	int ret;

	origin = any64();
	tsct_stamper_init(&stamper, origin);
	for (i = 0, tick = 0; i < 50000; i++) {
		if (!any(4))
			tick += any64() >> (10 + any(54));
		if (tick >> 62)
			break;
		ret = stamper_next(&stamper, origin + tick, &stamp);
		ck_assert(ret == (tsct_stamper_segment(&stamper) != segment));
		segment = tsct_stamper_segment(&stamper);
		now = (unsigned __int128)segment << 64 | stamp;
		floor = (unsigned __int128)tick << 13;
		ck_assert(now == (i && last + 1 > floor ? last + 1 : floor));
		last = now;
	}
}
