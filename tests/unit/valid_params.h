/* SPDX-License-Identifier: MIT */
#ifndef TESTS_VALID_PARAMS_H
#define TESTS_VALID_PARAMS_H

#include "lib/core/clock_params.h"

/* Returns clock params as a daemon could publish them. */
static inline struct tsct_clock_params valid_params(void)
{
	const uint64_t mult = 27750000000000000; /* clock rate: 0.3851 ns per cycle */
	const uint64_t base = 1000000000000;

	return (struct tsct_clock_params) {
		.base_cycles = base,
		.base_ns = 1700000000000000000,
		.mult = mult,
		.slew_mult = mult,
		.fast_cycles = 13000000000,
		.as_of_cycles = base - 1000,
		.holdover_after_cycles = base + 13000000000,
		.void_after_cycles = base + 2600000000000,
		.error_ps = 20000,
		.past_error_ps = 30000,
		.growth = tsct_growth(mult, 50),
		.holdover_growth = tsct_growth(mult, 15000),
	};
}

#endif /* TESTS_VALID_PARAMS_H */
