/* SPDX-License-Identifier: MIT */
/*
 * Common part of all fits: exchanges as points of a plane.
 *
 * u is seconds of the local counter since `at`. y is counts of the remote counter
 * above a straight function, which has the slope `rate` and is remote0 at `at`.
 * Both are differences of integers, so large counter values lose no precision. A
 * linear function is then y = y0 + slope u, which is nearly level.
 */
#ifndef TSCT_FIT_PLANE_H
#define TSCT_FIT_PLANE_H

#include "fit.h"

/* Assumed limit of the error of both counters' nominal rates together, ppm */
#define TSCT_FIT_RATE_PPM	1000
/* Least wander of crystals: change of the relative rate per root of a second. Hull and
 * regression use at least this value, as noise may hide the wander from them. */
#define TSCT_FIT_WANDER_MIN	8e-10

struct tsct_point {
	/* Constraints on the remote counter's offset f(u): the request, sent at u1, was
	 * received later, so f(u1) <= up; the answer, received at u4, was sent earlier,
	 * so f(u4) >= low. Times are in s since `at`, offsets in counts. */
	double u1, up;
	double u4, low;
	double u, y;		/* middle of the exchange: time, s; offset of the remote
				 * counter without the known asymmetry, counts */
	double rtt;		/* round trip of the exchange, remote counts: the field
				 * `up` minus the field `low` */
	double slack;		/* error bound of each constraint, remote counts */
	unsigned int index;	/* index of the point's exchange */
	unsigned int session_size;	/* number of points in the point's session; 1:
					 * no session */
	/* false: another used point of the same poll has a shorter round trip */
	bool shortest;
	bool used;		/* true: the point is used for the estimate */
	bool in_slow_place;	/* true: the point is of the plane's slow place, and not used for
				 * the estimate */
	/* true: other exchanges show that the point's packets took a longer route, so that
	 * its middle is not used for the estimate */
	bool slow_route;
	bool sound;		/* true: the point is used for the bound */
	bool rejected;		/* true: the point has an implausible delay or offset,
				 * and is not used for the estimate or the bound */
	bool outlier;		/* true: the point is too far from a line through all
				 * points */
};

/* Returns true if the middle of the point's exchange is used for the estimate. */
static inline bool tsct_point_has_middle(const struct tsct_point *point)
{
	return point->used && !point->slow_route;
}

/* Corner of a convex hull of points' constraints */
struct tsct_corner {
	double u, y;		/* local time, s since `at`; limit of the remote
				 * counter's offset at that time, counts */
	unsigned int point;	/* index of the point */
};

struct tsct_plane {
	__u64 at, remote0;	/* plane's origin: local cycles; remote counts */
	double hz, rate;	/* frequency of the local counter, Hz; rate of the
				 * remote counter, counts per local cycle */
	double nominal;		/* nominal rate by hz and remote_hz, counts per cycle */
	double wander;		/* limit of the rate's change, counts / s^2: at u s from
				 * `at`, this change causes an error of up to
				 * wander u^2 / 2 counts */
	double rate_min, rate_max;	/* smallest and largest slope of a line that the
					 * counters' nominal rates allow, counts / s */
	double shift;		/* offset due to the known asymmetry of delays, which is
				 * subtracted from measured offsets, counts */
	double min_rtt;		/* shortest plausible round trip, counts */
	unsigned int nr_pairs;	/* number of polls whose first two exchanges were compared */
	enum tsct_fit_place slow_place;	/* slower place in polls, as these comparisons show */
	unsigned int nr;
	struct tsct_point *point;	/* array of nr points, in order of t1 */
	/* allocated memory for 2 nr points: the array `point`, and a copy of the used ones */
	struct tsct_point *points;
	/* scratch memory: two values per exchange, and 2 more */
	double *scratch;
	struct tsct_corner *corner;	/* scratch memory for two convex hulls, each
					 * of up to nr corners */
};

/* Line: offset of the remote counter as a linear function of local time */
struct tsct_plane_line {
	double y0, slope;	/* offset at the plane's origin, remote counts; growth
				 * of the offset, remote counts per local second */
};

/* Converts @nr exchanges (at least 1) to points: local time, and offset of the remote
 * counter. Returns 0 or an error of tsct_fit_make(). The caller frees @ret by
 * tsct_plane_free(), even on failure. */
int tsct_plane_make(const struct tsct_exchange *x, unsigned int nr,
		    const struct tsct_fit_options *options, double remote_hz,
		    struct tsct_plane *ret);
void tsct_plane_free(struct tsct_plane *plane);
/* Stores a line as the only piece of a fit. */
void tsct_plane_to_fit(const struct tsct_plane *plane,
		       const struct tsct_plane_line *line,
		       struct tsct_fit *fit);

/* Converts a double to an integer; saturates; NaN becomes 0. */
static inline __s64 tsct_fit_to_s64(double counts)
{
	if (counts >= 0x1p63)
		return INT64_MAX;
	if (counts <= -0x1p63)
		return INT64_MIN;
	return counts == counts ? (__s64)counts : 0;
}

/* Multiplies rate by delta exactly: returns whole counts, rounded down; *ret_frac: the
 * fraction */
__s64 tsct_fit_multiply(double rate, __s64 delta, double *ret_frac);

/* Returns the k-th smallest of nr values (k = 0: the smallest); reorders the values. */
double tsct_nth_smallest(double *values, unsigned int nr, unsigned int k);
/* Median of the round trips of used points, minus min_rtt */
double tsct_plane_median_excess(const struct tsct_plane *plane);
/* Rejects points whose round trip is implausibly short; sets min_rtt. */
void tsct_plane_reject_short(struct tsct_plane *plane);

/*
 * tsct_plane_compare_pairs - compare the first exchanges of polls with the exchanges that
 *	follow at once; a place whose exchanges are slower in either direction is slow
 * tsct_plane_find_slow_routes - find stretches of time without a fast exchange
 *	Returns the deviation, in counts, above which an estimate without these stretches
 *	is worse than one with them, or HUGE_VAL if there is no such stretch
 * @x: exchanges that the points were made of
 *
 * The first function sets in_slow_place, and clears `used`, of points in the slow place; it sets
 * `shortest` of all points, and nr_pairs and slow_place of the plane. The second function sets
 * slow_route of points.
 */
void tsct_plane_compare_pairs(struct tsct_plane *plane, const struct tsct_exchange *x);
double tsct_plane_find_slow_routes(struct tsct_plane *plane);

/* A window: the points with index in [from, to) */
struct tsct_window {
	unsigned int from, to;
};

/* Line from the local to the remote counter, estimated by one method: hull, regression
 * or Theil-Sen */
struct tsct_fit_candidate {
	struct tsct_plane_line line;
	double sd;		/* standard deviation of line.y0, remote counts */
	double spread;		/* Theil-Sen only: standard deviation of the points'
				 * distances from the line, remote counts */
	double wander;		/* wander of the rate, counts / s per root of a
				 * second */
	struct tsct_window window;	/* hull fit only: window of the points that
					 * determine the line */
	/* hull fit only: mean of the shorter half of the delays that the line does not
	 * touch, divided by the maximum of that half */
	double half_mean_ratio;
	/* regression only: effective sample size: number of exchanges of equal weight that
	 * would determine the line as precisely as the weighted ones do */
	double effective_nr;
	/* hull fit only: absolute value of the natural logarithm of the ratio of two
	 * densities, in delays per count: the density of the shortest delays of
	 * requests, divided by the density of the shortest delays of answers */
	double log_asymmetry;
};

void tsct_regression_estimate(const struct tsct_plane *plane,
			      struct tsct_fit_candidate *ret);

/* Estimates the line by the hull of the points' constraints. @wander: wander of the
 * rate that the regression estimated. Clears `used` and `sound` of outliers: points
 * whose constraints are much tighter than those of all other points. */
void tsct_hull_estimate(struct tsct_plane *plane, double wander,
			struct tsct_fit_candidate *ret);
/* Adds a corner to a lower hull of @nr corners. The time next->u must not be before the
 * time of the hull's last corner. Returns the new number of corners. */
unsigned int tsct_hull_push(struct tsct_corner *hull, unsigned int nr,
			    const struct tsct_corner *next);
/* Slope of a hull's edge from corner k to the next corner */
double tsct_hull_slope(const struct tsct_corner *hull, unsigned int k);

/* Makes Theil-Sen's estimate from the points of a window with round trips up to the
 * median. */
void tsct_theil_sen(const struct tsct_plane *plane,
		    const struct tsct_window *window,
		    struct tsct_fit_candidate *ret);
/* Rejects points that are further from the other points than delays explain. */
void tsct_plane_reject_outliers(struct tsct_plane *plane);

/*
 * Makes a reference fit. @keep: array of one flag per exchange. The caller sets the
 * flags of the exchanges that have a point in @plane. The function clears the flags of
 * those exchanges that the fit does not use. Returns 0, -ENOMEM, -ERANGE, -ENODATA, or
 * -EOPNOTSUPP if this program was built without lib/reference (`make CORE=1`).
 */
int tsct_fit_reference(struct tsct_plane *plane, enum tsct_fit_kind kind,
		       const struct tsct_exchange *x, unsigned int nr, bool *keep,
		       struct tsct_fit *fit);

struct tsct_fit_range {
	double min, max;
};

/* Range of the straight functions that causality allows */
struct tsct_fit_bounds {
	struct tsct_fit_range y;	/* smallest and largest offset of the remote
					 * counter at local time plane->at, counts */
	struct tsct_fit_range slope;	/* smallest and largest growth of the offset of
					 * the remote counter, counts / s */
};

/* Finds the error bounds of a fit. Clears `sound` of exchanges that contradict other
 * exchanges, and of exchanges before a change of a counter. */
void tsct_fit_bound(struct tsct_plane *plane, struct tsct_fit_bounds *ret);

#endif /* TSCT_FIT_PLANE_H */
