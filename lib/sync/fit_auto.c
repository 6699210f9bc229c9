// SPDX-License-Identifier: MIT
/*
 * The hull, or the regression, or the better one of both.
 *
 * Where delays begin at an edge, nothing comes near the hull; where stamps are
 * noisy there is no edge, and the hull follows the wildest of them. Of delays that
 * begin at an edge, the mean of the shorter half is less than half its longest:
 * 0.44 if they are exponential, up to 0.5 if they are even. Where there is no edge
 * they get denser, and it is 0.57 and more.
 */
#include "fit_private.h"

#include <math.h>
#include <stdlib.h>

#define SHARP	0.505
#define ENOUGH	12	/* exchanges, for that to mean anything */
#define APART	6.0	/* standard deviations from the witness */

static bool hull_is_better(const struct tsct_plane *plane,
			   const struct tsct_estimate *hull,
			   const struct tsct_estimate *witness)
{
	double sd = hypot(hull->sd, witness->sd);

	return plane->nr >= ENOUGH && hull->softness < SHARP &&
		fabs(hull->line.y0 - witness->line.y0) < APART * sd;
}

void tsct_fit_best(struct tsct_plane *plane, enum tsct_fit_kind kind,
		   struct tsct_fit *fit)
{
	struct tsct_estimate hull, regression, witness;

	tsct_regression_estimate(plane, &regression);
	tsct_hull_estimate(plane, regression.wander, &hull);
	tsct_theil_sen(plane, hull.from, hull.to, &witness);
	if (kind == TSCT_FIT_AUTO)
		kind = hull_is_better(plane, &hull, &witness) ?
			TSCT_FIT_HULL : TSCT_FIT_REGRESSION;
	fit->kind = kind;
	fit->doubt = fabs(hull.line.y0 - regression.line.y0);
	if (kind == TSCT_FIT_HULL) {
		tsct_plane_put(plane, &hull.line, fit);
		fit->sd = hull.sd;
	} else {
		tsct_plane_put(plane, &regression.line, fit);
		fit->sd = regression.sd;
	}
}
