/* SPDX-License-Identifier: MIT */
/*
 * Fits: from exchanges to a function that maps our counter to the remote one,
 * with an error bound.
 *
 * Pure: no clock, no global state, no allocation that outlives a call. The same
 * exchanges give the same function, to the last bit.
 *
 * TSCT_FIT_LINEAR	reference: drops the tenth of the exchanges with the
 *			longest local round trips (t4 - t1; the tenth is rounded
 *			down; of equal ones the later is dropped); linear
 *			regression over the middles of all others
 * TSCT_FIT_SPLINE	reference: averages each session to one point (without
 *			its longest tenth); a constrained cubic spline with
 *			continuous first derivative through all points; a line
 *			through two, an offset with one. Exchanges outside
 *			sessions do not count, unless there are no sessions:
 *			then every 16 are one
 * TSCT_FIT_HULL	mean of the lines between the causal constraints
 *			(lib/ntp/exchange.h), weighted by likelihood, around the
 *			line of the largest margin; without those exchanges that
 *			contradict the rest
 * TSCT_FIT_REGRESSION	Kalman filter, weighted by the round trip's excess over
 *			the shortest; the rate wanders as fast as predicts the
 *			exchanges best
 * TSCT_FIT_AUTO	hull or regression, by whether delays have a sharp
 *			minimum; a weighted mean of both where that is unclear.
 *			Their disagreement is added to the bound
 *
 * Documentation/sync-fits.rst has the formulas and measured errors.
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

/* All zero: the defaults */
struct tsct_fit_options {
	enum tsct_fit_kind kind;
	double hz;		/* of our counter, approximately; 0: 1e9 */
	double wander_ppb;	/* limit of the change of our rate against the
				 * remote one, ppb per second; 0:
				 * TSCT_FIT_WANDER_PPB */
	double asymmetry;	/* known delay of requests minus that of answers,
				 * our cycles */
	__u64 at;		/* our counter: where the fit has to be best; 0: the
				 * last answer. Published parameters are used until
				 * the next exchange, so somewhat later is better
				 * for these; the middle for a recording that is
				 * merged */
};

#define TSCT_FIT_WANDER_PPB	20	/* two crystals, 10 ppb per second each */

struct tsct_fit {
	enum tsct_fit_kind kind;	/* the one used, or of larger weight: never
					 * AUTO */
	unsigned int nr_pieces;
	unsigned int nr_kept, nr_dropped;	/* exchanges */
	double rtt_min, rtt_median;	/* our cycles */
	double residual;		/* root mean square of kept ones, remote
					 * counts */
	double sd;			/* standard deviation at `at`, remote
					 * counts */
	double disagreement;		/* of hull and regression at `at`, remote
					 * counts; included in error */
	__u64 at;			/* our counter, where the bound is: */
	double error;			/* remote counts */
	double rate_error;		/* the bound grows by this per cycle of
					 * distance from `at` ... */
	double wander;			/* ... and by this per cycle squared */
	struct tsct_cubic piece[TSCT_CUBICS_MAX];
};

/*
 * tsct_fit_make - fit a function through exchanges
 * @x: @nr of them, in order of t1
 * @remote_hz: of the remote counter. If this and options->hz are set, the bound
 *	assumes that they are right to 1000 ppm together, unless the exchanges
 *	prove otherwise. 0: 1e9, which matters for a single exchange only
 * @keep: NULL, or room for @nr flags: which exchanges were used
 *
 * Returns 0; -ENODATA: no exchange, or none that is possible; -ERANGE: a
 * counter does not run, or at less than half or more than twice the rate by hz
 * and remote_hz, or than its average (spline), or the exchanges span half the
 * range of 64 bits; -EINVAL: not in order, or an unknown kind; -E2BIG: more
 * sessions than pieces; -ENOMEM. One exchange gives an offset, and the rate by
 * hz and remote_hz. On failure *ret_fit is undefined.
 */
int tsct_fit_make(const struct tsct_exchange *x, unsigned int nr,
		  const struct tsct_fit_options *options, double remote_hz,
		  struct tsct_fit *ret_fit, bool *keep);

/*
 * tsct_fit_at - the remote counter when ours is @local
 * @ret_frac: fraction of a count, in [0, 1); may be NULL
 * @ret_error: bound there, remote counts; may be NULL
 */
__u64 tsct_fit_at(const struct tsct_fit *fit, __u64 local, double *ret_frac,
		  double *ret_error);

/* Rate of the fit at @local, remote counts per cycle of ours */
double tsct_fit_rate(const struct tsct_fit *fit, __u64 local);

/* Names of all kinds, for help and error messages */
#define TSCT_FIT_KINDS	"auto, linear, spline, hull or regression"

/* Kind by its name, or -EINVAL */
int tsct_fit_kind_of(const char *name);
const char *tsct_fit_name(enum tsct_fit_kind kind);
/* An error of tsct_fit_make() as text */
const char *tsct_fit_error(int err);

/*
 * Tangent of a fit at fit->at. Offsets in reports are relative to it, so that
 * they are small enough for a drawing.
 */
struct tsct_tangent {
	const struct tsct_fit *fit;
	__u64 at, base;			/* our counter, the remote counter */
	double frac;			/* of the remote counter */
	double rate;			/* remote counts per cycle of ours */
	double ns;			/* per remote count */
};

/* @ns: per remote count. *ret refers to @fit. */
void tsct_tangent_make(const struct tsct_fit *fit, double ns,
		       struct tsct_tangent *ret);

/* Remote counter @remote + @frac minus the tangent's value at @local, ns */
double tsct_tangent_beyond(const struct tsct_tangent *tangent, __u64 local,
			   __u64 remote, double frac);

/* The same for the middle of an exchange; *ret_local: our counter there */
double tsct_tangent_exchange(const struct tsct_tangent *tangent,
			     const struct tsct_exchange *x, __u64 *ret_local);

#endif /* TSCT_SYNC_FIT_H */
