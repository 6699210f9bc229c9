/* SPDX-License-Identifier: MIT */
/* A simulated machine, and a rate estimator that maintains its clock */
#ifndef TESTS_RATE_SIM_H
#define TESTS_RATE_SIM_H

#include "lib/clockpage/clock_params.h"
#include "lib/clockpage/clock_segments.h"
#include "lib/estimate/rate_estimator.h"
#include "simclock.h"
#include "suite.h"

#define HZ	2596104055.0
#define SECOND	1000000000ULL
#define LEAD	2600000		/* time from publishing to the begin of clock params,
				 * cycles */

static struct sim sim;
static struct tsct_rate_estimator est;
static struct tsct_sampler sampler;

/* Publishes clock params as the daemon does. Returns whether they are new. */
static inline bool publish(void)
{
	struct tsct_clock_state last = est.state, next;
	uint64_t now = sim_counter(&sim);

	tsct_rate_compose(&est, now + LEAD, &next);
	ck_assert_int_eq(tsct_clock_state_check(&next), 0);
	ck_assert_int_eq(tsct_segments_check(&last, &next, now), 0);
	tsct_rate_published(&est, &next);
	ck_assert_mem_eq(&est.state, &next, sizeof(next));
	return last.real.base_cycles != next.real.base_cycles;
}

static inline void start_with(double hz)
{
	sim_init(&sim, hz);
	tsct_sampler_init(&sampler, &sim.ops);
	tsct_rate_init(&est, TSCT_SOURCE_TSC, 5, TSCT_CAUSE_RESTART);
}

static inline int calibrate(void)
{
	int event = tsct_sampler_start(&sampler, &est);

	if (event >= 0)
		publish();
	return event;
}

static inline void start(void)
{
	start_with(HZ);
	ck_assert_int_eq(calibrate(), TSCT_RATE_OK);
}

static inline int feed(void)
{
	int event = tsct_sampler_feed(&sampler, &est);

	if (event >= 0)
		publish();
	return event;
}

/* Checks the clock params in force against their bound. Returns their error in ns. */
static inline int64_t check_params(void)
{
	const struct tsct_clock_params *params = &est.state.real;
	uint64_t cycles = sim_counter(&sim);
	int64_t off = sim_real(&sim) - tsct_clock_params_ns(params, cycles);
	uint64_t bound = tsct_clock_params_error_ps(params, cycles) / 1000 + 1;

	/* The clock params have not begun yet. */
	if ((int64_t)(cycles - params->base_cycles) < 0)
		return 0;
	ck_assert_msg((uint64_t)llabs(off) <= bound,
		      "%lld ns off, bound %llu ns, at %.3f s", (long long)off,
		      (unsigned long long)bound, (double)sim.now_ps / 1e12);
	return llabs(off);
}

/* Advances time by @ns with 20 checks of the clock params, then takes a sample. Returns
 * the result of the sample. */
static inline int go_on(uint64_t ns)
{
	int64_t begin = sim.now_ps;

	for (unsigned int i = 0; i < 20; i++) {
		sim_advance(&sim, ns / 20);
		check_params();
	}
	sim.now_ps = begin + (int64_t)ns * 1000;
	return feed();
}

static inline void go_on_for(unsigned int seconds)
{
	while (seconds--)
		ck_assert_int_eq(go_on(SECOND), TSCT_RATE_OK);
}

static inline double hz_error_ppm(void)
{
	return fabs(tsct_rate_hz(&est, NULL) / sim.hz - 1) * 1e6;
}

static inline void check_rate_bound(void)
{
	double bound;

	tsct_rate_hz(&est, &bound);
	ck_assert_double_le(hz_error_ppm() * 1e3, bound + 1e-3);
}

static inline double growth_ppb(void)
{
	return (double)tsct_growth_ppb(est.state.real.mult,
				       est.state.real.growth);
}

#endif /* TESTS_RATE_SIM_H */
