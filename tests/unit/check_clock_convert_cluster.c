/* SPDX-License-Identifier: MIT */
/* Conversions to cluster time: by the cluster params in force, by the end of the
 * previous params, or not at all. Cycles are ns of MONOTONIC_RAW. The fast path needs
 * the TSC, so it is tested on a separate page. */
#include "clock_file_world.h"
#include "seed.h"

#define AHEAD_NS	12345678LL	/* cluster time minus CLOCK_REALTIME */

/* Adds cluster params to the page. They begin at -10 s, and slew by 1/4096 for 1 s. The
 * previous cluster params began at -60 s. The last sample is at 0, as that of
 * CLOCK_REALTIME. */
static void add_cluster(void)
{
	struct tsct_clock_params old = {
		.base_cycles = zero - 60 * SECOND,
		.base_ns = zero_ns + AHEAD_NS - 60 * SECOND,
		.mult = ONE, .slew_mult = ONE,
		.past_error_ps = 90000, .error_ps = 80000,
	}, params = {
		.base_cycles = zero - 10 * SECOND,
		.mult = ONE, .slew_mult = ONE + ONE / 4096, .slew_cycles = SECOND,
		.error_ps = 50000, .past_error_ps = 60000,
		.growth = tsct_growth(ONE, 2000),
		.holdover_growth = tsct_growth(ONE, 15000),
	};

	old.as_of_cycles = old.holdover_after_cycles = params.base_cycles;
	params.base_ns = tsct_clock_params_ns(&old, params.base_cycles);
	params.as_of_cycles = zero;
	params.holdover_after_cycles = zero + 5 * SECOND;
	params.void_after_cycles = zero + 1000 * SECOND;
	CHANGE(s->cluster = params;
	       s->cluster_prev = tsct_clock_params_prev(&old, params.base_cycles);
	       s->cluster_status = TSCT_STATUS_SYNCHRONIZED;
	       s->cluster_epoch = 9;
	       s->cluster_master = 0x1234;
	       s->cluster_timeline = 5;
	       ck_assert_int_eq(tsct_clock_state_check(s), 0));
	write_page(AREA_SIZE);
}

#define check_time(cycles, want_ns, want_error, want_status) do {	\
	struct tsct_time t_;						\
									\
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_time(clock, cycles, &t_), 0); \
	ck_assert_int_eq(t_.ns, (want_ns) + zero_ns + AHEAD_NS);	\
	ck_assert_uint_eq(t_.error_ns, want_error);			\
	ck_assert_uint_eq(t_.status, want_status);			\
	ck_assert_uint_eq(t_.epoch, 9);					\
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_ns(clock, cycles, &ns), 0);	\
	ck_assert_int_eq(ns, t_.ns);					\
} while (0)

#define check_none(cycles, want) do {					\
	struct tsct_time t_ = { .ns = 42 };				\
									\
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_time(clock, cycles, &t_), want); \
	ck_assert_int_eq(t_.ns, 42);					\
	ns = 42;							\
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_ns(clock, cycles, &ns), want); \
	ck_assert_int_eq(ns, 42);					\
} while (0)

CASE("clock_convert_cluster", setup, teardown, .missing = module_loaded);

TEST(test_times)
{
	const int64_t slewed = SECOND / 4096;
	struct tsct_clock *clock;
	int64_t ns;

	add_cluster();
	clock = open_file_clock();
	check_time(zero, slewed, 61, TSCT_STATUS_SYNCHRONIZED);
	check_time(zero - 9 * SECOND, slewed - 9 * SECOND, 61,
		   TSCT_STATUS_SYNCHRONIZED);
	check_time(zero - 9500000000, slewed / 2 - 9500000000, 61,
		   TSCT_STATUS_SYNCHRONIZED);
	check_time(zero - 10 * SECOND, -10 * SECOND, 61,
		   TSCT_STATUS_SYNCHRONIZED);
	/* Cycles at the end of the previous params' validity, and before the begin of
	 * the previous params */
	check_time(zero - 10 * SECOND - 1, -10 * SECOND - 1, 91,
		   TSCT_STATUS_SYNCHRONIZED);
	check_time(zero - 60 * SECOND, -60 * SECOND, 91,
		   TSCT_STATUS_SYNCHRONIZED);
	check_none(zero - 60 * SECOND - 1, -ERANGE);
	/*
	 * After 5 s without a sample the status is holdover; after 1000 s there is no
	 * cluster time.
	 */
	check_time(zero + SECOND, slewed + SECOND, 51 + 2000 + 1,
		   TSCT_STATUS_SYNCHRONIZED);
	check_time(zero + 7 * SECOND, slewed + 7 * SECOND,
		   51 + 10000 + 30000 + 1, TSCT_STATUS_HOLDOVER);
	check_none(zero + 1000 * SECOND + 1, -ESTALE);
	tsct_clock_close(clock);
}

TEST(test_cluster_now)
{
	struct tsct_clock *clock;
	struct tsct_time t, after;
	int64_t ns;

	add_cluster();
	clock = open_file_clock();
	ck_assert_int_eq(tsct_clock_now_cluster(clock, &t), 0);
	ck_assert_int_eq(tsct_clock_now_cluster_ns(clock, &ns), 0);
	ck_assert_int_eq(tsct_clock_now_cluster(clock, &after), 0);
	ck_assert_int_le(t.ns, ns);
	ck_assert_int_le(ns, after.ns);
	ck_assert_int_lt(after.ns - t.ns, 10 * SECOND);
	/* Disruptions of CLOCK_REALTIME have no effect on cluster time. */
	CHANGE(memset(&s->real, 0, sizeof(s->real));
	       s->status = TSCT_STATUS_DISRUPTED);
	rewrite_page();
	ck_assert_int_eq(tsct_clock_now_cluster_ns(clock, &ns), 0);
	ck_assert_int_ge(ns, after.ns);
	tsct_clock_close(clock);
}

/* Where the cluster time is unknown, conversions return an error instead of a guess. */
TEST(test_unknown_cluster_time)
{
	struct tsct_clock *clock = open_file_clock();
	struct tsct_time t;
	int64_t ns = 42;

	check_none(zero, -EAGAIN);
	ck_assert_int_eq(tsct_clock_now_cluster(clock, &t), -EAGAIN);
	ck_assert_int_eq(tsct_clock_now_cluster_ns(clock, &ns), -EAGAIN);
	ck_assert_int_eq(ns, 42);
	CHANGE(s->cluster_status = TSCT_STATUS_DISRUPTED);
	rewrite_page();
	check_none(zero, -ESTALE);
	/* The clock page has cluster params, but their status is disrupted. */
	add_cluster();
	CHANGE(s->cluster_status = TSCT_STATUS_DISRUPTED);
	tsct_clock_close(clock);
	write_page(AREA_SIZE);
	clock = open_file_clock();
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_time(clock, zero, &t), 0);
	ck_assert_uint_eq(t.status, TSCT_STATUS_DISRUPTED);
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_ns(clock, zero, &ns), -ESTALE);
	/* The clock page changes to another source: cycles of the old source have no
	 * cluster time. */
	CHANGE(s->source = TSCT_SOURCE_MONOTONIC);
	rewrite_page();
	check_none(zero, -ESTALE);
	tsct_clock_close(clock);
}

/* An in-process clock has no cluster time. */
TEST(test_in_process)
{
	struct tsct_clock *clock;
	int64_t ns = 42;

	unlink(path);
	ck_assert_int_eq(tsct_clock_open(&clock), 0);
	ck_assert_str_eq(tsct_clock_origin(clock), "in-process");
	ck_assert_int_eq(tsct_clock_now_cluster_ns(clock, &ns), -EAGAIN);
	ck_assert_int_eq(ns, 42);
	tsct_clock_close(clock);
}

/* CPU 1 is 3000 cycles ahead with an error of 10 cycles; the skew of CPU 2 is
 * unknown. */
TEST(test_skew)
{
	struct tsct_clock *clock;
	struct tsct_time here, there;
	int64_t ns;

	add_cluster();
	CHANGE(s->flags = TSCT_CLOCK_SKEWED; s->real.fast_cycles = 0);
	tsct_latch_set_cpu(the_page, 0, 0, 0);
	tsct_latch_set_cpu(the_page, 1, 3000, 10);
	write_page(AREA_SIZE);
	clock = open_file_clock();
	check_none(zero, -EXDEV);
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_time_on(clock, zero, 2, &here),
			 -EXDEV);
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_time_on(clock, zero, 0, &here), 0);
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_time_on(clock, zero + 3000, 1,
						       &there), 0);
	ck_assert_int_eq(here.ns, there.ns);
	ck_assert_uint_eq(there.error_ns, here.error_ns + 10);
	tsct_clock_close(clock);
}

/* ---- the fast path ------------------------------------------------------ */

static struct tsct_clock_params random_params(uint64_t base)
{
	struct tsct_clock_params params = {
		.base_cycles = base, .base_ns = (int64_t)(any64() >> 2),
		.mult = ONE / 4 + any64() % ONE,
		.fast_cycles = 1 + any64() % (1ULL << 40),
		.as_of_cycles = base + any64() % (1ULL << 30),
		.error_ps = any(1000000), .past_error_ps = any(1000000),
	};

	params.slew_mult = params.mult;
	params.growth = tsct_growth(params.mult, any(1000));
	params.holdover_growth = params.growth;
	params.holdover_after_cycles = params.as_of_cycles + params.fast_cycles;
	params.void_after_cycles = params.holdover_after_cycles;
	return params;
}

/*
 * The fast path uses the cluster params, not the clock params of CLOCK_REALTIME. While
 * copy 0 of the latch is being written, the fast path reads copy 1.
 */
TEST(test_fast_path)
{
	struct tsct_clock fake = {
		.page = the_page, .source = TSCT_SOURCE_TSC,
	};
	struct tsct_time t;
	unsigned int i;
	int64_t ns;

	for (i = 0; i < 2000; i++) {
		struct tsct_clock_params params = random_params(any64());
		uint64_t cycles = params.base_cycles +
			any64() % (2 * params.fast_cycles);
		bool shorter = cycles - params.base_cycles < params.fast_cycles;

		CHANGE(s->real = random_params(cycles - 5); s->cluster = params;
		       s->source = TSCT_SOURCE_TSC;
		       s->cluster_status = TSCT_STATUS_HOLDOVER;
		       s->cluster_epoch = i);
		the_page->seq = any64();
		if (the_page->seq & 1)
			memset(&the_page->copy[0], 0xee, 512);
		ck_assert_int_eq(tsct_clock_fast_cluster_ns(the_page, cycles, &ns),
				 shorter);
		if (!shorter)
			continue;
		ck_assert_int_eq(ns, tsct_clock_params_ns(&params, cycles));
		ck_assert_int_eq(tsct_clock_cycles_to_cluster_time(&fake, cycles, &t), 0);
		ck_assert_int_eq(t.ns, ns);
		ck_assert_uint_eq(t.error_ns,
				  (tsct_clock_params_error_ps(&params, cycles) +
					       999) / 1000 + 1);
		ck_assert_uint_eq(t.status, TSCT_STATUS_HOLDOVER);
		ck_assert_uint_eq(t.epoch, i);
	}
}
