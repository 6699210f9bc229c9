/* SPDX-License-Identifier: MIT */
/*
 * Past times, as readers convert them, of a clock that is set by a small step while its
 * params still slew. They must be within their bounds.
 */
#include "lib/core/latch.h"
#include "rate_sim.h"

#define MS	1000000ULL
#define TURNS	300
#define CONVERSIONS	3

/* Schedule of a test. Times are in ms after the sample from which the slewing params
 * were made. */
struct way {
	unsigned int seconds;	/* time from the clock's calibration to the sample
				 * from which the slewing params are made, s */
	unsigned int lead;	/* time from a sample to the begin of the params made
				 * from it, ms */
	unsigned int set;
	/* times at which past cycles are converted; the last time is later than all
	 * these cycles */
	unsigned int conversions[CONVERSIONS];
};

static struct tsct_clock_page *page;

static struct {
	uint64_t cycles;
	int64_t real;
} kept[1000];
static unsigned int nr_kept;

static void publish_led(unsigned int lead_ms)
{
	uint64_t lead = (uint64_t)((double)lead_ms * HZ / 1e3);
	struct tsct_clock_state next;

	tsct_rate_compose(&est, sim_counter(&sim) + lead, &next);
	ck_assert_int_eq(tsct_clock_state_check(&next), 0);
	tsct_latch_write(page, &next);
	ck_assert_int_eq(tsct_segments_valid(&page->copy[page->seq & 1]), 0);
	tsct_rate_published(&est, &next);
}

/* Starts the clock with an inaccurate calibration, so that the next params slew. */
static void start_slewing(const struct way *way)
{
	unsigned int i;

	static const uint8_t boot_id[16] = "boot";

	start_with(HZ);
	sim.clocksource = "tsc";
	sim.stall_every = 0;
	sim.read_ns = 1000;
	sim.jitter_ns = 3000;
	tsct_latch_init(page, boot_id, TSCT_SOURCE_TSC, 1);
	ck_assert_int_eq(tsct_sampler_start(&sampler, &est), TSCT_RATE_OK);
	publish_led(1);
	sim.read_ns = 14;
	sim.jitter_ns = 6;
	for (i = 1; i <= way->seconds; i++) {
		sim_advance(&sim, SECOND);
		ck_assert_int_eq(tsct_sampler_feed(&sampler, &est),
				 TSCT_RATE_OK);
		publish_led(i < way->seconds ? 1 : way->lead);
	}
}

static void keep(void)
{
	kept[nr_kept].cycles = sim_counter(&sim);
	kept[nr_kept++].real = sim_real(&sim);
}

/* Executes the test's schedule @way; at way->set, steps CLOCK_REALTIME by @step against
 * the slew. Returns the amount of the slew's rate, ppb. */
static double go(const struct way *way, int64_t step)
{
	const struct tsct_clock_params *params = &est.state.real;
	int64_t begin = sim.now_ps;
	double bent = ((double)params->slew_mult / (double)params->mult - 1) * 1e9;
	unsigned int ms, conversion = 0;

	/* The step is opposite to the slew: backwards if the clock slews forwards. */
	if (bent < 0)
		step = -step;
	for (ms = 5, nr_kept = 0; conversion < CONVERSIONS; ms += 5) {
		sim.now_ps = begin + (int64_t)(ms * MS) * 1000;
		if (ms == way->set)
			sim_step(&sim, step);
		keep();
		if (ms != way->conversions[conversion])
			continue;
		ck_assert_int_eq(tsct_sampler_feed(&sampler, &est),
				 TSCT_RATE_OK);
		publish_led(way->lead);
		conversion++;
	}
	return fabs(bent);
}

static void check_kept(void)
{
	struct tsct_clock_time reading;
	unsigned int i;

	for (i = 0; i < nr_kept; i++) {
		uint64_t off;

		if ((int64_t)(kept[i].cycles - est.state.real.as_of_cycles) > 0)
			continue;
		ck_assert_int_eq(tsct_latch_lookup(page, kept[i].cycles,
						   &reading), 0);
		off = (uint64_t)llabs(kept[i].real - reading.ns);
		ck_assert_msg(off <= reading.error_ps / 1000 + 1,
			      "cycles %u of %u: %llu ns off, bound %.3f", i,
			      nr_kept, (unsigned long long)off,
			      (double)reading.error_ps / 1e3);
	}
}

static void check_way(const struct way *way, double min_slew_ppb, int64_t least,
		      int64_t most)
{
	unsigned int turn, bent = 0;

	page = aligned_alloc(TSCT_PAGE_SIZE, TSCT_CLOCK_SIZE(1));
	ck_assert_ptr_nonnull(page);
	for (turn = 0; turn < TURNS; turn++) {
		seed_with(turn);
		start_slewing(way);
		bent += go(way, least + any((unsigned int)(most - least))) >
			min_slew_ppb;
		check_kept();
	}
	/* The test is useful only if many of the params had a slew. */
	ck_assert_uint_gt(bent, TURNS / 3);
	free(page);
}

TEST(test_steady)
{
	static const struct way way = { 1, 1, 0, { 1000, 2000, 3000 } };

	check_way(&way, 1000, 0, 1);
}

/* The clock is set at the begin of the slew, when the error is largest. When cycles are
 * converted, the error is smaller by the amount slewed since. */
TEST(test_set_at_slew_begin)
{
	static const struct way way = { 1, 1, 5, { 1000, 2000, 3000 } };

	check_way(&way, 1000, 1000, 100000);
}

/* CLOCK_REALTIME is stepped 50 ms after a sample, 350 ms before the params made from
 * that sample begin. The bounds of the times between the step and that begin hold. */
TEST(test_set_before_next_params)
{
	static const struct way way = { 1, 400, 1050, { 1000, 2000, 3000 } };

	check_way(&way, 1000, 1000, 300000);
}

/* CLOCK_REALTIME is stepped 300 ms before the next params begin, while the params in
 * force slew. Their slew ends between the step and that begin. */
TEST(test_set_before_slew_end)
{
	static const struct way way = { 1, 400, 1400, { 1300, 2300, 3300 } };

	check_way(&way, 1000, 1000, 300000);
}

/* The sample after the step confirms the params in force. So their new bound must cover
 * the step. */
TEST(test_set_and_confirmed)
{
	static const struct way way = { 6, 100, 50, { 150, 155, 160 } };

	check_way(&way, 0, 1000, 80000);
}
