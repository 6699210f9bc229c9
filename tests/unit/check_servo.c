/* SPDX-License-Identifier: MIT */
/* The servo: when it replaces clock params, and the values of the new params */
#include "rate_sim.h"
#include "lib/clockpage/latch.h"

/* Returns whether params @a and @b give the same times; their bounds may differ. */
static bool is_same_function(const struct tsct_clock_params *a,
			     const struct tsct_clock_params *b)
{
	return a->base_cycles == b->base_cycles && a->base_ns == b->base_ns &&
		a->mult == b->mult && a->slew_mult == b->slew_mult &&
		a->slew_cycles == b->slew_cycles;
}

static bool slewing(const struct tsct_clock_params *params)
{
	return params->slew_cycles && params->slew_mult != params->mult;
}

static double slew_ppm(const struct tsct_clock_params *params)
{
	return ((double)params->slew_mult / (double)params->mult - 1) * 1e6;
}

CASE("servo", start, NULL);

/* Samples that agree with the published params keep these, and renew their bound. */
TEST(test_confirmed_params)
{
	const struct tsct_clock_params *params = &est.state.real;
	unsigned int i, nr_replaced = 0;
	struct tsct_clock_params last;

	go_on_for(20);
	for (i = 0; i < 200; i++) {
		last = *params;
		ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
		nr_replaced += !is_same_function(&last, params);
		ck_assert_uint_gt(params->as_of_cycles, last.as_of_cycles);
		ck_assert_uint_gt(params->holdover_after_cycles, last.holdover_after_cycles);
		ck_assert_uint_gt(params->void_after_cycles, last.void_after_cycles);
		if (is_same_function(&last, params) && !slewing(params))
			ck_assert_uint_gt(params->fast_cycles, last.fast_cycles);
		/* Times of holdover and expiry count from the last sample. */
		ck_assert_double_eq_tol((double)(params->holdover_after_cycles -
				params->as_of_cycles) / HZ, 5, 1e-3);
		ck_assert_double_eq_tol((double)(params->void_after_cycles -
				params->as_of_cycles) / HZ, 1000, 0.1);
	}
	/* Clock params are replaced every 16 s because of their age, and twice for each
	 * slew. */
	ck_assert_uint_le(nr_replaced, 80);
	ck_assert_uint_ge(nr_replaced, 12);
}

/* New clock params continue the old ones without a step, whenever they begin. */
TEST(test_begins_anywhere)
{
	struct tsct_clock_state next;
	struct tsct_rate_estimator before;
	unsigned int i, nr_replaced = 0, kept = 0;

	go_on_for(10);
	sim_step(&sim, 100000);
	sim_advance(&sim, SECOND);
	ck_assert_int_eq(tsct_sampler_feed(&sampler, &est), TSCT_RATE_OK);
	before = est;
	for (i = 0; i < 1000; i++) {
		uint64_t begin = sim_counter(&sim) + 1 + any64() % 1000000000;

		tsct_rate_compose(&est, begin, &next);
		ck_assert_mem_eq(&est, &before, sizeof(est));
		if (is_same_function(&est.state.real, &next.real)) {
			/* The published clock params slew already, and need no
			 * replacement. */
			ck_assert(slewing(&est.state.real));
			kept++;
			continue;
		}
		ck_assert_uint_eq(next.real.base_cycles, begin);
		ck_assert_int_eq(next.real.base_ns,
				 tsct_clock_params_ns(&est.state.real, begin));
		ck_assert_int_eq(tsct_segments_check(&est.state, &next,
						     begin - 1), 0);
		ck_assert_int_eq(tsct_segments_check(&est.state, &next, begin),
				 -ETIME);
		nr_replaced += slewing(&next.real);
	}
	ck_assert_uint_eq(nr_replaced + kept, 1000);
}

/* An offset is slewed away, no faster than allowed, and the slew ends. */
TEST(test_slews)
{
	static const int64_t offs[] = { 500, -500, 20000, -20000, 300000,
		-300000 };
	const struct tsct_clock_params *params = &est.state.real;
	struct tsct_clock_state before;

	for (unsigned int i = 0; i < ROWS(offs); i++) {
		go_on_for(10);
		sim_step(&sim, offs[i]);
		sim_advance(&sim, SECOND);
		before = est.state;
		ck_assert_int_eq(feed(), TSCT_RATE_OK);
		ck_assert(!is_same_function(&before.real, params));
		ck_assert(slewing(params));
		ck_assert_int_eq(slew_ppm(params) > 0, offs[i] > 0);
		ck_assert_double_le(fabs(slew_ppm(params)), 500.1);
		ck_assert_double_eq_tol((double)params->slew_cycles / HZ, 1.25, 0.01);
		ck_assert_uint_le(params->fast_cycles, params->slew_cycles);
		/* The bound of the old clock params covers the offset found later. */
		ck_assert_uint_ge(est.state.closing_error_ps / 1000,
				  (uint64_t)llabs(offs[i]));
		ck_assert_uint_gt(est.state.closing_error_ps,
				  before.real.past_error_ps);
		go_on_for(6);
		ck_assert_int_le(check_params(), 100);
	}
}

/* If no sample follows a slew, the time continues at the rate `mult` after it. */
TEST(test_slew_ends)
{
	const struct tsct_clock_params *params = &est.state.real;

	go_on_for(10);
	sim_step(&sim, 200000);
	sim_advance(&sim, SECOND);
	feed();
	ck_assert(slewing(params));
	/* After the slew has ended, new params are published. */
	go_on_for(2);
	for (unsigned int i = 0; i < 100; i++) {
		sim_advance(&sim, 4 * SECOND);
		check_params();
	}
}

/* Without disruptions, the fast conversion from cycles to time (one multiplication)
 * never fails, and its results equal those of tsct_clock_params_ns(). */
TEST(test_fast)
{
	const struct tsct_clock_params *params = &est.state.real;
	unsigned int i, k, slow = 0;

	go_on_for(3);
	for (i = 0; i < 200; i++) {
		for (k = 0; k < 10; k++) {
			uint64_t d = sim_counter(&sim) - params->base_cycles;

			sim_advance(&sim, SECOND / 10);
			if ((int64_t)d < 0)
				continue;
			slow += d >= params->fast_cycles;
			if (d < params->fast_cycles)
				ck_assert_int_eq(params->base_ns + (int64_t)
					((tsct_u128)d * params->slew_mult >>
					 TSCT_CLOCK_SHIFT),
					tsct_clock_params_ns(params, params->base_cycles + d));
		}
		ck_assert_int_eq(feed(), TSCT_RATE_OK);
	}
	ck_assert_uint_eq(slow, 0);
}

/* In an epoch that has no clock params yet, all other fields of the state are valid. */
TEST(test_disrupted)
{
	struct tsct_clock_state next;
	uint64_t now;

	go_on_for(3);
	tsct_rate_disrupt(&est, TSCT_CAUSE_SUSPEND);
	now = sim_counter(&sim);
	tsct_rate_compose(&est, now + LEAD, &next);
	ck_assert_int_eq(tsct_clock_state_check(&next), 0);
	ck_assert_uint_eq(next.status, TSCT_STATUS_DISRUPTED);
	ck_assert_uint_eq(next.cause, TSCT_CAUSE_SUSPEND);
	ck_assert_uint_eq(next.epoch, 6);
	ck_assert_uint_eq(next.epoch_cycles, now + LEAD);
	ck_assert_uint_eq(next.real.mult, 0);
	tsct_rate_published(&est, &next);
	ck_assert_int_eq(calibrate(), TSCT_RATE_OK);
	ck_assert_uint_eq(est.state.status, TSCT_STATUS_CALIBRATING);
	/* The first clock params of an epoch begin at the newest sample, not in the
	 * future. */
	ck_assert_uint_eq(est.state.real.base_cycles, est.state.real.as_of_cycles);
	ck_assert_uint_eq(est.state.closing_error_ps, 0);
	check_params();
}

/* Holdover begins holdover_cycles after the last sample, unknown time void_cycles. */
TEST(test_lifetimes)
{
	const struct tsct_clock_params *params = &est.state.real;

	start_with(HZ);
	est.holdover_cycles = 12345;
	est.void_cycles = 1ULL << 61;
	ck_assert_int_eq(calibrate(), TSCT_RATE_OK);
	ck_assert_uint_eq(params->holdover_after_cycles - params->as_of_cycles, 12345);
	ck_assert_uint_eq(params->void_after_cycles - params->as_of_cycles, 1ULL << 61);
	est.state.flags |= TSCT_CLOCK_SKEWED;
	go_on_for(3);
	ck_assert_uint_eq(params->fast_cycles, 0);
}

/* Clock params are replaced before a product in a conversion overflows. */
TEST(test_replaced_before_overflow)
{
	struct tsct_clock_state next;
	uint64_t begin;

	/* Params are replaced only after a sample later than their begin. */
	do
		go_on_for(1);
	while ((int64_t)(est.offset.cycles - est.state.real.base_cycles) < 0);
	begin = est.state.real.base_cycles + (1ULL << 54) + 1;
	tsct_rate_compose(&est, begin, &next);
	ck_assert_uint_eq(next.real.base_cycles, begin);
	ck_assert_int_eq(tsct_clock_state_check(&next), 0);
}

/* The multiplier in clock params is more precise than any measurement of the rate. */
TEST(test_quantisation)
{
	for (double hz = 1.01e7; hz < 9e10; hz *= 1.37) {
		start_with(hz);
		ck_assert_int_eq(calibrate(), 0);
		ck_assert_double_le(fabs((double)est.state.real.mult *
					 0x1p-56 / est.rate - 1), 1e-14);
		ck_assert_double_le(fabs((double)est.state.rate_mult *
					 0x1p-56 * hz / 1e9 - 1),
				    (double)est.state.rate_error_ppt * 1e-12);
	}
}

/* ---- past times -------------------------------------------------------- */

/*
 * Past times, as readers convert them, of a clock that is set by a small step while its
 * params still slew. They must be within their bounds.
 */

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
	for (unsigned int i = 1; i <= way->seconds; i++) {
		sim_advance(&sim, SECOND);
		ck_assert_int_eq(tsct_sampler_feed(&sampler, &est),
				 TSCT_RATE_OK);
		publish_led(i < way->seconds ? 1 : way->lead);
	}
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
		kept[nr_kept].cycles = sim_counter(&sim);
		kept[nr_kept++].real = sim_real(&sim);
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

	for (unsigned int i = 0; i < nr_kept; i++) {
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

/* The schedules; the slew above which params count as slewing; the range of the step */
static const struct {
	struct way way;
	double min_slew_ppb;
	int64_t least, most;
} ways[] = {
	{ { 1, 1, 0, { 1000, 2000, 3000 } }, 1000, 0, 1 },
	/* The clock is set at the begin of the slew, when the error is largest. When
	 * cycles are converted, the error is smaller by the amount slewed since. */
	{ { 1, 1, 5, { 1000, 2000, 3000 } }, 1000, 1000, 100000 },
	/* CLOCK_REALTIME is stepped 50 ms after a sample, 350 ms before the params made
	 * from that sample begin. The bounds of the times between the step and that
	 * begin hold. */
	{ { 1, 400, 1050, { 1000, 2000, 3000 } }, 1000, 1000, 300000 },
	/* CLOCK_REALTIME is stepped 300 ms before the next params begin, while the params
	 * in force slew. Their slew ends between the step and that begin. */
	{ { 1, 400, 1400, { 1300, 2300, 3300 } }, 1000, 1000, 300000 },
	/* The sample after the step confirms the params in force. So their new bound must
	 * cover the step. */
	{ { 6, 100, 50, { 150, 155, 160 } }, 0, 1000, 80000 },
};

LOOP_TEST(test_past_times, 0, ROWS(ways))
{
	unsigned int range = (unsigned int)(ways[_i].most - ways[_i].least), bent = 0;

	page = aligned_alloc(TSCT_PAGE_SIZE, TSCT_CLOCK_SIZE(1));
	ck_assert_ptr_nonnull(page);
	for (unsigned int turn = 0; turn < TURNS; turn++) {
		seed_with(turn);
		start_slewing(&ways[_i].way);
		bent += go(&ways[_i].way, ways[_i].least + any(range)) > ways[_i].min_slew_ppb;
		check_kept();
	}
	/* The test is useful only if many of the params had a slew. */
	ck_assert_uint_gt(bent, TURNS / 3);
	free(page);
}
