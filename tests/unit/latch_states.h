/* SPDX-License-Identifier: MIT */
/* Clock states for tests of the latch. State n begins at n * 1000 cycles, and all
 * states have a rate of 10 ns per cycle. So cycles convert to ten times their value,
 * whichever state is published. Each field that differs between states contains n. */
#ifndef TESTS_LATCH_STATES_H
#define TESTS_LATCH_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/clockpage/latch.h"

#define STRIDE	1000

static const __u8 boot_id[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };

static inline struct tsct_clock_state nth_state(uint64_t n)
{
	const uint64_t base = n * STRIDE;

	return (struct tsct_clock_state) {
		.status = TSCT_STATUS_SYNCHRONIZED,
		.epoch = 1,
		.real = {
			.base_cycles = base,
			.base_ns = (int64_t)base * 10,
			.mult = 10ULL << TSCT_CLOCK_SHIFT,
			.slew_mult = 10ULL << TSCT_CLOCK_SHIFT,
			.as_of_cycles = base,
			.holdover_after_cycles = base + STRIDE * 100000,
			.void_after_cycles = base + STRIDE * 100000,
			.error_ps = n,
			.past_error_ps = 0,
		},
		.rate_error_ppt = n,
	};
}

/* Returns the number n of a state, or 0 if its fields are from several states. */
static inline uint64_t state_nr(const struct tsct_clock_state *state)
{
	struct tsct_clock_state want = nth_state(state->rate_error_ppt);

	return memcmp(state, &want, sizeof(want)) ? 0 : state->rate_error_ppt;
}

static inline uint64_t read_nr(const struct tsct_clock_page *page)
{
	struct tsct_clock_state state;

	return tsct_latch_read(page, &state) ? 0 : state_nr(&state);
}

/* Returns whether @page converts @cycles to the right time, ten times @cycles. @cycles
 * must not be before the begin of the first state published. */
static inline bool is_right(const struct tsct_clock_page *page, uint64_t cycles)
{
	struct tsct_clock_time reading;

	if (tsct_latch_lookup(page, cycles, &reading) ||
	    reading.status != TSCT_STATUS_SYNCHRONIZED || reading.epoch != 1)
		return false;
	/* All segments have the same rate, so joining segments changes times by
	 * rounding only. */
	return reading.ns == (int64_t)cycles * 10;
}

#endif /* TESTS_LATCH_STATES_H */
