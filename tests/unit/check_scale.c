/* SPDX-License-Identifier: MIT */
/* Fixed point against plain 128-bit division, and what makes a pair credible. */
#include <check.h>
#include <stdint.h>

#include "core/scale.h"
#include "seed.h"

#define TURNS	20000

/* Of any magnitude, with the same probability for each */
static int64_t any_signed(unsigned int bits)
{
	int64_t value = (int64_t)(any64() >> (64 - 1 - any(bits)));

	return any(2) ? value : -value;
}

static tsct_s128 floor_div(tsct_s128 a, tsct_s128 b)
{
	return a / b - (a % b < 0 ? 1 : 0);
}

static int64_t saturate(tsct_s128 value)
{
	if (value > INT64_MAX)
		return INT64_MAX;
	return value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

/* A pair as a daemon makes it: 2.6 GHz or so */
static struct tsct_pair sane_pair(void)
{
	return (struct tsct_pair) {
		.base_tsc = 1000000000000ULL,
		.base_ns = 1700000000000000000LL,
		.mult = 1776000000000000000ULL,		/* 0.3851 ns */
		.shift = 62,
		.slew_end_tsc = 1000000000000ULL,
		.as_of_tsc = 1000000000000ULL,
		.void_after_tsc = 2000000000000ULL,
		.base_error_ps = 20000,
		.growth_ppb = 1000,
	};
}

static struct tsct_pair any_pair(void)
{
	struct tsct_pair pair = {
		.base_tsc = any64(),
		.base_ns = any_signed(62),
		.shift = 20 + any(38),
		.base_error_ps = any64() >> any(64),
		.growth_ppb = any(1000000001),
	};

	/* 0.02 to 50 ns per tick */
	pair.mult = (uint64_t)(((tsct_u128)1 << pair.shift) *
			       (20 + any(49980)) / 1000) + any(1000);
	pair.slew_mult = (int64_t)(pair.mult / 10000) *
		((int)any(2001) - 1000);
	pair.slew_end_tsc = pair.base_tsc + (uint64_t)any_signed(61);
	pair.as_of_tsc = pair.base_tsc + (uint64_t)any_signed(61);
	pair.void_after_tsc = pair.as_of_tsc;
	return pair;
}

START_TEST(test_formula)
{
	unsigned int i;

	seed_with(1);
	for (i = 0; i < TURNS; i++) {
		struct tsct_pair pair = any_pair();
		int64_t d = any_signed(60), ds = d;
		int64_t end = (int64_t)(pair.slew_end_tsc - pair.base_tsc);
		tsct_s128 sum;

		ck_assert_int_eq(tsct_pair_check(&pair, TSCT_SOURCE_TSC), 0);
		ds = ds > end ? end : ds;
		ds = ds < 0 ? 0 : ds;
		sum = (tsct_s128)d * pair.mult + (tsct_s128)ds * pair.slew_mult;
		sum = floor_div(sum, (tsct_s128)1 << pair.shift);
		ck_assert_int_eq(tsct_pair_ns(&pair, pair.base_tsc + (uint64_t)d),
				 saturate(sum + pair.base_ns));
	}
}
END_TEST

START_TEST(test_slew_has_an_end)
{
	struct tsct_pair pair = sane_pair(), plain = pair;
	uint64_t end = pair.base_tsc + 1000000000;
	int64_t all;

	pair.slew_mult = (int64_t)(pair.mult / 1000);
	pair.slew_end_tsc = end;
	/* Nothing before the base and at it, all at the end, and no more. */
	ck_assert_int_eq(tsct_pair_ns(&pair, pair.base_tsc - 12345678),
			 tsct_pair_ns(&plain, pair.base_tsc - 12345678));
	ck_assert_int_eq(tsct_pair_ns(&pair, pair.base_tsc), pair.base_ns);
	all = tsct_pair_ns(&pair, end) - tsct_pair_ns(&plain, end);
	ck_assert(all == 385108 || all == 385109);	/* 1/1000, rounded */
	all = tsct_pair_ns(&pair, end + 99999999) -
		tsct_pair_ns(&plain, end + 99999999);
	ck_assert(all == 385108 || all == 385109);
	/* An end before the base is no slew at all. */
	pair.slew_end_tsc = pair.base_tsc - 1000;
	ck_assert_int_eq(tsct_pair_ns(&pair, end), tsct_pair_ns(&plain, end));
	ck_assert_int_eq(tsct_pair_ns(&pair, 0), tsct_pair_ns(&plain, 0));
}
END_TEST

START_TEST(test_saturates)
{
	struct tsct_pair pair = {
		.mult = UINT64_MAX, .shift = 0, .slew_mult = INT64_MAX,
		.slew_end_tsc = INT64_MAX,
	};

	/* The two products together are beyond 128 bits. */
	ck_assert_int_eq(tsct_pair_ns(&pair, INT64_MAX), INT64_MAX);
	ck_assert_int_eq(tsct_pair_ns(&pair, 1ULL << 63), INT64_MIN);
	ck_assert_int_eq(tsct_pair_ns(&pair, 2), INT64_MAX);
	ck_assert_int_eq(tsct_pair_ns(&pair, (uint64_t)-2), INT64_MIN);
	pair.shift = 63;
	ck_assert_int_eq(tsct_pair_ns(&pair, INT64_MAX), INT64_MAX);
	ck_assert_int_eq(tsct_pair_ns(&pair, 1ULL << 63), INT64_MIN);
	pair = sane_pair();
	pair.base_ns = INT64_MAX - 10;
	ck_assert_int_eq(tsct_pair_ns(&pair, pair.base_tsc + 20),
			 INT64_MAX - 10 + 7);
	ck_assert_int_eq(tsct_pair_ns(&pair, pair.base_tsc + 100), INT64_MAX);
	pair.base_ns = INT64_MIN + 1;
	ck_assert_int_eq(tsct_pair_ns(&pair, pair.base_tsc - 100), INT64_MIN);
	/* A shift that no check let through is still no undefined one. */
	pair.shift = 0xffffffff;
	tsct_pair_ns(&pair, 0);
	tsct_pair_error_ps(&pair, 0);
	tsct_ticks_ns(&pair, INT64_MIN);
	tsct_ns_ticks(&pair, INT64_MIN);
}
END_TEST

START_TEST(test_error_formula)
{
	unsigned int i;

	seed_with(2);
	for (i = 0; i < TURNS; i++) {
		struct tsct_pair pair = any_pair();
		int64_t d = any_signed(50);
		tsct_u128 one = (tsct_u128)1 << pair.shift;
		tsct_u128 age = (tsct_u128)(d < 0 ? -d : d) * pair.mult;
		tsct_u128 want;

		age = age / one + (age % one != 0);
		want = age * pair.growth_ppb;
		want = want / 1000000 + (want % 1000000 != 0);
		want += pair.base_error_ps;
		if (want > UINT64_MAX)
			want = UINT64_MAX;
		ck_assert_uint_eq(tsct_pair_error_ps(&pair, pair.as_of_tsc +
						     (uint64_t)d),
				  (uint64_t)want);
	}
}
END_TEST

START_TEST(test_error_edges)
{
	struct tsct_pair pair = sane_pair();
	uint64_t second = 2596670055;

	ck_assert_uint_eq(tsct_pair_error_ps(&pair, pair.as_of_tsc), 20000);
	/* 1000 ppb are 1 us per second, in the past as in the future. */
	ck_assert_uint_eq(tsct_pair_error_ps(&pair, pair.as_of_tsc + second),
			  1020000);
	ck_assert_uint_eq(tsct_pair_error_ps(&pair, pair.as_of_tsc - second),
			  1020000);
	pair.growth_ppb = 0;
	ck_assert_uint_eq(tsct_pair_error_ps(&pair, 0), 20000);
	pair.growth_ppb = 1000000000;
	pair.base_error_ps = UINT64_MAX - 5;
	ck_assert_uint_eq(tsct_pair_error_ps(&pair, pair.as_of_tsc + second),
			  UINT64_MAX);
	pair.base_error_ps = 0;
	pair.mult = UINT64_MAX;
	pair.shift = 0;
	ck_assert_uint_eq(tsct_pair_error_ps(&pair, pair.as_of_tsc +
					     (1ULL << 63)), UINT64_MAX);
	pair.growth_ppb = 1;
	ck_assert_uint_eq(tsct_pair_error_ps(&pair, pair.as_of_tsc + 5000000),
			  18446744073710);	/* age saturated; / 10^6 */
}
END_TEST

START_TEST(test_ticks_and_back)
{
	unsigned int i;

	seed_with(3);
	for (i = 0; i < TURNS; i++) {
		struct tsct_pair pair = any_pair();
		tsct_s128 one = (tsct_s128)1 << pair.shift;
		int64_t ticks = any_signed(63);
		int64_t ns = any_signed(63);

		ck_assert_int_eq(tsct_ticks_ns(&pair, ticks),
				 saturate(floor_div((tsct_s128)ticks *
						    pair.mult, one)));
		ck_assert_int_eq(tsct_ns_ticks(&pair, ns),
				 saturate(floor_div((tsct_s128)ns * one,
						    pair.mult)));
	}
}
END_TEST

START_TEST(test_ticks_edges)
{
	struct tsct_pair pair = sane_pair();

	ck_assert_int_eq(tsct_ticks_ns(&pair, 0), 0);
	ck_assert_int_eq(tsct_ticks_ns(&pair, -1), -1);	/* down */
	ck_assert_int_eq(tsct_ticks_ns(&pair, 1), 0);
	ck_assert_int_eq(tsct_ns_ticks(&pair, 1), 2);
	ck_assert_int_eq(tsct_ns_ticks(&pair, -1), -3);
	ck_assert_int_eq(tsct_ns_ticks(&pair, INT64_MAX), INT64_MAX);
	ck_assert_int_eq(tsct_ns_ticks(&pair, INT64_MIN), INT64_MIN);
	pair.mult = 1ULL << 62;
	ck_assert_int_eq(tsct_ns_ticks(&pair, INT64_MAX), INT64_MAX);
	ck_assert_int_eq(tsct_ns_ticks(&pair, INT64_MIN), INT64_MIN);
	ck_assert_int_eq(tsct_ticks_ns(&pair, INT64_MIN), INT64_MIN);
	pair.mult = 0;	/* forbidden, but no endless loop and no trap */
	tsct_ns_ticks(&pair, 5);
}
END_TEST

/* Each line breaks one rule of a good pair. */
#define REFUSED(source, ...) do {					\
	struct tsct_pair pair = sane_pair();				\
	__VA_ARGS__;							\
	ck_assert_int_eq(tsct_pair_check(&pair, source), -EINVAL);	\
} while (0)
#define TAKEN(source, ...) do {						\
	struct tsct_pair pair = sane_pair();				\
	__VA_ARGS__;							\
	ck_assert_int_eq(tsct_pair_check(&pair, source), 0);		\
} while (0)

START_TEST(test_pair_check)
{
	const uint64_t far = 1ULL << 62;

	TAKEN(TSCT_SOURCE_TSC);
	TAKEN(TSCT_SOURCE_TSC, pair = (struct tsct_pair) { 0 });
	REFUSED(TSCT_SOURCE_TSC, pair.mult = 0);
	REFUSED(TSCT_SOURCE_TSC, pair.shift = 64);
	REFUSED(TSCT_SOURCE_TSC, pair.shift = 30);
	REFUSED(TSCT_SOURCE_TSC, pair.mult = 1);
	TAKEN(TSCT_SOURCE_TSC, pair.mult = 100, pair.shift = 0);
	REFUSED(TSCT_SOURCE_TSC, pair.mult = 101, pair.shift = 0);
	TAKEN(TSCT_SOURCE_TSC, pair.mult = 41, pair.shift = 12);
	REFUSED(TSCT_SOURCE_TSC, pair.mult = 40, pair.shift = 12);
	REFUSED(TSCT_SOURCE_NR);
	REFUSED(TSCT_SOURCE_MONOTONIC_RAW);
	TAKEN(TSCT_SOURCE_MONOTONIC_RAW, pair.mult = 70, pair.shift = 6);
	TAKEN(TSCT_SOURCE_MONOTONIC_RAW, pair.mult = 58, pair.shift = 6);
	REFUSED(TSCT_SOURCE_REALTIME, pair.mult = 71, pair.shift = 6);
	REFUSED(TSCT_SOURCE_MONOTONIC, pair.mult = 57, pair.shift = 6);
	TAKEN(TSCT_SOURCE_TSC, pair.slew_mult = (int64_t)(pair.mult / 10));
	TAKEN(TSCT_SOURCE_TSC, pair.slew_mult = -(int64_t)(pair.mult / 10));
	REFUSED(TSCT_SOURCE_TSC, pair.slew_mult = (int64_t)(pair.mult / 10) + 1);
	REFUSED(TSCT_SOURCE_TSC, pair.slew_mult = INT64_MIN);
	TAKEN(TSCT_SOURCE_TSC, pair.slew_end_tsc = pair.base_tsc - far);
	REFUSED(TSCT_SOURCE_TSC, pair.slew_end_tsc = pair.base_tsc + far + 1);
	REFUSED(TSCT_SOURCE_TSC, pair.slew_end_tsc = pair.base_tsc - far - 1);
	TAKEN(TSCT_SOURCE_TSC, pair.as_of_tsc = pair.base_tsc - far,
	      pair.void_after_tsc = pair.base_tsc + far);
	REFUSED(TSCT_SOURCE_TSC, pair.as_of_tsc = pair.base_tsc - far - 1);
	REFUSED(TSCT_SOURCE_TSC, pair.void_after_tsc = pair.base_tsc + far + 1);
	REFUSED(TSCT_SOURCE_TSC, pair.void_after_tsc = pair.as_of_tsc - 1);
	TAKEN(TSCT_SOURCE_TSC, pair.growth_ppb = 1000000000);
	REFUSED(TSCT_SOURCE_TSC, pair.growth_ppb = 1000000001);
	REFUSED(TSCT_SOURCE_TSC, pair.reserved[6] = 1);
}
END_TEST

START_TEST(test_state_check)
{
	struct tsct_clock_state good = {
		.real = sane_pair(), .status = TSCT_STATUS_SYNCHRONIZED,
	};
	struct tsct_clock_state state = { 0 };

	ck_assert_int_eq(tsct_clock_state_check(&good), 0);
	ck_assert_int_eq(tsct_clock_state_check(&state), 0);
	state.status = TSCT_STATUS_DISRUPTED;
	ck_assert_int_eq(tsct_clock_state_check(&state), 0);
	state.status = TSCT_STATUS_HOLDOVER;	/* of what? */
	ck_assert_int_eq(tsct_clock_state_check(&state), -EINVAL);
	state = good, state.status = TSCT_STATUS_NR;
	ck_assert_int_eq(tsct_clock_state_check(&state), -EINVAL);
	state = good, state.source = TSCT_SOURCE_NR;
	ck_assert_int_eq(tsct_clock_state_check(&state), -EINVAL);
	state = good, state.reserved[0] = 1;
	ck_assert_int_eq(tsct_clock_state_check(&state), -EINVAL);
	state = good, state.real.shift = 64;
	ck_assert_int_eq(tsct_clock_state_check(&state), -EINVAL);
	state = good, state.cluster.growth_ppb = 1;
	ck_assert_int_eq(tsct_clock_state_check(&state), -EINVAL);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("scale");
	Suite *suite = suite_create("scale");
	SRunner *runner;
	int failed;

	print_seed();
	tcase_add_test(tcase, test_formula);
	tcase_add_test(tcase, test_slew_has_an_end);
	tcase_add_test(tcase, test_saturates);
	tcase_add_test(tcase, test_error_formula);
	tcase_add_test(tcase, test_error_edges);
	tcase_add_test(tcase, test_ticks_and_back);
	tcase_add_test(tcase, test_ticks_edges);
	tcase_add_test(tcase, test_pair_check);
	tcase_add_test(tcase, test_state_check);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
