// SPDX-License-Identifier: MIT
/* Exchanges as points of a plane: construction, order statistics, rejection. */
#include "fit_plane.h"

#include <math.h>
#include <stdlib.h>

/* A rate as an integer of at most 53 bits, of which *ret_shift are a fraction */
static __s64 mantissa_of(double rate, int *ret_shift)
{
	int exponent;

	frexp(rate, &exponent);
	*ret_shift = 53 - exponent;
	if (*ret_shift > 62)
		*ret_shift = 62;
	if (*ret_shift < 0)
		*ret_shift = 0;
	return llrint(ldexp(rate, *ret_shift));
}

__s64 tsct_fit_multiply(double rate, __s64 delta, double *ret_frac)
{
	int shift;
	__s64 mantissa = mantissa_of(rate, &shift);
	tsct_s128 product = (tsct_s128)mantissa * delta;
	__u64 below = (__u64)product & ((1ULL << shift) - 1);

	*ret_frac = ldexp((double)below, -shift);
	return (__s64)(product >> shift);
}

double tsct_plane_y(const struct tsct_plane *plane, __u64 local, __u64 remote)
{
	double frac;
	__s64 whole = tsct_fit_multiply(plane->rate, (__s64)(local - plane->at),
				     &frac);

	return (double)(__s64)(remote - plane->remote0 - (__u64)whole) - frac;
}

static double seconds(const struct tsct_plane *plane, __u64 local)
{
	return (double)(__s64)(local - plane->at) / plane->hz;
}

/* Twice the distance of two middles, by both counters */
static void middle_distance(const struct tsct_exchange *a,
			    const struct tsct_exchange *b, double *ret_local,
			    double *ret_remote)
{
	*ret_local = (double)(__s64)(b->t1 - a->t1) +
		(double)(__s64)(b->t4 - a->t4);
	*ret_remote = (double)(__s64)(b->t2 - a->t2) +
		(double)(__s64)(b->t3 - a->t3);
}

/*
 * Median of the rates from each exchange to the one that is nr / 2 later; 0:
 * none
 */
static double median_rate(const struct tsct_exchange *x, unsigned int nr,
			  double *scratch)
{
	unsigned int half = nr / 2, used = 0, i;
	double local, remote;

	for (i = 0; half && i + half < nr; i++) {
		middle_distance(&x[i], &x[i + half], &local, &remote);
		if (local > 0)
			scratch[used++] = remote / local;
	}
	return used ? tsct_nth_smallest(scratch, used, used / 2) : 0;
}

/* Plausible rates, counts per cycle */
#define RATE_MIN	0x1p-40
#define RATE_MAX	0x1p40

/*
 * The nominal rates are assumed to be right to TSCT_FIT_RATE_PPM, unless the
 * exchanges prove otherwise; see tsct_fit_bound().
 */
static int choose_rate(struct tsct_plane *plane, const struct tsct_exchange *x,
		       unsigned int nr, bool hz_known, double remote_hz)
{
	bool known = hz_known && remote_hz > 0;
	double nominal = (remote_hz > 0 ? remote_hz : 1e9) / plane->hz;
	double rate = median_rate(x, nr, plane->scratch), room;

	if (rate == 0)
		rate = nominal;
	else if (known && !(rate >= nominal / 2 && rate <= nominal * 2))
		return -ERANGE;
	if (!(rate > RATE_MIN && rate < RATE_MAX))
		return -ERANGE;
	room = nominal * TSCT_FIT_RATE_PPM / 1e6;
	if (!known && nr > 1) {
		plane->rate_min = -HUGE_VAL;
		plane->rate_max = HUGE_VAL;
	} else {
		/* The exchanges span too short a time to measure the rate. */
		if (rate < nominal - room || rate > nominal + room)
			room = fabs(rate - nominal) * 2;
		plane->rate_min = (nominal - room - rate) * plane->hz;
		plane->rate_max = (nominal + room - rate) * plane->hz;
	}
	plane->rate = rate;
	plane->nominal = known || nr < 2 ? nominal : rate;
	return 0;
}

/* Packet times are rounded down to whole counts: 1 more on each side. */
static double slack_of(const struct tsct_plane *plane,
		       const struct tsct_exchange *x)
{
	return (x->remote_error + 1.0) + (x->local_error + 1.0) * plane->rate;
}

/* False: the exchange is impossible, even if both rates are off. */
static bool point_of(const struct tsct_plane *plane,
		     const struct tsct_exchange *x, struct tsct_point *ret)
{
	__s64 local = (__s64)(x->t4 - x->t1), remote = (__s64)(x->t3 - x->t2);

	if (local < 0 || remote < 0)
		return false;
	ret->u1 = seconds(plane, x->t1);
	ret->u4 = seconds(plane, x->t4);
	ret->up = tsct_plane_y(plane, x->t1, x->t2);
	ret->low = tsct_plane_y(plane, x->t4, x->t3);
	ret->u = (ret->u1 + ret->u4) / 2;
	ret->y = (ret->up + ret->low) / 2 - plane->shift;
	ret->rtt = ret->up - ret->low;
	ret->slack = slack_of(plane, x);
	ret->session_size = 1;
	ret->rejected = false;
	ret->used = true;
	ret->sound = true;
	return ret->rtt > -2 * ret->slack -
		(double)remote * TSCT_FIT_RATE_PPM / 1e6;
}

/* The exchanges of a session are adjacent. */
static void count_sessions(struct tsct_plane *plane,
			   const struct tsct_exchange *x)
{
	unsigned int from, to, i;

	for (from = 0; from < plane->nr; from = to) {
		__u32 session = x[plane->point[from].index].session;

		for (to = from + 1; session && to < plane->nr; to++)
			if (x[plane->point[to].index].session != session)
				break;
		for (i = from; i < to; i++)
			plane->point[i].session_size = to - from;
	}
}

static int check_order(const struct tsct_exchange *x, unsigned int nr)
{
	unsigned int i;

	for (i = 1; i < nr; i++) {
		if ((__s64)(x[i].t1 - x[i - 1].t1) < 0)
			return -EINVAL;
		if ((__s64)(x[i].t1 - x[0].t1) < 0)
			return -ERANGE;
	}
	return 0;
}

static void set_origin(struct tsct_plane *plane,
		       const struct tsct_exchange *last, __u64 at)
{
	double frac;

	plane->at = at ? at : last->t4;
	plane->remote0 = last->t3 + (__u64)tsct_fit_multiply(
		plane->rate, (__s64)(plane->at - last->t4), &frac);
}

int tsct_plane_make(const struct tsct_exchange *x, unsigned int nr,
		    const struct tsct_fit_options *options, double remote_hz,
		    struct tsct_plane *ret)
{
	unsigned int i;
	int err;

	*ret = (struct tsct_plane) { 0 };
	if (!nr)
		return -ENODATA;
	err = check_order(x, nr);
	if (err)
		return err;
	ret->points = malloc(nr * sizeof(*ret->points));
	ret->point = ret->points;
	ret->scratch = malloc((2 * (size_t)nr + 2) * sizeof(*ret->scratch));
	ret->corner = malloc(2 * (size_t)nr * sizeof(*ret->corner));
	if (!ret->point || !ret->scratch || !ret->corner)
		return -ENOMEM;
	ret->hz = options->hz > 0 ? options->hz : 1e9;
	err = choose_rate(ret, x, nr, options->hz > 0, remote_hz);
	if (err)
		return err;
	ret->wander = 1e-9 * ret->rate * ret->hz *
		(options->wander_ppb > 0 ? options->wander_ppb :
		 TSCT_FIT_WANDER_PPB);
	ret->shift = options->asymmetry * ret->rate / 2;
	set_origin(ret, &x[nr - 1], options->at);
	for (i = 0; i < nr; i++) {
		ret->point[ret->nr].index = i;
		ret->nr += point_of(ret, &x[i], &ret->point[ret->nr]);
	}
	count_sessions(ret, x);
	return ret->nr ? 0 : -ENODATA;
}

void tsct_plane_free(struct tsct_plane *plane)
{
	free(plane->corner);
	free(plane->scratch);
	free(plane->points);
}

void tsct_plane_to_fit(const struct tsct_plane *plane,
		       const struct tsct_plane_line *line, struct tsct_fit *fit)
{
	double whole = floor(line->y0), rate = plane->rate;

	/* Keeps the function increasing. Measured exchanges never need that. */
	rate += fmin(fmax(line->slope / plane->hz, -rate / 2), rate);
	fit->nr_pieces = 1;
	fit->piece[0].from = plane->at;
	fit->piece[0].base = plane->remote0 + (__u64)tsct_fit_to_s64(whole);
	fit->piece[0].c[0] = line->y0 - whole;
	fit->piece[0].c[1] = rate;
	fit->piece[0].c[2] = 0;
	fit->piece[0].c[3] = 0;
}

/* ---- order statistics, and rejection of implausible points --------------- */

static void swap(double *a, double *b)
{
	double was = *a;

	*a = *b;
	*b = was;
}

/* Median of three: no quadratic time for sorted values */
static double pivot_of(double *values, long from, long to)
{
	long mid = from + (to - from) / 2;

	if (values[mid] < values[from])
		swap(&values[mid], &values[from]);
	if (values[to] < values[from])
		swap(&values[to], &values[from]);
	if (values[to] < values[mid])
		swap(&values[to], &values[mid]);
	return values[mid];
}

double tsct_nth_smallest(double *values, unsigned int nr, unsigned int k)
{
	long from = 0, to = (long)nr - 1, i, j;
	double pivot;

	while (from < to) {
		pivot = pivot_of(values, from, to);
		i = from;
		j = to;
		while (i <= j) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i <= j)
				swap(&values[i++], &values[j--]);
		}
		if (k <= (unsigned long)j && j >= 0)
			to = j;
		else if ((long)k >= i)
			from = i;
		else
			break;
	}
	return values[k];
}

double tsct_plane_rtt_quantile(const struct tsct_plane *plane, double q)
{
	unsigned int nr = 0, i;

	for (i = 0; i < plane->nr; i++)
		if (plane->point[i].used)
			plane->scratch[nr++] = plane->point[i].rtt;
	if (!nr)
		return 0;
	return tsct_nth_smallest(plane->scratch, nr,
				 (unsigned int)(q * (nr - 1)));
}

/*
 * A wrong packet time may make a round trip shorter than any possible one. Such
 * values are few (at most one in OUTLIER_SHARE), and the gap from them to the
 * next value is OUTLIER_GAP times the spread of the nr / 10 + 3 values that
 * follow. On a path where nearly every packet queues, a rare packet that did
 * not looks the same, and is lost too.
 */
#define OUTLIER_SHARE	20
#define OUTLIER_GAP	2.0

/* Number of outliers below the others, of sorted values */
static unsigned int count_low_outliers(const double *values, unsigned int nr,
				       double resolution)
{
	unsigned int most = nr / OUTLIER_SHARE, spread, k;

	if (nr < 8)
		return 0;
	spread = nr / 10 + 3;
	if (most < 1)
		most = 1;
	for (k = most; k > 0; k--)
		if (values[k] - values[k - 1] >
		    OUTLIER_GAP * (values[k + spread] - values[k]) + resolution)
			return k;
	return 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double tsct_lowest_plausible(double *values, unsigned int nr, double resolution)
{
	/* Only the smallest values need to be sorted. */
	unsigned int head = nr / OUTLIER_SHARE + nr / 10 + 8;

	if (head < nr)
		tsct_nth_smallest(values, nr, head);
	else
		head = nr;
	qsort(values, head, sizeof(*values), compare);
	return values[count_low_outliers(values, nr, resolution)];
}

double tsct_plane_rtt_median(const struct tsct_plane *plane, unsigned int from,
			     unsigned int to)
{
	unsigned int nr = 0, i;

	for (i = from; i < to; i++)
		if (plane->point[i].used)
			plane->scratch[nr++] = plane->point[i].rtt;
	return nr ? tsct_nth_smallest(plane->scratch, nr, nr / 2) : 0;
}

void tsct_point_reject(struct tsct_point *point)
{
	point->rejected = true;
	point->used = false;
	point->sound = false;
}

void tsct_plane_reject_short(struct tsct_plane *plane)
{
	unsigned int i;

	for (i = 0; i < plane->nr; i++)
		plane->scratch[i] = plane->point[i].rtt;
	plane->min_rtt = tsct_lowest_plausible(plane->scratch, plane->nr,
				      2 * plane->point[0].slack);
	for (i = 0; i < plane->nr; i++)
		if (plane->point[i].rtt < plane->min_rtt)
			tsct_point_reject(&plane->point[i]);
}
