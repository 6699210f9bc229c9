/* SPDX-License-Identifier: MIT */
/*
 * Simulated oscillators and their counters, known exactly. True time is an integer of
 * ps, a counter has 64 fractional bits. Between two changes of the rate, counts are a
 * product of integers, so no rounding error adds to what a test compares.
 */
#ifndef TESTS_WORLD_CRYSTAL_H
#define TESTS_WORLD_CRYSTAL_H

#include "random.h"
#include "lib/clockpage/clock_params.h"

#define PS_PER_NS	1000LL
#define PS_PER_US	1000000LL
#define PS_PER_MS	1000000000LL
#define PS_PER_S	1000000000000LL

/* A counter whose rate changes only when oscillator_set() is called */
struct oscillator {
	int64_t at_ps;
	tsct_u128 phase;	/* count at time at_ps, with 64 fractional bits */
	uint64_t rate;		/* counts per ps, with 64 fractional bits */
};

static inline uint64_t oscillator_rate(double hz)
{
	return (uint64_t)ldexp(hz / PS_PER_S, 64);
}

static inline tsct_u128 oscillator_phase(const struct oscillator *osc,
					 int64_t ps)
{
	return osc->phase + (tsct_u128)(uint64_t)(ps - osc->at_ps) * osc->rate;
}

static inline void oscillator_set(struct oscillator *osc, int64_t ps,
				  tsct_u128 phase, uint64_t rate)
{
	*osc = (struct oscillator) { .at_ps = ps, .phase = phase, .rate = rate };
}

/* Parameters of a crystal. Deviations of the rate are relative to the frequency hz. */
struct crystal_params {
	double hz;
	double drift;		/* constant deviation of the rate, relative */
	double wander;		/* size of the rate's random walk, relative, per root
				 * of a second */
	double temp, temp_s;	/* sine that is added to the rate: amplitude
				 * (relative), period in s */
	double jump, jump_at_s, jump_lag_s;	/* step of the rate: size, time, time
						 * constant */
	double cell_s;		/* time for which the rate is constant, s; 0: 0.1 s */
};

/* A counter whose rate drifts at random */
struct crystal {
	struct crystal_params params;
	struct random random;
	struct oscillator osc;
	int64_t cell_ps, cell_end_ps;
	double walk, temp_phase;
};

/* Initializes a crystal whose counter is @count at true time 0. */
void crystal_init(struct crystal *crystal, const struct crystal_params *params,
		  uint64_t count, struct random random);
/* Advances the crystal to true time @ps, which must not be before its present time. */
void crystal_advance(struct crystal *crystal, int64_t ps);
/* Sets the counter to @count, as a suspend or a migration does. */
void crystal_jump(struct crystal *crystal, uint64_t count);

static inline uint64_t crystal_count(const struct crystal *crystal)
{
	return (uint64_t)(crystal->osc.phase >> 64);
}

/* Fraction of the present count, in [0, 1) */
double crystal_frac(const struct crystal *crystal);
/* Present rate of the crystal, counts per second */
double crystal_hz(const struct crystal *crystal);

#endif /* TESTS_WORLD_CRYSTAL_H */
