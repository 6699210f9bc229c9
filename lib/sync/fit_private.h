/* SPDX-License-Identifier: MIT */
/*
 * What the fits share: exchanges as points of a plane.
 *
 * u is seconds of our counter since `at`, y is counts of theirs beside the line
 * that runs at `rate` through (at, remote0). Both come from integers that were
 * subtracted as integers, so that large counters lose nothing. A function is
 * then a line y = y0 + slope u that is nearly level.
 */
#ifndef TSCT_SYNC_FIT_PRIVATE_H
#define TSCT_SYNC_FIT_PRIVATE_H

#include "fit.h"

/* Counters run as was said of them to this, both taken together. */
#define TSCT_FIT_RATE_PPM	1000

struct tsct_point {
	double u1, up;		/* f(u1) <= up: the request */
	double u4, low;		/* f(u4) >= low: the answer */
	double u, y;		/* the middle, known asymmetry taken off */
	double width;		/* up - low, at the same u: the round trip, counts */
	double slack;		/* of up and low, counts: errors of stamps */
	unsigned int index;	/* of its exchange */
	unsigned int among;	/* as many of its session; 1: of none */
	bool used;		/* for the estimate */
	bool sound;		/* for the bound */
	bool lonely;		/* for neither: too good to be true, or a liar */
	bool liar;		/* if it were up to all others */
};

/* Of a convex hull */
struct tsct_corner {
	double u, y;
	unsigned int point;
};

struct tsct_plane {
	__u64 at, remote0;
	double hz, rate;	/* ticks a second; counts per tick */
	double nominal;		/* rate, as was said */
	double wander;		/* rate changes by at most, counts / s^2 */
	double rate_min, rate_max;	/* of slope, from what was said, counts / s */
	double shift;		/* of y, by the asymmetry that is known */
	double least;		/* width of the shortest round trip believed */
	unsigned int nr;
	struct tsct_point *point, *points;	/* as many; all */
	double *scratch;	/* 2 nr + 2 */
	struct tsct_corner *corner;	/* 2 nr */
};

struct tsct_plane_line {
	double y0, slope;	/* counts, counts / s */
};

static inline double tsct_plane_line_at(const struct tsct_plane_line *line, double u)
{
	return line->y0 + line->slope * u;
}

/* fit_plane.c; tsct_plane_make() does not free what it made when it fails */
int tsct_plane_make(const struct tsct_exchange *x, unsigned int nr,
		    const struct tsct_fit_options *options, double remote_hz,
		    struct tsct_plane *ret);
void tsct_plane_free(struct tsct_plane *plane);
/* counts beside the level line; exact */
double tsct_plane_y(const struct tsct_plane *plane, __u64 local, __u64 remote);
void tsct_plane_put(const struct tsct_plane *plane,
		    const struct tsct_plane_line *line, struct tsct_fit *fit);

/* Of whole counts, what 64 bits hold of it; what is no number is nothing */
static inline __s64 tsct_fit_whole(double counts)
{
	if (counts >= 0x1p63)
		return INT64_MAX;
	if (counts <= -0x1p63)
		return INT64_MIN;
	return counts == counts ? (__s64)counts : 0;
}

/* rate times delta, exactly: whole counts, rounded down, and the rest */
__s64 tsct_fit_times(double rate, __s64 delta, double *ret_frac);

/* fit_order.c: the k-th smallest, which is put in its place; and of used points */
double tsct_fit_select(double *values, unsigned int nr, unsigned int k);
/* The first that is not so far from all others that it cannot be */
double tsct_fit_first(double *values, unsigned int nr, double grain);
double tsct_plane_quantile(const struct tsct_plane *plane, double q);
void tsct_plane_drop(struct tsct_point *p);
/* Drops round trips that are shorter than they can be. */
void tsct_plane_screen(struct tsct_plane *plane);

/* fit_hull.c: the line of the largest margin, and what it touches */
struct tsct_hull {
	double slope;
	double above, below;	/* constraints at u = 0, with that slope */
	unsigned int support[4];	/* points; the same one twice, maybe */
	struct tsct_corner *up, *low;	/* hulls of up, and of -low: the plane's */
	unsigned int nr_up, nr_low;
	unsigned int i, j;	/* the corners that it touches */
};

/* Points [from, to) that are used; -ENODATA: none is */
int tsct_hull_fit(const struct tsct_plane *plane, unsigned int from,
		  unsigned int to, struct tsct_hull *ret);

/* Lower hull: one more corner, at a u not less than that of the last */
unsigned int tsct_hull_push(struct tsct_corner *hull, unsigned int nr,
			    const struct tsct_corner *next);
/* Slope of the edge from corner k to the next */
double tsct_hull_edge(const struct tsct_corner *hull, unsigned int k);

int tsct_hull_fit(const struct tsct_plane *plane, unsigned int from,
		  unsigned int to, struct tsct_hull *ret);
/* What a candidate says at `at` */
struct tsct_fit_candidate {
	struct tsct_plane_line line;
	double sd;
	double spread;		/* Theil-Sen: of single middles */
	double wander;		/* of the rate, counts / s per root of a second */
	unsigned int from, to;	/* points that it is made of */
	double softness;	/* hull: see fit_auto.c */
	double lean;		/* hull: how unequal both ways are, logarithm */
};

/* fit_regression.c */
void tsct_regression_estimate(const struct tsct_plane *plane,
			      struct tsct_fit_candidate *ret);
/* fit_window.c: points [from, to) */
struct tsct_window {
	unsigned int from, to;
};

/* Crystals wander by as much, of their rate per root of a second, at least: where
 * packets queue for long, no regression sees it. */
#define TSCT_FIT_WANDER_LEAST	8e-10

/* Fewer exchanges have no edge, but only the line of the largest margin. */
#define TSCT_FIT_EDGE_FEW	8

/* No more than @seen, where the edge is known to @sd; *ret_bent: what @wander,
 * counts / s per root of a second, makes of the line at `at`: as a deviation */
struct tsct_window tsct_window_choose(const struct tsct_plane *plane,
				      const struct tsct_window *seen, double sd,
				      double wander, double *ret_bent);

/* fit_edge.c; @wander: of the regression. Takes `used` and `sound` from points
 * that contradict the others. */
void tsct_hull_estimate(struct tsct_plane *plane, double wander,
			struct tsct_fit_candidate *ret);
/* fit_robust.c: Theil-Sen, of the half of points [from, to) with the shorter
 * round trips */
void tsct_theil_sen(const struct tsct_plane *plane, unsigned int from,
		    unsigned int to, struct tsct_fit_candidate *ret);

/* Who is off by more than can be is not used. */
void tsct_plane_outvote(struct tsct_plane *plane);

/* fit_linear.c fit_spline.c; @keep: in: what is possible */
void tsct_fit_linear(struct tsct_plane *plane, const struct tsct_exchange *x,
		     unsigned int nr, bool *keep, struct tsct_fit *fit);
int tsct_fit_spline(struct tsct_plane *plane, const struct tsct_exchange *x,
		    unsigned int nr, bool *keep, struct tsct_fit *fit);
/* fit_auto.c: hull, regression, or the better one of both */
void tsct_fit_best(struct tsct_plane *plane, enum tsct_fit_kind kind,
		   struct tsct_fit *fit);

/*
 * The tenth of those that are kept with the highest t4 - t1 loses its flag,
 * rounded down; of equal ones the later one does. Returns how many.
 * @heap: room for nr
 */
unsigned int tsct_fit_drop_tenth(const struct tsct_exchange *x,
				 unsigned int nr, bool *keep,
				 unsigned int *heap);

/*
 * tsct_fit_bound - what causality leaves possible
 *
 * Takes `sound` from exchanges that contradict the others, or older ones.
 */
struct tsct_fit_range {
	double min, max;
};

struct tsct_fit_bounds {
	struct tsct_fit_range y;		/* at u = 0 */
	struct tsct_fit_range slope;
};

void tsct_fit_bound(struct tsct_plane *plane, struct tsct_fit_bounds *ret);

#endif /* TSCT_SYNC_FIT_PRIVATE_H */
