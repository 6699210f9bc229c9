/* SPDX-License-Identifier: MIT */
/* Where CLOCK_REALTIME may be, and what a sample says. Part of the estimator. */
#ifndef TSCT_CORE_OFFSET_H
#define TSCT_CORE_OFFSET_H

#include "rate_estimator.h"

#define TSCT_PPB	1e-9

static inline double tsct_larger(double a, double b)
{
	return a > b ? a : b;
}

static inline double tsct_smaller(double a, double b)
{
	return a < b ? a : b;
}

static inline double tsct_magnitude(double a)
{
	return a < 0 ? -a : a;
}

/* As an integer that is no smaller; the conversion is defined for all input. */
__u64 tsct_round_up(double value);

/* ns per tick, of the plain line and as it is bent at first */
double tsct_mult_rate(__u64 mult);

/*
 * tsct_offset_interval_make - the times of one tick that a bracket leaves possible
 * @rate: ns per tick; @cut_ns: clock and counter that say n show some time in
 * [n, n + cut_ns) and [n, n + 1)
 */
struct tsct_offset_interval tsct_offset_interval_make(const struct tsct_bracket *bracket, double rate,
			      double cut_ns);

/* Middle of the look minus what the line says, in ns */
double tsct_offset_from_params(const struct tsct_offset_interval *look, const struct tsct_clock_params *pair);

/* A bound of that line's error at the look's tick, cut digits included */
double tsct_offset_error(const struct tsct_offset_interval *look,
		       const struct tsct_clock_params *pair);

/* How much further a line went between two ticks than its plain rate takes it */
double tsct_clock_params_slewed_ns(const struct tsct_clock_params *pair, __u64 from, __u64 to);

/* From one tick to the other, in ns of REALTIME */
double tsct_rate_elapsed(const struct tsct_rate_estimator *est, __u64 from, __u64 to);

/* Growth of the error, relative, of a line that runs at @rate */
double tsct_rate_doubt(const struct tsct_rate_estimator *est, double rate);

/* What a look at CLOCK_REALTIME means for what was believed until then */
struct tsct_innovation {
	double elapsed_ns;	/* since the last look */
	double half_ns;		/* what was believed, before the look: +- */
	double missed_ns;	/* belief and look are that far apart; 0: agree */
	bool stepped;		/* further than slewing explains */
};

struct tsct_innovation tsct_rate_innovation(const struct tsct_rate_estimator *est,
				   const struct tsct_offset_interval *look);

/*
 * tsct_rate_adopt - a look that is as expected, or can be followed, counts
 *
 * Sets the rate and what is known of it, and how far off the line in force was.
 * @span_ns: how long the tries took
 * tsct_rate_settle - only the former, of what is in est->real already; the look
 * at its newest bracket is @more_ns less certain than it seems
 */
void tsct_rate_adopt(struct tsct_rate_estimator *est, const struct tsct_bracket *bracket,
		     const struct tsct_offset_interval *look,
		     const struct tsct_innovation *finding, double span_ns);
void tsct_rate_settle(struct tsct_rate_estimator *est, double more_ns);

#endif /* TSCT_CORE_OFFSET_H */
