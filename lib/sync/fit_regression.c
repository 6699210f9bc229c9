// SPDX-License-Identifier: MIT
/*
 * Regression fit: middles are weighted by the excess of their round trip over
 * the shortest, and the rate wanders at random, so that old ones count less.
 * This is a Kalman filter of two states, offset and rate.
 *
 * The weight of the excess and the speed of the wander are unknown. Each
 * combination predicts every exchange from those before it, and is scored by
 * the likelihood of the exchange. The scale of all noise is the maximum
 * likelihood one.
 */
#include "fit_plane.h"

#include <math.h>

/*
 * Variance of a middle: 1 + (excess / (share * median excess))^2. A packet that
 * did not queue is wrong by its packet times' errors only; one that queued for
 * x is wrong by up to x / 2.
 */
#define SHARES	5
static const double shares[SHARES] = { 0.03, 0.1, 0.3, 1, 4 };

/*
 * Caches, queues and scheduling are common to all exchanges of a session, so
 * these are not independent: together they count at most as 1 /
 * SESSION_CORRELATION exchanges.
 */
#define SESSION_CORRELATION	0.2

/*
 * Growth of the variance of the rate from one exchange to the next, in units of
 * the variance of a middle and of the mean interval of exchanges
 */
#define WANDERS	10
static const double wanders[WANDERS] = {
	0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1
};

/*
 * Non-Gaussian delays look like some wander, too. Crystals wander by about
 * WANDER_USUAL, relative, per root of a second; more needs evidence:
 * WANDER_EVIDENCE in the logarithm of the likelihood for 10 times as much, 4
 * times that for 100 times. Of all that are within LIKELY_ENOUGH of the best,
 * the least wander is taken.
 */
#define WANDER_USUAL	1e-9
#define WANDER_EVIDENCE	3.0
#define LIKELY_ENOUGH		2.0

struct kalman {
	double u, y, rate;
	double yy, yr, rr;	/* covariance */
	double log_var;		/* logarithm of the product of variances, ... */
	double product;		/* ... and factors not yet included in it */
	double chi2, nr;	/* sum of squares, sum of the weights */
};

/* Middles in units of their noise */
struct middles {
	const struct tsct_plane *plane;
	double *var;
	double unit;		/* counts */
	double period;		/* s */
	double wander;		/* variance of the rate per second */
};

static void predict_to(struct kalman *f, double wander, double u)
{
	double dt = u - f->u, q = wander * fabs(dt);

	f->y += f->rate * dt;
	f->yy += dt * (2 * f->yr + dt * f->rr) + q * dt * dt / 3;
	f->yr += dt * f->rr + q * dt / 2;
	f->rr += q;
	f->u = u;
}

/* Scores the prediction's error @off of a middle that counts as @counts of one. */
static void add_likelihood(struct kalman *f, double off, double var,
			   double counts)
{
	double s = f->yy + var;

	f->chi2 += counts * off * off / s;
	f->nr += counts;
	if (counts < 1)
		f->log_var += counts * log(s);
	else
		f->product *= s;
}

static void update_state(struct kalman *f, double y, double var)
{
	double off = y - f->y, inverse = 1 / (f->yy + var);
	double gain = f->yy * inverse, gain_rate = f->yr * inverse;

	f->y += gain * off;
	f->rate += gain_rate * off;
	f->rr -= gain_rate * f->yr;
	f->yr -= gain * f->yr;
	/* Equals yy - gain * yy, but rounding cannot make it negative. */
	f->yy *= var * inverse;
	if (f->rr < 0)
		f->rr = 0;
}

static double session_factor(const struct tsct_point *p)
{
	return 1 + SESSION_CORRELATION * (p->session_size - 1);
}

static void init_filter(struct kalman *f, const struct middles *middles,
			const struct tsct_point *p, double var)
{
	double rate = middles->plane->rate * middles->plane->hz *
		(TSCT_FIT_RATE_PPM / 1e6) / middles->unit;
	double steep = 1e3 / middles->period;

	*f = (struct kalman) {
		.product = 1,
		.u = p->u, .y = p->y / middles->unit, .yy = var,
		/*
		 * The nominal rates' limit matters for the briefest windows
		 * only.
		 */
		.rr = fmin(rate * rate, steep * steep),
	};
}

/* One logarithm for many variances */
static void fold_product(struct kalman *f)
{
	if (f->product < 1e100)
		return;
	f->log_var += log(f->product);
	f->product = 1;
}

static void filter_point(struct kalman *f, double wander,
			 const struct tsct_point *p, double y, double var)
{
	double counts = 1 / session_factor(p);

	predict_to(f, wander, p->u);
	add_likelihood(f, y - f->y, var * counts, counts);
	update_state(f, y, var);
	fold_product(f);
}

/* Next used point from @i on in steps of @by; @to: there is none. */
static long next_used(const struct middles *middles, long i, long to, long by)
{
	while (i != to && !middles->plane->point[i].used)
		i += by;
	return i;
}

/*
 * Runs @nr filters over points [from, to), or backwards if to < from. Several
 * run interleaved, as each has long dependency chains. False: no point is used.
 */
static bool run_filters(const struct middles *middles, long from, long to,
			const double *wander, struct kalman *f, unsigned int nr)
{
	const struct tsct_point *point = middles->plane->point;
	long by = to < from ? -1 : 1, i;
	double scale = 1 / middles->unit;
	unsigned int k;

	i = next_used(middles, from, to, by);
	if (i == to)
		return false;
	for (k = 0; k < nr; k++)
		init_filter(&f[k], middles, &point[i], middles->var[i]);
	while ((i = next_used(middles, i + by, to, by)) != to)
		for (k = 0; k < nr; k++)
			filter_point(&f[k], wander[k], &point[i],
				     point[i].y * scale, middles->var[i]);
	for (k = 0; k < nr; k++)
		f[k].log_var += log(f[k].product);
	return true;
}

static double likelihood(const struct kalman *f, const struct middles *middles)
{
	double nr = f->nr;

	if (!(nr > 0))
		return 0;
	return -(f->log_var + nr * log(fmax(f->chi2 / nr, 1e-12))) / 2 -
		nr * log(middles->unit);
}

static void set_variances(struct middles *middles, double share, double excess)
{
	const struct tsct_plane *plane = middles->plane;
	unsigned int i;
	double e;

	middles->unit = share * excess;
	for (i = 0; i < plane->nr; i++) {
		e = fmax(plane->point[i].rtt - plane->min_rtt, 0) / middles->unit;
		middles->var[i] = (1 + e * e) * session_factor(&plane->point[i]);
	}
}

static double evidence_needed(const struct middles *middles, double wander,
			      const struct kalman *f)
{
	double rate = middles->plane->rate * middles->plane->hz;
	double is = sqrt(wander * f->chi2 / fmax(f->nr, 1)) * middles->unit;
	double decades = log10(fmax(is / rate / WANDER_USUAL, 1));

	return WANDER_EVIDENCE * decades * decades;
}

/* Scores every @by-th wander; returns the best score. */
static double score_wanders(const struct middles *middles, unsigned int by,
			    double is[WANDERS])
{
	double p = middles->period, wander[WANDERS], best = -HUGE_VAL;
	struct kalman f[WANDERS];
	unsigned int nr = 0, k;

	for (k = 0; k < WANDERS; k += by)
		wander[nr++] = wanders[k] / (p * p * p);
	if (!run_filters(middles, 0, middles->plane->nr, wander, f, nr))
		return best;
	for (k = 0; k < nr; k++) {
		is[k] = likelihood(&f[k], middles) -
			evidence_needed(middles, wander[k], &f[k]);
		best = fmax(best, is[k]);
	}
	return best;
}

/* Index of the best share, at the best of a few wanders */
static unsigned int choose_share(struct middles *middles, double excess)
{
	double best = -HUGE_VAL, is[WANDERS], score_of;
	unsigned int share, found = 0;

	for (share = 0; share < SHARES; share++) {
		set_variances(middles, shares[share], excess);
		score_of = score_wanders(middles, 3, is);
		if (score_of > best) {
			best = score_of;
			found = share;
		}
	}
	return found;
}

/* Least wander that is likely enough: variance of the rate per second */
static double choose_wander(const struct middles *middles)
{
	double is[WANDERS] = { 0 }, best = score_wanders(middles, 1, is);
	unsigned int k = 0;

	while (is[k] < best - LIKELY_ENOUGH)
		k++;
	return wanders[k] / (middles->period * middles->period * middles->period);
}

/* Merges two independent estimates of the same moment. */
static void merge_filters(struct kalman *f, const struct kalman *g)
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

/* Estimate at u = 0: earlier points filtered forwards, later ones backwards */
static void estimate_at_origin(const struct middles *middles,
			       struct kalman *ret)
{
	const struct tsct_plane *plane = middles->plane;
	struct kalman later;
	unsigned int at = 0;
	bool before, after;

	while (at < plane->nr && plane->point[at].u <= 0)
		at++;
	before = run_filters(middles, 0, at, &middles->wander, ret, 1);
	after = at < plane->nr &&
		run_filters(middles, (long)plane->nr - 1, (long)at - 1,
				      &middles->wander, &later, 1);
	if (before)
		predict_to(ret, middles->wander, 0);
	if (after)
		predict_to(&later, middles->wander, 0);
	if (before && after)
		merge_filters(ret, &later);
	else if (after)
		*ret = later;
}

static double median_excess(const struct tsct_plane *plane)
{
	double excess = tsct_plane_rtt_quantile(plane, 0.5) - plane->min_rtt;

	/* Packet times are rounded down to whole counts. */
	return fmax(excess, 1 + plane->rate);
}

void tsct_regression_estimate(const struct tsct_plane *plane,
			      struct tsct_fit_candidate *ret)
{
	struct middles middles = { .plane = plane };
	double excess = median_excess(plane), noise;
	struct kalman f;

	middles.var = plane->scratch;
	middles.period = plane->nr > 1 ? (plane->point[plane->nr - 1].u1 -
		plane->point[0].u1) / (plane->nr - 1) : 0;
	if (!(middles.period > 0))
		middles.period = 1;
	set_variances(&middles, shares[choose_share(&middles, excess)], excess);
	middles.wander = choose_wander(&middles);
	run_filters(&middles, 0, plane->nr, &middles.wander, &f, 1);
	noise = f.nr > 0 ? f.chi2 / f.nr : 1;
	ret->wander = sqrt(noise * middles.wander) * middles.unit;
	estimate_at_origin(&middles, &f);
	ret->line.slope = f.rate * middles.unit;
	ret->line.y0 = f.y * middles.unit;
	ret->sd = sqrt(fmax(noise * f.yy, 0)) * middles.unit;
}
