/* SPDX-License-Identifier: MIT */
/* Who is outvoted, and where the truth may be. */
#include <math.h>

#include "seed.h"
#include "suite.h"
#include "lib/sync/intersection.h"

#define TURNS	20000

static struct tsct_intersection_result vote(struct tsct_correctness_interval *claims, unsigned int nr,
			     const char *liars)
{
	struct tsct_intersection_result found = tsct_intersection(claims, nr);
	unsigned int i;

	for (i = 0; i < nr; i++)
		ck_assert_msg(claims[i].falseticker == (liars[i] == 'L'),
			      "%u of %s", i, liars);
	return found;
}

START_TEST(test_by_hand)
{
	struct tsct_correctness_interval one[] = { { .middle = 5, .bound = 2 } };
	struct tsct_correctness_interval two[] = { { .middle = 0, .bound = 1 },
				    { .middle = 9, .bound = 1 } };
	struct tsct_correctness_interval three[] = { { .middle = 0, .bound = 2 },
				      { .middle = 100, .bound = 5 },
				      { .middle = 1, .bound = 3 } };
	struct tsct_correctness_interval split[] = { { .middle = 0, .bound = 1 },
				      { .middle = 0, .bound = 2 },
				      { .middle = 50, .bound = 1 },
				      { .middle = 50, .bound = 2 } };
	struct tsct_intersection_result v = vote(one, 1, ".");

	ck_assert(v.majority && v.lo == 3 && v.hi == 7);
	v = vote(two, 2, "..");			/* nobody knows who */
	ck_assert(!v.majority && v.agree == 1 && v.lo > v.hi);
	v = vote(three, 3, ".L.");
	ck_assert(v.majority && v.agree == 2 && v.lo == -2 && v.hi == 2);
	v = vote(split, 4, "....");
	ck_assert(!v.majority && v.agree == 2);
	v = tsct_intersection(NULL, 0);
	ck_assert(!v.majority && !v.agree);
}
END_TEST

/* The one in the middle is of both pairs: neither of the others is proved wrong. */
START_TEST(test_chain)
{
	struct tsct_correctness_interval chain[] = { { .middle = 0, .bound = 2 },
				      { .middle = 3, .bound = 2 },
				      { .middle = 6, .bound = 2 } };
	struct tsct_intersection_result v = vote(chain, 3, "...");

	ck_assert(v.majority && v.agree == 2 && v.lo == 1 && v.hi == 5);
}
END_TEST

/* Intervals that only touch do overlap: their bounds are the last that may be. */
START_TEST(test_touching)
{
	struct tsct_correctness_interval touch[] = { { .middle = 0, .bound = 1 },
				      { .middle = 2, .bound = 1 },
				      { .middle = 1, .bound = 0 } };
	struct tsct_intersection_result v = vote(touch, 3, "...");

	ck_assert(v.agree == 3 && v.lo == 1 && v.hi == 1);
}
END_TEST

/* Unbounded or no number: it takes part in nothing that matters. */
START_TEST(test_no_numbers)
{
	struct tsct_correctness_interval odd[] = { { .middle = 0, .bound = 1 },
				    { .middle = NAN, .bound = 1 },
				    { .middle = 0.5, .bound = 1 },
				    { .middle = 0, .bound = INFINITY } };
	struct tsct_intersection_result v = vote(odd, 4, ".L..");

	ck_assert(v.majority && v.agree == 3);
}
END_TEST

static double any_real(double from, double to)
{
	return from + (to - from) * (double)any(1000001) / 1e6;
}

/* The truth is 0. Honest claims have it; liars say what they like. */
static unsigned int fill(struct tsct_correctness_interval *claims, unsigned int nr,
			 unsigned int liars, bool together)
{
	double lie = any_real(-50, 50);
	unsigned int i;

	for (i = 0; i < nr; i++) {
		claims[i].bound = any_real(0.1, 10);
		claims[i].middle = any_real(-claims[i].bound, claims[i].bound);
		if (i >= liars)
			continue;
		claims[i].middle = (together ? lie : any_real(-50, 50));
		claims[i].bound = any_real(0, together ? 1 : 20);
	}
	return liars;
}

/*
 * Up to (n - 1) / 2 liars, of one mind or not: there is a majority, and the truth
 * is where it says. Who is far from everybody who is honest is named; who is
 * honest is not, unless liars found more to side with them against him.
 */
START_TEST(test_liars)
{
	unsigned int i, j, named = 0;

	seed_with(1);
	for (i = 0; i < TURNS; i++) {
		unsigned int nr = 3 + any(5);
		unsigned int liars = any((nr - 1) / 2 + 1);
		struct tsct_correctness_interval claims[7];
		struct tsct_intersection_result v;

		fill(claims, nr, liars, any(2));
		v = tsct_intersection(claims, nr);
		ck_assert(v.majority);
		ck_assert_uint_ge(v.agree, nr - liars);
		ck_assert(v.lo <= 0 && v.hi >= 0);
		for (j = 0; j < nr; j++) {
			double gap = fabs(claims[j].middle) - claims[j].bound;

			/* All honest ones have 0, which is as good as any. */
			if (j >= liars && v.agree == nr - liars)
				ck_assert(!claims[j].falseticker);
			if (j < liars && gap > 20) {
				ck_assert(claims[j].falseticker);
				named++;
			}
		}
	}
	ck_assert_uint_gt(named, TURNS / 10);
}
END_TEST

/* Without liars nobody is called one. */
START_TEST(test_honest)
{
	unsigned int i, j;

	seed_with(2);
	for (i = 0; i < TURNS; i++) {
		unsigned int nr = 1 + any(16);
		struct tsct_correctness_interval claims[16];
		struct tsct_intersection_result v;

		fill(claims, nr, 0, false);
		v = tsct_intersection(claims, nr);
		ck_assert(v.majority && v.agree == nr);
		ck_assert(v.lo <= 0 && v.hi >= 0);
		for (j = 0; j < nr; j++)
			ck_assert(!claims[j].falseticker);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("select");
	TCase *tcase = tcase_create("select");

	print_seed();
	tcase_add_test(tcase, test_by_hand);
	tcase_add_test(tcase, test_chain);
	tcase_add_test(tcase, test_touching);
	tcase_add_test(tcase, test_no_numbers);
	tcase_add_test(tcase, test_liars);
	tcase_add_test(tcase, test_honest);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
