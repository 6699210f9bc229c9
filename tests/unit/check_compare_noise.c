// SPDX-License-Identifier: MIT
/* test-wing: compare */
/* Comparisons of recordings whose truth is known: of equal programs, almost none is said to have
 * changed; of programs that are slower by a known factor, the interval has that factor. */
#include "tools/wings/compare/compare_noise.c"
#include "lib/base/histogram.h"
#include "seed.h"
#include "suite.h"

#define SPANS		3000	/* mean number in a recording */
#define SPANS_MAX	(2 * SPANS)
#define BLOCKS		100
#ifndef PAIRS
#define PAIRS		30	/* of recordings, for each kind of program */
#endif

enum program { EXPONENTIAL, LOGNORMAL, TWO_MODES, ALIKE, BURSTS, PHASES, LONG_ALIKE, PROGRAMS };

static struct compare_cell cells[SPANS_MAX];

static __u64 rounded(__u64 ns)
{
	const int up = ns >> 8 ? 56 - __builtin_clzll(ns) : 0;

	return ns | ((1ULL << up) - 1);
}

/* Makes the spans of a recording of one second. @factor: of all lengths */
static struct compare_estimate record(enum program program, double factor)
{
	struct compare_blocks blocks = { .seconds = 1, .nr = BLOCKS };
	struct compare_estimate e = { .nr = 0 };
	double now = 0, ns, alike = 0;
	const double keep = program == LONG_ALIKE ? 0.97 : 0.8, new = sqrt(1 - keep * keep);
	__u64 max = 0;
	__u32 i, burst;

	for (i = 0; i < SPANS_MAX; i++) {
		burst = program == BURSTS ? 16 : 1;
		now += i % burst ? 1e-7 : random_exp(&seed_random) * burst / SPANS;
		if (now >= 1)
			break;
		alike = keep * alike + new * random_gauss(&seed_random);
		switch (program) {
		case LOGNORMAL: ns = 1e5 * exp(1.5 * random_gauss(&seed_random)); break;
		case TWO_MODES: ns = any(50) ? 2000 + any(100) : 5e6 * random_exp(&seed_random); break;
		case ALIKE: case LONG_ALIKE: ns = 1e6 * exp(0.5 * alike); break;
		case PHASES: ns = (fmod(now * 20, 1) < 0.3 ? 3e5 : 1e5) * random_exp(&seed_random); break;
		default: ns = 1e4 * random_exp(&seed_random);
		}
		cells[i] = (struct compare_cell) {
			.sum_ns = (__u64)(ns * factor), .nr = 1,
			.block = (__u32)(now * BLOCKS),
		};
		cells[i].ns = rounded(cells[i].sum_ns);
		max = cells[i].sum_ns > max ? cells[i].sum_ns : max;
	}
	ck_assert_int_eq(compare_draw(&blocks, any64()), 0);
	compare_estimate_make(&blocks, cells, i, max, &e);
	free(blocks.draws);
	return e;
}

/* Returns the number of comparisons that are possible. */
static __u64 possible(const struct compare_estimate *a, const struct compare_estimate *b)
{
	__u64 nr = 0;

	for (int f = 0; f < COMPARE_FIGURES; f++)
		nr += compare_possible(a, b, f) == COMPARE_SAME;
	return nr;
}

/* Of pairs of equal programs, at most 5 % have any figure that "changed". */
LOOP_TEST(test_equal, 0, PROGRAMS)
{
	struct compare_estimate a, b;
	unsigned int i, wrong = 0;
	__u64 nr;
	int f;

	seed_with((unsigned int)_i);
	for (i = 0; i < PAIRS; i++) {
		a = record(_i, 1);
		b = record(_i, 1);
		nr = possible(&a, &b);
		ck_assert(nr == COMPARE_FIGURES || _i == LONG_ALIKE);
		for (f = 0; f < COMPARE_FIGURES; f++)
			if (compare_judge(&a, &b, f, nr).outcome == COMPARE_CHANGED)
				break;
		wrong += f < COMPARE_FIGURES;
	}
	printf("# program %d: %u of %d equal pairs changed\n", _i, wrong, PAIRS);
	/* 5 %, and eight standard deviations of that number */
	ck_assert_double_le(wrong, 0.05 * PAIRS + 8 * sqrt(0.05 * 0.95 * PAIRS));
}

/* The interval of each length has the true factor, and a change to the double is seen. */
LOOP_TEST(test_slower, 0, PROGRAMS)
{
	const double factors[] = { 0.5, 0.95, 1.02, 1.3, 2 };
	unsigned int i, k, wrong = 0, missed = 0;
	struct compare_estimate a, b;
	struct compare_result r;
	bool inside;
	int f;

	seed_with((unsigned int)_i);
	for (i = 0; i < PAIRS; i++) {
		k = i % 5;
		a = record(_i, 1);
		b = record(_i, factors[k]);
		for (f = COMPARE_MEAN, inside = true; f < COMPARE_FIGURES; f++) {
			r = compare_judge(&a, &b, f, 4);
			inside &= r.outcome == COMPARE_FEW ||
				(r.low <= factors[k] && factors[k] <= r.high);
			if (f == COMPARE_P50 && (k == 0 || k == 4))
				missed += r.outcome != COMPARE_CHANGED;
		}
		wrong += !inside;
	}
	printf("# program %d: %u of %d intervals without the truth, %u changes missed\n", _i, wrong,
	       PAIRS, missed);
	ck_assert_double_le(wrong, 0.05 * PAIRS + 8 * sqrt(0.05 * 0.95 * PAIRS));
	ck_assert_uint_eq(missed, 0);
}

/* Values of tables of Student's distribution */
TEST(test_student)
{
	static const struct { double share, limit; __u32 n; } table[] = {
		{ 0.05, 12.706, 1 }, { 0.05, 4.303, 2 }, { 0.05, 3.182, 3 }, { 0.05, 2.228, 10 },
		{ 0.001, 6.869, 5 }, { 0.01, 2.750, 30 }, { 0.05, 1.9719, 200 },
	};

	for (unsigned int i = 0; i < sizeof(table) / sizeof(*table); i++)
		ck_assert_double_eq_tol(limit_of(table[i].share, table[i].n), table[i].limit, 6e-4);
}

/* The figures themselves are those of stat, and a seed decides on all random numbers. */
RANDOM_TEST(test_figures, 20)
{
	struct compare_blocks blocks = { .seconds = 2, .nr = BLOCKS };
	struct compare_estimate e = { .nr = 0 }, again = { .nr = 0 };
	struct tsct_histogram h = { .bins = NULL };
	const __u32 nr = 1 + any(SPANS), bits = any(50);

	for (__u32 i = 0; i < nr; i++) {
		cells[i] = (struct compare_cell) {
			.sum_ns = any64() >> 14 >> bits, .nr = 1, .block = any(BLOCKS),
		};
		cells[i].ns = rounded(cells[i].sum_ns);
		ck_assert_int_eq(tsct_histogram_add(&h, cells[i].sum_ns), 0);
	}
	ck_assert_int_eq(compare_draw(&blocks, 7), 0);
	compare_estimate_make(&blocks, cells, nr, h.max, &e);
	free(blocks.draws);
	ck_assert_int_eq(compare_draw(&blocks, 7), 0);
	compare_estimate_make(&blocks, cells, nr, h.max, &again);
	free(blocks.draws);
	ck_assert_mem_eq(&e, &again, sizeof(e));
	ck_assert(e.nr == nr && e.value[COMPARE_COUNT] == nr && e.value[COMPARE_RATE] == nr / 2.0);
	ck_assert_double_eq_tol(e.value[COMPARE_MEAN], (double)h.sum / nr, 1e-9 * (double)h.sum / nr);
	ck_assert_double_eq(e.value[COMPARE_P50], (double)tsct_histogram_quantile(&h, 500));
	ck_assert_double_eq(e.value[COMPARE_P90], (double)tsct_histogram_quantile(&h, 900));
	ck_assert_double_eq(e.value[COMPARE_P99], (double)tsct_histogram_quantile(&h, 990));
	tsct_histogram_free(&h);
}

/* Reasons against a comparison, and names that one recording does not have. The recordings are
 * always the same: with others, the medians may differ by more than the bounds below. */
TEST(test_outcomes)
{
	struct compare_estimate a, b, none = { .blocks = BLOCKS };
	double change;

	seed_random.state = 1;
	a = record(EXPONENTIAL, 1);
	b = record(EXPONENTIAL, 2);
	change = b.value[COMPARE_P50] - a.value[COMPARE_P50];
	ck_assert_int_eq(compare_judge(&a, &b, COMPARE_P50, 6).outcome, COMPARE_CHANGED);
	a.error_ns = 0.4 * change;
	b.error_ns = 0.55 * change;
	ck_assert_int_eq(compare_judge(&a, &b, COMPARE_P50, 6).outcome, COMPARE_CHANGED);
	b.error_ns = 0.65 * change;
	ck_assert_int_eq(compare_judge(&a, &b, COMPARE_P50, 6).outcome, COMPARE_BELOW_BOUND);
	a.error_ns = b.error_ns = 0;
	a.rate_error = 0.3;
	ck_assert_int_eq(compare_judge(&a, &b, COMPARE_P50, 6).outcome, COMPARE_CHANGED);
	b.rate_error = 0.4;
	ck_assert_int_eq(compare_judge(&a, &b, COMPARE_P50, 6).outcome, COMPARE_BELOW_BOUND);
	a.unknown = true;
	ck_assert_int_eq(compare_judge(&a, &b, COMPARE_P50, 6).outcome, COMPARE_UNKNOWN);
	ck_assert_int_eq(compare_judge(&a, &b, COMPARE_RATE, 6).outcome, COMPARE_SAME);
	b.lost = true;
	ck_assert_int_eq(compare_judge(&a, &b, COMPARE_RATE, 6).outcome, COMPARE_LOST);
	a.unknown = b.lost = false;
	a.nr = 1999;
	ck_assert_int_eq(compare_possible(&a, &b, COMPARE_P99), COMPARE_FEW);
	a.nr = 2000;
	ck_assert_int_eq(compare_possible(&a, &b, COMPARE_P99), COMPARE_SAME);
	a.used_blocks = 7;
	ck_assert_int_eq(compare_possible(&a, &b, COMPARE_MEAN), COMPARE_FEW);
	a.tail_blocks[COMPARE_P99] = 7;
	ck_assert_int_eq(compare_possible(&a, &b, COMPARE_P99), COMPARE_FEW);
	ck_assert_int_eq(compare_possible(&a, &b, COMPARE_P90), COMPARE_SAME);

	ck_assert_int_eq(compare_judge(&b, &none, COMPARE_COUNT, 6).outcome, COMPARE_CHANGED);
	ck_assert_int_eq(compare_judge(&none, &b, COMPARE_RATE, 6).outcome, COMPARE_CHANGED);
	ck_assert_int_eq(compare_judge(&none, &b, COMPARE_MEAN, 6).outcome, COMPARE_FEW);
}
