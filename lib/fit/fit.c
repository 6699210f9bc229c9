// SPDX-License-Identifier: MIT
/* Fits: their kinds, the weights of hull and regression, bounds, and evaluation */
#include "fit_plane.h"

#include <math.h>
#include <stdlib.h>

static const char *const names[TSCT_FIT_NR] = {
	[TSCT_FIT_AUTO] = "auto",
	[TSCT_FIT_LINEAR] = "linear",
	[TSCT_FIT_SPLINE] = "spline",
	[TSCT_FIT_ITC] = "itc",
	[TSCT_FIT_HULL] = "hull",
	[TSCT_FIT_REGRESSION] = "regression",
};

int tsct_fit_kind_of(const char *name)
{
	int kind;

	for (kind = 0; kind < TSCT_FIT_NR; kind++)
		if (!strcmp(name, names[kind]))
			return kind;
	return -EINVAL;
}

const char *tsct_fit_name(enum tsct_fit_kind kind)
{
	return (unsigned int)kind < TSCT_FIT_NR ? names[kind] : "unknown";
}

const char *tsct_fit_reason_text(enum tsct_fit_reason reason)
{
	static const char *const texts[TSCT_FIT_REASON_NR] = {
		[TSCT_FIT_REQUESTED] = "",
		[TSCT_FIT_EDGE] = "edge",
		[TSCT_FIT_NOISE] = "noise",
		[TSCT_FIT_BOTH] = "both",
		[TSCT_FIT_FEW] = "few",
		[TSCT_FIT_CONTRADICTION] = "contradiction",
	};

	return (unsigned int)reason < TSCT_FIT_REASON_NR ? texts[reason] : "";
}

const char *tsct_fit_error(int err)
{
	switch (err) {
	case -ENODATA:
		return "no usable exchange";
	case -ERANGE:
		return "the rate between the counters is out of range";
	case -EOPNOTSUPP:
		return "a reference fit, which this program was built without (CORE=1)";
	default:
		return strerror(-err);
	}
}

/* ---- the kinds hull, regression and auto -------------------------------- */

/*
 * Hull or regression, or a weighted mean of both.
 *
 * The weights minimize the variance of the mean. They are computed from the variances of both
 * estimates, after these variances are enlarged by errors that the estimates do not include.
 * Documentation/sync-fits.rst derives the corrections.
 *
 *   hull		If the density of delays rises from 0 at their minimum, as
 *			it does if packet times are noisy, the shortest delay is
 *			further from the minimum, see edge_factor(). If the window has
 *			few exchanges, the density is uncertain, see scale_variance().
 *   regression		If a few exchanges have nearly all of the weight, the
 *			standard deviation is uncertain, see regression_variance(). If
 *			hull and regression are further apart than their deviations
 *			explain, and delays are such that the hull is reliable, the
 *			rest is the regression's error, see is_hull_reliable().
 */
/* The minimum of the delays is not sharp if the mean of the shorter half of the delays,
 * divided by the maximum of that half, is at least this: a value between 0.44, for
 * exponential delays, and 0.5, for delays of constant density */
#define SHARP_RATIO		0.48
/* Covariance of hull and regression, as a fraction of the smaller variance. The fraction is
 * 1 if the estimate with the smaller variance is the best possible one, and 0 if both are
 * independent. In most rows of tests/netsim/fits the fraction is 0.5 to 1. */
#define COVARIANCE		0.7
/* Largest distance between hull and regression that their variances explain, in standard
 * deviations of that distance */
#define UNEXPLAINED_SDS		2.0
/* Largest log_asymmetry, in standard deviations of log_asymmetry, at which the
 * delays of requests count as distributed like those of answers */
#define ASYMMETRY_SDS		4.0
/* Least number of exchanges for the statistics; with fewer, hull and regression both
 * have weight 0.5. */
#define STATISTICS_NR_MIN	12

/* The hull's estimate is discarded if its distance from Theil-Sen's estimate
 * exceeds this many standard deviations of both estimates, plus the bias of
 * Theil-Sen, and the regression agrees with Theil-Sen rather than with the hull. */
#define WITNESS_SDS		4.0

/* Returns true if some exchanges are of a session. Errors within a session are not independent:
 * the regression takes that into account, the hull's standard deviation does not. */
static bool has_session(const struct tsct_plane *plane)
{
	unsigned int i;

	for (i = 0; i < plane->nr; i++)
		if (plane->point[i].session_size > 1)
			return true;
	return false;
}

/* Returns the reason for a weight of the hull. */
static enum tsct_fit_reason reason_of(double weight)
{
	return weight > 0.9 ? TSCT_FIT_EDGE :
		weight < 0.1 ? TSCT_FIT_NOISE : TSCT_FIT_BOTH;
}

static unsigned int window_nr(const struct tsct_fit_candidate *hull)
{
	return hull->window.to - hull->window.from;
}

/* Factor by which the hull's deviation is too small if the minimum of the delays is not
 * sharp. With the distribution function (x / median)^p / 2 up to the median, the ratio of
 * the shorter half's mean to the median is p / (1 + p), and the shortest of n delays is
 * about median * (2 / n)^(1 / p). */
static double edge_factor(const struct tsct_fit_candidate *hull)
{
	const double sharp = (1 - SHARP_RATIO) / SHARP_RATIO;
	double ratio = fmax(hull->half_mean_ratio, SHARP_RATIO);
	double inverse_power = fmax((1 - ratio) / ratio, 0);

	return pow(window_nr(hull) / 2.0, sharp - inverse_power);
}

/* Mean square of 1 / density, divided by the square of its estimate, for a window of @nr
 * exchanges. The density is estimated from the shortest quarter of the delays of each
 * direction: nr / 2 delays, whose sum has a gamma distribution. The smallest window has 8
 * exchanges. */
static double scale_variance(unsigned int nr)
{
	double near = fmax(nr / 2.0, 4);

	return near * near / ((near - 1) * (near - 2));
}

/* Returns the variance of the regression, enlarged because it is itself computed from the n
 * values. The values are closer to their regression line than to the true line: a factor of
 * 1 + 2 / n. The error, divided by the computed standard deviation, has Student's
 * distribution: another factor of 1 + 2 / n. Both are approximations for large n. */
static double regression_variance(const struct tsct_fit_candidate *regression)
{
	return regression->sd * regression->sd * (1 + 4 / regression->effective_nr);
}

/* Returns true if the delays of requests are distributed unlike those of
 * answers, so that the regression is biased. A density estimated from n delays
 * has a relative deviation of 1 / sqrt(n), and n is a quarter of the delays. */
static bool is_asymmetric(const struct tsct_fit_candidate *hull)
{
	return hull->log_asymmetry > ASYMMETRY_SDS * sqrt(8.0 / window_nr(hull));
}

/* Returns true if a large difference between hull and regression, beyond their deviations, shows
 * that the regression is wrong. The regression's errors are normally distributed only if delays
 * look like noise of packet times: without a sharp minimum, and alike in both directions. */
static bool is_hull_reliable(const struct tsct_plane *plane,
			     const struct tsct_fit_candidate *hull)
{
	return !has_session(plane) &&
		(hull->half_mean_ratio < SHARP_RATIO || is_asymmetric(hull));
}

/* Returns the part of the squared distance between both estimates that @explained, the
 * sum of their variances, does not explain. */
static double unexplained(const struct tsct_fit_candidate *hull,
			  const struct tsct_fit_candidate *regression,
			  double explained)
{
	double distance = hull->line.y0 - regression->line.y0;

	return fmax(distance * distance -
		    UNEXPLAINED_SDS * UNEXPLAINED_SDS * explained, 0);
}

/* Weight of the first of two estimates in the mean of least variance. @a, @b:
 * variances of the two estimates */
static double best_weight(double a, double b)
{
	double covariance = COVARIANCE * fmin(a, b);

	return (b - covariance) / (a + b - 2 * covariance);
}

/* Returns true if Theil-Sen's estimate, @witness, is further from the hull than
 * both deviations and the bias of Theil-Sen explain, and the regression is closer
 * to Theil-Sen than to the hull. If all queueing is in one direction, that bias is
 * half the median excess of the round trips over the shortest one. */
static bool is_contradicted(const struct tsct_plane *plane,
			    const struct tsct_fit_candidate *hull,
			    const struct tsct_fit_candidate *regression,
			    const struct tsct_fit_candidate *witness)
{
	double limit = tsct_plane_median_excess(plane) / 2 +
		WITNESS_SDS * hypot(hull->sd, witness->sd);
	double from_witness = fabs(regression->line.y0 - witness->line.y0);

	return fabs(hull->line.y0 - witness->line.y0) > limit &&
		from_witness < fabs(regression->line.y0 - hull->line.y0);
}

/* Weight of the hull's estimate, in [0, 1]; the regression has the rest. @witness:
 * Theil-Sen's estimate. *ret_reason: reason for the weight */
static double weight_of_hull(const struct tsct_plane *plane,
			     const struct tsct_fit_candidate *hull,
			     const struct tsct_fit_candidate *regression,
			     const struct tsct_fit_candidate *witness,
			     enum tsct_fit_reason *ret_reason)
{
	double a, b, weight;

	if (is_contradicted(plane, hull, regression, witness)) {
		*ret_reason = TSCT_FIT_CONTRADICTION;
		return 0;
	}
	*ret_reason = TSCT_FIT_FEW;
	if (plane->nr < STATISTICS_NR_MIN)
		return 0.5;
	*ret_reason = TSCT_FIT_EDGE;
	if (!(regression->sd > 0))
		return 1;
	a = hull->sd * edge_factor(hull);
	a *= a * scale_variance(window_nr(hull));
	b = regression_variance(regression);
	if (is_hull_reliable(plane, hull))
		b += unexplained(hull, regression, a + b);
	weight = best_weight(a, b);
	*ret_reason = reason_of(weight);
	return weight;
}

/* Replaces the estimate @candidate by Theil-Sen's estimate, @witness, if @candidate has
 * a NaN or an infinite value. Extreme but valid packet times may cause such values. */
static void replace_if_not_finite(struct tsct_fit_candidate *candidate,
				  const struct tsct_fit_candidate *witness)
{
	if (isfinite(candidate->line.y0) && isfinite(candidate->line.slope) &&
	    isfinite(candidate->sd) && isfinite(candidate->wander))
		return;
	candidate->line = witness->line;
	candidate->sd = witness->sd;
	candidate->wander = 0;
}

/* Makes the fit by hull, by regression, or by a weighted mean of both. */
static void combine_estimates(struct tsct_plane *plane, enum tsct_fit_kind kind,
			      struct tsct_fit *fit)
{
	const struct tsct_window all = { 0, plane->nr };
	struct tsct_fit_candidate hull, regression, witness;
	struct tsct_plane_line line;
	double weight;

	tsct_theil_sen(plane, &all, &witness);
	tsct_regression_estimate(plane, &regression);
	replace_if_not_finite(&regression, &witness);
	tsct_hull_estimate(plane, regression.wander, &hull);
	tsct_theil_sen(plane, &hull.window, &witness);
	replace_if_not_finite(&hull, &witness);
	if (kind == TSCT_FIT_AUTO)
		weight = weight_of_hull(plane, &hull, &regression, &witness,
					&fit->reason);
	else
		weight = kind == TSCT_FIT_HULL;
	line.y0 = weight * hull.line.y0 + (1 - weight) * regression.line.y0;
	line.slope = weight * hull.line.slope +
		(1 - weight) * regression.line.slope;
	tsct_plane_to_fit(plane, &line, fit);
	fit->kind = weight < 0.5 ? TSCT_FIT_REGRESSION : TSCT_FIT_HULL;
	fit->disagreement = fabs(hull.line.y0 - regression.line.y0);
	fit->sd = weight * hull.sd + (1 - weight) * regression.sd;
}

/* ---- making a fit -------------------------------------------------------- */

static void set_figures(const struct tsct_plane *plane,
			const struct tsct_exchange *x, unsigned int nr,
			const bool *keep, struct tsct_fit *fit)
{
	double sum = 0, frac, d;
	__u64 rtt, value;
	unsigned int i;

	fit->nr_kept = 0;
	for (i = 0; i < nr; i++) {
		if (!keep[i])
			continue;
		/* d: distance of the exchange's middle from the fit, remote counts */
		rtt = x[i].t4 - x[i].t1;
		value = tsct_fit_at(fit, x[i].t1 + rtt / 2, &frac, NULL);
		if (rtt & 1)
			frac += plane->rate / 2;
		d = ((double)(__s64)(x[i].t2 - value) +
		     (double)(__s64)(x[i].t3 - value)) / 2 - frac - plane->shift;
		sum += d * d;
		fit->nr_kept++;
	}
	fit->nr_dropped = nr - fit->nr_kept;
	fit->residual = fit->nr_kept ? sqrt(sum / fit->nr_kept) : 0;
	for (i = 0; i < plane->nr; i++)
		plane->scratch[i] = plane->point[i].rtt;
	fit->rtt_min = plane->min_rtt / plane->rate;
	fit->rtt_median = tsct_nth_smallest(plane->scratch, plane->nr,
					    plane->nr / 2) / plane->rate;
}

/* Sets the error bound of a fit: the distance from the fit to the farther end of the
 * range that causality allows. */
static void set_bound(const struct tsct_plane *plane,
		      const struct tsct_fit_bounds *bounds,
		      struct tsct_fit *fit)
{
	const struct tsct_cubic *p = tsct_fit_pieces(fit);
	const struct tsct_cubic *last = p + fit->nr_pieces - 1;
	double frac, y, slope, end, curvature = 0;
	__u64 value;

	fit->at = plane->at;
	value = tsct_fit_at(fit, fit->at, &frac, NULL);
	y = (double)(__s64)(value - plane->remote0) + frac;
	slope = (tsct_fit_rate(fit, fit->at) - plane->rate) * plane->hz;
	fit->error = fmax(bounds->y.max - y, y - bounds->y.min) +
		fit->disagreement;
	fit->rate_error = fmax(bounds->slope.max - slope,
			       slope - bounds->slope.min) / plane->hz;
	/* Largest curvature |f''| / 2 of any piece of the fit, counts per cycle
	 * squared */
	for (; p < last; p++) {
		end = (double)(__s64)(p[1].from - p->from);
		curvature = fmax(curvature,
				 fmax(fabs(p->c[2]),
				      fabs(p->c[2] + 3 * p->c[3] * end)));
	}
	fit->wander = plane->wander / 2 / (plane->hz * plane->hz) + curvature;
}

static unsigned int nr_sound(const struct tsct_plane *plane)
{
	unsigned int nr = 0, i;

	for (i = 0; i < plane->nr; i++)
		nr += plane->point[i].sound;
	return nr;
}

/* Makes the fit from the used points alone, so that windows of exchanges and statistics of
 * delays include no other points. Updates the points' flags. */
static void combine_used(struct tsct_plane *plane, struct tsct_fit *fit)
{
	struct tsct_plane used = *plane;
	unsigned int i;

	used.point = plane->point + plane->nr;
	used.nr = 0;
	for (i = 0; i < plane->nr; i++)
		if (plane->point[i].used)
			used.point[used.nr++] = plane->point[i];
	if (!used.nr)
		return combine_estimates(plane, fit->kind, fit);
	combine_estimates(&used, fit->kind, fit);
	while (i--)
		if (plane->point[i].used)
			plane->point[i] = used.point[--used.nr];
}

/* Sets `used` of all points: true for sound points that are not in a slow place; if there
 * are none, for all sound points. */
static void choose_used(struct tsct_plane *plane)
{
	unsigned int used = 0, i;
	struct tsct_point *p;

	for (i = 0; i < plane->nr; i++) {
		p = &plane->point[i];
		p->used = p->sound && !p->in_slow_place;
		used += p->used;
	}
	for (i = 0; i < plane->nr && !used; i++)
		plane->point[i].used = plane->point[i].sound || plane->nr == 1;
}

/* Makes the fit from the points that do not contradict other points (flag `sound`).
 * If making the fit clears the flag of more points, updates @bounds, the error
 * bounds of the fit. @slow_limit: result of tsct_plane_find_slow_routes() */
static void make_estimate(struct tsct_plane *plane, double slow_limit,
			  struct tsct_fit_bounds *bounds, bool *keep,
			  struct tsct_fit *fit)
{
	enum tsct_fit_kind kind = fit->kind;
	unsigned int nr, i;

	while (plane->nr > 1 && !plane->point[0].sound) {
		plane->point++;
		plane->nr--;
	}
	choose_used(plane);
	nr = nr_sound(plane);
	combine_used(plane, fit);
	if (fit->sd > slow_limit) {
		for (i = 0; i < plane->nr; i++)
			plane->point[i].slow_route = false;
		fit->kind = kind;
		combine_used(plane, fit);
	}
	if (nr_sound(plane) != nr)
		tsct_fit_bound(plane, bounds);
	for (i = 0; i < plane->nr; i++)
		keep[plane->point[i].index] = plane->point[i].used;
}

static int make_fit(struct tsct_plane *plane, const struct tsct_exchange *x,
		    unsigned int nr, enum tsct_fit_kind kind, bool *keep,
		    struct tsct_fit *fit)
{
	bool reference = tsct_fit_is_reference(kind);
	struct tsct_fit_bounds bounds;
	double slow_limit = HUGE_VAL;
	unsigned int i;
	int err = 0;

	memset(keep, 0, nr * sizeof(*keep));
	fit->sd = 0;
	fit->disagreement = 0;
	fit->kind = kind;
	fit->reason = TSCT_FIT_REQUESTED;
	tsct_plane_reject_short(plane);
	if (!reference) {
		tsct_plane_compare_pairs(plane, x);
		slow_limit = tsct_plane_find_slow_routes(plane);
	}
	tsct_plane_reject_outliers(plane);
	tsct_fit_bound(plane, &bounds);
	for (i = 0; i < plane->nr && reference; i++)
		keep[plane->point[i].index] = true;
	if (reference)
		err = tsct_fit_reference(plane, kind, x, nr, keep, fit);
	else
		make_estimate(plane, slow_limit, &bounds, keep, fit);
	if (err)
		return err;
	set_bound(plane, &bounds, fit);
	set_figures(plane, x, nr, keep, fit);
	/* Reference fits set sd as a multiple of the residual. */
	if (reference)
		fit->sd *= fit->residual;
	fit->nr_pairs = plane->nr_pairs;
	fit->slow_place = plane->slow_place;
	return 0;
}

int tsct_fit_make(const struct tsct_exchange *x, unsigned int nr,
		  const struct tsct_fit_options *options, double remote_hz,
		  struct tsct_fit *ret_fit, bool *keep)
{
	struct tsct_plane plane;
	bool *kept = keep;
	int err;

	ret_fit->several = NULL;
	if ((unsigned int)options->kind >= TSCT_FIT_NR)
		return -EINVAL;
	if (!nr)
		return -ENODATA;
	if (!keep)
		kept = malloc(nr * sizeof(*kept));
	err = (kept ? tsct_plane_make(x, nr, options, remote_hz, &plane) : -ENOMEM) ?:
		make_fit(&plane, x, nr, options->kind, kept, ret_fit);
	if (kept)
		tsct_plane_free(&plane);
	if (!keep)
		free(kept);
	return err;
}

/* ---- evaluation of a fit ------------------------------------------------ */

/* Returns the index of the last piece that begins at or before @local, else of the
 * first piece. */
static unsigned int find_piece(const struct tsct_fit *fit, __u64 local)
{
	const struct tsct_cubic *piece = tsct_fit_pieces(fit);
	unsigned int from = 0, to = fit->nr_pieces, mid;

	while (to - from > 1) {
		mid = from + (to - from) / 2;
		if ((__s64)(local - piece[mid].from) >= 0)
			from = mid;
		else
			to = mid;
	}
	return from;
}

__u64 tsct_fit_at(const struct tsct_fit *fit, __u64 local, double *ret_frac,
		  double *ret_error)
{
	unsigned int k = find_piece(fit, local);
	const struct tsct_cubic *piece = tsct_fit_pieces(fit) + k, *next = piece + 1;
	__s64 delta = (__s64)(local - piece->from), over;
	double d = (double)delta, frac, bend, whole;
	__u64 value = piece->base;

	value += (__u64)tsct_fit_multiply(piece->c[1], delta, &frac);
	bend = d * d * (piece->c[2] + d * piece->c[3]);
	whole = floor(bend);
	frac += bend - whole + piece->c[0];
	value += (__u64)tsct_fit_to_s64(whole);
	whole = floor(frac);
	value += (__u64)tsct_fit_to_s64(whole);
	frac -= whole;
	/* Rounding must not carry the value of a piece beyond the beginning of the next
	 * piece. */
	if (k + 1 < fit->nr_pieces && (__s64)(local - next->from) < 0) {
		over = (__s64)(value - next->base);
		if (over > 0 || (over == 0 && frac > next->c[0])) {
			value = next->base;
			frac = next->c[0];
		}
	}
	if (ret_frac)
		*ret_frac = frac < 1 ? frac : nextafter(1, 0);
	if (ret_error) {
		d = fabs((double)(__s64)(local - fit->at));
		*ret_error = fit->error + d * (fit->rate_error + d * fit->wander);
	}
	return value;
}

double tsct_fit_rate(const struct tsct_fit *fit, __u64 local)
{
	const struct tsct_cubic *piece = tsct_fit_pieces(fit) +
		find_piece(fit, local);
	double d = (double)(__s64)(local - piece->from);

	return piece->c[1] + d * (2 * piece->c[2] + d * 3 * piece->c[3]);
}
