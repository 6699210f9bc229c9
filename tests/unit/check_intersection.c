/* SPDX-License-Identifier: MIT */
/* Intersection of correctness intervals: detection of falsetickers, and the range of
 * the truth */
#include "seed.h"
#include "suite.h"
#include "lib/sync/cluster_private.h"

#define TURNS	20000
#define OF(middle_, bound_)	{ .middle = (middle_), .bound = (bound_) }

static struct tsct_intersection_result
intersect(struct tsct_correctness_interval *intervals, unsigned int nr,
			     const char *falsetickers)
{
	struct tsct_intersection_result found = tsct_intersection(intervals, nr);

	for (unsigned int i = 0; i < nr; i++)
		ck_assert_msg(intervals[i].falseticker == (falsetickers[i] == 'L'),
			      "%u of %s", i, falsetickers);
	return found;
}

TEST(test_known_intervals)
{
	struct tsct_correctness_interval one[] = { OF(5, 2) };
	struct tsct_correctness_interval two[] = { OF(0, 1), OF(9, 1) };
	struct tsct_correctness_interval three[] = { OF(0, 2), OF(100, 5), OF(1, 3) };
	struct tsct_correctness_interval split[] = { OF(0, 1), OF(0, 2), OF(50, 1), OF(50, 2) };
	struct tsct_intersection_result v = intersect(one, 1, ".");

	ck_assert(v.majority && v.lo == 3 && v.hi == 7);
	v = intersect(two, 2, ".."); /* two disjoint intervals: no majority */
	ck_assert(!v.majority && v.agree == 1 && v.lo > v.hi);
	v = intersect(three, 3, ".L.");
	ck_assert(v.majority && v.agree == 2 && v.lo == -2 && v.hi == 2);
	v = intersect(split, 4, "....");
	ck_assert(!v.majority && v.agree == 2);
	v = tsct_intersection(NULL, 0);
	ck_assert(!v.majority && !v.agree);
}

/* The middle one of three intervals overlaps both others, so neither of these is proved
 * wrong. */
TEST(test_chained_intervals)
{
	struct tsct_correctness_interval chain[] = { OF(0, 2), OF(3, 2), OF(6, 2) };
	struct tsct_intersection_result v = intersect(chain, 3, "...");

	ck_assert(v.majority && v.agree == 2 && v.lo == 1 && v.hi == 5);
}

/* Intervals that only touch do overlap, because bounds are inclusive. */
TEST(test_touching_intervals)
{
	struct tsct_correctness_interval touch[] = { OF(0, 1), OF(2, 1), OF(1, 0) };
	struct tsct_intersection_result v = intersect(touch, 3, "...");

	ck_assert(v.agree == 3 && v.lo == 1 && v.hi == 1);
}

/* Intervals with NaN or infinite bounds do not change the result of the other
 * intervals. */
TEST(test_nan_and_infinity)
{
	struct tsct_correctness_interval odd[] = { OF(0, 1), OF(NAN, 1), OF(0.5, 1), OF(0, INFINITY) };
	struct tsct_intersection_result v = intersect(odd, 4, ".L..");

	ck_assert(v.majority && v.agree == 3);
}

static double any_real(double from, double to)
{
	return from + (to - from) * (double)any(1000001) / 1e6;
}

/* Fills in random intervals. The true value is 0: correct intervals contain it,
 * intervals of falsetickers are random. */
static unsigned int fill(struct tsct_correctness_interval *intervals,
			 unsigned int nr, unsigned int falsetickers,
			 bool together)
{
	double offset = any_real(-50, 50);

	for (unsigned int i = 0; i < nr; i++) {
		intervals[i].bound = any_real(0.1, 10);
		intervals[i].middle = any_real(-intervals[i].bound, intervals[i].bound);
		if (i >= falsetickers)
			continue;
		intervals[i].middle = (together ? offset : any_real(-50, 50));
		intervals[i].bound = any_real(0, together ? 1 : 20);
	}
	return falsetickers;
}

/* With up to (n - 1) / 2 wrong sources, which may agree with each other, there is a
 * majority, and the true value is in its range. A wrong source far from all correct
 * sources is marked as a falseticker. A correct source may be marked only if a group
 * with wrong sources is larger than the group of all correct sources. */
TEST(test_falsetickers)
{
	unsigned int i, j, named = 0;

	for (i = 0; i < TURNS; i++) {
		unsigned int nr = 3 + any(5);
		unsigned int falsetickers = any((nr - 1) / 2 + 1);
		struct tsct_correctness_interval intervals[7];
		struct tsct_intersection_result v;

		fill(intervals, nr, falsetickers, any(2));
		v = tsct_intersection(intervals, nr);
		ck_assert(v.majority);
		ck_assert_uint_ge(v.agree, nr - falsetickers);
		ck_assert(v.lo <= 0 && v.hi >= 0);
		for (j = 0; j < nr; j++) {
			double gap = fabs(intervals[j].middle) - intervals[j].bound;

			/* All correct intervals contain 0. */
			if (j >= falsetickers && v.agree == nr - falsetickers)
				ck_assert(!intervals[j].falseticker);
			if (j < falsetickers && gap > 20) {
				ck_assert(intervals[j].falseticker);
				named++;
			}
		}
	}
	ck_assert_uint_gt(named, TURNS / 10);
}

/* If all intervals are correct, there are no falsetickers. */
TEST(test_all_correct)
{
	for (unsigned int i = 0; i < TURNS; i++) {
		unsigned int nr = 1 + any(16);
		struct tsct_correctness_interval intervals[16];
		struct tsct_intersection_result v;

		fill(intervals, nr, 0, false);
		v = tsct_intersection(intervals, nr);
		ck_assert(v.majority && v.agree == nr);
		ck_assert(v.lo <= 0 && v.hi >= 0);
		for (unsigned int j = 0; j < nr; j++)
			ck_assert(!intervals[j].falseticker);
	}
}
