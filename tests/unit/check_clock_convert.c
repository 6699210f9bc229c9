/* SPDX-License-Identifier: MIT */
/* Conversions of cycles to times and back, and of intervals. */
#include "clock_file_world.h"
#include "seed.h"
#include "lib/clock/clock_private.h"
#include "lib/ctf/recording_writer.h"

/* ---- cycles to times ---------------------------------------------------- */

/* Cycles at @at from zero have the time @want_ns from zero_ns. */
#define check_time(at, want_ns, want_error, want_status, want_epoch) do {	\
	struct tsct_time t_;						\
									\
	ck_assert_int_eq(tsct_clock_cycles_to_time(opened, zero + (at), &t_), 0); \
	ck_assert_int_eq(t_.ns, zero_ns + (want_ns));			\
	ck_assert_uint_eq(t_.error_ns, want_error);			\
	ck_assert_uint_eq(t_.status, TSCT_STATUS_##want_status);	\
	ck_assert_uint_eq(t_.epoch, want_epoch);			\
} while (0)

CASE("clock_convert", setup_open, teardown, .missing = module_loaded);

TEST(test_live)
{
	struct tsct_clock_state state;
	struct tsct_time t = { .ns = 42 };
	int64_t ns = 42;

	ck_assert_ptr_nonnull(strstr(tsct_clock_reason(opened), "monotonic_raw"));
	ck_assert_ptr_nonnull(strstr(tsct_clock_reason(opened), "clocksource"));
	check_time(0, 0, 61, SYNCHRONIZED, 4);
	check_time(SECOND, SECOND, 51 + 2000 + 1, SYNCHRONIZED, 4);
	/* After 5 s without a sample the status is holdover; after 1000 s the clock has no
	 * time. */
	check_time(5 * SECOND, 5 * SECOND, 51 + 10000 + 1, SYNCHRONIZED, 4);
	check_time(7 * SECOND, 7 * SECOND, 51 + 10000 + 30000 + 1, HOLDOVER, 4);
	ck_assert_int_eq(tsct_clock_cycles_to_time(opened, zero + 1000 * SECOND, &t),
			 0);
	t.ns = 42;
	ck_assert_int_eq(tsct_clock_cycles_to_time(opened, zero + 1000 * SECOND + 1,
					    &t), -ESTALE);
	ck_assert_int_eq(t.ns, 42);
	ck_assert_int_eq(tsct_clock_cycles_to_ns(opened, zero + 1000 * SECOND + 1, &ns),
			 -ESTALE);
	ck_assert_int_eq(ns, 42);
	ck_assert_int_eq(tsct_clock_cycles_to_ns(opened, zero + SECOND, &ns), 0);
	ck_assert_int_eq(ns, zero_ns + SECOND);
	ck_assert_int_eq(tsct_clock_snapshot(opened, &state), 0);
	ck_assert_mem_eq(&state, &the_page->copy[0].state, sizeof(state));
}

/* ---- disruptions that the module counts ----------------------------------- */

#define COUNT	(7 * TSCT_DISRUPTIONS_COUNTER + 3)

static struct tsct_disruption_page *module_page;

/* The module is loaded after the clock was opened; then params come with its count. */
static void load_module(void)
{
	CHANGE(s->cluster = s->real; s->cluster_status = TSCT_STATUS_SYNCHRONIZED);
	module_page = mmap(NULL, TSCT_PAGE_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	module_page->disruptions = COUNT;
	tsct_clock_full(opened)->module = module_page;
	CHANGE_FILE(s->disruptions = COUNT);
	check_time(SECOND, SECOND, 51 + 2000 + 1, SYNCHRONIZED, 4);
	ck_assert_ptr_eq(opened->disruptions, &module_page->disruptions);
}

/* The time after the last sample is unknown; that up to it stays as it is. */
static void check_disrupted(void)
{
	uint64_t cycles;
	int64_t ns;

	check_time(0, 0, 61, SYNCHRONIZED, 4);
	check_time(-SECOND, -SECOND, 61, SYNCHRONIZED, 4);
	check_time(1, 1, 51 + 1, DISRUPTED, 4);
	check_time(SECOND, SECOND, 51 + 2000 + 1, DISRUPTED, 4);
	ck_assert_int_eq(tsct_clock_cycles_to_ns(opened, zero + 1, &ns), -ESTALE);
	ck_assert_int_eq(tsct_clock_time_to_cycles(opened, zero_ns + SECOND, &cycles),
			 -ESTALE);
	ck_assert_int_eq(tsct_clock_time_to_cycles(opened, zero_ns - SECOND, &cycles), 0);
	ck_assert_uint_eq(snapshot(opened).status, TSCT_STATUS_DISRUPTED);
	ck_assert_uint_eq(snapshot(opened).epoch, 4);
}

static uint32_t interval_flags(void)
{
	struct tsct_time_point from = { .cycles = zero - SECOND, .cpu = TSCT_CPU_ANY };
	struct tsct_time_point to = { .cycles = zero + SECOND, .cpu = TSCT_CPU_ANY };
	struct tsct_interval interval;

	ck_assert_int_eq(tsct_clock_interval(opened, &from, &to, &interval), 0);
	return interval.flags & TSCT_INTERVAL_DISRUPTED;
}

TEST(test_counter_disrupted)
{
	int64_t ns;

	load_module();
	ck_assert(!interval_flags());
	for (unsigned int i = 0; i < 2; i++) {
		module_page->disruptions += i ? TSCT_DISRUPTIONS_PENDING :
			TSCT_DISRUPTIONS_COUNTER;
		check_disrupted();
		ck_assert_int_eq(tsct_clock_cycles_to_cluster_ns(opened, zero + 1, &ns),
				 -ESTALE);
		ck_assert_uint_eq(snapshot(opened).cluster_status, TSCT_STATUS_DISRUPTED);
		ck_assert(interval_flags());
	}
	/* The daemon publishes new params. */
	CHANGE_FILE(s->disruptions = module_page->disruptions);
	check_time(SECOND, SECOND, 51 + 2000 + 1, SYNCHRONIZED, 4);
	ck_assert(!interval_flags());
}

/* A step does not disrupt the counter: neither the cluster's time nor intervals. */
TEST(test_step_counted)
{
	int64_t ns;

	load_module();
	module_page->disruptions += TSCT_DISRUPTIONS_STEP;
	check_disrupted();
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_ns(opened, zero + 1, &ns), 0);
	ck_assert_uint_eq(snapshot(opened).cluster_status, TSCT_STATUS_SYNCHRONIZED);
	ck_assert(!interval_flags());
}

/* A counter that starts again at 0 repeats cycles of the past: none has a time. */
TEST(test_counter_restarted)
{
	load_module();
	CHANGE_FILE(s->real.as_of_cycles += 4 * SECOND);
	module_page->disruptions += TSCT_DISRUPTIONS_COUNTER;
	check_time(-SECOND, -SECOND, 61, DISRUPTED, 4);
}

/* A daemon without the module: its params need no page, also in a program that has it. */
TEST(test_module_leaves)
{
	load_module();
	CHANGE_FILE(s->disruptions = 0);
	check_time(SECOND, SECOND, 51 + 2000 + 1, SYNCHRONIZED, 4);
	ck_assert_uint_eq(*opened->disruptions, 0);
}

/* A process that cannot map the module's page does not use params with a count. */
TEST(test_without_page)
{
	CHANGE_FILE(s->disruptions = COUNT);
	check_disrupted();
	tsct_clock_close(opened);
	ck_assert_int_eq(tsct_clock_open(&opened), 0);
	ck_assert_str_eq(tsct_clock_origin(opened), "in-process");
	ck_assert_ptr_nonnull(strstr(tsct_clock_reason(opened), TSCT_DISRUPTIONS_PATH
				     " cannot be opened: No such file or directory"));
}

/* Past cycles are converted by the clock params that were in force at these cycles. */
TEST(test_past)
{
	int64_t ns;

	check_time(-SECOND, -SECOND, 61, SYNCHRONIZED, 4);
	check_time(-100 * SECOND, -100 * SECOND, 61, SYNCHRONIZED, 4);
	/* For cycles between the last sample before a step of the clock and the step,
	 * the time is unknown. */
	check_time(-100 * SECOND - 1, -STEP_NS - 100 * SECOND - 1, 61, DISRUPTED, 3);
	ck_assert_int_eq(tsct_clock_cycles_to_ns(opened, zero - 120 * SECOND, &ns),
			 -ESTALE);
	check_time(-150 * SECOND, -STEP_NS - 150 * SECOND, 61, SYNCHRONIZED, 3);
	/* Cycles in the middle of the slew: half of the slew's SLEWED_NS is added to
	 * the time already */
	check_time(-200 * SECOND + SLEW_NS / 2,
		   -STEP_NS - 200 * SECOND + SLEW_NS / 2 - SLEWED_NS / 2, 61, SYNCHRONIZED, 3);
	/* For cycles at which the clock params before the slew were in force, the bound
	 * is the one that these params had at the end of their validity. */
	check_time(-299 * SECOND, -STEP_NS - SLEWED_NS - 299 * SECOND, 71, SYNCHRONIZED, 3);
	/* For cycles before all segments, the oldest segment is extrapolated: the bound
	 * grows by 15 ppm of 100 s. */
	check_time(-400 * SECOND, -STEP_NS - SLEWED_NS - 400 * SECOND, 71 + 1500001,
		   CALIBRATING, 3);
	CHANGE_FILE(copy_->dropped = 1);
	ck_assert_int_eq(tsct_clock_cycles_to_ns(opened, zero - 400 * SECOND, &ns),
			 -ERANGE);
}

/* The fast path gives the same times as the slow path. */
LOOP_TEST(test_fast_path, 0, 10)
{
	struct tsct_clock_time want;
	unsigned int i, shorts = 0;
	struct tsct_time t;
	uint64_t cycles;
	int64_t ns;

	CHANGE(s->real.mult = s->real.slew_mult = ONE / 100 * (95 + any(10));
	       s->real.growth = any64() >> (20 + any(40));
	       s->real.error_ps = any64() >> any(60);
	       s->real.past_error_ps = any64() >> any(60));
	memcpy(&the_page->copy[1], &the_page->copy[0],
	       sizeof(the_page->copy[0]));
	rewrite_page();
	for (i = 0; i < 100000; i++) {
		cycles = zero + 6 * SECOND - any64() % (130 * SECOND);
		shorts += tsct_clock_fast_ns(opened, cycles, &ns);
		ck_assert_int_eq(tsct_clock_cycles_to_time(opened, cycles, &t), 0);
		ck_assert_int_eq(tsct_latch_lookup(opened->page, cycles, &want),
				 0);
		ck_assert_int_eq(t.ns, want.ns);
		ck_assert_uint_eq(t.error_ns, want.error_ps / 1000 +
				  !!(want.error_ps % 1000) + 1);
		ck_assert_uint_eq(t.status, want.status);
		ck_assert_uint_eq(t.epoch, want.epoch);
	}
	ck_assert_uint_gt(shorts, 50000);
	ck_assert_uint_lt(shorts, 99000);
}

/* ---- times to cycles ---------------------------------------------------- */

LOOP_TEST(test_time_to_cycles, 0, 3)
{
	struct tsct_time t, u;
	uint64_t cycles, back = 42;

	for (int i = 0; i < 100000; i++) {
		cycles = zero + SECOND - any64() % (400 * SECOND);
		ck_assert_int_eq(tsct_clock_cycles_to_time(opened, cycles, &t), 0);
		if (t.status == TSCT_STATUS_DISRUPTED)
			continue;
		ck_assert_int_eq(tsct_clock_time_to_cycles(opened, t.ns, &back), 0);
		ck_assert_int_eq(tsct_clock_cycles_to_time(opened, back, &u), 0);
		ck_assert_int_ge(u.ns, t.ns);
		ck_assert_int_le(u.ns, t.ns + 1);
		/* The result of a conversion to cycles is the first cycle that has the
		 * given time. */
		ck_assert_int_eq(tsct_clock_cycles_to_time(opened, back - 1, &u), 0);
		if (u.epoch == t.epoch)
			ck_assert_int_lt(u.ns, t.ns);
	}
}

#define check_cycles(ns, want) \
	ck_assert_int_eq(tsct_clock_time_to_cycles(opened, ns, &cycles), want)

TEST(test_time_to_cycles_edges)
{
	uint64_t cycles = 42;

	/* Times that no cycles have: in the hour that the step skipped, and without
	 * valid clock params */
	check_cycles(zero_ns - 200 * SECOND, -ENOENT);
	check_cycles(zero_ns - STEP_NS - 120 * SECOND, -ENOENT);
	check_cycles(zero_ns + 1001 * SECOND, -ESTALE);
	check_cycles(INT64_MAX, -ESTALE);
	/* Less than 300 s after boot, the oldest segment of this page begins before the
	 * counter was 0, and its unsigned base is large enough for that time. */
	if (zero > 300 * (uint64_t)SECOND) {
		check_cycles(INT64_MIN, -ERANGE);
		ck_assert_uint_eq(cycles, 42);
	}
	check_cycles(zero_ns + 900 * SECOND, 0);
	ck_assert_uint_eq(cycles, zero + 900 * SECOND);
	CHANGE_FILE(copy_->dropped = 1);
	check_cycles(zero_ns - STEP_NS - 400 * SECOND, -ERANGE);
	/* Times are not converted after a disruption, before new clock params are
	 * published. */
	CHANGE_FILE(memset(&s->real, 0, sizeof(s->real));
		    s->status = TSCT_STATUS_DISRUPTED);
	check_cycles(zero_ns, -ESTALE);
	check_cycles(zero_ns - STEP_NS - 160 * SECOND, 0);
	ck_assert_uint_eq(cycles, zero - 160 * SECOND);
}

TEST(test_segments)
{
	struct tsct_clock_segment segments[TSCT_SEGMENTS_MAX + 2], last[1];
	int nr = tsct_clock_segments(opened, segments, TSCT_SEGMENTS_MAX + 2), i;
	struct tsct_time t;

	/* In order, the segments are straight, slewing, straight, and straight after a
	 * step of the clock by an hour. */
	ck_assert_int_eq(nr, 4);
	for (i = 0; i < nr; i++) {
		ck_assert_int_eq(tsct_clock_cycles_to_time(opened,
							   segments[i].base_cycles,
						    &t), 0);
		ck_assert_int_eq(t.ns, segments[i].base_ns);
		ck_assert_uint_eq(t.epoch, segments[i].epoch);
		ck_assert_uint_eq(t.error_ns, segments[i].error_ps / 1000 + 1);
	}
	ck_assert_uint_eq(segments[3].until_cycles, zero);
	ck_assert_uint_eq(segments[3].cause, TSCT_CAUSE_STEP);
	ck_assert_uint_eq(segments[0].cause, TSCT_CAUSE_SUSPEND);
	ck_assert_int_eq(tsct_clock_segments(opened, last, 1), 4);
	ck_assert_mem_eq(&last[0], &segments[3], sizeof(last[0]));
	ck_assert_int_eq(tsct_clock_segments(opened, NULL, 0), 4);
}

/* ---- a recording's clock pairing ---------------------------------------- */

/*
 * Checks the straight function from cycles to time that a recording contains
 * (@rec->real): its error bound covers its distance from the clock and the clock's own bound.
 */
static void check_pairing(struct tsct_recording *rec, int64_t begin, int64_t end)
{
	struct tsct_clock_state state;
	int64_t apart, apart_max;
	struct tsct_time t;
	uint64_t cycles;

	tsct_recording_free(rec);
	rec->source = TSCT_SOURCE_MONOTONIC_RAW;
	rec->begin = zero + (uint64_t)begin;
	rec->end = zero + (uint64_t)end;
	ck_assert_int_eq(tsct_clock_snapshot(opened, &state), 0);
	ck_assert_int_eq(tsct_clock_pairing_make(rec, opened, &state), 0);
	ck_assert_int_eq(tsct_clock_params_check(&rec->real, rec->source), 0);
	/* also beyond the pairing's range: the recording may still run */
	for (int i = 0; i <= 1200; i++) {
		cycles = rec->real.base_cycles +
			(rec->end - rec->real.base_cycles) / 1000 * (unsigned int)i;
		ck_assert_int_eq(tsct_clock_cycles_to_time(opened, cycles, &t), 0);
		apart = tsct_clock_params_ns(&rec->real, cycles) - t.ns;
		apart_max = (int64_t)tsct_clock_params_error_ps(&rec->real, cycles) /
			1000 - (int64_t)t.error_ns;
		ck_assert_int_le(llabs(apart), apart_max + 1);
	}
}

TEST(test_pairing)
{
	struct tsct_recording rec = { .complete = 0 };

	check_pairing(&rec, -90 * SECOND, -SECOND);
	ck_assert_uint_eq(rec.real.base_cycles, rec.begin);
	ck_assert_uint_eq(rec.real.mult, ONE);
	ck_assert_uint_eq(rec.real.past_error_ps, 61000);
	/* The recording's range extends beyond the last sample: the bound grows by 2 us
	 * per second. */
	check_pairing(&rec, -90 * SECOND, SECOND);
	ck_assert_uint_eq(rec.real.past_error_ps, 2052000);
	/* The recording's range contains a step of the clock: the clock pairing
	 * covers only the part after the step. */
	check_pairing(&rec, -250 * SECOND, -SECOND);
	ck_assert_uint_eq(rec.real.base_cycles, zero - 100 * SECOND);
	/* The recording's range is too short to measure the rate of the clock. */
	check_pairing(&rec, -SECOND, -SECOND + 5);
	ck_assert_uint_eq(rec.real.mult, ONE);
	check_pairing(&rec, -SECOND, -SECOND);
	tsct_clock_close(opened);
	/* The recording's range contains 4 ms of slewing: the clock pairing, a straight
	 * function from cycles to time, has a bound that covers the slew. */
	never_set = true;
	make_page();
	write_page(AREA_SIZE);
	open_file_clock();
	check_pairing(&rec, -250 * SECOND, -150 * SECOND);
	ck_assert_uint_gt(rec.real.past_error_ps, 2000000000);
	ck_assert_uint_lt(rec.real.past_error_ps, 4000000000);
	tsct_recording_free(&rec);
}

/* ---- intervals ---------------------------------------------------------- */

#define check_interval(from, from_cpu, to, to_cpu, want_ns, want_error, want_flags) do {	\
	struct tsct_time_point from_ = point(from, from_cpu), to_ = point(to, to_cpu);	\
	struct tsct_interval i_;					\
									\
	ck_assert_int_eq(tsct_clock_interval(opened, &from_, &to_, &i_), 0); \
	ck_assert_int_eq(i_.ns, want_ns);				\
	ck_assert_uint_eq(i_.error_ns, want_error);			\
	ck_assert_uint_eq(i_.flags, want_flags);			\
} while (0)

TEST(test_intervals)
{
	/* With a rate error of 10 ppb, an interval of 1 s has an error of 10 ns. */
	check_interval(-2 * SECOND, 0, -SECOND, 0, SECOND, 11, 0);
	check_interval(-SECOND, 0, -2 * SECOND, 0, -SECOND, 11, 0);
	check_interval(-SECOND, TSCT_CPU_ANY, -SECOND, 0, 0, 1, 0);
	/* Steps and slews of the clock do not change an interval. */
	check_interval(-201 * SECOND, 0, -151 * SECOND, 0, 50 * SECOND, 501, 0);
	check_interval(-151 * SECOND, 0, -SECOND, 0, 150 * SECOND, 1501, TSCT_INTERVAL_EPOCHS);
	check_interval(-120 * SECOND, 0, -SECOND, 0, 119 * SECOND, 1191,
		       TSCT_INTERVAL_EPOCHS | TSCT_INTERVAL_DISRUPTED);
	/* A suspend may have stopped the counter: an interval across it is disrupted. */
	CHANGE_FILE(s->cause = TSCT_CAUSE_SUSPEND);
	check_interval(-151 * SECOND, 0, -SECOND, 0, 150 * SECOND, 1501,
		       TSCT_INTERVAL_EPOCHS | TSCT_INTERVAL_DISRUPTED);
	CHANGE_FILE(s->rate_mult = s->rate_error_ppt = 0);
	check_interval(-2 * SECOND, 0, -SECOND, 0, SECOND, UINT64_MAX, TSCT_INTERVAL_GUESSED);
	ck_assert_int_eq(tsct_clock_delta_to_ns(opened, 12345), 12345);
	ck_assert_int_eq(tsct_clock_delta_to_ns(opened, -12345), -12345);
	ck_assert_int_eq(tsct_clock_ns_to_delta(opened, INT64_MAX), INT64_MAX);
	ck_assert_int_eq(tsct_clock_ns_to_delta(opened, INT64_MIN), INT64_MIN);
}

/* ---- skewed counters ---------------------------------------------------- */

static void make_skewed(void)
{
	tsct_latch_set_cpu(the_page, 0, 0, 0);
	tsct_latch_set_cpu(the_page, 1, 5000, 30);
	tsct_latch_set_cpu(the_page, 2, -7000, 5);
	CHANGE_FILE(s->flags = TSCT_CLOCK_SKEWED; s->real.fast_cycles = 0);
}

TEST(test_skew)
{
	struct tsct_time t, u;
	int64_t ns;

	make_skewed();
	ck_assert_int_eq(tsct_clock_cycles_to_time(opened, zero, &t), -EXDEV);
	ck_assert_int_eq(tsct_clock_cycles_to_ns(opened, zero, &ns), -EXDEV);
	ck_assert_int_eq(tsct_clock_cycles_to_time_on(opened, zero - 9, 0, &t), 0);
	ck_assert_int_eq(t.ns, zero_ns - 9);
	ck_assert_uint_le(t.error_ns, 61 + 1);
	ck_assert_int_eq(tsct_clock_cycles_to_time_on(opened, zero - 9, 1, &u), 0);
	ck_assert_int_eq(u.ns, t.ns - 5000);
	ck_assert_uint_ge(u.error_ns, t.error_ns + 29);
	ck_assert_uint_le(u.error_ns, t.error_ns + 31);
	ck_assert_int_eq(tsct_clock_cycles_to_time_on(opened, zero - 9, 2, &u), 0);
	ck_assert_int_eq(u.ns, t.ns + 7000);
	/* Conversions fail for a CPU with unknown skew, and for a CPU beyond the skew
	 * table, without a read beyond the mapping. */
	ck_assert_int_eq(tsct_clock_cycles_to_time_on(opened, zero, 3, &t), -EXDEV);
	ck_assert_int_eq(tsct_clock_cycles_to_time_on(opened, zero, NR_CPUS, &t),
			 -EXDEV);
	ck_assert_int_eq(tsct_clock_cycles_to_time_on(opened, zero, 1U << 31, &t),
			 -EXDEV);
	/* The skew table is not valid for cycles of an earlier epoch. */
	ck_assert_int_eq(tsct_clock_cycles_to_time(opened, zero - 160 * SECOND, &t),
			 0);
	ck_assert_uint_ge(t.error_ns, 61 + 7005);
	ck_assert_uint_le(t.error_ns, 61 + 7007);
}

TEST(test_skewed_intervals)
{
	make_skewed();
	check_interval(-2 * SECOND, 1, -SECOND, 1, SECOND, 11, 0);
	check_interval(-2 * SECOND, 1, -SECOND, 2, SECOND + 12000, 11 + 36 + 1,
		       TSCT_INTERVAL_SKEWED);
	check_interval(-2 * SECOND, 1, -SECOND, 3, SECOND, UINT64_MAX, TSCT_INTERVAL_SKEWED);
	check_interval(-2 * SECOND, TSCT_CPU_ANY, -SECOND, TSCT_CPU_ANY, SECOND, UINT64_MAX,
		       TSCT_INTERVAL_SKEWED);
}

/* Counters differ by less than the limit: intervals between unknown CPUs have the largest
 * distance in their bound, as have the clock's own bounds, and so recordings. */
TEST(test_small_skew)
{
	struct tsct_recording rec = { .source = TSCT_SOURCE_TSC };
	struct tsct_clock_state state;
	__u64 error_ps;

	/* Only counters of CPUs can be skewed. */
	tsct_clock_full(opened)->head.source = TSCT_SOURCE_TSC;
	CHANGE_FILE(s->source = TSCT_SOURCE_TSC);
	check_interval(-2 * SECOND, TSCT_CPU_ANY, -SECOND, TSCT_CPU_ANY, SECOND, 11, 0);
	rec.begin = zero - 90 * SECOND;
	rec.end = zero - SECOND;
	state = the_page->copy[0].state;
	ck_assert_int_eq(tsct_clock_pairing_make(&rec, opened, &state), 0);
	ck_assert_uint_eq(rec.skew_ns, 0);
	error_ps = rec.real.error_ps;
	tsct_latch_set_cpu(the_page, 0, 0, 0);
	tsct_latch_set_cpu(the_page, 1, 300, 40);
	tsct_latch_set_cpu(the_page, 2, -20, 90);
	rewrite_page();
	check_interval(-2 * SECOND, TSCT_CPU_ANY, -SECOND, TSCT_CPU_ANY, SECOND,
		       11 + 340 + 1, 0);
	check_interval(-2 * SECOND, 1, -SECOND, 3, SECOND, 11 + 340 + 1, 0);
	check_interval(-2 * SECOND, 1, -SECOND, 1, SECOND, 11, 0);
	ck_assert_int_eq(tsct_clock_pairing_make(&rec, opened, &state), 0);
	ck_assert_uint_eq(rec.skew_ns, 341);
	ck_assert_uint_eq(rec.real.error_ps, error_ps);
	tsct_recording_free(&rec);
}

/* Conversions correct the skew of each CPU, but all times of a recording are by one
 * line, so the largest skew is in the recording's bound. */
TEST(test_recorded_skew)
{
	struct tsct_recording rec = { .source = TSCT_SOURCE_MONOTONIC_RAW };
	struct tsct_clock_state state;

	make_skewed();
	rec.begin = zero - 90 * SECOND;
	rec.end = zero - SECOND;
	ck_assert_int_eq(tsct_clock_snapshot(opened, &state), 0);
	ck_assert_int_eq(tsct_clock_pairing_make(&rec, opened, &state), 0);
	ck_assert_uint_eq(rec.skew_ns, 7006);
	ck_assert_uint_eq(rec.nr_segments, 1);
	ck_assert_uint_eq(rec.segments[0].error_ps, 60000 + 7006000);
	ck_assert_uint_ge(rec.real.error_ps, 61000 + 7005000);
	ck_assert_uint_le(rec.real.error_ps, 61000 + 7009000);
	/* A disruption takes away the params, and the epoch after it may have no skew: lines
	 * of the epoch before keep theirs. */
	state.real = (struct tsct_clock_params) { .mult = 0 };
	state.epoch++;
	ck_assert_int_eq(tsct_clock_pairing_make(&rec, opened, &state), -EAGAIN);
	ck_assert_uint_eq(rec.nr_segments, 1);
	ck_assert_uint_eq(rec.segments[0].error_ps, 60000 + 7006000);
	state.flags = 0;
	ck_assert_int_eq(tsct_clock_pairing_make(&rec, opened, &state), -EAGAIN);
	ck_assert_uint_eq(rec.nr_segments, 1);
	ck_assert_uint_eq(rec.segments[0].error_ps, 60000 + 7006000);
	tsct_recording_free(&rec);
}

/* Each time of a recording has the bound of the line around it, as far as there was a sample;
 * times up to the end have the bound of a live reading at the end. */
TEST(test_recorded_lines)
{
	struct tsct_recording rec = { .source = TSCT_SOURCE_MONOTONIC_RAW, .epoch_first = 4,
				      .epoch = 4 };
	struct tsct_clock_state state;

	ck_assert_int_eq(tsct_recording_make(&rec, 1), 0);
	rec.begin = zero - 90 * SECOND;
	rec.end = zero + 2 * SECOND;
	ck_assert_int_eq(tsct_clock_snapshot(opened, &state), 0);
	ck_assert_int_eq(tsct_clock_pairing_note(&rec, opened, &state), 0);
	ck_assert_uint_eq(rec.nr_segments, 1);
	ck_assert_uint_eq(rec.segments[0].until_cycles, zero);
	ck_assert_int_eq(tsct_clock_pairing_make(&rec, opened, &state), 0);
	ck_assert_uint_eq(rec.nr_segments, 2);
	ck_assert_uint_eq(rec.segments[1].base_cycles, zero);
	ck_assert_uint_eq(rec.segments[1].until_cycles, rec.end);
	ck_assert_uint_eq(tsct_recording_error_ns(&rec, 0, rec.begin), 62);
	ck_assert_uint_eq(tsct_recording_error_ns(&rec, 0, zero), 62);
	/* 50 ns, and 2 us in each second */
	ck_assert_uint_ge(tsct_recording_error_ns(&rec, 0, zero + 1), 4050);
	ck_assert_uint_le(tsct_recording_error_ns(&rec, 0, zero + 1), 4053);
	/* The line up to the end is no sample's: a later reading drops it. */
	ck_assert_int_eq(tsct_clock_pairing_note(&rec, opened, &state), 0);
	ck_assert_uint_eq(rec.nr_segments, 1);
	/* The bound of the line grows: that up to the last sample before stays as it was. */
	state.real.past_error_ps = 800000;
	set_samples(&state.real, zero + 3 * SECOND);
	CHANGE_FILE(s->real = state.real);
	rec.end = zero + 3 * SECOND;
	ck_assert_int_eq(tsct_clock_pairing_make(&rec, opened, &state), 0);
	ck_assert_uint_eq(rec.nr_segments, 2);
	ck_assert_uint_eq(tsct_recording_error_ns(&rec, 0, zero), 62);
	ck_assert_uint_ge(tsct_recording_error_ns(&rec, 0, zero + 1), 801);
	ck_assert_uint_le(tsct_recording_error_ns(&rec, 0, zero + 1), 803);
	tsct_recording_free(&rec);
}

/* ---- cluster time ------------------------------------------------------ */

/* Cycles are ns of MONOTONIC_RAW. The fast path needs the TSC, so it is tested on a separate
 * page. */
#define AHEAD_NS	12345678LL	/* cluster time minus CLOCK_REALTIME */

/* Adds cluster params to the page, which begin at -10 s, and slew by 1/4096 for 1 s. The
 * previous ones began at -60 s. The last sample is at 0. */
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

#define check_cluster_time(at, want_ns, want_error, want_status) do {		\
	struct tsct_time t_;						\
									\
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_time(clock, zero + (at), &t_), 0); \
	ck_assert_int_eq(t_.ns, (want_ns) + zero_ns + AHEAD_NS);	\
	ck_assert_uint_eq(t_.error_ns, want_error);			\
	ck_assert_uint_eq(t_.status, TSCT_STATUS_##want_status);	\
	ck_assert_uint_eq(t_.epoch, 9);					\
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_ns(clock, zero + (at), &ns), 0); \
	ck_assert_int_eq(ns, t_.ns);					\
} while (0)

#define check_none(at, want) do {						\
	struct tsct_time t_ = { .ns = 42 };				\
									\
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_time(clock, zero + (at), &t_), want); \
	ck_assert_int_eq(t_.ns, 42);					\
	ns = 42;							\
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_ns(clock, zero + (at), &ns), want); \
	ck_assert_int_eq(ns, 42);					\
} while (0)

CASE("cluster time", setup, teardown, .missing = module_loaded);

TEST(test_cluster_times)
{
	const int64_t slewed = SECOND / 4096;
	struct tsct_clock *clock;
	int64_t ns;

	add_cluster();
	clock = open_file_clock();
	check_cluster_time(0, slewed, 61, SYNCHRONIZED);
	check_cluster_time(-9 * SECOND, slewed - 9 * SECOND, 61, SYNCHRONIZED);
	check_cluster_time(-9500000000, slewed / 2 - 9500000000, 61, SYNCHRONIZED);
	check_cluster_time(-10 * SECOND, -10 * SECOND, 61, SYNCHRONIZED);
	/* Cycles at the end of the previous params' validity, and before the begin of
	 * the previous params */
	check_cluster_time(-10 * SECOND - 1, -10 * SECOND - 1, 91, SYNCHRONIZED);
	check_cluster_time(-60 * SECOND, -60 * SECOND, 91, SYNCHRONIZED);
	check_none(-60 * SECOND - 1, -ERANGE);
	/* After 5 s without a sample the status is holdover; after 1000 s there is no
	 * cluster time. */
	check_cluster_time(SECOND, slewed + SECOND, 51 + 2000 + 1, SYNCHRONIZED);
	check_cluster_time(7 * SECOND, slewed + 7 * SECOND, 51 + 10000 + 30000 + 1, HOLDOVER);
	check_none(1000 * SECOND + 1, -ESTALE);
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
	CHANGE_FILE(memset(&s->real, 0, sizeof(s->real));
		    s->status = TSCT_STATUS_DISRUPTED);
	ck_assert_int_eq(tsct_clock_now_cluster_ns(clock, &ns), 0);
	ck_assert_int_ge(ns, after.ns);
}

/* Where the cluster time is unknown, conversions return an error instead of a guess. */
TEST(test_unknown_cluster_time)
{
	struct tsct_clock *clock = open_file_clock();
	struct tsct_time t;
	int64_t ns = 42;

	check_none(0, -EAGAIN);
	ck_assert_int_eq(tsct_clock_now_cluster(clock, &t), -EAGAIN);
	ck_assert_int_eq(tsct_clock_now_cluster_ns(clock, &ns), -EAGAIN);
	ck_assert_int_eq(ns, 42);
	CHANGE_FILE(s->cluster_status = TSCT_STATUS_DISRUPTED);
	check_none(0, -ESTALE);
	/* The clock page has cluster params, but their status is disrupted. */
	add_cluster();
	CHANGE(s->cluster_status = TSCT_STATUS_DISRUPTED);
	tsct_clock_close(clock);
	write_page(AREA_SIZE);
	clock = open_file_clock();
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_time(clock, zero, &t), 0);
	ck_assert_uint_eq(t.status, TSCT_STATUS_DISRUPTED);
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_ns(clock, zero, &ns), -ESTALE);
	/* After a change of source, the old source's cycles have no time. */
	CHANGE_FILE(s->source = TSCT_SOURCE_MONOTONIC);
	check_none(0, -ESTALE);
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
TEST(test_cluster_skew)
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
	check_none(0, -EXDEV);
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_time_on(clock, zero, 2, &here),
			 -EXDEV);
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_time_on(clock, zero, 0, &here), 0);
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_time_on(clock, zero + 3000, 1,
						       &there), 0);
	ck_assert_int_eq(here.ns, there.ns);
	ck_assert_uint_eq(there.error_ns, here.error_ns + 10);
	/* A counter that is far behind: as it is, its value is before all params. */
	tsct_latch_set_cpu(the_page, 1, -3600 * SECOND, 10);
	rewrite_page();
	ck_assert_int_eq(tsct_clock_cycles_to_cluster_time_on(clock, zero - 3600 * SECOND, 1,
						       &there), 0);
	ck_assert_int_eq(here.ns, there.ns);
	/* Without a cluster time, that is the error, whatever is known of the skew. */
	CHANGE_FILE(memset(&s->cluster, 0, sizeof(s->cluster));
		    s->cluster_status = TSCT_STATUS_UNKNOWN);
	check_none(0, -EAGAIN);
	CHANGE_FILE(s->cluster_status = TSCT_STATUS_DISRUPTED);
	check_none(0, -ESTALE);
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
TEST(test_cluster_fast_path)
{
	struct tsct_clock fake = {
		.page = the_page, .source = TSCT_SOURCE_TSC,
	};
	struct tsct_time t;
	int64_t ns;

	for (unsigned int i = 0; i < 2000; i++) {
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
		fake.disruptions = (uint64_t *)&the_page->copy[the_page->seq & 1].state.disruptions;
		ck_assert_int_eq(tsct_clock_fast_cluster_ns(&fake, cycles, &ns), shorter);
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
