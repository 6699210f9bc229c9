// SPDX-License-Identifier: MIT
/*
 * The hull, or the regression, or the better one of both.
 *
 * Where delays begin at an edge, nothing comes near the hull; where stamps are
 * noisy there is no edge, and the hull follows the wildest of them. Of delays that
 * begin at an edge, the mean of the shorter half is less than half its longest:
 * 0.44 if they are exponential, up to 0.5 if they are even. Where there is no edge
 * they get denser, and it is 0.57 and more. Near the limit it is a mean of both,
 * as either alone may be wrong by far.
 */
#include "fit_private.h"

#include <math.h>
#include <stdlib.h>

#define EDGE	0.48
#define GAIN	0.05	/* more, by the logarithm of what there is to be gained */
#define LITTLE	1.0	/* ... beyond this */
#define MUCH	2.5	/* ... and no more than this */
#define SHARP	-0.015	/* from the edge: up to here only the hull counts */
#define SOFT	0.025	/* from here on the regression counts in full */
#define WORSE	45.0	/* the hull knows its deviation the less, logarithm */
#define FEW	0.5	/* an edge is less clear with few exchanges, by as much ... */
#define MANY	100.0	/* ... and the root of one over how many, from here down */
#define ENOUGH	12	/* for all of that to mean anything */
/* A hull of few of them, in terms of the same difference of roots: */
#define VAGUE	8.0	/* ... knows its deviation the less */
#define BLUNT	2.0	/* ... and has to be sharper, to count alone */
#define HARDLY	3.0	/* the regression may be biased, but not so much worse */
#define APART	4.0	/* deviations from the witness */

/* By more than what the witness is off by, if all queues are on one way */
static bool is_contradicted(const struct tsct_plane *plane,
			    const struct tsct_fit_candidate *hull,
			    const struct tsct_fit_candidate *witness)
{
	double excess = tsct_plane_quantile(plane, 0.5) - plane->least;

	return fabs(hull->line.y0 - witness->line.y0) >
		excess / 2 + APART * hypot(hull->sd, witness->sd);
}

static double few_of(unsigned int nr)
{
	return fmax(1 / sqrt(nr) - 1 / sqrt(MANY), 0);
}

/* What the hull counts, of 1; the regression is the rest. */
static double share_of_hull(const struct tsct_plane *plane,
			    const struct tsct_fit_candidate *hull,
			    const struct tsct_fit_candidate *regression,
			    const struct tsct_fit_candidate *witness)
{
	double few = few_of(plane->nr), vague = few_of(hull->to - hull->from);
	double sharp = SHARP - BLUNT * vague, soft, gain, worse, a, b;

	if (is_contradicted(plane, hull, witness))
		return 0;
	if (plane->nr < ENOUGH)
		return 0.5;
	if (!(regression->sd > 0))
		return 1;
	gain = log(regression->sd / hull->sd) + hull->lean - LITTLE;
	soft = hull->softness - EDGE - FEW * few - GAIN * fmin(fmax(gain, 0), MUCH);
	worse = exp(WORSE * fmax(soft, 0)) * (1 + VAGUE * vague) * hull->sd /
		regression->sd;
	b = fmin(fmax((soft - sharp) / (SOFT - sharp), 0), 1);
	/* It says itself that it is. */
	if (worse > (hull->lean < LITTLE ? 1 : HARDLY))
		b = 1;
	a = 1 / (worse * worse);
	return a / (a + b);
}

/* Of what is no measurement at all, but allowed, may come what is no number. */
static void instead(struct tsct_fit_candidate *of, const struct tsct_fit_candidate *witness)
{
	if (isfinite(of->line.y0) && isfinite(of->line.slope) &&
	    isfinite(of->sd) && isfinite(of->wander))
		return;
	of->line = witness->line;
	of->sd = witness->sd;
	of->wander = 0;
}

void tsct_fit_best(struct tsct_plane *plane, enum tsct_fit_kind kind,
		   struct tsct_fit *fit)
{
	struct tsct_fit_candidate hull, regression, witness;
	struct tsct_plane_line line;
	double share;

	tsct_theil_sen(plane, 0, plane->nr, &witness);
	tsct_regression_estimate(plane, &regression);
	instead(&regression, &witness);
	tsct_hull_estimate(plane, regression.wander, &hull);
	tsct_theil_sen(plane, hull.from, hull.to, &witness);
	instead(&hull, &witness);
	if (kind == TSCT_FIT_AUTO)
		share = share_of_hull(plane, &hull, &regression, &witness);
	else
		share = kind == TSCT_FIT_HULL;
	line.y0 = share * hull.line.y0 + (1 - share) * regression.line.y0;
	line.slope = share * hull.line.slope +
		(1 - share) * regression.line.slope;
	tsct_plane_put(plane, &line, fit);
	fit->kind = share < 0.5 ? TSCT_FIT_REGRESSION : TSCT_FIT_HULL;
	fit->doubt = fabs(hull.line.y0 - regression.line.y0);
	fit->sd = share * hull.sd + (1 - share) * regression.sd;
}
