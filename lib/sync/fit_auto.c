// SPDX-License-Identifier: MIT
/*
 * Hull or regression, or a weighted mean of both.
 *
 * The hull is good where delays have a sharp minimum (an edge): many of them
 * are close to it. Where packet times are noisy there is none, and the hull
 * follows the most extreme ones. The statistic that separates the two is
 * half_mean_ratio: of the shorter half of the delays, their mean over their
 * maximum. It is 0.44 for exponential delays, at most 0.5 for a constant
 * density from the edge on, and 0.57 or more where the density rises from 0.
 * Near the limit the result is a mean, as either alone may be far off. The
 * table of tests/netsim/fits shows the effect of the constants.
 */
#include "fit_plane.h"

#include <math.h>
#include <stdlib.h>

/*
 * `excess` is half_mean_ratio minus a limit. The limit is RATIO_LIMIT, raised
 * where the hull promises to be much better: per unit of gain (logarithm of the
 * ratio of both standard deviations, plus log_asymmetry) above GAIN_MIN, for at
 * most GAIN_MAX units ...
 */
#define RATIO_LIMIT		0.48
#define LIMIT_PER_GAIN		0.05
#define GAIN_MIN		1.0
#define GAIN_MAX		2.5
/*
 * ... and where there are few exchanges, per unit of scarcity: see
 * scarcity_of().
 */
#define LIMIT_PER_SCARCITY	0.5

/* Up to this excess the regression has no weight, ... */
#define EXCESS_HULL_ONLY	-0.015
/* ... which begins lower, per unit of scarcity in the hull's window, ... */
#define HULL_ONLY_PER_SCARCITY	2.0
/* ... and from this excess on it has its full weight. */
#define EXCESS_REGRESSION_FULL	0.025

/* The hull's standard deviation is too small by e^(SD_PER_EXCESS * excess), ... */
#define SD_PER_EXCESS		45.0
/* ... and by 1 + this, per unit of scarcity in its window. */
#define SD_PER_SCARCITY		8.0
/*
 * The regression has its full weight when the hull's corrected deviation
 * exceeds its own: by this factor where directions differ, as then the
 * regression is biased.
 */
#define SD_RATIO_ASYMMETRIC	3.0

/* Number of exchanges from which on scarcity is 0 */
#define PLENTY			100.0
/* With fewer exchanges these statistics mean nothing: weight 0.5. */
#define STATISTICS_NR_MIN	12

/* Standard deviations from Theil-Sen beyond which the hull is discarded */
#define WITNESS_SDS		4.0

/*
 * True: the distance of the hull from Theil-Sen exceeds what the bias of
 * Theil-Sen explains. If all queueing is in one direction, that bias is half the
 * median excess of the round trips over the least one.
 */
static bool hull_is_contradicted(const struct tsct_plane *plane,
				 const struct tsct_fit_candidate *hull,
				 const struct tsct_fit_candidate *witness)
{
	double excess = tsct_plane_median_excess(plane);

	return fabs(hull->line.y0 - witness->line.y0) >
		excess / 2 + WITNESS_SDS * hypot(hull->sd, witness->sd);
}

/*
 * Uncertainty of a statistic of @nr values, less that of one of PLENTY values,
 * in standard deviations of one value; at least 0
 */
static double scarcity_of(unsigned int nr)
{
	return fmax(1 / sqrt(nr) - 1 / sqrt(PLENTY), 0);
}

/* Weight of the hull, in [0, 1]; the regression's is the rest. */
static double weight_of_hull(const struct tsct_plane *plane,
			     const struct tsct_fit_candidate *hull,
			     const struct tsct_fit_candidate *regression,
			     const struct tsct_fit_candidate *witness)
{
	double scarcity = scarcity_of(plane->nr);
	double window_scarcity = scarcity_of(hull->window.to - hull->window.from);
	double hull_only = EXCESS_HULL_ONLY -
		HULL_ONLY_PER_SCARCITY * window_scarcity;
	double gain, excess, sd_ratio, a, b;

	if (hull_is_contradicted(plane, hull, witness))
		return 0;
	if (plane->nr < STATISTICS_NR_MIN)
		return 0.5;
	if (!(regression->sd > 0))
		return 1;
	gain = log(regression->sd / hull->sd) + hull->log_asymmetry - GAIN_MIN;
	excess = hull->half_mean_ratio - RATIO_LIMIT -
		LIMIT_PER_SCARCITY * scarcity -
		LIMIT_PER_GAIN * fmin(fmax(gain, 0), GAIN_MAX);
	sd_ratio = exp(SD_PER_EXCESS * fmax(excess, 0)) *
		(1 + SD_PER_SCARCITY * window_scarcity) * hull->sd /
		regression->sd;
	b = fmin(fmax((excess - hull_only) /
		      (EXCESS_REGRESSION_FULL - hull_only), 0), 1);
	if (sd_ratio > (hull->log_asymmetry < GAIN_MIN ? 1 : SD_RATIO_ASYMMETRIC))
		b = 1;
	a = 1 / (sd_ratio * sd_ratio);
	return a / (a + b);
}

/* Extreme but permitted packet times may give NaN or infinity: use Theil-Sen. */
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
		weight = weight_of_hull(plane, &hull, &regression, &witness);
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
