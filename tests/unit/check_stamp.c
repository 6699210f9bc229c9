/* SPDX-License-Identifier: MIT */
/* Unique stamps: conversions compared with exact results; uniqueness and order */
#include <tsctrace/stamp.h>

#include "golden/stamp.h"
#include "seed.h"
#include "suite.h"

/* Makes a stamp as a plain integer, because integers can be compared. */
static uint64_t stamp_make(uint64_t tick, uint32_t event)
{
	return tsct_stamp_make(tick, event).bits;
}

static uint64_t stamp_tick(uint64_t bits)
{
	return tsct_stamp_tick((struct tsct_stamp) { bits });
}

static uint32_t stamp_event(uint64_t bits)
{
	return tsct_stamp_event((struct tsct_stamp) { bits });
}

static uint64_t stamp_ns(uint64_t segment, uint64_t bits,
			 const struct tsct_stamp_rate *rate)
{
	return tsct_stamp_ns(segment, (struct tsct_stamp) { bits }, rate);
}

static uint64_t stamp_ns_legacy(uint64_t segment, uint64_t bits,
				const struct tsct_stamp_rate *rate)
{
	return tsct_stamp_ns_legacy(segment, (struct tsct_stamp) { bits }, rate);
}

static int stamp_at_ns(uint64_t ns, const struct tsct_stamp_rate *rate,
		       uint64_t *ret_segment, uint64_t *ret_bits)
{
	struct tsct_stamp stamp = { *ret_bits };
	int err = tsct_stamp_at_ns(ns, rate, ret_segment, &stamp);

	*ret_bits = stamp.bits;
	return err;
}

static double stamp_seconds(uint64_t bits, double period)
{
	return tsct_stamp_seconds((struct tsct_stamp) { bits }, period);
}

static double stamp_seconds_legacy(uint64_t bits, double period)
{
	return tsct_stamp_seconds_legacy((struct tsct_stamp) { bits }, period);
}

static uint64_t stamp_at_seconds(double seconds, double period)
{
	return tsct_stamp_at_seconds(seconds, period).bits;
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

/* libcheck also logs each assertion that holds, which is too slow here. */
#define must(what)	do { if (!(what)) ck_abort_msg(#what); } while (0)

CASE("stamp", NULL, NULL);

TEST(test_parts)
{
	ck_assert_uint_eq(stamp_make(1, 0), 8192);
	ck_assert_uint_eq(stamp_make(SEGMENT - 1, 8191), UINT64_MAX);
	ck_assert_uint_eq(stamp_tick(UINT64_MAX), TSCT_STAMP_TICK_MAX);
	ck_assert_uint_eq(stamp_event(UINT64_MAX), TSCT_STAMP_EVENT_MAX);
	/* A stamp has 51 bits for the tick, 13 for the event number: bits above are
	 * cut off. */
	ck_assert_uint_eq(stamp_make(SEGMENT + 5, 8192 + 3),
			  stamp_make(5, 3));
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

/* A tick has 8192 stamps. Further events on it get stamps of the next tick. */
TEST(test_many_events_per_tick)
{
	struct tsct_stamper stamper;
	uint64_t stamp, last = 0;

	tsct_stamper_init(&stamper, 100);
	for (unsigned int tick = 0; tick < 4; tick++) {
		for (unsigned int i = 0; i < 8192 + 100; i++) {
			must(!stamper_next(&stamper, 100 + tick, &stamp));
			must(!(tick || i) || stamp == last + 1);
			last = stamp;
		}
	}
	/* The events got successive stamps: all 8192 stamps of each of ticks 0 to 3,
	 * and 400 stamps of tick 4. */
	ck_assert_uint_eq(last, stamp_make(4, 399));
	ck_assert_uint_eq(stamper.max_events, 8291);
	ck_assert_uint_eq(stamper.moved, 100 + 200 + 300 + 400);
	ck_assert_int_eq(stamper_next(&stamper, 104, &stamp), 0);
	ck_assert_uint_eq(stamp, stamp_make(4, 400));
	ck_assert_int_eq(stamper_next(&stamper, 105, &stamp), 0);
	ck_assert_uint_eq(stamp, stamp_make(5, 0));
}

TEST(test_one_event_per_tick)
{
	struct tsct_stamper stamper;
	uint64_t stamp, i;

	tsct_stamper_init(&stamper, 0);
	for (i = 0; i < 1000; i++) {
		ck_assert_int_eq(stamper_next(&stamper, i, &stamp), 0);
		ck_assert_uint_eq(stamp, i << 13);
	}
	ck_assert_uint_eq(stamper.max_events, 0);
	ck_assert_uint_eq(stamper.moved, 0);
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
		must(!stamper_next(&stamper, 2000, &stamp));
	ck_assert_uint_eq(stamp_tick(stamp), 1002);
	expect_refused(&stamper, 1999);
	ck_assert_int_eq(stamper_next(&stamper, 2001, &stamp), 0);
	ck_assert_uint_eq(stamp, stamp_make(1003, 0));
	expect_refused(&stamper, 2000);
	ck_assert_int_eq(stamper_next(&stamper, 999 + (1ULL << 63), &stamp),
			 1);
	expect_refused(&stamper, 2001);
}

/* tsct_stamper_next() reports a wrap of the stamp's tick at 2^51, whether the counter
 * passed 2^51 or more than 8192 events occurred at the tick before. */
TEST(test_segments)
{
	struct tsct_stamper stamper;
	uint64_t stamp;

	tsct_stamper_init(&stamper, 5);
	ck_assert_int_eq(stamper_next(&stamper, 5 + SEGMENT - 1, &stamp), 0);
	ck_assert_uint_eq(stamp, stamp_make(SEGMENT - 1, 0));
	ck_assert_int_eq(stamper_next(&stamper, 5 + SEGMENT, &stamp), 1);
	ck_assert_uint_eq(stamp, 0);
	ck_assert_uint_eq(tsct_stamper_segment(&stamper), 1);
	ck_assert_int_eq(stamper_next(&stamper, 5 + SEGMENT, &stamp), 0);
	ck_assert_int_eq(stamper_next(&stamper, 5 + 4 * SEGMENT, &stamp), 1);
	ck_assert_uint_eq(tsct_stamper_segment(&stamper), 4);

	tsct_stamper_init(&stamper, 0);
	for (unsigned int i = 0; i < 8192; i++)
		must(!stamper_next(&stamper, SEGMENT - 1, &stamp));
	ck_assert_uint_eq(stamp, UINT64_MAX);
	ck_assert_int_eq(stamper_next(&stamper, SEGMENT - 1, &stamp), 1);
	ck_assert_uint_eq(stamp, 0);
	ck_assert_int_eq(stamper_next(&stamper, SEGMENT, &stamp), 0);
	ck_assert_uint_eq(stamp, 1);
}

CASE("times", NULL, NULL);

TEST(test_golden_ns)
{
	for (unsigned int i = 0; i < ROWS(golden_ns); i++) {
		const struct golden_ns *g = &golden_ns[i];
		struct tsct_stamp_rate rate = { g->ns, g->ticks };

		ck_assert_uint_eq(stamp_ns(g->segment, g->stamp, &rate),
				  g->exact);
		ck_assert_uint_eq(stamp_ns_legacy(g->segment, g->stamp,
						       &rate), g->legacy);
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

	ck_assert_uint_eq(stamp_ns(0, 8192, &none), UINT64_MAX);
	ck_assert_uint_eq(stamp_ns_legacy(0, 8192, &none), UINT64_MAX);
	ck_assert_uint_eq(stamp_ns(0, 8192, &still), 0);
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
		ns = stamp_ns(segment, stamp, &rate);
		if (ns == UINT64_MAX)
			continue;
		must(!stamp_at_ns(ns, &rate, &segment, &at));
		must(stamp_ns(segment, at, &rate) >= ns);
		must(!at || stamp_ns(segment, at - 1, &rate) < ns);
	}
}

/* tsct_stamp_seconds() ignores a stamp's event number; tsct_stamp_seconds_legacy() adds
 * the event number as a fraction of a tick. */
TEST(test_seconds)
{
	double period = tsct_stamp_period(1e9), accurate, legacy;
	uint64_t stamp;

	ck_assert(period == 1e-9 / 8192);
	ck_assert(stamp_seconds(stamp_make(3000000000, 4096), period) ==
		  3e9 * 1e-9);
	ck_assert(stamp_seconds_legacy(stamp_make(3000000000, 0),
					    period) ==
		  stamp_seconds(stamp_make(3000000000, 8191), period));
	seed_with(2);
	for (unsigned int i = 0; i < 100000; i++) {
		stamp = any64() >> any(64);
		accurate = stamp_seconds(stamp, period);
		legacy = stamp_seconds_legacy(stamp, period);
		/* The legacy function takes the stamp's event number as a fraction
		 * of a tick, in 1/8192. Its result is larger by that fraction. */
		must(fabs(legacy - accurate - stamp_event(stamp) *
			  period) <= 4 * legacy * 0x1p-53);
		if (!stamp_event(stamp))
			must(legacy == accurate);
		if (stamp >> 63)
			continue;
		must(stamp_at_seconds(accurate, period) ==
		     stamp_make(stamp_tick(stamp), 0));
	}
}

TEST(test_seconds_out_of_range)
{
	double period = tsct_stamp_period(2.6e9);
	uint64_t last = stamp_make(TSCT_STAMP_TICK_MAX, 0);

	ck_assert_uint_eq(stamp_at_seconds(-1, period), 0);
	ck_assert_uint_eq(stamp_at_seconds((double)NAN, period), 0);
	ck_assert_uint_eq(stamp_at_seconds((double)INFINITY, period), last);
	ck_assert_uint_eq(stamp_at_seconds(1e30, period), last);
	ck_assert_uint_eq(stamp_at_seconds(1, 0), last);
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
		must(ret == (tsct_stamper_segment(&stamper) != segment));
		segment = tsct_stamper_segment(&stamper);
		now = (unsigned __int128)segment << 64 | stamp;
		floor = (unsigned __int128)tick << 13;
		must(now == (i && last + 1 > floor ? last + 1 : floor));
		last = now;
	}
}
