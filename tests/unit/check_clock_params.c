/* SPDX-License-Identifier: MIT */
/*
 * Fixed-point conversions of clock params, compared with a reference that multiplies
 * parts of the numbers.
 */
#include <tsctrace/clock.h>

#include "lib/clockpage/clock_params.h"
#include "seed.h"
#include "suite.h"

/* Returns clock params as a daemon could publish them. */
static struct tsct_clock_params valid_params(void)
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

#define TURNS	20000
#define ONE	(1ULL << TSCT_CLOCK_SHIFT)

/* Stub that the inline functions need to link; must not be called. */
int64_t tsct_clock_now_slow(const struct tsct_clock *)
{
	ck_abort_msg("tsct_clock_now_slow() was called");
	return 0;
}

int tsct_clock_cycles_to_ns_slow(const struct tsct_clock *clock, uint64_t stamp,
		       int64_t *ret_ns)
{
	(void)clock, (void)stamp, (void)ret_ns;
	return -EXDEV;		/* error code that no other path returns */
}

/* ---- reference implementation -------------------------------------------- */

/* The factors are split, so that no product needs more than 96 bits. */

static uint64_t add_clip(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* Reference conversion: cycles * mult / 2^56, rounded down; at most 2^72 in absolute
 * value */
static tsct_s128 ref_stretch(int64_t ticks, uint64_t mult)
{
	return ((tsct_s128)ticks * (uint32_t)(mult >> 32) +
		((tsct_s128)ticks * (uint32_t)mult >> 32)) >> (TSCT_CLOCK_SHIFT - 32);
}

static int64_t saturate(tsct_s128 value)
{
	if (value > INT64_MAX)
		return INT64_MAX;
	return value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

static int64_t ref_ns(const struct tsct_clock_params *params, int64_t d)
{
	int64_t slewed = d;

	if (d < 0)
		return saturate(ref_stretch(d, params->mult) + params->base_ns);
	if (params->slew_cycles < (uint64_t)d && params->slew_mult != params->mult)
		slewed = (int64_t)params->slew_cycles;
	return saturate(ref_stretch(slewed, params->slew_mult) +
			ref_stretch(d - slewed, params->mult) + params->base_ns);
}

/* Computes the growth of an error exactly, in ps: @ticks (cycles) * @growth (2^-32 ps
 * per cycle) / 2^32, rounded up. */
static uint64_t ref_grown(uint64_t ticks, uint64_t growth)
{
	const tsct_u128 ps = (tsct_u128)ticks * (uint32_t)(growth >> 32) +
		(((tsct_u128)ticks * (uint32_t)growth + UINT32_MAX) >> 32);

	return ps > UINT64_MAX ? UINT64_MAX : (uint64_t)ps;
}

/* ---- random clock params ------------------------------------------------- */

/* Returns a random number with 1 to @bits random bits and a random sign. Each number of
 * bits has the same probability. */
static int64_t any_signed(unsigned int bits)
{
	int64_t value = (int64_t)(any64() >> (64 - 1 - any(bits)));

	return any(2) ? value : -value;
}

/* Random valid clock params, with base and times anywhere in 64 bits */
static struct tsct_clock_params any_params(void)
{
	struct tsct_clock_params params = {
		.base_cycles = any64(),
		.base_ns = any_signed(62),
		.error_ps = any64() >> any(64),
		.past_error_ps = any64() >> any(64),
	};
	int64_t times[3] = { any_signed(61), any_signed(61), any_signed(61) };
	int64_t hold;

	/* clock rates of 0.02 to 50 ns per cycle */
	params.mult = ONE / 1000 * (20 + any(49980)) + any(1000);
	params.slew_mult = params.mult / 1000 * (901 + any(199));
	if (!any(3))
		params.slew_mult = params.mult;
	params.slew_cycles = any64() >> (9 + any(55));
	for (unsigned int i = 0; i < 4; i++) {
		unsigned int a = i & 1;

		if (times[a] > times[a + 1]) {
			int64_t swap = times[a];

			times[a] = times[a + 1];
			times[a + 1] = swap;
		}
	}
	params.as_of_cycles = params.base_cycles + (uint64_t)times[0];
	params.holdover_after_cycles = params.base_cycles + (uint64_t)times[1];
	params.void_after_cycles = params.base_cycles + (uint64_t)times[2];
	params.growth = tsct_growth(params.mult, any(1000000001));
	params.holdover_growth = tsct_growth(params.mult, any(1000000001));
	hold = times[1] < 0 ? 0 : times[1];
	params.fast_cycles = any64() >> (10 + any(54));
	if (params.fast_cycles > (uint64_t)hold)
		params.fast_cycles = (uint64_t)hold;
	if (params.fast_cycles > params.slew_cycles && params.slew_mult != params.mult)
		params.fast_cycles = params.slew_cycles;
	if (params.fast_cycles >= TSCT_FAST_CYCLES_MAX)
		params.fast_cycles = TSCT_FAST_CYCLES_MAX - 1;
	if (ref_stretch((int64_t)params.fast_cycles, params.slew_mult) + params.base_ns >
	    INT64_MAX)
		params.fast_cycles = 0;
	return params;
}

/* A random distance from the base in cycles, often one at which conversion formulas
 * change */
static int64_t any_distance(const struct tsct_clock_params *params)
{
	static const int64_t edges[] = {
		0, 1LL << 53, 1LL << 55, 1LL << 62, INT64_MAX, INT64_MIN,
	};
	int64_t near = (int64_t)any(5) - 2;
	uint64_t d;

	switch (any(6)) {
	case 0:
		d = (uint64_t)edges[any(6)];
		break;
	case 1:
		d = params->slew_cycles;
		break;
	case 2:
		d = params->holdover_after_cycles - params->base_cycles;
		break;
	case 3:
		d = params->as_of_cycles - params->base_cycles;
		break;
	case 4:
		d = params->fast_cycles;
		break;
	default:
		return any_signed(63);
	}
	return (int64_t)(d + (uint64_t)near);
}

TEST(test_formula)
{
	for (unsigned int i = 0; i < TURNS; i++) {
		struct tsct_clock_params params = any_params();
		int64_t d = any_distance(&params);

		ck_assert_int_eq(tsct_clock_params_check(&params, TSCT_SOURCE_TSC), 0);
		ck_assert_int_eq(tsct_clock_params_ns(&params, params.base_cycles +
					      (uint64_t)d), ref_ns(&params, d));
	}
}

TEST(test_segment_formula)
{
	for (unsigned int i = 0; i < TURNS; i++) {
		struct tsct_clock_params params = any_params();
		int64_t d = any_distance(&params);
		struct tsct_clock_segment segment = {
			.base_cycles = params.base_cycles,
			.base_ns = params.base_ns,
			.mult = any(2) ? params.mult : any64(),
		};

		ck_assert_int_eq(tsct_clock_segment_ns(&segment, params.base_cycles +
						 (uint64_t)d),
				 saturate(ref_stretch(d, segment.mult) +
					  segment.base_ns));
	}
}

/* With any page contents, the fast and the slow conversion agree where both return a
 * time. */
TEST(test_fast_conversion)
{
	static struct tsct_clock_page page;
	static const uint64_t none;
	const struct tsct_clock clock = { .page = &page, .disruptions = &none };
	unsigned int i, taken = 0;

	for (i = 0; i < TURNS; i++) {
		struct tsct_clock_params params = any_params();
		int64_t d = any_distance(&params), ns;
		uint64_t stamp = params.base_cycles + (uint64_t)d;
		bool fast = (uint64_t)d < params.fast_cycles;

		page.seq = any64();
		page.copy[page.seq & 1].state.real = params;
		ck_assert_int_eq(tsct_clock_cycles_to_ns(&clock, stamp, &ns),
				 fast ? 0 : -EXDEV);
		if (fast)
			ck_assert_int_eq(ns, tsct_clock_params_ns(&params, stamp));
		taken += fast;
	}
	ck_assert_uint_gt(taken, TURNS / 50);
}

/* A later counter value never converts to an earlier time. */
TEST(test_monotonic)
{
	for (unsigned int i = 0; i < TURNS; i++) {
		struct tsct_clock_params params = any_params();
		int64_t a = any_distance(&params), b = any_distance(&params);

		if (a > b)
			continue;
		ck_assert_int_le(tsct_clock_params_ns(&params,
					      params.base_cycles + (uint64_t)a),
				 tsct_clock_params_ns(&params,
					      params.base_cycles + (uint64_t)b));
	}
}

TEST(test_error_formula)
{
	for (unsigned int i = 0; i < TURNS; i++) {
		struct tsct_clock_params params = any_params();
		uint64_t stamp = params.base_cycles + (uint64_t)any_distance(&params);
		int64_t age = (int64_t)(stamp - params.as_of_cycles);
		uint64_t hold = params.holdover_after_cycles - params.as_of_cycles;
		uint64_t a, want = params.past_error_ps;

		if (age > 0) {
			a = (uint64_t)age < hold ? (uint64_t)age : hold;
			want = add_clip(params.error_ps,
					ref_grown(a, params.growth));
			want = add_clip(want, ref_grown((uint64_t)age - a,
							params.holdover_growth));
		}
		ck_assert_uint_eq(tsct_clock_params_error_ps(&params, stamp), want);
	}
}

/* Clock params with a random value in each word alone, and in all words together */
TEST(test_random_words)
{
	struct tsct_clock_state state;

	for (unsigned int i = 0; i < TURNS; i++) {
		struct tsct_clock_params params;
		uint64_t words[sizeof(params) / 8], stamp = any64();
		struct tsct_clock_segment segment;

		for (unsigned int j = 0; j < sizeof(words) / 8; j++)
			words[j] = any(4) ? any64() : -(uint64_t)any(2);
		memcpy(&params, words, sizeof(params));
		memcpy(&segment, words, sizeof(segment));
		tsct_clock_params_ns(&params, stamp);
		tsct_clock_params_error_ps(&params, stamp);
		tsct_clock_segment_ns(&segment, stamp);
		tsct_clock_params_check(&params, any(5));
		memcpy(&state.real, words, sizeof(params));
		memcpy((char *)&state + sizeof(state) - sizeof(words), words,
		       sizeof(words));
		state.cluster = params;
		tsct_clock_state_check(&state);
		tsct_growth(words[0], words[1]);
		tsct_growth_ppb(words[0], words[1]);
		tsct_cycles_ns(words[0], (int64_t)words[1]);
		tsct_ns_cycles(words[0], (int64_t)words[1]);
	}
}

/* The result must be the largest t for which mult * t / 2^56 is not above ns. */
static void check_ns_ticks(uint64_t mult, int64_t ns)
{
	int64_t ticks = tsct_ns_cycles(mult, ns);
	tsct_s128 want = (tsct_s128)ns * ONE;

	if (ticks != INT64_MIN)
		ck_assert((tsct_s128)ticks * mult <= want);
	if (ticks != INT64_MAX)
		ck_assert(((tsct_s128)ticks + 1) * mult > want);
}

TEST(test_cycles_and_back)
{
	for (unsigned int i = 0; i < TURNS; i++) {
		struct tsct_clock_params params = any_params();
		int64_t ticks = any_signed(63);

		ck_assert_int_eq(tsct_cycles_ns(params.mult, ticks),
				 saturate(ref_stretch(ticks, params.mult)));
		check_ns_ticks(params.mult, any_signed(63));
	}
	ck_assert_int_eq(tsct_ns_cycles(0, 5), INT64_MAX);
	ck_assert_int_eq(tsct_ns_cycles(0, -5), INT64_MIN);
}

/* The encoded error growth is the smallest one that is not below the exact growth. */
TEST(test_error_growth)
{
	for (unsigned int i = 0; i < TURNS; i++) {
		uint64_t mult = any_params().mult;
		uint64_t ppb = any64() >> (34 + any(30));
		uint64_t growth = tsct_growth(mult, ppb);
		tsct_u128 want = (tsct_u128)mult * ppb;
		const tsct_u128 unit = (tsct_u128)1000000 << 24;

		ck_assert((tsct_u128)growth * unit >= want);
		ck_assert(!growth || (tsct_u128)(growth - 1) * unit < want);
		ck_assert_uint_ge(tsct_growth_ppb(mult, growth), ppb);
		/* Converting ppb to growth and back to ppb rounds up twice. */
		ck_assert_uint_le(tsct_growth_ppb(mult, growth),
				  ppb + (uint64_t)(unit / mult) + 1);
	}
	ck_assert_uint_eq(tsct_growth(ONE, 0), 0);
	/* At a rate of 1 ns per cycle, a growth of 1 ppm is 10^-3 ps per cycle. */
	ck_assert_uint_eq(tsct_growth(ONE, 1000), 4294968);
	ck_assert_uint_eq(tsct_growth_ppb(ONE, 4294968), 1001);
	ck_assert_uint_eq(tsct_growth(UINT64_MAX, UINT64_MAX), UINT64_MAX);
	ck_assert_uint_eq(tsct_growth_ppb(1, UINT64_MAX), UINT64_MAX);
	ck_assert_uint_eq(tsct_growth_ppb(0, 1), UINT64_MAX);
}

/* Clock params that are cut to a later base give the same time as before for every
 * counter value from the later base on. */
TEST(test_cut_to_later_base)
{
	unsigned int i, nr_slewing = 0;

	for (i = 0; i < TURNS; i++) {
		struct tsct_clock_params params = any_params();
		uint64_t end = params.base_cycles + 1 + any64() % (1ULL << 36);
		struct tsct_clock_prev_params piece = tsct_clock_params_prev(&params, end);
		uint64_t at = piece.base_cycles +
			any64() % (end - piece.base_cycles + 1);

		nr_slewing += piece.base_cycles != params.base_cycles;
		ck_assert_int_eq(tsct_clock_prev_ns(&piece, at),
				 tsct_clock_params_ns(&params, at));
		ck_assert_int_eq(tsct_clock_prev_ns(&piece, end),
				 tsct_clock_params_ns(&params, end));
		ck_assert_uint_ge(piece.error_ps, params.past_error_ps);
		ck_assert_uint_ge(piece.error_ps, tsct_clock_params_error_ps(&params, end));
	}
	ck_assert_uint_gt(nr_slewing, TURNS / 100);
}

/* ---- validity checks of clock params and of whole clock states ---------- */

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

TEST(test_status_depends_on_age)
{
	const struct tsct_clock_params params = valid_params(), none = { 0 };
	const uint64_t hold = params.holdover_after_cycles, end = params.void_after_cycles;
	const struct {
		uint64_t cycles;
		uint32_t published, now;
	} cases[] = {
		{ params.base_cycles - 1, TSCT_STATUS_SYNCHRONIZED, TSCT_STATUS_SYNCHRONIZED },
		{ hold, TSCT_STATUS_SYNCHRONIZED, TSCT_STATUS_SYNCHRONIZED },
		{ hold + 1, TSCT_STATUS_SYNCHRONIZED, TSCT_STATUS_HOLDOVER },
		{ hold + 1, TSCT_STATUS_CALIBRATING, TSCT_STATUS_HOLDOVER },
		{ hold + 1, TSCT_STATUS_DISRUPTED, TSCT_STATUS_DISRUPTED },
		{ end, TSCT_STATUS_SYNCHRONIZED, TSCT_STATUS_HOLDOVER },
		{ end + 1, TSCT_STATUS_SYNCHRONIZED, TSCT_STATUS_UNKNOWN },
		{ end + 1, TSCT_STATUS_DISRUPTED, TSCT_STATUS_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(tsct_clock_params_status(&params, cases[i].published,
						       cases[i].cycles) == cases[i].now,
			      "case %zu", i);
	ck_assert_uint_eq(tsct_clock_params_status(&none, TSCT_STATUS_DISRUPTED, end + 1),
			  TSCT_STATUS_DISRUPTED);
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
