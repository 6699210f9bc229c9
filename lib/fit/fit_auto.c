// SPDX-License-Identifier: MIT
/*
 * Hull or regression, or a weighted mean of both.
 *
 * The hull is good where delays have a sharp minimum, with many delays close to the
 * minimum. Where packet times are noisy there is no sharp minimum, and the hull
 * follows the most extreme times. Two statistics decide, half_mean_ratio and gain:
 *
 *   half_mean_ratio	mean of the shorter half of the delays, divided by the
 *			maximum of that half; averaged over requests and
 *			answers. 0.44 for exponential delays, at most 0.5 for
 *			a constant density above the minimum, 0.57 or more
 *			where the density rises from 0
 *   gain		log(standard deviation of the regression / standard
 *			deviation of the hull) + log_asymmetry
 *   log_asymmetry	|log(a / b)|, with the densities a of the shortest
 *			delays of requests, and b of those of answers
 *
 * `excess` is half_mean_ratio minus a limit: negative where the minimum is sharp.
 * Near the limit the result is a mean, as either alone may be far off. `scarcity`
 * is the uncertainty of a statistic due to few exchanges, see scarcity_of().
 *
 * All constants but RATIO_LIMIT are empirical: tests/netsim/fits prints the
 * errors of hull, regression and auto for each network, and auto has to be near
 * the better one in every row. A change of a constant is checked by that table.
 */
#include "fit_plane.h"

#include <math.h>

/* Limit of half_mean_ratio, the mean of the shorter half of the delays over that half's
 * maximum: between the values of exponential delays (0.44) and of a constant density
 * (0.5) */
#define RATIO_LIMIT		0.48
/* The limit of half_mean_ratio is above RATIO_LIMIT where the hull's standard deviation
 * is much smaller than the regression's, or the delays of requests are distributed
 * unlike those of answers. Both raise `gain` (see the top of this file): LIMIT_PER_GAIN
 * is added for each unit of `gain` above GAIN_MIN, up to GAIN_MAX such units. */
#define LIMIT_PER_GAIN		0.05
#define GAIN_MIN		1.0
#define GAIN_MAX		2.5
/* The limit of half_mean_ratio is RATIO_LIMIT plus LIMIT_PER_SCARCITY *
 * scarcity_of(number of exchanges): exchanges fewer than PLENTY raise the limit. */
#define LIMIT_PER_SCARCITY	0.5

/* The regression's weight rises linearly with `excess` (see the top of this file), from
 * 0 if `excess` is EXCESS_HULL_ONLY, to 1 if it is EXCESS_REGRESSION_FULL. */
#define EXCESS_HULL_ONLY	-0.015
#define EXCESS_REGRESSION_FULL	0.025
/* With fewer than PLENTY exchanges in the hull's window, `excess` (see the top of this
 * file) is uncertain, so the regression gets a weight at lower values of `excess`:
 * EXCESS_HULL_ONLY, below which the weight is 0, is reduced by HULL_ONLY_PER_SCARCITY *
 * scarcity_of(number of exchanges in the window). */
#define HULL_ONLY_PER_SCARCITY	2.0

/* The hull underestimates its standard deviation in two cases. Where delays have no
 * sharp minimum (excess > 0, see the top of this file), the deviation is multiplied by
 * e^(SD_PER_EXCESS * excess). Where the hull's window has few exchanges, it is
 * multiplied by 1 + SD_PER_SCARCITY * scarcity_of(number of these exchanges). */
#define SD_PER_EXCESS		45.0
#define SD_PER_SCARCITY		8.0
/* Where delays have no sharp minimum, or in sessions, the regression gets its full weight if its standard
 * deviation is smaller than the hull's, which is first corrected by SD_PER_EXCESS and
 * SD_PER_SCARCITY. Where they have one, that proves nothing: the errors of middles are
 * then not normal, and the regression's error is up to twice the deviation it states. If the delays
 * of requests are distributed unlike those of answers, the regression is biased: the
 * hull's corrected standard deviation must then exceed SD_RATIO_ASYMMETRIC times the
 * regression's. */
#define SD_RATIO_ASYMMETRIC	3.0

/* Number of exchanges from which on scarcity_of() returns 0 */
#define PLENTY			100.0
/* Least number of exchanges for the statistics; with fewer, hull and regression both
 * have weight 0.5. */
#define STATISTICS_NR_MIN	12

/* The hull's estimate is discarded if its distance from Theil-Sen's estimate exceeds
 * this many standard deviations of both, plus the bias of Theil-Sen, and the regression
 * agrees with Theil-Sen rather than with the hull. */
#define WITNESS_SDS		4.0

/*
 * Uncertainty of a mean of @nr values, minus the uncertainty of a mean of PLENTY
 * values, in standard deviations of one value; at least 0
 */
static double scarcity_of(unsigned int nr)
{
	return fmax(1 / sqrt(nr) - 1 / sqrt(PLENTY), 0);
}

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
	double scarcity = scarcity_of(plane->nr);
	double window_scarcity = scarcity_of(hull->window.to - hull->window.from);
	double hull_only = EXCESS_HULL_ONLY -
		HULL_ONLY_PER_SCARCITY * window_scarcity;
	double gain, excess, sd_ratio, a, b;

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
	gain = log(regression->sd / hull->sd) + hull->log_asymmetry - GAIN_MIN;
	excess = hull->half_mean_ratio - RATIO_LIMIT -
		LIMIT_PER_SCARCITY * scarcity -
		LIMIT_PER_GAIN * fmin(fmax(gain, 0), GAIN_MAX);
	sd_ratio = exp(SD_PER_EXCESS * fmax(excess, 0)) *
		(1 + SD_PER_SCARCITY * window_scarcity) * hull->sd /
		regression->sd;
	b = fmin(fmax((excess - hull_only) /
		      (EXCESS_REGRESSION_FULL - hull_only), 0), 1);
	if ((excess > 0 || has_session(plane)) &&
	    sd_ratio > (hull->log_asymmetry < GAIN_MIN ? 1 : SD_RATIO_ASYMMETRIC))
		b = 1;
	a = 1 / (sd_ratio * sd_ratio);
	*ret_reason = reason_of(a / (a + b));
	return a / (a + b);
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
