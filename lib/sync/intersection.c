// SPDX-License-Identifier: MIT
#include "intersection.h"

static bool claims(const struct tsct_correctness_interval *claim, double point)
{
	return point >= claim->at - claim->bound &&
		point <= claim->at + claim->bound;
}

static unsigned int count(const struct tsct_correctness_interval *all, unsigned int nr,
			  double point)
{
	unsigned int sum = 0, i;

	for (i = 0; i < nr; i++)
		sum += claims(&all[i], point);
	return sum;
}

/*
 * Wherever most overlap, the overlap begins where one of them does; and who has
 * any part in it has that point in his interval, as he would be one more else.
 */
static bool is_part(const struct tsct_correctness_interval *all, unsigned int nr,
		    const struct tsct_correctness_interval *claim, unsigned int agree)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		double begin = all[i].at - all[i].bound;

		if (claims(claim, begin) && count(all, nr, begin) == agree)
			return true;
	}
	return false;
}

/* The hull of what at least @need claim: its ends are ends of intervals. */
static void find_hull(const struct tsct_correctness_interval *all, unsigned int nr,
		      unsigned int need, struct tsct_intersection_result *vote)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		double begin = all[i].at - all[i].bound;

		if (count(all, nr, begin) < need)
			continue;
		vote->lo = any && vote->lo < begin ? vote->lo : begin;
		any = true;
	}
	vote->hi = any ? vote->lo : vote->hi;
	for (i = 0; i < nr; i++) {
		double end = all[i].at + all[i].bound;

		if (end > vote->hi && count(all, nr, end) >= need)
			vote->hi = end;
	}
}

struct tsct_intersection_result tsct_intersection(struct tsct_correctness_interval *all, unsigned int nr)
{
	struct tsct_intersection_result vote = { .lo = 1, .hi = 0 };
	unsigned int i;

	for (i = 0; i < nr; i++) {
		unsigned int here = count(all, nr, all[i].at - all[i].bound);

		if (here > vote.agree)
			vote.agree = here;
	}
	vote.majority = vote.agree > nr / 2;
	for (i = 0; i < nr; i++)
		all[i].liar = vote.majority &&
			!is_part(all, nr, &all[i], vote.agree);
	if (vote.majority)
		find_hull(all, nr, nr - (nr - 1) / 2, &vote);
	return vote;
}
