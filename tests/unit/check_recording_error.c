// SPDX-License-Identifier: MIT
/*
 * Error bounds of a recording's times: against the truth, on a simulated machine whose
 * clock a simulated daemon keeps; and against lines that are given.
 */
#include "lib/clock/clock_private.h"
#include "lib/clockpage/clock_segments.h"
#include "lib/clockpage/latch.h"
#include "lib/estimate/rate_estimator.h"
#include "lib/ctf/recording.h"
#include "lib/ctf/recording_writer.h"
#include "seed.h"
#include "suite.h"
#include "tests/sim/machine.c"

#define HZ		2600000000.0
#define LEAD_CYCLES	2600000		/* time from publishing params to their begin */
#define EVENTS		20000
#define RUNS		6
#define RECORD_FROM_S	5
#define RECORD_S	60
#define LONG_S		1800		/* length of a recording with more lines than are kept */

/* ---- a recorded machine --------------------------------------------------------- */

struct sample_event {
	uint64_t cycles;
	fixed truth;		/* CLOCK_REALTIME when the counter was read, ns */
	/* the bound that a reading had at that moment, and the line that it was by */
	struct tsct_clock_time live;
};

static struct machine machine;
static struct tsct_rate_estimator est;
static struct tsct_sampler sampler;
static struct tsct_clock_page *page;
static struct tsct_clock_full the_clock;
static struct sample_event events[EVENTS];
static struct tsct_recording rec;
static unsigned int record_s = RECORD_S;

static void publish(void)
{
	struct tsct_clock_state next;
	__u32 cpu;

	tsct_rate_compose(&est, machine.ops.cycles(&machine, &cpu) + LEAD_CYCLES, &next);
	ck_assert_int_eq(tsct_segments_check(&page->copy[page->seq & 1].state, &next,
					     machine.ops.cycles(&machine, &cpu)), 0);
	tsct_latch_write(page, &next);
	tsct_rate_published(&est, &next);
}

/* Reads the clock's lines, as the recorder does after each sample. */
static void note_lines(void)
{
	struct tsct_clock_state state;

	ck_assert_int_eq(tsct_latch_read(page, &state), 0);
	if (rec.nr_nodes && state.real.mult)
		ck_assert_int_eq(tsct_clock_pairing_note(&rec, &the_clock.head, &state), 0);
}

/* Takes a sample; after a disruption, begins an epoch as the daemon does. */
static void take_sample(void)
{
	const struct event *notified = machine.notified;
	int event = TSCT_RATE_OK;

	machine.notified = NULL;
	if (notified)
		tsct_rate_disrupt(&est, TSCT_CAUSE_STEP);
	else
		event = tsct_sampler_feed(&sampler, &est);
	ck_assert_int_ge(event, 0);
	publish();
	if (notified || event != TSCT_RATE_OK) {
		ck_assert_int_ge(tsct_sampler_start(&sampler, &est), 0);
		publish();
	}
	note_lines();
}

/* Begins a machine whose two crystals drift apart at random. @steered: its REALTIME is steered
 * as by an NTP daemon. */
static void start_machine(uint64_t seed, bool steered)
{
	static const __u8 boot_id[16] = "simulated";
	int64_t at, ppb;

	seed_with((unsigned int)seed);
	machine_init(&machine, any64(), HZ, 24e6, 1ULL << 40);
	machine.source = TSCT_SOURCE_TSC;
	machine.wander_ppt = 50;
	machine.read_ps = 14000;
	machine.jitter_ps = 6000;
	machine.asym = any(1001);
	machine.stall_every = 300;
	machine.stall_ps = 100 * PS_PER_US;
	ppb = (int64_t)any(100000) - 50000;
	for (at = 0; at < (RECORD_FROM_S + record_s) * PS_PER_S;
	     at += (int64_t)(4.5e12 + any(10000) * 1e9)) {
		machine_add(&machine, (struct event) {
			.at_ps = at, .kind = EVENT_STEER, .value = ppb });
		ppb += steered ? (int64_t)any(4000) - 2000 : 0;
	}
	page = aligned_alloc(TSCT_PAGE_SIZE, TSCT_CLOCK_SIZE(8));
	ck_assert_ptr_nonnull(page);
	memset(page, 0, TSCT_CLOCK_SIZE(8));
	tsct_latch_init(page, boot_id, TSCT_SOURCE_TSC, 8);
	the_clock = (struct tsct_clock_full) {
		.head = { .source = TSCT_SOURCE_TSC, .page = page,
			  .disruptions = (uint64_t *)&page->copy[0].state.disruptions },
		.area = { .page = page, .nr_cpus = 8 },
	};
	tsct_sampler_init(&sampler, &machine.ops);
	tsct_rate_init(&est, TSCT_SOURCE_TSC, 1, TSCT_CAUSE_NONE);
	ck_assert_int_ge(tsct_sampler_start(&sampler, &est), 0);
	publish();
}

static void stop_machine(void)
{
	machine_free(&machine);
	free(page);
	tsct_recording_free(&rec);
}

/* Advances to true time @ps, with samples at the daemon's times. */
static void go_to(int64_t ps, int64_t *next_sample_ps)
{
	while (*next_sample_ps <= ps || machine.notified) {
		if (*next_sample_ps > machine.now_ps && !machine.notified)
			machine_advance(&machine, *next_sample_ps - machine.now_ps);
		take_sample();
		*next_sample_ps = machine.now_ps + PS_PER_S;
	}
	if (ps > machine.now_ps)
		machine_advance(&machine, ps - machine.now_ps);
}

/* Makes the description of the recording from `rec.begin` to now, as the recorder does at
 * its end. A last sample follows the last event. */
static void finish_recording(void)
{
	struct tsct_clock_state state;

	machine_advance(&machine, PS_PER_S);
	take_sample();
	rec.end = machine_counter(&machine);
	ck_assert_int_eq(tsct_latch_read(page, &state), 0);
	rec.epoch = state.epoch;
	ck_assert_int_eq(tsct_clock_pairing_make(&rec, &the_clock.head, &state), 0);
}

/* Records EVENTS events at random times. */
static void record_events(void)
{
	int64_t next_sample_ps = machine.now_ps, at = RECORD_FROM_S * PS_PER_S;
	struct sample_event *e;

	go_to(at, &next_sample_ps);
	ck_assert_int_eq(tsct_recording_make(&rec, 1), 0);
	rec.source = TSCT_SOURCE_TSC;
	rec.begin = machine_counter(&machine);
	rec.epoch_first = page->copy[page->seq & 1].state.epoch;
	for (e = events; e < events + EVENTS; e++) {
		at += any((unsigned int)(2000000ULL * record_s / EVENTS)) * PS_PER_US;
		go_to(at, &next_sample_ps);
		e->cycles = machine_counter(&machine);
		e->truth = machine_real_of(&machine, &machine.clock);
		if (tsct_latch_lookup(page, e->cycles, &e->live))
			e->live.error_ps = UINT64_MAX;
	}
	finish_recording();
}

/* Distance of the recording's time of an event from the truth, ps */
static uint64_t error_of(const struct sample_event *e)
{
	const fixed off = ((fixed)tsct_clock_params_ns(&rec.real, e->cycles) << 64) - e->truth;

	return (uint64_t)((off < 0 ? -off : off) * 1000 >> 64);
}

static int by_size(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median(uint64_t *values)
{
	qsort(values, EVENTS, sizeof(*values), by_size);
	return values[EVENTS / 2];
}

/* Bounds of the events without the distance of the recording's line from the clock's lines:
 * half of the interval that is left of CLOCK_REALTIME, ns */
static uint64_t median_half(const struct tsct_recording *of)
{
	static uint64_t halves[EVENTS];
	const struct tsct_error_piece *p = of->errors.pieces;

	for (unsigned int i = 0; i < EVENTS; i++) {
		while (p->until < events[i].cycles)
			p++;
		ck_assert_uint_le(p->from, events[i].cycles);
		halves[i] = (uint64_t)(p->high_ps[0] - p->low_ps[0]) / 2000;
	}
	return median(halves);
}

/* Number of events at which a reading of the clock was outside of its bound, because nothing
 * can detect at the moment itself that CLOCK_REALTIME was steered since the last sample */
static unsigned int count_live_wrong(void)
{
	unsigned int i, wrong = 0;
	fixed off;

	for (i = 0; i < EVENTS; i++) {
		off = ((fixed)events[i].live.ns << 64) - events[i].truth;
		wrong += (uint64_t)((off < 0 ? -off : off) * 1000 >> 64) > events[i].live.error_ps;
	}
	return wrong;
}

/* Makes the recording's description by the clock's lines at the end alone. */
static void describe_again(struct tsct_recording *ret)
{
	struct tsct_clock_state state;

	ck_assert_int_eq(tsct_latch_read(page, &state), 0);
	*ret = (struct tsct_recording) {
		.source = rec.source, .begin = rec.begin, .end = rec.end,
		.epoch = rec.epoch, .epoch_first = rec.epoch_first,
	};
	ck_assert_int_eq(tsct_clock_pairing_make(ret, &the_clock.head, &state), 0);
	ck_assert_mem_eq(&ret->real, &rec.real, sizeof(rec.real));
}

CASE("truth", NULL, NULL);

/*
 * The true error of each event is within the event's own bound, whatever was steered in
 * between, and in spite of that most are within much less than the recording as a whole.
 * Where the clock was steered, bounds are less than by the lines that the clock still has at
 * the end.
 */
LOOP_TEST(test_truth_is_within, 0, RUNS + 2)
{
	struct tsct_error_cursor cursor = { .piece = 0 };
	uint64_t whole, worst, bound, error, half, half_at_end, off = 0, sum = 0;
	struct tsct_recording at_end;
	unsigned int i, narrow = 0;

	record_s = _i < RUNS ? RECORD_S : LONG_S;
	start_machine((uint64_t)_i, _i % 2);
	record_events();
	ck_assert_uint_le(rec.nr_segments, TSCT_RECORDED_LINES_MAX);
	whole = tsct_clock_params_error_ps(&rec.real, rec.end) / 1000 + 1;
	worst = tsct_recording_worst_ns(&rec, rec.end);
	for (i = 0; i < EVENTS; i++) {
		bound = tsct_recording_error_at(&rec, &cursor, 0, events[i].cycles);
		error = error_of(&events[i]);
		ck_assert_uint_le(error, bound * 1000);
		ck_assert_uint_le(bound, whole);
		ck_assert_uint_le(bound, worst);
		ck_assert_uint_eq(bound, tsct_recording_error_ns(&rec, 0, events[i].cycles));
		narrow += bound < whole;
		off += error;
		sum += bound;
	}
	ck_assert_uint_eq(rec.errors.nr_contradictory, 0);
	ck_assert_uint_gt(narrow, EVENTS / 2);
	describe_again(&at_end);
	half = median_half(&rec);
	half_at_end = median_half(&at_end);
	printf("# %u s, %s: %u lines; the recording within %llu ns; an event (mean) within %llu"
	       " ns, off by %llu ns; CLOCK_REALTIME at an event (median) within %llu ns, by the lines of the end alone"
	       " %llu ns; %u live readings were outside of their bound\n",
	       record_s, _i % 2 ? "steered" : "not steered", rec.nr_segments,
	       (unsigned long long)whole,
	       (unsigned long long)sum / EVENTS, (unsigned long long)off / EVENTS / 1000,
	       (unsigned long long)half, (unsigned long long)half_at_end, count_live_wrong());
	ck_assert_uint_le(half, half_at_end);
	/* Some seeds come close to 3/4, and some have equal medians. */
	if (_i % 2)
		ck_assert_uint_lt(sum / EVENTS, whole * 9 / 10);
	tsct_recording_free(&at_end);
	stop_machine();
}

/* CLOCK_REALTIME is set by 3 ms: times before, by a line of the later epoch, are off by
 * that; no line of another epoch narrows a bound; without a line, no bound. */
LOOP_TEST(test_disruption, 0, 2)
{
	struct tsct_error_cursor cursor = { .piece = 0 };
	unsigned int i, before = 0, unknown = 0, after = 0;
	uint64_t bound;

	record_s = RECORD_S;
	start_machine(7, true);
	machine_add(&machine, (struct event) {
		.at_ps = 30500 * PS_PER_MS, .kind = EVENT_STEP, .value = 3000000,
		.notified = _i, .new_epoch = true });
	record_events();
	ck_assert_uint_eq(rec.epoch, rec.epoch_first + 1);
	for (i = 0; i < EVENTS; i++) {
		bound = tsct_recording_error_at(&rec, &cursor, 0, events[i].cycles);
		if (bound == UINT64_MAX) {
			unknown++;
			continue;
		}
		ck_assert_uint_le(error_of(&events[i]), bound * 1000);
		before += bound >= 2500000;
		after += bound < 100000;
	}
	ck_assert_uint_gt(before, EVENTS / 4);
	ck_assert_uint_gt(after, EVENTS / 4);
	ck_assert_uint_gt(unknown, 0);
	ck_assert_uint_lt(unknown, EVENTS / 20);
	ck_assert_uint_eq(before + after + unknown, EVENTS);
	ck_assert_uint_eq(tsct_recording_worst_ns(&rec, rec.end), UINT64_MAX);
	stop_machine();
}

/* ---- given lines ------------------------------------------------------------------ */

#define ONE	(1ULL << TSCT_CLOCK_SHIFT)
#define BEGIN_NS	50000000
#define BOUND	5000		/* bound of the recording's straight clock, ns */

/* Makes a recording of 1000000 cycles of 1 ns. */
static void make_given(void)
{
	ck_assert_int_eq(tsct_recording_make(&rec, 1), 0);
	rec.source = TSCT_SOURCE_MONOTONIC_RAW;
	rec.begin = 1000000;
	rec.end = 2000000;
	rec.epoch = rec.epoch_first = 3;
	rec.real = (struct tsct_clock_params) {
		.base_cycles = rec.begin, .base_ns = BEGIN_NS, .mult = ONE, .slew_mult = ONE,
		.as_of_cycles = rec.end, .error_ps = (BOUND - 1) * 1000,
		.past_error_ps = (BOUND - 1) * 1000, .holdover_after_cycles = 3000000,
		.void_after_cycles = 4000000,
	};
}

/* Adds a line that is @off_ns later than the recording's time. */
static void add_given(__u64 from, __u64 until, __s64 off_ns, __u64 error_ns, __u32 epoch)
{
	ck_assert_int_eq(tsct_recording_add_segment(&rec, &(struct tsct_clock_segment) {
		.base_cycles = from, .until_cycles = until, .mult = ONE,
		.base_ns = BEGIN_NS + (__s64)(from - rec.begin) + off_ns,
		.error_ps = error_ns * 1000, .epoch = epoch,
		.status = TSCT_STATUS_SYNCHRONIZED }), 0);
	ck_assert_int_eq(tsct_error_bounds_make(&rec), 0);
}

/* A bound is rounded up, and includes 1 ns for the rounding of two times. */
static void check_bound(__u64 tick, __u64 want_ns)
{
	ck_assert_uint_ge(tsct_recording_error_ns(&rec, 0, tick), want_ns);
	ck_assert_uint_le(tsct_recording_error_ns(&rec, 0, tick), want_ns + 2);
}

static void free_given(void)
{
	tsct_recording_free(&rec);
}

CASE("given", make_given, free_given);

TEST(test_intersection)
{
	check_bound(1500000, BOUND);
	add_given(1100000, 1500000, 300, 400, 3);
	check_bound(1099999, BOUND);
	check_bound(1100000, 700);
	check_bound(1500000, 700);
	check_bound(1500001, BOUND);
	/* [-100, 700] and [-700, 100] leave [-100, 100]. */
	add_given(1300000, 1700000, -300, 400, 3);
	check_bound(1299999, 700);
	check_bound(1300000, 100);
	check_bound(1500000, 100);
	check_bound(1500001, 700);
	ck_assert_uint_eq(rec.errors.nr_contradictory, 0);
	/* A line that is wider than the bound of the recording narrows nothing. */
	add_given(1800000, 1900000, 4000, 3000, 3);
	check_bound(1850000, BOUND);
	check_bound(2000000, BOUND);
	ck_assert_uint_eq(tsct_recording_node_worst_ns(&rec, 0, 1320000, 1450000),
			  tsct_recording_error_ns(&rec, 0, 1320000));
	check_bound(tsct_recording_worst_ns(&rec, rec.end) == BOUND ? 1050000 : 0, BOUND);
}

TEST(test_contradiction)
{
	add_given(1100000, 1500000, 300, 100, 3);
	check_bound(1200000, 400);
	/* [200, 400] and [-400, -200] leave nothing: neither is used. */
	add_given(1500000, 1700000, -300, 100, 3);
	ck_assert_uint_eq(rec.errors.nr_contradictory, 2);
	check_bound(1200000, BOUND);
	check_bound(1600000, BOUND);
	/* A line that contradicts the recording's own time is not used. */
	add_given(1800000, 1900000, 9000, 100, 3);
	ck_assert_uint_eq(rec.errors.nr_contradictory, 3);
	check_bound(1850000, BOUND);
	/* Nor are lines that end where they begin, or had no time. */
	add_given(1950000, 1950000, 0, 1, 3);
	check_bound(1950000, BOUND);
	rec.segments[rec.nr_segments - 1].until_cycles += 1000;
	rec.segments[rec.nr_segments - 1].status = TSCT_STATUS_DISRUPTED;
	ck_assert_int_eq(tsct_error_bounds_make(&rec), 0);
	check_bound(1950000, BOUND);
	ck_assert_uint_eq(rec.errors.nr_contradictory, 3);
}

/* After the last sample that the recording's straight clock was made with, its bound is only
 * that of a live reading: lines of later samples may show that it was wrong. */
TEST(test_later_lines)
{
	rec.real.as_of_cycles = 1600000;
	add_given(1650000, 1800000, 9000, 100, 3);
	ck_assert_uint_eq(rec.errors.nr_contradictory, 0);
	check_bound(1600000, BOUND);
	check_bound(1700000, 9100);
	check_bound(1900000, BOUND);
	ck_assert_uint_ge(tsct_recording_worst_ns(&rec, rec.end), 9100);
}

/* Lines of another epoch neither narrow nor contradict. */
TEST(test_epochs)
{
	rec.epoch_first = 2;
	rec.real.base_cycles += 500000;
	rec.real.base_ns += 500000;
	add_given(1000000, 1400000, 90000, 50, 2);
	add_given(1550000, 2000000, 300, 400, 3);
	add_given(1600000, 1700000, 0, 50, 2);
	add_given(1510000, 1520000, 0, 50, 2);
	add_given(1500000, 1505000, 300, 400, 3);
	check_bound(1200000, 90050);
	ck_assert_uint_eq(tsct_recording_error_ns(&rec, 0, 1450000), UINT64_MAX);
	check_bound(1515000, BOUND);
	check_bound(1550000, 700);
	check_bound(1650000, 700);
	ck_assert_uint_eq(rec.errors.nr_contradictory, 0);
	/* The epoch after that of the recording's time begins before the end. */
	rec.epoch = 4;
	rec.segments[1].until_cycles = 1900000;
	rec.real.as_of_cycles = 1900000;
	ck_assert_int_eq(tsct_error_bounds_make(&rec), 0);
	check_bound(1900000, 700);
	ck_assert_uint_eq(tsct_recording_error_ns(&rec, 0, 1900001), UINT64_MAX);
}

/* Lines of any content are computed without an overflow, or not used. */
TEST(test_extreme_lines)
{
	static const __u64 extreme[] = { 0, 1, (1ULL << 53) - 1, (1ULL << 55) - 1, 1ULL << 62,
					 1ULL << 63, UINT64_MAX - 1, UINT64_MAX };
	const unsigned int nr = ROWS(extreme);
	__u64 tick;

	for (unsigned int i = 0; i < nr * nr * nr; i++) {
		free_given();
		make_given();
		rec.epoch_first = 2;
		for (unsigned int k = 0; k < 3; k++)
			ck_assert_int_eq(tsct_recording_add_segment(&rec,
					 &(struct tsct_clock_segment) {
				.base_cycles = extreme[i % nr] + k,
				.until_cycles = extreme[(i + k + 1) % nr],
				.mult = extreme[i / nr % nr],
				.base_ns = (__s64)extreme[i / nr / nr],
				.error_ps = extreme[(i + k) % nr], .epoch = 2 + k % 2,
				.status = TSCT_STATUS_SYNCHRONIZED }), 0);
		rec.real.mult = extreme[(i / nr + 1) % nr];
		rec.real.slew_mult = rec.real.mult;
		ck_assert_int_eq(tsct_error_bounds_make(&rec), 0);
		for (unsigned int k = 0; k < nr; k++) {
			tick = extreme[k];
			ck_assert_uint_le(tsct_error_bounds_max_ps(&rec, tick, tick),
					  tsct_error_bounds_max_ps(&rec, 0, UINT64_MAX));
		}
	}
}

/* A disruption so early that no line of the first epoch was stored: the recording's straight
 * clock is of that epoch, and states nothing of the time after the last sample. */
TEST(test_epoch_without_lines)
{
	rec.epoch = 4;
	rec.has_real_epoch = 1;
	rec.real_epoch = 3;
	rec.real.as_of_cycles = 1500000;
	ck_assert_int_eq(tsct_error_bounds_make(&rec), 0);
	ck_assert_uint_eq(tsct_recording_error_ns(&rec, 0, 1400000), UINT64_MAX);
	ck_assert_uint_eq(tsct_recording_error_ns(&rec, 0, 1900000), UINT64_MAX);
	add_given(1000000, 1200000, 0, 50, 3);
	add_given(1800000, 1850000, 70000, 50, 4);
	check_bound(1200000, 50);
	ck_assert_uint_eq(tsct_recording_error_ns(&rec, 0, 1400000), UINT64_MAX);
	check_bound(1820000, 70050);
	ck_assert_uint_eq(tsct_recording_error_ns(&rec, 0, 1900000), UINT64_MAX);
}

/* Lines of an older version do not include the skew of the counters, and narrow nothing. */
TEST(test_older_version)
{
	add_given(1100000, 1500000, 300, 400, 3);
	check_bound(1200000, 700);
	ck_assert_int_eq(tsct_error_bounds_make_old(&rec), 0);
	check_bound(1200000, BOUND);
}

/* Lines as far away, and as steep, as metadata can state overflow nothing. */
TEST(test_far_lines)
{
	static const __u64 far[] = { 1ULL << 53, (1ULL << 55) - 1, 1ULL << 55, 1ULL << 63 };

	for (unsigned int i = 0; i < 2 * ROWS(far); i++) {
		free_given();
		make_given();
		if (i % 2)
			rec.real.base_cycles += far[i / 2];
		else
			rec.real.base_cycles -= far[i / 2];
		add_given(1100000, 1500000, 300, 400, 3);
		rec.segments[0].mult = 1ULL << 63;
		rec.segments[0].base_cycles = 1;
		rec.segments[0].until_cycles = far[i / 2] + 1;
		ck_assert_int_eq(tsct_error_bounds_make(&rec), 0);
		rec.segments[0].base_ns = INT64_MIN;
		ck_assert_int_eq(tsct_error_bounds_make(&rec), 0);
	}
}

/* Bounds to UTC: the last one grows after the end that the metadata states, a short one
 * counts for any range that it is in, and before the first one nothing is known. */
TEST(test_utc)
{
	struct tsct_recorded_errors errors;
	__u64 ns;
	struct tsct_recorded_node *node = &rec.nodes[0];

	tsct_recorded_utc_add(node, rec.begin, 40000, TSCT_UTC_KERNEL);
	tsct_recorded_utc_add(node, 1500000, 90000, TSCT_UTC_KERNEL);
	tsct_recorded_utc_add(node, 1500010, 50000, TSCT_UTC_KERNEL);
	ck_assert_uint_eq(tsct_recording_utc_max_ns(&rec, 0, 1400000, 1499999), 40000);
	ck_assert_uint_eq(tsct_recording_utc_max_ns(&rec, 0, 1400000, 1600000), 90000);
	ck_assert_uint_eq(tsct_recording_utc_max_ns(&rec, 0, 1500010, 1600000), 50000);
	/* 4 s after the end: 2 ms more */
	ns = tsct_recording_utc_ns(&rec, 0, rec.end + 4000000000);
	ck_assert_uint_ge(ns, 2050000);
	tsct_recording_errors(&rec, rec.end + 4000000000, &errors);
	ck_assert_uint_ge(errors.utc_ns, ns);
	/* So it does up to the end of the last packet, which readers take for the end. */
	rec.end += 4000000000;
	rec.unstated = 4000000000;
	ck_assert_uint_eq(tsct_recording_utc_ns(&rec, 0, rec.end), ns);
	rec.end -= rec.unstated;
	rec.unstated = 0;
	tsct_recorded_utc_begin(node, 900000);
	ck_assert_uint_eq(node->nr_utc, 4);
	ck_assert_uint_eq(tsct_recording_utc_ns(&rec, 0, 999999), UINT64_MAX);
	ck_assert_uint_eq(tsct_recording_utc_ns(&rec, 0, rec.begin), 40000);
	/* A bound, and a sum of two bounds, of 2^63 ns or more is unknown: as a signed number
	 * it would be negative. */
	tsct_recorded_utc_add(node, 1600000, INT64_MAX, TSCT_UTC_KERNEL);
	ck_assert_uint_eq(tsct_recording_utc_ns(&rec, 0, 1600000), INT64_MAX);
	ck_assert_uint_eq(tsct_recording_error_of(&rec, &(struct tsct_error_cursor) { 0 },
						  TSCT_ERROR_UTC, 0, 1600000), UINT64_MAX);
	ck_assert_uint_eq(tsct_recording_utc_ns(&rec, 0, rec.end + 4000000000), UINT64_MAX);
	node->nr_utc = 0;
	tsct_recorded_utc_add(node, rec.begin, INT64_MAX, TSCT_UTC_KERNEL);
	tsct_recording_errors(&rec, rec.end, &errors);
	ck_assert_uint_eq(errors.utc_ns, UINT64_MAX);
	tsct_recorded_utc_add(node, 1700000, 1ULL << 63, TSCT_UTC_KERNEL);
	ck_assert_uint_eq(tsct_recording_utc_ns(&rec, 0, 1700000), UINT64_MAX);
}

/* The largest bound of a range is that of a tick in it, or a little more, for any lines. */
RANDOM_TEST(test_largest, 200)
{
	__u64 from, until, worst, max, tick;
	unsigned int i, k;

	rec.epoch_first = 3 - any(2);
	rec.epoch = 3 + any(2);
	rec.real.base_cycles += any(2) * 300000;
	rec.real.as_of_cycles -= any(2) * 300000;
	rec.real.growth = tsct_growth(ONE, any(100000000));
	for (i = 0; i < 12; i++) {
		from = 900000 + any(1200000);
		add_given(from, from + any(400000), (__s64)any(8000) - 4000, any(8000),
			  2 + any(3));
		rec.segments[i].mult += (__u64)any(2000) * (ONE / 1000000);
	}
	ck_assert_int_eq(tsct_error_bounds_make(&rec), 0);
	for (k = 0; k < 50; k++) {
		from = 900000 + any(1200000);
		until = from + any(300000);
		max = tsct_error_bounds_max_ps(&rec, from, until);
		for (worst = 0, i = 0; i < 2000; i++) {
			tick = from + any((unsigned int)(until - from + 1));
			if (tsct_error_bounds_max_ps(&rec, tick, tick) > worst)
				worst = tsct_error_bounds_max_ps(&rec, tick, tick);
		}
		ck_assert_uint_ge(max, worst);
	}
}
