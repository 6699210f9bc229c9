// SPDX-License-Identifier: MIT
/*
 * Hull or regression, or a weighted mean of both.
 *
 * The weights are those of the mean with the least variance. They follow from the
 * variances of both estimates, which are first corrected for what the deviations that
 * the estimates state leave out. Documentation/sync-fits.rst derives the corrections.
 *
 *   hull		If the density of delays rises from 0 at their minimum, as
 *			noise of packet times has it, the shortest delay is further
 *			from the minimum, see edge_factor(). If the window has few
 *			exchanges, the density is uncertain, see scale_variance().
 *   regression		If a few exchanges have nearly all of the weight, the
 *			deviation is uncertain, see regression_variance(). If both
 *			are further apart than their deviations explain, and delays
 *			are such that the hull is the one to rely on, the rest is
 *			the regression's error, see is_hull_reliable().
 */
#include "fit_plane.h"

#include <math.h>

/* Mean of the shorter half of the delays over that half's maximum, from which on the
 * minimum of the delays is not sharp: between the values of exponential delays (0.44) and
 * of a constant density (0.5) */
#define SHARP_RATIO		0.48
/* Covariance of both estimates, as a part of the smaller variance. It is the smaller
 * variance itself if that estimate is the best possible one, and 0 if both are
 * independent. In most rows of tests/netsim/fits it is 0.5 to 1 times the smaller
 * variance. */
#define COVARIANCE		0.7
/* Distance of both estimates from which on their deviations do not explain it, in
 * standard deviations */
#define UNEXPLAINED_SDS		2.0
/* Distance of log_asymmetry from 0 from which on the delays of requests are distributed
 * unlike those of answers, in standard deviations */
#define ASYMMETRY_SDS		4.0
/* Least number of exchanges for the statistics; with fewer, hull and regression both
 * have weight 0.5. */
#define STATISTICS_NR_MIN	12

/* The hull's estimate is discarded if its distance from Theil-Sen's estimate exceeds
 * this many standard deviations of both, plus the bias of Theil-Sen, and the regression
 * agrees with Theil-Sen rather than with the hull. */
#define WITNESS_SDS		4.0

/* True: some exchanges are of a session. Their errors are not independent, which the
 * regression takes into account, and the hull's deviation does not. */
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

/* Number of exchanges in the hull's window */
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

/* Mean square of 1 / density, in squares of its estimate, for a window of @nr exchanges.
 * The nearest quarter of the delays of each direction determines it: nr / 2 delays, whose
 * sum has a gamma distribution. The least window has 8 exchanges. */
static double scale_variance(unsigned int nr)
{
	double near = fmax(nr / 2.0, 4);

	return near * near / ((near - 1) * (near - 2));
}

/* Variance of the regression, with the uncertainty of its stated variance. If n values
 * determine it and a line, they are closer to that line than to the true one: a factor of
 * 1 + 2 / n. The error in multiples of the deviation has Student's distribution: another
 * factor of 1 + 2 / n. Both are approximations for large n. */
static double regression_variance(const struct tsct_fit_candidate *regression)
{
	return regression->sd * regression->sd * (1 + 4 / regression->effective_nr);
}

/* True: the delays of requests are distributed unlike those of answers, so that the
 * regression is biased. A density of n delays has a relative deviation of 1 / sqrt(n), and
 * a quarter of the delays determines it. */
static bool is_asymmetric(const struct tsct_fit_candidate *hull)
{
	return hull->log_asymmetry > ASYMMETRY_SDS * sqrt(8.0 / window_nr(hull));
}

/* True: if both estimates are further apart than their deviations explain, the regression
 * is the wrong one. Its errors are normal only if delays are as noise of packet times has
 * them: without a sharp minimum, and alike in both directions. */
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

/* Weight of the first of two estimates in the mean of least variance. @a, @b: their
 * variances */
static double best_weight(double a, double b)
{
	double covariance = COVARIANCE * fmin(a, b);

	return (b - covariance) / (a + b - 2 * covariance);
}

/* True: Theil-Sen's estimate, @witness, is further from the hull than both deviations and
 * its bias explain, and the regression is closer to it than to the hull. If all queueing
 * is in one direction, the bias is half the median excess of the round trips over the
 * shortest one. */
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

void tsct_fit_combine(struct tsct_plane *plane, enum tsct_fit_kind kind,
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
