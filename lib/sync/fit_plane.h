/* SPDX-License-Identifier: MIT */
/*
 * Common part of the fits: exchanges as points of a plane.
 *
 * u is seconds of our counter since `at`, y is counts of the remote counter
 * above the line that runs at `rate` through (at, remote0). Both are
 * differences of integers, so large counter values lose no precision. A
 * function is then a line y = y0 + slope u that is nearly level.
 */
#ifndef TSCT_SYNC_FIT_PLANE_H
#define TSCT_SYNC_FIT_PLANE_H

#include "fit.h"

/* Assumed limit of the error of both counters' nominal rates together */
#define TSCT_FIT_RATE_PPM	1000

struct tsct_point {
	double u1, up;		/* request: f(u1) <= up */
	double u4, low;		/* answer: f(u4) >= low */
	double u, y;		/* the middle, known asymmetry subtracted */
	double rtt;		/* up - low, at the same u: round trip, counts */
	double slack;		/* error of up and of low, counts */
	unsigned int index;	/* of the exchange */
	unsigned int session_size;	/* number of points in its session; 1:
					 * no session */
	bool used;		/* for the estimate */
	bool sound;		/* for the bound */
	bool rejected;		/* for neither: implausible */
	bool outlier;		/* too far from the line through the others */
};

/* Corner of a convex hull */
struct tsct_corner {
	double u, y;
	unsigned int point;
};

struct tsct_plane {
	__u64 at, remote0;	/* origin: our counter, the remote counter */
	double hz, rate;	/* cycles per second; counts per cycle */
	double nominal;		/* rate by hz and remote_hz, counts per cycle */
	double wander;		/* limit of the rate's change, counts / s^2 */
	double rate_min, rate_max;	/* of slope, by nominal rates, counts / s */
	double shift;		/* of y by the known asymmetry, counts */
	double min_rtt;		/* shortest plausible round trip, counts */
	unsigned int nr;
	struct tsct_point *point;	/* nr of them, in order of t1 */
	struct tsct_point *points;	/* the allocation that contains them */
	double *scratch;	/* room for 2 nr + 2 */
	struct tsct_corner *corner;	/* room for 2 nr */
};

struct tsct_plane_line {
	double y0, slope;	/* counts, counts / s */
};

static inline double tsct_plane_line_at(const struct tsct_plane_line *line,
					double u)
{
	return line->y0 + line->slope * u;
}

/*
 * fit_plane.c. tsct_plane_make(): the errors of tsct_fit_make(); on failure,
 * too, tsct_plane_free() is due.
 */
int tsct_plane_make(const struct tsct_exchange *x, unsigned int nr,
		    const struct tsct_fit_options *options, double remote_hz,
		    struct tsct_plane *ret);
void tsct_plane_free(struct tsct_plane *plane);
/* y of a pair of counter values, counts; exact */
double tsct_plane_y(const struct tsct_plane *plane, __u64 local, __u64 remote);
/* Stores a line as the fit's only piece. */
void tsct_plane_to_fit(const struct tsct_plane *plane,
		       const struct tsct_plane_line *line,
		       struct tsct_fit *fit);

/* Saturates; NaN: 0 */
static inline __s64 tsct_fit_to_s64(double counts)
{
	if (counts >= 0x1p63)
		return INT64_MAX;
	if (counts <= -0x1p63)
		return INT64_MIN;
	return counts == counts ? (__s64)counts : 0;
}

/* rate * delta, exactly: whole counts, rounded down, and the fraction */
__s64 tsct_fit_multiply(double rate, __s64 delta, double *ret_frac);

/* The k-th smallest of nr values, from 0 on; reorders them. */
double tsct_nth_smallest(double *values, unsigned int nr, unsigned int k);
/*
 * The smallest value that is no outlier below the others; reorders them.
 * @resolution: of the values
 */
double tsct_lowest_plausible(double *values, unsigned int nr,
			     double resolution);
/* Of the round trips of used points; q in [0, 1] */
double tsct_plane_rtt_quantile(const struct tsct_plane *plane, double q);
/* The same of the used ones among points [from, to), q = 0.5; 0: there are none */
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
	double sd;		/* of y0, counts */
	double spread;		/* Theil-Sen: of single middles, counts */
	double wander;		/* of the rate, counts / s per root of a second */
	struct tsct_window window;	/* hull: points that it is made of */
	double half_mean_ratio;	/* hull: see fit_auto.c */
	double log_asymmetry;	/* hull: of the two directions' mean delays */
};

/* fit_regression.c */
void tsct_regression_estimate(const struct tsct_plane *plane,
			      struct tsct_fit_candidate *ret);

/*
 * fit_hull.c. @wander: of the regression. Clears `used` and `sound` of points
 * that contradict the others.
 */
void tsct_hull_estimate(struct tsct_plane *plane, double wander,
			struct tsct_fit_candidate *ret);
/* Adds a corner to a lower hull of @nr; its u is not less than the last one's. */
unsigned int tsct_hull_push(struct tsct_corner *hull, unsigned int nr,
			    const struct tsct_corner *next);
/* Slope of the edge from corner k to the next one */
double tsct_hull_slope(const struct tsct_corner *hull, unsigned int k);

/* fit_robust.c: Theil-Sen, of the half of a window with the shorter round trips */
void tsct_theil_sen(const struct tsct_plane *plane,
		    const struct tsct_window *window,
		    struct tsct_fit_candidate *ret);
/* Rejects points that are further from the others than delays explain. */
void tsct_plane_reject_outliers(struct tsct_plane *plane);

/*
 * fit_reference.c. @keep: in: which exchanges are possible; out: which were
 * used. tsct_fit_spline(): -E2BIG, -ERANGE, -ENODATA
 */
void tsct_fit_linear(struct tsct_plane *plane, const struct tsct_exchange *x,
		     unsigned int nr, bool *keep, struct tsct_fit *fit);
int tsct_fit_spline(struct tsct_plane *plane, const struct tsct_exchange *x,
		    unsigned int nr, bool *keep, struct tsct_fit *fit);
/* fit_auto.c: hull, regression, or the better of both */
void tsct_fit_combine(struct tsct_plane *plane, enum tsct_fit_kind kind,
		      struct tsct_fit *fit);

struct tsct_fit_range {
	double min, max;
};

/* The range that causality allows */
struct tsct_fit_bounds {
	struct tsct_fit_range y;		/* at u = 0, counts */
	struct tsct_fit_range slope;		/* counts / s */
};

/*
 * fit_bound.c. Clears `sound` of exchanges that contradict the others, and of
 * those before a change.
 */
void tsct_fit_bound(struct tsct_plane *plane, struct tsct_fit_bounds *ret);

#endif /* TSCT_SYNC_FIT_PLANE_H */
