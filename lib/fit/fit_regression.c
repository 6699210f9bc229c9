// SPDX-License-Identifier: MIT
/*
 * Regression fit: a Kalman filter of two states, offset and rate. The measurements
 * are the offsets between the counters at the middles of the exchanges, weighted by
 * the excess of the exchange's round trip over the shortest one. The rate wanders at
 * random, so that older exchanges have less weight.
 *
 * The weight of the excess and the speed of the wander are not known. Each
 * combination of a few values predicts every exchange from those before it, and
 * is scored by the likelihood of these predictions. The scale of all noise is
 * estimated by maximum likelihood.
 */
#include "fit_plane.h"

#include <math.h>

/*
 * Values of the factor `share` that are tried. An exchange measures the offset between
 * the counters with the variance unit^2 + excess^2, where excess is the exchange's
 * round trip minus the shortest one, and unit is share * median excess: a packet that
 * queued for x shifts the offset by up to x / 2; other errors are due to packet times.
 */
#define SHARES	5
static const double shares[SHARES] = { 0.03, 0.1, 0.3, 1, 4 };

/* Correlation of the errors within a session, as caches, queues and scheduling are the
 * same: a session counts at most as 1 / SESSION_CORRELATION exchanges. */
#define SESSION_CORRELATION	0.2

/*
 * The likelihood assumes independent errors, but the exchanges of a poll share
 * the state of queues: so share and wander are chosen by one exchange of each
 * poll. With fewer than POLLS_MIN polls, they are chosen by all exchanges: the
 * first two predict nothing, and two values are to be chosen.
 */
#define POLLS_MIN	8

/*
 * Values of the rate's wander that are tried: growth of the variance of the rate during
 * one mean interval between exchanges. Offsets are measured in multiples of
 * middles.unit, so the rate is in these multiples per mean interval.
 */
#define WANDERS	10
static const double wanders[WANDERS] = {
	0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1
};

/*
 * Non-Gaussian delays look like wander, too. Crystals wander by about WANDER_USUAL,
 * relative, per root of a second. The score of a wander n decades above that is reduced
 * by WANDER_EVIDENCE * n^2 (natural logarithm of the likelihood). The result is the
 * least wander whose score is within LIKELY_ENOUGH of the best, but at least
 * TSCT_FIT_WANDER_MIN.
 */
#define WANDER_USUAL	1e-9
#define WANDER_EVIDENCE	3.0
#define LIKELY_ENOUGH		2.0

/* Kalman filter; offsets are in units of middles.unit */
struct kalman {
	double u, y, rate;	/* local time, s since `at`; offset; rate, per s */
	double yy, yr, rr;	/* variance of the offset; covariance of offset and
				 * rate; variance of the rate */
	double log_var;		/* sum of the logarithms of the expected variances of
				 * the predictions' errors */
	double product;		/* product of the expected variances that are
				 * not yet in log_var: saves logarithms */
	/* weighted sum, over all predictions, of the squared error divided by the
	 * error's expected variance; sum of the weights */
	double chi2, nr;
};

/* The filter's measurements: offsets at the middles of the exchanges, with variances */
struct middles {
	const struct tsct_plane *plane;
	/* variance of each exchange's offset, in squares of `unit` */
	double *var;
	/* unit of offsets in the Kalman filter, remote counts */
	double unit;
	double period;		/* mean interval between exchanges, s */
	double wander;		/* growth of the rate's variance, per second */
	bool one_per_poll;	/* true: of each poll, the filter takes only the exchange
				 * of the shortest round trip */
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

static double session_factor(const struct tsct_point *p)
{
	return 1 + SESSION_CORRELATION * (p->session_size - 1);
}

/* Predicts the offset that an exchange measures, scores the prediction, and updates the
 * filter. An exchange of a session counts as `weight` independent exchanges. */
static void filter_point(struct kalman *f, double wander,
			 const struct tsct_point *p, double y, double var)
{
	double weight = 1 / session_factor(p);
	double s, off, inverse, gain, gain_rate;

	predict_to(f, wander, p->u);
	off = y - f->y;
	s = f->yy + var * weight;
	f->chi2 += weight * off * off / s;
	f->nr += weight;
	if (weight < 1)
		f->log_var += weight * log(s);
	else
		f->product *= s;
	inverse = 1 / (f->yy + var);
	gain = f->yy * inverse;
	gain_rate = f->yr * inverse;
	f->y += gain * off;
	f->rate += gain_rate * off;
	f->rr -= gain_rate * f->yr;
	f->yr -= gain * f->yr;
	/* Kalman filter: a measured offset of variance var reduces the variance yy of
	 * the estimated offset to yy * var / (yy + var). The usual form of this result,
	 * yy - yy * yy / (yy + var), could become negative by rounding. */
	f->yy *= var * inverse;
	f->rr = max(f->rr, 0);
	if (f->product >= 1e100) {
		f->log_var += log(f->product);
		f->product = 1;
	}
}

/* Returns the index of the next used point from @i on, in steps of @by. Returns @to if
 * there is no used point before @to. */
static long next_used(const struct middles *middles, long i, long to, long by)
{
	while (i != to && (!tsct_point_has_middle(&middles->plane->point[i]) ||
			   (middles->one_per_poll && !middles->plane->point[i].shortest)))
		i += by;
	return i;
}

/*
 * Runs @nr filters over points [from, to), or backwards if to < from. The
 * filters run interleaved, which is faster, as each filter has long dependency
 * chains. Returns false if no point is used.
 */
static bool run_filters(const struct middles *middles, long from, long to,
			const double *wander, struct kalman *f, unsigned int nr)
{
	const struct tsct_point *point = middles->plane->point;
	long by = to < from ? -1 : 1, i;
	double scale = 1 / middles->unit;
	double rate = middles->plane->rate * middles->plane->hz *
		(TSCT_FIT_RATE_PPM / 1e6) / middles->unit;
	double steep = 1e3 / middles->period;
	unsigned int k;

	i = next_used(middles, from, to, by);
	if (i == to)
		return false;
	for (k = 0; k < nr; k++)
		f[k] = (struct kalman) {
			.product = 1,
			.u = point[i].u,
			.y = point[i].y / middles->unit,
			.yy = middles->var[i],
			/* The filter's initial variance of the rate is the square of
			 * the smaller of two limits. `rate`: assumed largest error of
			 * both counters' nominal rates together. `steep`: 1000 offset
			 * units (middles->unit counts) per mean interval between
			 * exchanges. Both limits are in offset units per second. */
			.rr = fmin(rate * rate, steep * steep),
		};
	while ((i = next_used(middles, i + by, to, by)) != to)
		for (k = 0; k < nr; k++)
			filter_point(&f[k], wander[k], &point[i],
				     point[i].y * scale, middles->var[i]);
	for (k = 0; k < nr; k++)
		f[k].log_var += log(f[k].product);
	return true;
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

/* Scores every @by-th value of the wander into @score; returns the best score. */
static double score_wanders(const struct middles *middles, unsigned int by,
			    double score[WANDERS])
{
	double rate = middles->plane->rate * middles->plane->hz;
	double p = middles->period, wander[WANDERS], best = -HUGE_VAL;
	double relative, decades;
	struct kalman f[WANDERS];
	unsigned int nr = 0, k;

	for (k = 0; k < WANDERS; k += by)
		wander[nr++] = wanders[k] / (p * p * p);
	if (!run_filters(middles, 0, middles->plane->nr, wander, f, nr))
		return best;
	for (k = 0; k < nr; k++) {
		relative = sqrt(wander[k] * f[k].chi2 / fmax(f[k].nr, 1)) *
			middles->unit / rate;
		decades = log10(fmax(relative / WANDER_USUAL, 1));
		score[k] = -WANDER_EVIDENCE * decades * decades;
		/* Logarithm of the likelihood of all predictions of a filter */
		if (f[k].nr > 0)
			score[k] -= f[k].nr * log(middles->unit) +
				(f[k].log_var + f[k].nr *
				 log(fmax(f[k].chi2 / f[k].nr, 1e-12))) / 2;
		best = fmax(best, score[k]);
	}
	return best;
}

/* Chooses the factor `share` (see shares[]) that makes the exchanges likeliest,
 * computes the variances of the exchanges' offsets with that factor, and then chooses
 * the wander of the rate. */
static void choose_noise(struct middles *middles, double excess)
{
	double best = -HUGE_VAL, score[WANDERS] = { 0 }, score_of_share;
	double p = middles->period;
	unsigned int share, found = 0, k = 0;

	for (share = 0; share < SHARES; share++) {
		set_variances(middles, shares[share], excess);
		score_of_share = score_wanders(middles, 3, score);
		if (score_of_share > best) {
			best = score_of_share;
			found = share;
		}
	}
	set_variances(middles, shares[found], excess);
	best = score_wanders(middles, 1, score);
	while (score[k] < best - LIKELY_ENOUGH)
		k++;
	middles->wander = wanders[k] / (p * p * p);
}

/* Merges into @f an independent estimate @g of offset and rate for the
 * same local time. */
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

/* Returns the filter's estimate of offset and rate at the plane's origin (local time
 * plane->at): earlier points are filtered forwards, later points backwards. */
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

static unsigned int nr_polls(const struct tsct_plane *plane)
{
	unsigned int nr = 0, i;

	for (i = 0; i < plane->nr; i++)
		nr += tsct_point_has_middle(&plane->point[i]) &&
			plane->point[i].shortest;
	return nr;
}

/* Number of exchanges of equal weight that determine a mean as well as the middles with
 * their weights do: (sum of the weights)^2 / sum of the squared weights */
static double effective_nr(const struct middles *middles)
{
	const struct tsct_plane *plane = middles->plane;
	double sum = 0, squares = 0, weight;
	unsigned int i;

	for (i = 0; i < plane->nr; i++) {
		if (!tsct_point_has_middle(&plane->point[i]))
			continue;
		weight = 1 / middles->var[i];
		sum += weight;
		squares += weight * weight;
	}
	return squares > 0 ? sum * sum / squares : 1;
}

/* Least growth of the rate's variance that any crystal has, per second, in squares of
 * middles->unit. @noise: factor by which all variances of the filter are too small */
static double least_wander(const struct middles *middles, double noise)
{
	double least = TSCT_FIT_WANDER_MIN * middles->plane->rate *
		middles->plane->hz / middles->unit;

	return noise > 0 ? least * least / noise : 0;
}

void tsct_regression_estimate(const struct tsct_plane *plane,
			      struct tsct_fit_candidate *ret)
{
	struct middles middles = { .plane = plane };
	/* Median excess of the round trips over the shortest one: at least one count of
	 * each counter, because packet times are rounded to whole counts */
	double excess = fmax(tsct_plane_median_excess(plane), 1 + plane->rate);
	struct kalman f;
	double noise;

	middles.var = plane->scratch;
	middles.period = plane->nr > 1 ? (plane->point[plane->nr - 1].u1 -
		plane->point[0].u1) / (plane->nr - 1) : 0;
	if (!(middles.period > 0))
		middles.period = 1;
	middles.one_per_poll = nr_polls(plane) >= POLLS_MIN;
	choose_noise(&middles, excess);
	run_filters(&middles, 0, plane->nr, &middles.wander, &f, 1);
	noise = f.nr > 0 ? f.chi2 / f.nr : 1;
	middles.wander = fmax(middles.wander, least_wander(&middles, noise));
	ret->wander = sqrt(noise * middles.wander) * middles.unit;
	middles.one_per_poll = false;
	estimate_at_origin(&middles, &f);
	ret->effective_nr = effective_nr(&middles);
	ret->line.slope = f.rate * middles.unit;
	ret->line.y0 = f.y * middles.unit;
	ret->sd = sqrt(fmax(noise * f.yy, 0)) * middles.unit;
}
