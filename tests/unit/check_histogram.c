// SPDX-License-Identifier: MIT
#include "lib/base/histogram.h"
#include "seed.h"
#include "suite.h"

#define VALUES	2000

static int by_value(const void *a, const void *b)
{
	const __u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return (x > y) - (x < y);
}

/* Quantiles of values of all sizes, in one histogram or two that are joined, against the sorted
 * values */
RANDOM_TEST(test_quantiles, 40)
{
	struct tsct_histogram h = { .bins = NULL }, other = { .bins = NULL };
	const unsigned int nr = 1 + any(VALUES), bits = 1 + any(64), parts = 1 + any(3);
	__u64 all[VALUES], wanted, got;

	for (unsigned int i = 0; i < nr; i++) {
		all[i] = any64() >> (64 - bits) >> any(bits);
		ck_assert_int_eq(tsct_histogram_add(any(parts) ? &other : &h, all[i]), 0);
	}
	ck_assert_int_eq(tsct_histogram_join(&h, &other), 0);
	qsort(all, nr, sizeof(*all), by_value);
	ck_assert(h.nr == nr && h.min == all[0] && h.max == all[nr - 1]);
	for (unsigned int per_mille = 1; per_mille <= 1000; per_mille++) {
		wanted = all[(nr * per_mille + 999) / 1000 - 1];
		got = tsct_histogram_quantile(&h, per_mille);
		ck_assert_uint_ge(got, wanted);
		ck_assert_uint_le(got - wanted, wanted < 256 ? 0 : wanted / 128);
		ck_assert_uint_le(got, h.max);
	}
	tsct_histogram_free(&h);
	tsct_histogram_free(&other);
}
