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
 * What is not as usual while a session lasts, caches, queues, where programs run, is
 * so for all of its exchanges: they count for 1 / COMMON at most, beside others.
 */
#define COMMON	0.2

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
	double log_var, product;	/* of variances: log, and what is not in it */
	double chi2, nr;	/* of as many, by what they count */
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

/* What was foretold of it, against what came */
static void score_one(struct filter *f, double off, double var, double counts)
{
	double s = f->yy + var;

	f->chi2 += counts * off * off / s;
	f->nr += counts;
	if (counts < 1)
		f->log_var += counts * log(s);
	else
		f->product *= s;
}

static void take(struct filter *f, double y, double var)
{
	double off = y - f->y, inverse = 1 / (f->yy + var);
	double gain = f->yy * inverse, gain_rate = f->yr * inverse;

	f->y += gain * off;
	f->rate += gain_rate * off;
	f->rr -= gain_rate * f->yr;
	f->yr -= gain * f->yr;
	/* As yy - gain yy, but never below nothing by rounding */
	f->yy *= var * inverse;
	if (f->rr < 0)
		f->rr = 0;
}

static double in_common(const struct tsct_point *p)
{
	return 1 + COMMON * (p->among - 1);
}

static void begin(struct filter *f, const struct series *series,
		  const struct tsct_point *p, double var)
{
	double rate = series->plane->rate * series->plane->hz *
		(TSCT_FIT_RATE_PPM / 1e6) / series->unit;
	double steep = 1e3 / series->period;

	*f = (struct filter) {
		.product = 1,
		.u = p->u, .y = p->y / series->unit, .yy = var,
		/* What was measured is better, but for the briefest windows. */
		.rr = fmin(rate * rate, steep * steep),
	};
}

/* One logarithm of many variances */
static void log_up(struct filter *f)
{
	if (f->product < 1e100)
		return;
	f->log_var += log(f->product);
	f->product = 1;
}

static void step(struct filter *f, double wander, const struct tsct_point *p,
		 double y, double var)
{
	double counts = 1 / in_common(p);

	go_on(f, wander, p->u);
	score_one(f, y - f->y, var * counts, counts);
	take(f, y, var);
	log_up(f);
}

/* The next one that is used, from @i on in steps of @by; @to: none is */
static long next_used(const struct series *series, long i, long to, long by)
{
	while (i != to && !series->plane->point[i].used)
		i += by;
	return i;
}

/*
 * Over points [from, to), or backwards if to < from. Several filters at a time:
 * each waits for itself most of the time. False: no point is used.
 */
static bool run(const struct series *series, long from, long to,
		const double *wander, struct filter *f, unsigned int nr)
{
	const struct tsct_point *point = series->plane->point;
	long by = to < from ? -1 : 1, i;
	double scale = 1 / series->unit;
	unsigned int k;

	i = next_used(series, from, to, by);
	if (i == to)
		return false;
	for (k = 0; k < nr; k++)
		begin(&f[k], series, &point[i], series->var[i]);
	while ((i = next_used(series, i + by, to, by)) != to)
		for (k = 0; k < nr; k++)
			step(&f[k], wander[k], &point[i], point[i].y * scale,
			     series->var[i]);
	for (k = 0; k < nr; k++)
		f[k].log_var += log(f[k].product);
	return true;
}

static double likelihood(const struct filter *f, const struct series *series)
{
	double nr = f->nr;

	if (!(nr > 0))
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
		series->var[i] = (1 + e * e) * in_common(&plane->point[i]);
	}
}

static double proof(const struct series *series, double wander,
		    const struct filter *f)
{
	double rate = series->plane->rate * series->plane->hz;
	double is = sqrt(wander * f->chi2 / fmax(f->nr, 1)) * series->unit;
	double decades = log10(fmax(is / rate / WANDER_USUAL, 1));

	return WANDER_PROOF * decades * decades;
}

/* Every @by-th of the wanderings */
static double score(const struct series *series, unsigned int by,
		    double is[WANDERS])
{
	double p = series->period, wander[WANDERS], best = -HUGE_VAL;
	struct filter f[WANDERS];
	unsigned int nr = 0, k;

	for (k = 0; k < WANDERS; k += by)
		wander[nr++] = wanders[k] / (p * p * p);
	if (!run(series, 0, series->plane->nr, wander, f, nr))
		return best;
	for (k = 0; k < nr; k++) {
		is[k] = likelihood(&f[k], series) -
			proof(series, wander[k], &f[k]);
		best = fmax(best, is[k]);
	}
	return best;
}

/* The best weights, at the best of a few wanderings */
static unsigned int choose_share(struct series *series, double excess)
{
	double best = -HUGE_VAL, is[WANDERS], score_of;
	unsigned int share, found = 0;

	for (share = 0; share < SHARES; share++) {
		weigh(series, shares[share], excess);
		score_of = score(series, 3, is);
		if (score_of > best) {
			best = score_of;
			found = share;
		}
	}
	return found;
}

/* The least that is nearly as likely as the likeliest; of the rate, per second */
static double choose_wander(const struct series *series)
{
	double is[WANDERS] = { 0 }, best = score(series, 1, is);
	unsigned int k = 0;

	while (is[k] < best - NEARLY)
		k++;
	return wanders[k] / (series->period * series->period * series->period);
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
	before = run(series, 0, at, &series->wander, ret, 1);
	after = at < plane->nr && run(series, (long)plane->nr - 1, (long)at - 1,
				      &series->wander, &later, 1);
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
			      struct tsct_fit_candidate *ret)
{
	struct series series = { .plane = plane };
	double excess = median_excess(plane), lambda;
	struct filter f;

	series.var = plane->scratch;
	series.period = plane->nr > 1 ? (plane->point[plane->nr - 1].u1 -
		plane->point[0].u1) / (plane->nr - 1) : 0;
	if (!(series.period > 0))
		series.period = 1;
	weigh(&series, shares[choose_share(&series, excess)], excess);
	series.wander = choose_wander(&series);
	run(&series, 0, plane->nr, &series.wander, &f, 1);
	lambda = f.nr > 0 ? f.chi2 / f.nr : 1;
	ret->wander = sqrt(lambda * series.wander) * series.unit;
	estimate(&series, &f);
	ret->line.slope = f.rate * series.unit;
	ret->line.y0 = f.y * series.unit;
	ret->sd = sqrt(fmax(lambda * f.yy, 0)) * series.unit;
}
