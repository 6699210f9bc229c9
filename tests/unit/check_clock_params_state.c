/* SPDX-License-Identifier: MIT */
/* Validity checks of clock params and of whole clock states */
#include "lib/core/clock_params.h"
#include "valid_params.h"
#include "suite.h"

#define ONE	(1ULL << TSCT_CLOCK_SHIFT)

/* Executes statements that change a field of valid params, and expects that
 * tsct_clock_params_check() returns `expected`. */
#define CHECK_PARAMS(source, expected, ...) do {				\
	struct tsct_clock_params params = valid_params();		\
	__VA_ARGS__;							\
	ck_assert_int_eq(tsct_clock_params_check(&params, source), expected);	\
} while (0)
#define REFUSED(...)	CHECK_PARAMS(TSCT_SOURCE_TSC, -EINVAL, __VA_ARGS__)
#define TAKEN(...)	CHECK_PARAMS(TSCT_SOURCE_TSC, 0, __VA_ARGS__)

/* Sets both rates of the params to @mult, so that they do not slew. */
static void set_rate(struct tsct_clock_params *params, uint64_t mult)
{
	params->mult = params->slew_mult = mult;
	params->growth = params->holdover_growth = 0;
}

#define NS(source, expected, mult) \
	CHECK_PARAMS(source, expected, set_rate(&params, mult))

TEST(test_rate_check)
{
	TAKEN();
	TAKEN(params = (struct tsct_clock_params) { 0 });
	REFUSED(params.mult = 0);
	NS(TSCT_SOURCE_TSC, 0, ONE * 100);
	NS(TSCT_SOURCE_TSC, -EINVAL, ONE * 100 + 1);
	NS(TSCT_SOURCE_TSC, 0, ONE / 100 + 1);
	NS(TSCT_SOURCE_TSC, -EINVAL, ONE / 100);
	NS(TSCT_SOURCE_TSC, -EINVAL, UINT64_MAX);
	NS(TSCT_SOURCE_NR, -EINVAL, ONE);
	NS(TSCT_SOURCE_MONOTONIC_RAW, 0, ONE);
	NS(TSCT_SOURCE_MONOTONIC_RAW, 0, ONE / 10 * 11);
	NS(TSCT_SOURCE_REALTIME, -EINVAL, ONE / 10 * 11 + 10);
	NS(TSCT_SOURCE_REALTIME, 0, ONE / 10 * 9 + 9);
	NS(TSCT_SOURCE_MONOTONIC, -EINVAL, ONE / 10 * 9);
	TAKEN(params.slew_cycles = 1ULL << 55);
	REFUSED(params.slew_cycles = (1ULL << 55) + 1);
	TAKEN(params.slew_mult = params.mult / 10 * 11,
	      params.slew_cycles = 1ULL << 54);
	TAKEN(params.slew_mult = params.mult / 10 * 9,
	      params.slew_cycles = 1ULL << 54);
	REFUSED(params.slew_mult = params.mult / 10 * 11 + 1,
		params.slew_cycles = 1ULL << 54);
	REFUSED(params.slew_mult = params.mult / 10 * 9 - 1,
		params.slew_cycles = 1ULL << 54);
	REFUSED(params.slew_mult = 0);
	REFUSED(params.slew_mult = UINT64_MAX);
}

TEST(test_times_check)
{
	const uint64_t far = 1ULL << 62;

	TAKEN(params.as_of_cycles = params.base_cycles - far + 1,
	      params.void_after_cycles = params.base_cycles + far);
	REFUSED(params.as_of_cycles = params.base_cycles - far - 1);
	REFUSED(params.void_after_cycles = params.base_cycles + far + 1);
	REFUSED(params.as_of_cycles = params.holdover_after_cycles + 1);
	TAKEN(params.as_of_cycles = params.holdover_after_cycles);
	REFUSED(params.void_after_cycles = params.holdover_after_cycles - 1);
	TAKEN(params.void_after_cycles = params.holdover_after_cycles);
	REFUSED(params.holdover_after_cycles--); /* invalid: holdover begins before
						  * fast_cycles ends */
	TAKEN(params.holdover_after_cycles = params.as_of_cycles,
	      params.fast_cycles = 0);
	REFUSED(params.holdover_after_cycles = params.as_of_cycles,
		params.fast_cycles = 1);
	TAKEN(params.fast_cycles = (1ULL << 55) - 1,
	      params.holdover_after_cycles = params.void_after_cycles =
	      params.base_cycles + far);
	REFUSED(params.fast_cycles = 1ULL << 55,
		params.holdover_after_cycles = params.void_after_cycles =
			params.base_cycles + far);
	TAKEN(params.slew_mult++, params.slew_cycles = params.fast_cycles);
	REFUSED(params.slew_mult++, params.slew_cycles = params.fast_cycles - 1);
	TAKEN(params.slew_mult++, params.fast_cycles = 0);
	/* Times of the fast path must not saturate at the largest 64-bit number. */
	REFUSED(params.base_ns = INT64_MAX - 5000000000);
	TAKEN(params.base_ns = INT64_MAX - 5000000000, params.fast_cycles = 0);
	TAKEN(params.base_ns = INT64_MIN);
	TAKEN(params.growth = tsct_growth(params.mult, 1000000000));
	REFUSED(params.growth = tsct_growth(params.mult, 1000000000) + 1);
	TAKEN(params.holdover_growth = tsct_growth(params.mult, 1000000000));
	REFUSED(params.holdover_growth = tsct_growth(params.mult, 1000000000) + 1);
	REFUSED(params.reserved[0] = 1);
	REFUSED(params.reserved[2] = 1);
}

#define STATE(expected, ...) do {					\
	struct tsct_clock_state state = {				\
		.real = valid_params(), .status = TSCT_STATUS_SYNCHRONIZED, \
	};								\
	__VA_ARGS__;							\
	ck_assert_int_eq(tsct_clock_state_check(&state), expected);	\
} while (0)
#define EMPTY(expected, ...) \
	STATE(expected, memset(&state, 0, sizeof(state)), __VA_ARGS__)

TEST(test_state_check)
{
	STATE(0);
	EMPTY(0, (void)0);
	EMPTY(0, state.status = TSCT_STATUS_DISRUPTED);
	/* Invalid: no clock params, but a status that requires some */
	EMPTY(-EINVAL, state.status = TSCT_STATUS_CALIBRATING);
	EMPTY(-EINVAL, state.status = TSCT_STATUS_SYNCHRONIZED);
	EMPTY(-EINVAL, state.status = TSCT_STATUS_HOLDOVER);
	STATE(0, state.status = TSCT_STATUS_CALIBRATING);
	STATE(0, state.status = TSCT_STATUS_HOLDOVER);
	/* Invalid: a status without a time, but fast_cycles is set */
	STATE(-EINVAL, state.status = TSCT_STATUS_DISRUPTED);
	STATE(-EINVAL, state.status = TSCT_STATUS_UNKNOWN);
	STATE(0, state.status = TSCT_STATUS_DISRUPTED, state.real.fast_cycles = 0);
	STATE(-EINVAL, state.flags = TSCT_CLOCK_SKEWED);
	STATE(0, state.flags = TSCT_CLOCK_SKEWED, state.real.fast_cycles = 0);
	STATE(-EINVAL, state.flags = 2);
	STATE(-EINVAL, state.status = TSCT_STATUS_NR);
	STATE(-EINVAL, state.cause = TSCT_CAUSE_NR);
	STATE(0, state.cause = TSCT_CAUSE_NR - 1);
	STATE(-EINVAL, state.source = TSCT_SOURCE_NR);
	EMPTY(-EINVAL, state.source = TSCT_SOURCE_NR);
	/* Invalid: a rate of 0.38 ns per cycle with a source that counts ns */
	STATE(-EINVAL, state.source = TSCT_SOURCE_MONOTONIC);
	/* Without a source there is no bound to UTC; with a source any bound of 63 bits
	 * that grows by at most 1 s per s is valid. */
	STATE(-EINVAL, state.utc_error_ns = 1);
	STATE(-EINVAL, state.utc_as_of_cycles = 1);
	STATE(-EINVAL, state.utc_growth_ppb = 1);
	STATE(0, state.utc_source = TSCT_UTC_KERNEL);
	STATE(0, state.utc_source = TSCT_UTC_CLOCKBOUND, state.utc_error_ns = INT64_MAX,
	      state.utc_as_of_cycles = UINT64_MAX, state.utc_growth_ppb = 1000000000);
	STATE(-EINVAL, state.utc_source = TSCT_UTC_NR);
	STATE(-EINVAL, state.utc_source = TSCT_UTC_KERNEL, state.utc_error_ns = 1ULL << 63);
	STATE(-EINVAL, state.utc_source = TSCT_UTC_KERNEL,
	      state.utc_growth_ppb = 1000000001);
	STATE(-EINVAL, state.cluster.growth = 1);
	STATE(-EINVAL, state.real.reserved[0] = 1);
	STATE(0, state.rate_mult = state.real.mult);
	STATE(-EINVAL, state.rate_mult = 1);
	STATE(0, state.rate_error_ppt = UINT64_MAX, state.epoch = UINT32_MAX,
	      state.epoch_cycles = UINT64_MAX,
	      state.closing_error_ps = UINT64_MAX);
}

/* Checks a state that has cluster params and the end of the previous cluster params. */
#define CLUSTER(expected, ...) \
	STATE(expected, add_cluster(&state), __VA_ARGS__)

static void add_cluster(struct tsct_clock_state *state)
{
	struct tsct_clock_params old = valid_params();

	old.slew_mult += old.mult / 4000;
	old.slew_cycles = 500000000;
	old.fast_cycles = 0;
	state->cluster = valid_params();
	state->cluster.base_cycles += 400000000;
	state->cluster.base_ns = tsct_clock_params_ns(&old, state->cluster.base_cycles);
	state->cluster.fast_cycles = 1000;
	state->cluster_status = TSCT_STATUS_SYNCHRONIZED;
	state->cluster_prev = tsct_clock_params_prev(&old, state->cluster.base_cycles);
}

TEST(test_cluster_check)
{
	CLUSTER(0, (void)0);
	CLUSTER(0, state.cluster_epoch = UINT32_MAX,
		state.cluster_timeline = UINT32_MAX,
		state.cluster_master = UINT64_MAX);
	CLUSTER(0, state.cluster_status = TSCT_STATUS_CALIBRATING);
	CLUSTER(0, state.cluster_status = TSCT_STATUS_HOLDOVER);
	/* Disruptions of CLOCK_REALTIME do not affect cluster params. */
	CLUSTER(0, state.status = TSCT_STATUS_DISRUPTED,
		memset(&state.real, 0, sizeof(state.real)));
	CLUSTER(-EINVAL, state.cluster_status = TSCT_STATUS_NR);
	/* Invalid: the cluster status means that cluster time is unknown, but
	 * fast_cycles is set */
	CLUSTER(-EINVAL, state.cluster_status = TSCT_STATUS_DISRUPTED);
	CLUSTER(-EINVAL, state.cluster_status = TSCT_STATUS_UNKNOWN);
	CLUSTER(0, state.cluster_status = TSCT_STATUS_DISRUPTED,
		state.cluster.fast_cycles = 0);
	CLUSTER(-EINVAL, state.flags = TSCT_CLOCK_SKEWED,
		state.real.fast_cycles = 0);
	CLUSTER(0, state.flags = TSCT_CLOCK_SKEWED, state.real.fast_cycles = 0,
		state.cluster.fast_cycles = 0);
	/* Invalid: the cluster status means that cluster time is known, but there are
	 * no cluster params */
	CLUSTER(-EINVAL, memset(&state.cluster, 0, sizeof(state.cluster)));
	STATE(-EINVAL, state.cluster_status = TSCT_STATUS_HOLDOVER);
	STATE(0, state.cluster_status = TSCT_STATUS_DISRUPTED);
	CLUSTER(-EINVAL, state.cluster.mult = 1);
	CLUSTER(-EINVAL, state.cluster.growth = UINT64_MAX);
	CLUSTER(-EINVAL, state.cluster.fast_cycles = TSCT_FAST_CYCLES_MAX);
	CLUSTER(-EINVAL, state.cluster.reserved[1] = 1);
}

TEST(test_cluster_prev_check)
{
	CLUSTER(0, memset(&state.cluster_prev, 0,
			  sizeof(state.cluster_prev)));
	CLUSTER(0, state.cluster_prev.error_ps = UINT64_MAX);
	CLUSTER(-EINVAL, state.cluster_prev.mult = 0);
	STATE(-EINVAL, state.cluster_prev.error_ps = 1);
	/* Invalid: previous cluster params without present ones */
	CLUSTER(-EINVAL, memset(&state.cluster, 0, sizeof(state.cluster)),
		state.cluster_status = 0);
	/* Invalid: previous cluster params whose time differs from that of the present
	 * params when these begin */
	CLUSTER(-EINVAL, state.cluster_prev.base_ns++);
	CLUSTER(-EINVAL, state.cluster_prev.base_ns--);
	CLUSTER(-EINVAL, state.cluster_prev.base_cycles -= 1000);
	CLUSTER(-EINVAL, state.cluster_prev.mult += 1ULL << 40);
	/* Invalid: previous cluster params that begin after the present ones, or
	 * impossibly early */
	CLUSTER(-EINVAL, state.cluster_prev.base_cycles = state.cluster.base_cycles,
		state.cluster_prev.base_ns = state.cluster.base_ns);
	CLUSTER(-EINVAL, state.cluster_prev.base_cycles += 1ULL << 63);
	/* Invalid: previous cluster params that end where the present ones begin, but
	 * have twice their rate */
	CLUSTER(-EINVAL, state.cluster_prev.mult = 2 * state.cluster.mult,
		state.cluster_prev.base_cycles = state.cluster.base_cycles - 1000,
		state.cluster_prev.base_ns = state.cluster.base_ns -
		tsct_cycles_ns(2 * state.cluster.mult, 1000));
}
