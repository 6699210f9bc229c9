/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SANE_PAIR_H
#define TESTS_SANE_PAIR_H

#include "lib/core/clock_params.h"

/* A pair as a daemon would publish it */
static inline struct tsct_pair sane_pair(void)
{
	const uint64_t mult = 27750000000000000;	/* 0.3851 ns */
	const uint64_t base = 1000000000000;

	return (struct tsct_pair) {
		.base_tsc = base,
		.base_ns = 1700000000000000000,
		.mult = mult,
		.slew_mult = mult,
		.fast_tsc = 13000000000,
		.as_of_tsc = base - 1000,
		.hold_after_tsc = base + 13000000000,
		.void_after_tsc = base + 2600000000000,
		.error_ps = 20000,
		.past_error_ps = 30000,
		.growth = tsct_growth(mult, 50),
		.hold_growth = tsct_growth(mult, 15000),
	};
}

#endif /* TESTS_SANE_PAIR_H */
