// SPDX-License-Identifier: MIT
#include "intersection.h"

static bool contains(const struct tsct_correctness_interval *interval,
		     double point)
{
	return point >= interval->middle - interval->bound &&
		point <= interval->middle + interval->bound;
}

static unsigned int count_at(const struct tsct_correctness_interval *all,
			     unsigned int nr, double point)
{
	unsigned int sum = 0, i;

	for (i = 0; i < nr; i++)
		sum += contains(&all[i], point);
	return sum;
}

/*
 * True: the interval is part of a group of @agree intervals that overlap. The region of
 * overlap begins at the lower end of one interval. Every interval that overlaps with
 * the region contains that end: an interval that begins within the region would make
 * the group larger than @agree, the largest possible number.
 */
static bool in_largest_group(const struct tsct_correctness_interval *all,
			     unsigned int nr,
			     const struct tsct_correctness_interval *interval,
			     unsigned int agree)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		double begin = all[i].middle - all[i].bound;

		if (contains(interval, begin) && count_at(all, nr, begin) == agree)
			return true;
	}
	return false;
}

/* Sets lo and hi to the hull of all points in at least @need intervals. Both lo and hi
 * are ends of intervals. */
static void find_hull(const struct tsct_correctness_interval *all,
		      unsigned int nr, unsigned int need,
		      struct tsct_intersection_result *ret)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		double begin = all[i].middle - all[i].bound;

		if (count_at(all, nr, begin) < need)
			continue;
		ret->lo = any && ret->lo < begin ? ret->lo : begin;
		any = true;
	}
	ret->hi = any ? ret->lo : ret->hi;
	for (i = 0; i < nr; i++) {
		double end = all[i].middle + all[i].bound;

		if (end > ret->hi && count_at(all, nr, end) >= need)
			ret->hi = end;
	}
}

struct tsct_intersection_result
tsct_intersection(struct tsct_correctness_interval *all, unsigned int nr)
{
	struct tsct_intersection_result ret = { .lo = 1, .hi = 0 };
	unsigned int i;

	for (i = 0; i < nr; i++) {
		unsigned int here = count_at(all, nr,
					     all[i].middle - all[i].bound);

		if (here > ret.agree)
			ret.agree = here;
	}
	ret.majority = ret.agree > nr / 2;
	for (i = 0; i < nr; i++)
		all[i].falseticker = ret.majority &&
			!in_largest_group(all, nr, &all[i], ret.agree);
	if (ret.majority)
		find_hull(all, nr, nr - (nr - 1) / 2, &ret);
	return ret;
}
