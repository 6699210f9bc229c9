/* SPDX-License-Identifier: MIT */
/*
 * Common part of the fits: exchanges as points of a plane.
 *
 * u is seconds of the local counter since `at`. y is counts of the remote counter
 * above a straight function, which has the slope `rate` and is remote0 at `at`.
 * Both are differences of integers, so large counter values lose no precision. A
 * linear function is then y = y0 + slope u, which is nearly level.
 */
#ifndef TSCT_SYNC_FIT_PLANE_H
#define TSCT_SYNC_FIT_PLANE_H

#include "fit.h"

/* Assumed limit of the error of both counters' nominal rates together */
#define TSCT_FIT_RATE_PPM	1000

struct tsct_point {
	double u1, up;		/* request: f(u1) <= up */
	double u4, low;		/* answer: f(u4) >= low */
	double u, y;		/* middle of the exchange; the known asymmetry
				 * is subtracted */
	double rtt;		/* up - low, at the same u: round trip, counts */
	double slack;		/* error of up and of low, counts */
	unsigned int index;	/* index of the exchange */
	unsigned int session_size;	/* number of points in its session; 1:
					 * no session */
	bool used;		/* used for the estimate */
	bool sound;		/* used for the bound */
	bool rejected;		/* implausible: used for neither */
	bool outlier;		/* too far from the line through the others */
};

/* Corner of a convex hull */
struct tsct_corner {
	double u, y;
	unsigned int point;
};

struct tsct_plane {
	__u64 at, remote0;	/* origin: local and remote counter */
	double hz, rate;	/* cycles per second; counts per cycle */
	double nominal;		/* rate by hz and remote_hz, counts per cycle */
	double wander;		/* limit of the rate's change, counts / s^2 */
	double rate_min, rate_max;	/* limits of a slope due to the nominal
					 * rates, counts / s */
	double shift;		/* shift of y by the known asymmetry, counts */
	double min_rtt;		/* shortest plausible round trip, counts */
	unsigned int nr;
	struct tsct_point *point;	/* array of nr, in order of t1 */
	struct tsct_point *points;	/* the allocation with that array */
	double *scratch;	/* room for 2 nr + 2 values */
	struct tsct_corner *corner;	/* room for 2 nr corners */
};

struct tsct_plane_line {
	double y0, slope;	/* counts, counts / s */
};

/* Returns the errors of tsct_fit_make(). tsct_plane_free() must be called, also
 * on failure. @nr: not 0 */
int tsct_plane_make(const struct tsct_exchange *x, unsigned int nr,
		    const struct tsct_fit_options *options, double remote_hz,
		    struct tsct_plane *ret);
void tsct_plane_free(struct tsct_plane *plane);
/* Stores a line as the fit's only piece. */
void tsct_plane_to_fit(const struct tsct_plane *plane,
		       const struct tsct_plane_line *line,
		       struct tsct_fit *fit);

/* Converts a double; saturates; NaN becomes 0. */
static inline __s64 tsct_fit_to_s64(double counts)
{
	if (counts >= 0x1p63)
		return INT64_MAX;
	if (counts <= -0x1p63)
		return INT64_MIN;
	return counts == counts ? (__s64)counts : 0;
}

/* rate * delta, exact: returns whole counts, rounded down; *ret_frac: the rest */
__s64 tsct_fit_multiply(double rate, __s64 delta, double *ret_frac);

/* The k-th smallest of nr values, k = 0: the smallest; reorders them. */
double tsct_nth_smallest(double *values, unsigned int nr, unsigned int k);
/* The smallest value that is not an outlier; reorders them. @resolution: of the
 * values */
double tsct_lowest_plausible(double *values, unsigned int nr,
			     double resolution);
/* Median of the round trips of used points, minus min_rtt */
double tsct_plane_median_excess(const struct tsct_plane *plane);
/* Median of the round trips of the used points in [from, to); 0: there are none */
double tsct_plane_rtt_median(const struct tsct_plane *plane, unsigned int from,
			     unsigned int to);
void tsct_point_reject(struct tsct_point *point);
/* Rejects round trips that are implausibly short; sets min_rtt. */
void tsct_plane_reject_short(struct tsct_plane *plane);

/* Points [from, to) */
struct tsct_window {
	unsigned int from, to;
};

/* An estimate by one method, at `at` */
struct tsct_fit_candidate {
	struct tsct_plane_line line;
	double sd;		/* standard deviation of y0, counts */
	double spread;		/* Theil-Sen: deviation of a middle, counts */
	double wander;		/* wander of the rate, counts / s per root of a
				 * second */
	struct tsct_window window;	/* hull: points in the window */
	double half_mean_ratio;	/* hull: statistic, see fit_auto.c */
	double log_asymmetry;	/* hull: logarithm of the ratio of both
				 * directions' delays behind the edge */
};

void tsct_regression_estimate(const struct tsct_plane *plane,
			      struct tsct_fit_candidate *ret);

/* Makes the hull's estimate. @wander: that of the regression. Clears `used` and
 * `sound` of points that contradict the others. */
void tsct_hull_estimate(struct tsct_plane *plane, double wander,
			struct tsct_fit_candidate *ret);
/* Adds a corner, whose u is not less than the last one's, to a lower hull of @nr
 * corners. Returns their new number. */
unsigned int tsct_hull_push(struct tsct_corner *hull, unsigned int nr,
			    const struct tsct_corner *next);
/* Slope of the edge from corner k to the next one */
double tsct_hull_slope(const struct tsct_corner *hull, unsigned int k);

/* Theil-Sen, of those points of a window with round trips up to the median */
void tsct_theil_sen(const struct tsct_plane *plane,
		    const struct tsct_window *window,
		    struct tsct_fit_candidate *ret);
/* Rejects points that are further from the others than delays explain. */
void tsct_plane_reject_outliers(struct tsct_plane *plane);

/*
 * Make the reference fits. @keep: in: which exchanges are possible; out: which
 * were used. tsct_fit_spline() returns 0, -E2BIG, -ERANGE or -ENODATA.
 */
void tsct_fit_linear(struct tsct_plane *plane, const struct tsct_exchange *x,
		     unsigned int nr, bool *keep, struct tsct_fit *fit);
int tsct_fit_spline(struct tsct_plane *plane, const struct tsct_exchange *x,
		    unsigned int nr, bool *keep, struct tsct_fit *fit);
/* Makes the fit by hull, by regression, or by a weighted mean of both. */
void tsct_fit_combine(struct tsct_plane *plane, enum tsct_fit_kind kind,
		      struct tsct_fit *fit);

struct tsct_fit_range {
	double min, max;
};

/* Range of functions that causality allows */
struct tsct_fit_bounds {
	struct tsct_fit_range y;		/* at u = 0, counts */
	struct tsct_fit_range slope;		/* counts / s */
};

/* Finds the bounds. Clears `sound` of exchanges that contradict the others, and of
 * those before a change of a counter. */
void tsct_fit_bound(struct tsct_plane *plane, struct tsct_fit_bounds *ret);

#endif /* TSCT_SYNC_FIT_PLANE_H */
