/* SPDX-License-Identifier: MIT */
/*
 * From exchanges to a function: our counter to the other's, with a bound.
 *
 * Pure: data in, data out; no clock, no allocation that outlives a call, no
 * global. The same exchanges give the same function, to the last bit.
 *
 * TSCT_FIT_LINEAR	the reference: the tenth with the longest local round trips
 *			(t4 - t1; a tenth of how many there are, rounded down; of
 *			equal ones the later) is ignored, a regression over all
 *			middles that are left
 * TSCT_FIT_SPLINE	each session condensed to one pair by averaging (its
 *			longest tenth ignored), a constrained cubic spline through
 *			all of them whose first derivative is contiguous; a line
 *			with two sessions, an offset with one. Exchanges of no
 *			session do not count, unless there are no others: then
 *			every 16 are one
 * TSCT_FIT_HULL	the lines between the causal constraints (exchange.h), after
 *			those that contradict the rest were dropped: around the one
 *			of the largest margin, weighted by how likely they are
 * TSCT_FIT_REGRESSION	weighted by round trip in excess of the least; the rate
 *			may wander as fast as foretells the exchanges best
 * TSCT_FIT_AUTO	hull or regression, by whether delays begin at an edge; a
 *			mean of both where that is not clear. As far as they
 *			disagree, the bound is wider
 *
 * Documentation/sync-fits.rst has the formulas and how good they are.
 */
#ifndef TSCT_SYNC_FIT_H
#define TSCT_SYNC_FIT_H

#include "lib/core/mapping.h"
#include "lib/ntp/exchange.h"

enum tsct_fit_kind {
	TSCT_FIT_AUTO,
	TSCT_FIT_LINEAR,
	TSCT_FIT_SPLINE,
	TSCT_FIT_HULL,
	TSCT_FIT_REGRESSION,
	TSCT_FIT_NR
};

/* What is taken for granted. All zero: the defaults. */
struct tsct_fit_options {
	enum tsct_fit_kind kind;
	double hz;		/* of our counter, roughly; 0: 1e9 */
	double wander_ppb;	/* what our rate against theirs changes by in a
				 * second, at most; 0: TSCT_FIT_WANDER_PPB */
	double asymmetry;	/* known: way there minus way back, our ticks */
	__u64 at;		/* our counter: where it has to be best; 0: the last
				 * answer. A line is used until the next exchange:
				 * somewhat later is better for that, and the middle
				 * of what a recording is merged for */
};

#define TSCT_FIT_WANDER_PPB	20	/* two crystals, 10 ppb a second each */

struct tsct_fit {
	enum tsct_fit_kind kind;	/* the one chosen, or that counts for more:
					 * never AUTO */
	unsigned int nr_pieces;
	unsigned int nr_kept, nr_dropped;	/* exchanges */
	double rtt_min, rtt_median;	/* our ticks */
	double residual;		/* their counts, root mean square of kept */
	double sd;			/* what the estimate is good for at `at`:
					 * one standard deviation, their counts */
	double doubt;			/* how far candidates disagree at `at`; is in
					 * error, too */
	__u64 at;
	double error;			/* bound at `at`, their counts */
	double rate_error;		/* bound: error grows by as much per tick
					 * of ours away from `at` ... */
	double wander;			/* ... and by as much per tick squared */
	struct tsct_cubic piece[TSCT_CUBICS_MAX];
};

/*
 * tsct_fit_make - fit a function through exchanges
 * @x: in order of t1; @nr of them
 * @keep: NULL, or room for nr flags: which exchanges were kept
 *
 * Returns 0; -ENODATA: no exchange, or none that is possible; -ERANGE: a counter
 * does not run, or at less than half or more than twice the rate that hz and
 * remote_hz say, or that it has on average (spline); or they span half of what 64
 * bits count; -EINVAL: not in order, or an unknown kind; -E2BIG: more sessions
 * than pieces; -ENOMEM. One exchange gives an offset and the rate that hz and
 * remote_hz say.
 *
 * @remote_hz: of their counter. If this and hz are set, the bound takes for
 * granted that they are right to 1000 ppm, both together, unless the exchanges
 * prove otherwise. Else 1e9, and only one exchange needs it.
 * On failure *ret_fit is not to be used.
 */
int tsct_fit_make(const struct tsct_exchange *x, unsigned int nr,
		  const struct tsct_fit_options *options, double remote_hz,
		  struct tsct_fit *ret_fit, bool *keep);

/*
 * tsct_fit_at - the other's counter at a stamp of ours
 * @ret_frac: what is left, in [0, 1); may be NULL
 * @ret_error: bound there, their counts; may be NULL
 */
__u64 tsct_fit_at(const struct tsct_fit *fit, __u64 local, double *ret_frac,
		  double *ret_error);

/* The rate there, their counts per tick of ours */
double tsct_fit_rate(const struct tsct_fit *fit, __u64 local);

/* By name (auto, linear, spline, hull, regression): kind, or -EINVAL. */
int tsct_fit_kind_of(const char *name);
const char *tsct_fit_name(enum tsct_fit_kind kind);

#endif /* TSCT_SYNC_FIT_H */
