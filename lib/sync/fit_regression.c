// SPDX-License-Identifier: MIT
/*
 * A regression that forgets: middles are weighted by their round trip in excess
 * of the least, and the rate wanders at random, so that old ones count less. That
 * is a Kalman filter of two states, offset and rate.
 *
 * How much the excess counts and how fast the rate wanders are not known. Each
 * combination foretells every exchange from those before it, and is scored by the
 * likelihood of what then came. The scale of all noise is whatever suits best.
 */
#include "fit_private.h"

#include <math.h>

/*
 * Variance of a middle: 1 + (excess / share of the median excess)^2. A packet
 * that nothing held up is wrong by its stamps only; one that waited for x is
 * wrong by up to x / 2.
 */
#define SHARES	5
static const double shares[SHARES] = { 0.03, 0.1, 0.3, 1, 4 };

/*
 * What the variance of the rate grows by from one exchange to the next, where
 * that of a middle is 1 and the time between two is, on average, 1.
 */
#define WANDERS	10
static const double wanders[WANDERS] = {
	0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1
};

/*
 * Delays that are not Gaussian look like some wandering, too. Crystals wander by
 * about this, of their rate, per root of a second; ten times as much needs proof,
 * hundred times as much four times that. Among what is nearly as likely, the
 * least is taken.
 */
#define WANDER_USUAL	1e-9
#define WANDER_PROOF	3.0
#define NEARLY		2.0

struct filter {
	double u, y, rate;
	double yy, yr, rr;	/* covariance */
	double log_var, chi2;
	unsigned int nr;
};

/* Middles as the filter wants them: in units of their noise */
struct series {
	const struct tsct_plane *plane;
	double *var;
	double unit;		/* counts */
	double period;		/* s */
	double wander;		/* variance of the rate per second */
};

static void go_on(struct filter *f, double wander, double u)
{
	double dt = u - f->u, q = wander * fabs(dt);

	f->y += f->rate * dt;
	f->yy += dt * (2 * f->yr + dt * f->rr) + q * dt * dt / 3;
	f->yr += dt * f->rr + q * dt / 2;
	f->rr += q;
	f->u = u;
}

static double take(struct filter *f, double y, double var)
{
	double off = y - f->y, s = f->yy + var, inverse = 1 / s;
	double gain = f->yy * inverse, gain_rate = f->yr * inverse;

	f->chi2 += off * off * inverse;
	f->nr++;
	f->y += gain * off;
	f->rate += gain_rate * off;
	f->rr -= gain_rate * f->yr;
	f->yr -= gain * f->yr;
	f->yy -= gain * f->yy;
	return s;
}

static void begin(struct filter *f, const struct series *series,
		  const struct tsct_point *p, double var)
{
	double rate = series->plane->rate * series->plane->hz *
		(TSCT_FIT_RATE_PPM / 1e6) / series->unit;
	double steep = 1e3 / series->period;

	*f = (struct filter) {
		.u = p->u, .y = p->y / series->unit, .yy = var,
		/* What was measured is better, but for the briefest windows. */
		.rr = fmin(rate * rate, steep * steep),
	};
}

/* Over points [from, to), or backwards if to < from; false: none is used. */
static bool run(const struct series *series, long from, long to,
		struct filter *f)
{
	const struct tsct_point *point = series->plane->point, *p;
	long step = to < from ? -1 : 1, i;
	bool begun = false;
	double product = 1;

	for (i = from; i != to; i += step) {
		p = &point[i];
		if (!p->used)
			continue;
		if (!begun) {
			begin(f, series, p, series->var[i]);
			begun = true;
			continue;
		}
		go_on(f, series->wander, p->u);
		product *= take(f, p->y / series->unit, series->var[i]);
		/* One logarithm of many variances */
		if (product > 1e100) {
			f->log_var += log(product);
			product = 1;
		}
	}
	if (begun)
		f->log_var += log(product);
	return begun;
}

static double likelihood(const struct filter *f, const struct series *series)
{
	double nr = f->nr;

	if (!f->nr)
		return 0;
	return -(f->log_var + nr * log(fmax(f->chi2 / nr, 1e-12))) / 2 -
		nr * log(series->unit);
}

static void weigh(struct series *series, double share, double excess)
{
	const struct tsct_plane *plane = series->plane;
	unsigned int i;
	double e;

	series->unit = share * excess;
	for (i = 0; i < plane->nr; i++) {
		e = fmax(plane->point[i].width - plane->least, 0) / series->unit;
		series->var[i] = 1 + e * e;
	}
}

static double proof(const struct series *series, const struct filter *f)
{
	double wander = sqrt(series->wander * f->chi2 / fmax(f->nr, 1)) *
		series->unit / (series->plane->rate * series->plane->hz);
	double decades = log10(fmax(wander / WANDER_USUAL, 1));

	return WANDER_PROOF * decades * decades;
}

static double score(struct series *series, unsigned int wander)
{
	double p = series->period;
	struct filter f;

	series->wander = wanders[wander] / (p * p * p);
	if (!run(series, 0, series->plane->nr, &f))
		return -HUGE_VAL;
	return likelihood(&f, series) - proof(series, &f);
}

/* The best weights, at the best of a few wanderings */
static unsigned int choose_share(struct series *series, double excess)
{
	double best = -HUGE_VAL, is;
	unsigned int share, found = 0, k;

	for (share = 0; share < SHARES; share++) {
		weigh(series, shares[share], excess);
		for (k = 0; k < WANDERS; k += 3) {
			is = score(series, k);
			if (is > best) {
				best = is;
				found = share;
			}
		}
	}
	return found;
}

/* The least that is nearly as likely as the likeliest */
static unsigned int choose_wander(struct series *series)
{
	double is[WANDERS], best = -HUGE_VAL;
	unsigned int k;

	for (k = 0; k < WANDERS; k++) {
		is[k] = score(series, k);
		best = fmax(best, is[k]);
	}
	for (k = 0; is[k] < best - NEARLY; k++)
		;
	return k;
}

/* Two estimates of the same moment that know nothing of each other */
static void merge(struct filter *f, const struct filter *g)
{
	double a = f->yy + g->yy, b = f->yr + g->yr, c = f->rr + g->rr;
	double det = a * c - b * b, dy = g->y - f->y, dr = g->rate - f->rate;
	double ky, kr, yy = f->yy, yr = f->yr, rr = f->rr;

	if (!(det > 0))
		return;
	ky = (c * dy - b * dr) / det;
	kr = (a * dr - b * dy) / det;
	f->y += yy * ky + yr * kr;
	f->rate += yr * ky + rr * kr;
	f->yy -= (yy * (c * yy - b * yr) + yr * (a * yr - b * yy)) / det;
}

/* Where u = 0 is: what came before forwards, what came after backwards */
static void estimate(const struct series *series, struct filter *ret)
{
	const struct tsct_plane *plane = series->plane;
	struct filter later;
	unsigned int at = 0;
	bool before, after;

	while (at < plane->nr && plane->point[at].u <= 0)
		at++;
	before = at && run(series, 0, at, ret);
	after = at < plane->nr &&
		run(series, (long)plane->nr - 1, (long)at - 1, &later);
	if (before)
		go_on(ret, series->wander, 0);
	if (after)
		go_on(&later, series->wander, 0);
	if (before && after)
		merge(ret, &later);
	else if (after)
		*ret = later;
}

static double median_excess(const struct tsct_plane *plane)
{
	double excess = tsct_plane_quantile(plane, 0.5) - plane->least;

	/* Stamps are cut to whole counts. */
	return fmax(excess, 1 + plane->rate);
}

void tsct_regression_estimate(const struct tsct_plane *plane,
			      struct tsct_estimate *ret)
{
	struct series series = { .plane = plane };
	double excess = median_excess(plane), lambda;
	struct filter f;
	unsigned int wander;

	series.var = plane->scratch;
	series.period = plane->nr > 1 ? (plane->point[plane->nr - 1].u1 -
		plane->point[0].u1) / (plane->nr - 1) : 0;
	if (!(series.period > 0))
		series.period = 1;
	weigh(&series, shares[choose_share(&series, excess)], excess);
	wander = choose_wander(&series);
	series.wander = wanders[wander] /
		(series.period * series.period * series.period);
	run(&series, 0, plane->nr, &f);
	lambda = f.nr ? f.chi2 / f.nr : 1;
	ret->wander = sqrt(lambda * series.wander) * series.unit;
	estimate(&series, &f);
	ret->line.slope = f.rate * series.unit;
	ret->line.y0 = f.y * series.unit;
	ret->sd = sqrt(fmax(lambda * f.yy, 0)) * series.unit;
}
