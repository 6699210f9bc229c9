/* SPDX-License-Identifier: MIT */
/*
 * Published states that are valid one by one, but jump in time and in epochs as far as
 * 64 bits allow: the segments stay in order. Readers reject a copy whose segments are
 * not in order.
 */
#include "lib/core/clock_params.h"
#include "lib/core/clock_segments.h"
#include "seed.h"
#include "suite.h"

#define ONE	(1ULL << TSCT_CLOCK_SHIFT)
#define STEPS	100000

static struct tsct_clock_copy copy;
static uint64_t now;

/* A random number of any magnitude, positive or negative */
static uint64_t random_number(void)
{
	return any(4) ? any64() >> any(64) : 1ULL << any(64);
}

static uint64_t rate(uint64_t mult)
{
	return mult - mult / 20 + any64() % (mult / 10);
}

static void begin(struct tsct_clock_state *state)
{
	struct tsct_clock_params *params = &state->real;

	state->epoch += any(4) ? any(2) : (uint32_t)random_number() & 0x7fffffff;
	state->epoch_cycles = any(2) ? now - random_number() : 0;
	state->status = any(TSCT_STATUS_NR);
	memset(params, 0, sizeof(*params));
	if (any(4) == 0) {
		state->status = TSCT_STATUS_DISRUPTED;
		return;
	}
	params->mult = ONE / (1 + any(50));
	params->slew_mult = rate(params->mult);
	params->slew_cycles = any(2) ? any(100000) : random_number() >> 9;
	params->base_cycles = any(2) ? now - random_number() : now + any(1000000);
	params->base_ns = (int64_t)random_number();
	params->as_of_cycles = params->base_cycles + (any(2) ? random_number() >> 3 :
					    0 - (random_number() >> 3));
	params->holdover_after_cycles = params->as_of_cycles + (random_number() >> 3);
	params->void_after_cycles = params->holdover_after_cycles +
		(random_number() >> 3);
	params->past_error_ps = random_number();
}

static void go_on(struct tsct_clock_state *state)
{
	struct tsct_clock_params *params = &state->real;
	uint64_t base = now + 1 + any(1000000);

	params->base_ns = tsct_clock_params_ns(params, base);
	params->base_cycles = base;
	params->mult = any(2) ? params->mult : rate(params->mult);
	params->slew_mult = rate(params->mult);
	params->slew_cycles = any(2) ? any(1000000) : random_number() >> 9;
	params->as_of_cycles = now - any(1000000);
	params->holdover_after_cycles = params->void_after_cycles = base + (1ULL << 40);
	state->closing_error_ps = random_number();
}

/* Publishes a disruption as the module does, without a check of the clock state. */
static void disrupt(struct tsct_clock_state *state)
{
	memset(&state->real, 0, sizeof(state->real));
	state->status = TSCT_STATUS_DISRUPTED;
	state->epoch++;
	state->epoch_cycles = now;
}

static bool from_future(uint64_t cycles)
{
	return (int64_t)(cycles - now) > 1000000000;
}

static bool try(void)
{
	struct tsct_clock_state next = copy.state;
	unsigned int what = any(8);

	if (!what)
		disrupt(&next);
	else if (what < 4 || !next.real.mult)
		begin(&next);
	else
		go_on(&next);
	if (tsct_clock_state_check(&next) || from_future(next.epoch_cycles) ||
	    (next.real.mult && from_future(next.real.base_cycles)) ||
	    tsct_segments_check(&copy.state, &next, now))
		return false;
	tsct_segments_succeed(&copy, &next);
	return true;
}

TEST(test_jumps)
{
	unsigned int i, taken = 0, most = 0;

	memset(&copy, 0, sizeof(copy));
	now = any64();
	for (i = 0; i < STEPS; i++) {
		now += any(1000000000);
		if (!try())
			continue;
		taken++;
		ck_assert_msg(!tsct_segments_valid(&copy), "step %u", i);
		if (copy.nr_segments > most)
			most = copy.nr_segments;
	}
	printf("%u of %u states were accepted; at most %u segments\n",
	       taken, i, most);
	ck_assert_uint_gt(taken, STEPS / 10);
	ck_assert_uint_gt(most, 2);
}
