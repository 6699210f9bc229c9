/* SPDX-License-Identifier: MIT */
/*
 * Fits: from exchanges to a function that maps the local counter to the remote
 * counter, with an error bound.
 *
 * Pure: no clock, no global state. The same exchanges give the same function, to the
 * last bit. Only a function of several pieces has memory of its own, see
 * tsct_fit_free().
 *
 * TSCT_FIT_LINEAR	reference: linear regression over the middles, without
 *			the tenth of the exchanges with the longest local round
 *			trips (t4 - t1). The tenth is rounded down; of two
 *			exchanges with equal round trips the later is dropped
 * TSCT_FIT_SPLINE	reference: averages each session, without its tenth of
 *			longest round trips, to one point. A constrained cubic
 *			spline with continuous first derivative runs through
 *			all points; through two points, a straight line; through
 *			one point, a line with the nominal rate. Exchanges
 *			outside sessions are ignored. If no exchange has a
 *			session, each 16 successive exchanges count as one; the
 *			last session also has a remainder of fewer than 16
 * TSCT_FIT_ITC		reference: the clock correction that Intel describes for its
 *			Trace Collector. Drops the tenth of longest round trips of
 *			each session. If there are two sessions, a linear regression
 *			over the middles of all other exchanges of sessions; if there
 *			are more, TSCT_FIT_SPLINE; one session: a line with the
 *			nominal rate; no session: TSCT_FIT_LINEAR
 * TSCT_FIT_HULL	mean of the straight functions that causality allows
 *			(lib/ntp/exchange.h), weighted by likelihood. Exchanges
 *			that contradict the other exchanges are dropped
 * TSCT_FIT_REGRESSION	Kalman filter, weighted by the round trip's excess over
 *			the shortest one, with the wander of the rate that
 *			predicts the exchanges best
 * TSCT_FIT_AUTO	the weighted mean of hull and regression that has the least
 *			variance: nearly the hull if delays have a sharp minimum,
 *			nearly the regression if not. The difference between hull
 *			and regression is added to the bound
 *
 * Documentation/sync-fits.rst has the formulas and measured errors.
 */
#ifndef TSCT_FIT_H
#define TSCT_FIT_H

#include "mapping.h"
#include "lib/ntp/exchange.h"

enum tsct_fit_kind {
	TSCT_FIT_AUTO,
	TSCT_FIT_LINEAR,
	TSCT_FIT_SPLINE,
	TSCT_FIT_ITC,
	TSCT_FIT_HULL,
	TSCT_FIT_REGRESSION,
	TSCT_FIT_NR
};

/* Returns true for the reference fits. A reference fit is one function for all exchanges,
 * by a definition that can be computed by hand, so it is not refined. */
static inline bool tsct_fit_is_reference(enum tsct_fit_kind kind)
{
	return kind >= TSCT_FIT_LINEAR && kind <= TSCT_FIT_ITC;
}

/* Reason for which auto used hull, regression or both */
enum tsct_fit_reason {
	TSCT_FIT_REQUESTED,	/* the caller chose the kind, not auto */
	TSCT_FIT_EDGE,		/* hull: delays have a sharp minimum */
	TSCT_FIT_NOISE,		/* regression: errors of packet times hide the minimum */
	TSCT_FIT_BOTH,		/* weighted mean: unclear; the smaller weight is over 0.1 */
	TSCT_FIT_FEW,		/* mean: too few exchanges to tell */
	TSCT_FIT_CONTRADICTION,	/* regression: the hull is too far from a robust line */
	TSCT_FIT_REASON_NR
};

/* Options of a fit; all zero: the defaults */
struct tsct_fit_options {
	enum tsct_fit_kind kind;
	double hz;		/* local counter's frequency, roughly; 0 selects 1e9 Hz */
	double wander_ppb;	/* limit of the change of the rate between both
				 * counters, ppb per second; 0 selects
				 * TSCT_FIT_WANDER_PPB */
	double asymmetry;	/* known delay of requests minus delay of answers, local
				 * cycles */
	/* local counter value at which the fit has to be best; 0: at the last answer. For
	 * params that are used until the next exchange, a later value is better; for a
	 * recording, the middle */
	__u64 at;
};

#define TSCT_FIT_WANDER_PPB	20	/* wander of two crystals, ppb per s */

/* Place of an exchange in its poll: the first request is sent after a pause, each further
 * request right after an answer (TSCT_EXCHANGE_FOLLOWS) */
enum tsct_fit_place {
	TSCT_FIT_PLACE_NONE,
	TSCT_FIT_PLACE_FIRST,
	TSCT_FIT_PLACE_FURTHER,
};

struct tsct_fit {
	enum tsct_fit_kind kind;	/* kind of fit in use; of AUTO, the kind with
					 * the larger weight */
	enum tsct_fit_reason reason;
	unsigned int nr_pieces;
	unsigned int nr_kept, nr_dropped;	/* exchanges used, exchanges dropped */
	unsigned int nr_pairs;		/* polls whose first two exchanges were compared; 0:
					 * a reference fit, which compares none */
	/* slow place, whose exchanges are not used; NONE: neither place is slow */
	enum tsct_fit_place slow_place;
	double rtt_min, rtt_median;	/* shortest and median round trip, local cycles */
	/* root mean square of the residuals of the kept exchanges, counts of the remote
	 * counter */
	double residual;
	double sd;	/* standard deviation of the fit at `at`, counts of the remote counter */
	double disagreement;		/* difference of hull and regression at `at`,
					 * remote counts; included in error */
	__u64 at;			/* value of the local counter for which
					 * `error` is the error bound, cycles */
	double error;			/* error bound at `at`, remote counts */
	double rate_error;		/* growth of the bound per cycle of
					 * distance from `at` */
	/* quadratic growth of the bound, remote counts per cycle squared: at d cycles
	 * from `at`, the bound is error + rate_error d + wander d^2. The sum of the
	 * fit's curvature and half the limit of the rate's change (wander_ppb of struct
	 * tsct_fit_options) */
	double wander;
	struct tsct_cubic single;	/* the piece, if nr_pieces is 1 */
	struct tsct_cubic *several;	/* array of all pieces, if nr_pieces is 2 or
					 * more; else NULL */
};

/*
 * tsct_fit_make - fit a function through exchanges
 * @x: @nr exchanges, in order of t1
 * @remote_hz: rate of the remote counter, Hz; 0: 1e9. If this and options->hz are set,
 *	the bound assumes that the ratio of the two rates is right to 1000 ppm, unless
 *	the exchanges prove a larger error. Otherwise the ratio is used only if there is
 *	a single exchange
 * @keep: room for @nr flags, set for the exchanges that were used; may be NULL
 *
 * Returns 0, -ENODATA if all exchanges are impossible (for example, an answer came before its
 * request was sent), -EINVAL if exchanges are not in order or the kind is unknown, -EOPNOTSUPP
 * for a reference fit in `make CORE=1`, -ENOMEM, or -ERANGE if a counter does not increase, the
 * rate is less than half or more than twice the nominal rate (spline: the average rate), or the
 * exchanges span half the range of 64 bits. With one exchange, the rate is the nominal rate,
 * @remote_hz / options->hz. The caller frees *ret_fit by tsct_fit_free(). On failure
 * *ret_fit is undefined, but has no memory to free.
 */
int tsct_fit_make(const struct tsct_exchange *x, unsigned int nr,
		  const struct tsct_fit_options *options, double remote_hz,
		  struct tsct_fit *ret_fit, bool *keep);

/*
 * Reserves memory for @nr pieces (at least 1) of a fit that has none, and sets
 * the number of pieces. Returns the pieces, to be set by the caller, or NULL if
 * out of memory. tsct_fit_free() frees the memory; one piece needs no memory.
 */
struct tsct_cubic *tsct_fit_reserve(struct tsct_fit *fit, unsigned int nr);
void tsct_fit_free(struct tsct_fit *fit);

/* Returns the pieces of a fit, an array of fit->nr_pieces. */
static inline const struct tsct_cubic *tsct_fit_pieces(const struct tsct_fit *fit)
{
	return fit->nr_pieces > 1 ? fit->several : &fit->single;
}

/*
 * tsct_fit_at - compute the remote counter at a value of the local counter, by the fit
 * @ret_frac: fraction of a count, in [0, 1); may be NULL
 * @ret_error: error bound of the result, remote counts; may be NULL
 */
__u64 tsct_fit_at(const struct tsct_fit *fit, __u64 local, double *ret_frac,
		  double *ret_error);

/* Returns the slope of a fit at @local, remote counts per local cycle. */
double tsct_fit_rate(const struct tsct_fit *fit, __u64 local);

/* Names of all kinds of fits, for help and error messages */
#define TSCT_FIT_KINDS	"auto, linear, spline, itc, hull or regression"

/* Returns the kind of fit with a name, or -EINVAL. */
int tsct_fit_kind_of(const char *name);
const char *tsct_fit_name(enum tsct_fit_kind kind);
/* Returns the reason in a word: "edge", "noise", "both", "few", "contradiction" or "". */
const char *tsct_fit_reason_text(enum tsct_fit_reason reason);
/* Describes an error of tsct_fit_make() as text. */
const char *tsct_fit_error(int err);

#endif /* TSCT_FIT_H */
