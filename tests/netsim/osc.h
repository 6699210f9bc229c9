/* SPDX-License-Identifier: MIT */
/*
 * A crystal and the counter it turns, known exactly: truth is counted in ps, the
 * counter in counts with 64 binary digits behind the point. Its rate is constant
 * for a while (a cell) and then another one; so what is compared with it is
 * compared with a sum of products of integers.
 */
#ifndef TESTS_NETSIM_OSC_H
#define TESTS_NETSIM_OSC_H

#include "dice.h"
#include "lib/core/clock_params.h"

#define PS_PER_US	1000000LL
#define PS_PER_S	1000000000000LL

/* Rates are relative to hz. */
struct crystal {
	double hz;
	double drift;		/* constant */
	double wander;		/* random walk, per sqrt(s) */
	double temp, temp_s;	/* a sine's amplitude, its period */
	double jump, jump_at_s, jump_lag_s;	/* warmer from then on: first order */
	double cell_s;		/* 0: 0.1 */
};

struct osc {
	struct crystal crystal;
	struct dice dice;
	int64_t at_ps;
	tsct_u128 phase;	/* counts there */
	uint64_t rate;		/* counts per ps, all digits behind the point */
	int64_t cell_ps, cell_end_ps;
	double walk, temp_phase;
};

void osc_init(struct osc *osc, const struct crystal *crystal, uint64_t count,
	      struct dice dice);
/* Goes on to @ps, which is not before where it is. */
void osc_go_on(struct osc *osc, int64_t ps);
/* The counter jumps, as one does that slept or was moved. */
void osc_jump(struct osc *osc, uint64_t to);

static inline uint64_t osc_count(const struct osc *osc)
{
	return (uint64_t)(osc->phase >> 64);
}

/* What is behind the point, and counts per second now */
double osc_frac(const struct osc *osc);
double osc_hz(const struct osc *osc);

#endif /* TESTS_NETSIM_OSC_H */
