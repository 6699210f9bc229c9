/* SPDX-License-Identifier: MIT */
/* Brackets of one clock in, possible rates out. Part of the estimator. */
#ifndef TSCT_CORE_TRACK_H
#define TSCT_CORE_TRACK_H

#include "rate_estimator.h"

/*
 * tsct_bracket_rate - the rates that two brackets leave possible
 * @cut_ns: a clock that says n shows some time in [n, n + cut_ns)
 *
 * In ns per tick. False where they say nothing: they overlap.
 */
bool tsct_bracket_rate(const struct tsct_bracket *a,
		       const struct tsct_bracket *b, double cut_ns,
		       double *ret_lo, double *ret_hi);

static inline double tsct_rate_window_resolution(const struct tsct_rate_window *track)
{
	return track->cut_ns > 1 ? track->cut_ns : 1;
}

/* Forgets all but @bracket; rates become unknown. */
void tsct_rate_window_restart(struct tsct_rate_window *track,
			const struct tsct_bracket *bracket);

/*
 * tsct_rate_window_add - one more bracket, later than all others
 *
 * [lo, hi] becomes the set of constant rates that the newest bracket allows
 * with each older one, as far back as there is such a rate; what is older than
 * that belongs to another rate and is forgotten. Within that set, the likeliest
 * is what the middles of the narrowest pair say: what delays the two reads of
 * a bracket mostly delays them alike.
 */
void tsct_rate_window_add(struct tsct_rate_window *track,
		    const struct tsct_bracket *bracket);

/* Ticks between the oldest bracket and the newest */
__u64 tsct_rate_window_baseline(const struct tsct_rate_window *track);

/*
 * tsct_rate_window_median - the median of the rates of all intervals that are at
 * least half as long as the track, by the middles of their brackets, in ns per
 * tick; 0 where there are none. Long intervals, as the error of each is that of
 * its ends over its length; a median, as now and then a whole search for a
 * narrow bracket meets a CPU that reads its clock at another moment of it.
 */
double tsct_rate_window_median(const struct tsct_rate_window *track);

#endif /* TSCT_CORE_TRACK_H */
