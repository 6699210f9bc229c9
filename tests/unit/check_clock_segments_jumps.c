/* SPDX-License-Identifier: MIT */
/*
 * Published states that are valid one by one, but jump in time and in epochs as far as
 * 64 bits allow: the segments stay in order. Readers reject a copy whose segments are
 * not in order.
 */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/clock_params.h"
#include "lib/core/clock_segments.h"
#include "seed.h"
#include "suite.h"

#define ONE	(1ULL << TSCT_CLOCK_SHIFT)
#define STEPS	100000

static struct tsct_clock_copy copy;
static uint64_t now;

/* A random number of any magnitude */
static uint64_t wild(void)
{
	return any(4) ? any64() >> any(64) : 1ULL << any(64);
}

static uint64_t rate(uint64_t mult)
{
	return mult - mult / 20 + any64() % (mult / 10);
}

static void begin(struct tsct_clock_state *state)
{
	struct tsct_clock_params *pair = &state->real;

	state->epoch += any(4) ? any(2) : (uint32_t)wild() & 0x7fffffff;
	state->epoch_cycles = any(2) ? now - wild() : 0;
	state->status = any(TSCT_STATUS_NR);
	memset(pair, 0, sizeof(*pair));
	if (any(4) == 0) {
		state->status = TSCT_STATUS_DISRUPTED;
		return;
	}
	pair->mult = ONE / (1 + any(50));
	pair->slew_mult = rate(pair->mult);
	pair->slew_cycles = any(2) ? any(100000) : wild() >> 9;
	pair->base_cycles = any(2) ? now - wild() : now + any(1000000);
	pair->base_ns = (int64_t)wild();
	pair->as_of_cycles = pair->base_cycles + (any(2) ? wild() >> 3 :
					    0 - (wild() >> 3));
	pair->holdover_after_cycles = pair->as_of_cycles + (wild() >> 3);
	pair->void_after_cycles = pair->holdover_after_cycles + (wild() >> 3);
	pair->past_error_ps = wild();
}

static void go_on(struct tsct_clock_state *state)
{
	struct tsct_clock_params *pair = &state->real;
	uint64_t base = now + 1 + any(1000000);

	pair->base_ns = tsct_clock_params_ns(pair, base);
	pair->base_cycles = base;
	pair->mult = any(2) ? pair->mult : rate(pair->mult);
	pair->slew_mult = rate(pair->mult);
	pair->slew_cycles = any(2) ? any(1000000) : wild() >> 9;
	pair->as_of_cycles = now - any(1000000);
	pair->holdover_after_cycles = pair->void_after_cycles = base + (1ULL << 40);
	state->closing_error_ps = wild();
}

/* A disruption as the module publishes it, without a check of the state */
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

START_TEST(test_jumps)
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
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("clock_segments_jumps");
	Suite *suite = suite_create("clock_segments_jumps");

	print_seed();
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_jumps);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
