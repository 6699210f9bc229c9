// SPDX-License-Identifier: MIT
#include "rate_window.h"

bool tsct_bracket_rate(const struct tsct_bracket *a,
		       const struct tsct_bracket *b, double cut_ns,
		       double *ret_lo, double *ret_hi)
{
	/* A counter that says n shows some time in [n, n + 1). */
	__s64 shortest = (__s64)(b->before - a->after) - 1;
	__s64 longest = (__s64)(b->after - a->before) + 1;
	__s64 ns = (__s64)((__u64)b->ns - (__u64)a->ns);

	if (shortest <= 0 || longest <= 0)
		return false;
	*ret_lo = ((double)ns - cut_ns) / (double)longest;
	*ret_hi = ((double)ns + cut_ns) / (double)shortest;
	if (*ret_lo < 0)
		*ret_lo = 0;
	if (*ret_hi < 0)
		*ret_hi = 0;
	return true;
}

void tsct_rate_window_restart(struct tsct_rate_window *track,
			const struct tsct_bracket *bracket)
{
	track->hist[0] = *bracket;
	track->nr = 1;
	track->lo = 0;
	track->hi = 0;
	track->rate = 0;
}

static void forget(struct tsct_rate_window *track, unsigned int first, unsigned int nr)
{
	memmove(&track->hist[first], &track->hist[first + nr],
		(track->nr - first - nr) * sizeof(track->hist[0]));
	track->nr -= nr;
}

/* Halves the older half, but for the oldest: spacing grows with age. */
static void thin(struct tsct_rate_window *track)
{
	unsigned int i;

	for (i = 1; i <= TSCT_RATE_WINDOW_MAX / 4; i++)
		forget(track, i, 1);
}

static __u64 middle(const struct tsct_bracket *bracket)
{
	return bracket->before + (bracket->after - bracket->before) / 2;
}

static double between(const struct tsct_bracket *a,
		      const struct tsct_bracket *b)
{
	__s64 ticks = (__s64)(middle(b) - middle(a));

	__s64 ns = (__s64)((__u64)b->ns - (__u64)a->ns);

	return ticks > 0 ? (double)ns / (double)ticks : 0;
}

/* What one pair says about the likeliest rate, if it says more than before */
static void refine(struct tsct_rate_window *track, const struct tsct_bracket *a,
		   const struct tsct_bracket *b, double spread)
{
	if (track->rate && spread > track->spread)
		return;
	track->rate = between(a, b);
	track->spread = spread;
}

static void keep_inside(struct tsct_rate_window *track)
{
	if (track->rate < track->lo)
		track->rate = track->lo;
	if (track->rate > track->hi)
		track->rate = track->hi;
}

static void fit(struct tsct_rate_window *track)
{
	const struct tsct_bracket *newest = &track->hist[track->nr - 1];
	unsigned int i = track->nr - 1;
	double lo, hi, pair_lo, pair_hi;

	track->lo = 0;
	track->hi = 0;
	while (i-- > 0) {
		if (!tsct_bracket_rate(&track->hist[i], newest,
				       tsct_rate_window_resolution(track), &pair_lo,
				       &pair_hi))
			continue;
		lo = pair_lo > track->lo ? pair_lo : track->lo;
		hi = !track->hi || pair_hi < track->hi ? pair_hi : track->hi;
		if (lo > hi) {
			forget(track, 0, i + 1);
			break;
		}
		track->lo = lo;
		track->hi = hi;
		refine(track, &track->hist[i], newest, pair_hi - pair_lo);
	}
	keep_inside(track);
}

void tsct_rate_window_add(struct tsct_rate_window *track,
		    const struct tsct_bracket *bracket)
{
	if (track->nr == TSCT_RATE_WINDOW_MAX)
		thin(track);
	track->hist[track->nr++] = *bracket;
	fit(track);
}

__u64 tsct_rate_window_baseline(const struct tsct_rate_window *track)
{
	if (!track->nr)
		return 0;
	return track->hist[track->nr - 1].before - track->hist[0].before;
}

/* Pairs of brackets that are at least half of the track apart */
#define HALF		(TSCT_RATE_WINDOW_MAX / 2)
#define PAIRS_MAX	((HALF + 1) * (HALF + 2) / 2)

#define WIDE		1.3
#define NARROW_MIN	4

static unsigned int insert(double *sorted, unsigned int nr, double rate)
{
	unsigned int i;

	for (i = nr; i > 0 && sorted[i - 1] > rate; i--)
		sorted[i] = sorted[i - 1];
	sorted[i] = rate;
	return nr + 1;
}

static double width_of(const struct tsct_bracket *bracket)
{
	return (double)(bracket->after - bracket->before) + 1;
}

/*
 * Now and then a whole search meets a CPU that reads its clock at another moment
 * of it, which shows in its width. Such brackets are left out, if there are
 * enough of the others. Returns how many are in @ret_narrow.
 */
static unsigned int find_narrow(const struct tsct_rate_window *track,
				unsigned int ret_narrow[TSCT_RATE_WINDOW_MAX])
{
	double limit = width_of(&track->hist[0]);
	unsigned int nr = 0, i;

	for (i = 1; i < track->nr; i++)
		if (width_of(&track->hist[i]) < limit)
			limit = width_of(&track->hist[i]);
	limit *= WIDE;
	for (i = 0; i < track->nr; i++)
		if (width_of(&track->hist[i]) <= limit)
			ret_narrow[nr++] = i;
	if (nr >= NARROW_MIN && ret_narrow[nr - 1] - ret_narrow[0] >=
	    track->nr / 2)
		return nr;
	for (i = 0; i < track->nr; i++)
		ret_narrow[i] = i;
	return track->nr;
}

double tsct_rate_window_median(const struct tsct_rate_window *track)
{
	unsigned int narrow[TSCT_RATE_WINDOW_MAX], apart, nr = 0, i, j;
	double rates[PAIRS_MAX];

	if (track->nr < 2)
		return 0;
	apart = find_narrow(track, narrow);
	for (i = apart; i-- > 0; )
		for (j = i + apart / 2; j < apart && nr < PAIRS_MAX; j++)
			if (j > i)
				nr = insert(rates, nr,
					    between(&track->hist[narrow[i]],
						    &track->hist[narrow[j]]));
	if (nr & 1)
		return rates[nr / 2];
	return (rates[nr / 2 - 1] + rates[nr / 2]) / 2;
}
