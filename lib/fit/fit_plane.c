// SPDX-License-Identifier: MIT
/* The plane of points, from exchanges to the pieces of a fit; its order statistics, and the
 * rejection of implausible points */
#include "fit_plane.h"

#include <math.h>
#include <stdlib.h>

/* ---- order statistics ------------------------------------------------------- */

static void swap(double *a, double *b)
{
	double was = *a;

	*a = *b;
	*b = was;
}

double tsct_nth_smallest(double *values, unsigned int nr, unsigned int k)
{
	long from = 0, to = (long)nr - 1, mid, i, j;
	double pivot;

	while (from < to) {
		/* The median of three avoids quadratic time for sorted values. */
		mid = from + (to - from) / 2;
		if (values[mid] < values[from])
			swap(&values[mid], &values[from]);
		if (values[to] < values[from])
			swap(&values[to], &values[from]);
		if (values[to] < values[mid])
			swap(&values[to], &values[mid]);
		pivot = values[mid];
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

/* Returns the median of nr values (at least 1); reorders the values. Of an even number of
 * values, the median is the mean of the two in the middle, so that negating all values negates
 * the median. */
static double median(double *values, unsigned int nr)
{
	double upper = tsct_nth_smallest(values, nr, nr / 2), lower = -HUGE_VAL;
	unsigned int i;

	if (nr % 2)
		return upper;
	for (i = 0; i < nr / 2; i++)
		lower = fmax(lower, values[i]);
	return lower + (upper - lower) / 2;
}

/* ---- points ----------------------------------------------------------------- */

__s64 tsct_fit_multiply(double rate, __s64 delta, double *ret_frac)
{
	int exponent, shift;
	tsct_s128 product;
	__u64 below;

	/* Represents the rate as an integer of at most 53 bits times 2^-shift. */
	frexp(rate, &exponent);
	shift = 53 - exponent > 62 ? 62 : exponent > 53 ? 0 : 53 - exponent;
	product = (tsct_s128)llrint(ldexp(rate, shift)) * delta;
	below = (__u64)product & ((1ULL << shift) - 1);

	*ret_frac = ldexp((double)below, -shift);
	return (__s64)(product >> shift);
}

/* Returns y of a pair of counter values: @remote minus the linear function of @local
 * that has the slope plane->rate and is remote0 at plane->at; counts, exact. */
static double plane_y(const struct tsct_plane *plane, __u64 local, __u64 remote)
{
	double frac;
	__s64 whole = tsct_fit_multiply(plane->rate, (__s64)(local - plane->at),
				     &frac);

	return (double)(__s64)(remote - plane->remote0 - (__u64)whole) - frac;
}

/* Returns u, the time from the plane's origin to a value of the local counter, in s. */
static double seconds(const struct tsct_plane *plane, __u64 local)
{
	return (double)(__s64)(local - plane->at) / plane->hz;
}

/* Median rate of the remote counter, counts per cycle, from pairs of exchanges:
 * exchange i and exchange i + @nr / 2, of the @nr exchanges @x. Returns 0 if no
 * pair gives a rate. */
static double median_rate(const struct tsct_exchange *x, unsigned int nr,
			  double *scratch)
{
	unsigned int half = nr / 2, used = 0, i;
	double local, remote;

	for (i = 0; half && i + half < nr; i++) {
		/* Twice the distance between the middles of two exchanges, by both
		 * counters */
		local = (double)(__s64)(x[i + half].t1 - x[i].t1) +
			(double)(__s64)(x[i + half].t4 - x[i].t4);
		remote = (double)(__s64)(x[i + half].t2 - x[i].t2) +
			(double)(__s64)(x[i + half].t3 - x[i].t3);
		if (local > 0)
			scratch[used++] = remote / local;
	}
	return used ? median(scratch, used) : 0;
}

/* Plausible rates of the remote counter, counts per cycle */
#define RATE_MIN	0x1p-40
#define RATE_MAX	0x1p40

/*
 * Returns true if most pairs of exchanges prove that the nominal rate is wrong by a factor
 * of 2 or more, however long each packet was under way. For two readings of the remote
 * counter, the exchanges give an upper and a lower limit of the local time between them.
 * The lower limit is useless if the first exchange ended after the second one began.
 */
static bool contradict_rate(const struct tsct_exchange *x, unsigned int nr, double nominal)
{
	const unsigned int half = nr / 2;
	unsigned int i, against = 0;
	double shortest, longest;

	for (i = 0; i + half < nr; i++) {
		shortest = (double)(__s64)(x[i + half].t1 - x[i].t4);
		longest = (double)(__s64)(x[i + half].t4 - x[i].t1);
		against += (double)(__s64)(x[i + half].t2 - x[i].t3) > 2 * nominal * longest ||
			(shortest > 0 && (double)(__s64)(x[i + half].t3 - x[i].t2) <
			 nominal / 2 * shortest);
	}
	return against > (nr - half) / 2;
}

/* Sets the plane's rates. The nominal rates are assumed to be right to TSCT_FIT_RATE_PPM,
 * unless the exchanges prove otherwise. */
static int choose_rate(struct tsct_plane *plane, const struct tsct_exchange *x,
		       unsigned int nr, bool hz_known, double remote_hz)
{
	bool known = hz_known && remote_hz > 0;
	double nominal = (remote_hz > 0 ? remote_hz : 1e9) / plane->hz;
	double rate = median_rate(x, nr, plane->scratch), room;

	if (known && rate != 0 && !(rate >= nominal / 2 && rate <= nominal * 2)) {
		if (contradict_rate(x, nr, nominal))
			return -ERANGE;
		rate = 0;	/* the exchanges are too close together to show the rate */
	}
	if (rate == 0)
		rate = nominal;
	if (!(rate > RATE_MIN && rate < RATE_MAX))
		return -ERANGE;
	room = nominal * TSCT_FIT_RATE_PPM / 1e6;
	if (!known && nr > 1) {
		plane->rate_min = -HUGE_VAL;
		plane->rate_max = HUGE_VAL;
	} else {
		/* A measured rate far from the nominal rate is due to exchanges that
		 * span too short a time. */
		if (rate < nominal - room || rate > nominal + room)
			room = fabs(rate - nominal) * 2;
		plane->rate_min = (nominal - room - rate) * plane->hz;
		plane->rate_max = (nominal + room - rate) * plane->hz;
	}
	plane->rate = rate;
	plane->nominal = known || nr < 2 ? nominal : rate;
	return 0;
}

/* Makes a point of an exchange. Returns false if the exchange is impossible,
 * even if the nominal rates are wrong. */
static bool point_of(const struct tsct_plane *plane,
		     const struct tsct_exchange *x, struct tsct_point *ret)
{
	__s64 local = (__s64)(x->t4 - x->t1), remote = (__s64)(x->t3 - x->t2);

	if (local < 0 || remote < 0)
		return false;
	ret->u1 = seconds(plane, x->t1);
	ret->u4 = seconds(plane, x->t4);
	ret->up = plane_y(plane, x->t1, x->t2);
	ret->low = plane_y(plane, x->t4, x->t3);
	ret->u = (ret->u1 + ret->u4) / 2;
	ret->y = (ret->up + ret->low) / 2 - plane->shift;
	ret->rtt = ret->up - ret->low;
	/* One count is added to the error of each counter, because packet times are
	 * rounded down to whole counts. */
	ret->slack = (x->remote_error + 1.0) +
		(x->local_error + 1.0) * plane->rate;
	ret->session_size = 1;
	ret->rejected = false;
	ret->in_slow_place = false;
	ret->slow_route = false;
	ret->shortest = true;
	ret->used = true;
	ret->sound = true;
	return ret->rtt > -2 * ret->slack -
		(double)remote * TSCT_FIT_RATE_PPM / 1e6;
}

/* Sets session_size of all points. The exchanges of a session are adjacent. */
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

int tsct_plane_make(const struct tsct_exchange *x, unsigned int nr,
		    const struct tsct_fit_options *options, double remote_hz,
		    struct tsct_plane *ret)
{
	const struct tsct_exchange *last = &x[nr - 1];
	unsigned int i;
	double frac;
	int err;

	*ret = (struct tsct_plane) { 0 };
	for (i = 1; i < nr; i++) {
		if ((__s64)(x[i].t1 - x[i - 1].t1) < 0)
			return -EINVAL;
		if ((__s64)(x[i].t1 - x[0].t1) < 0)
			return -ERANGE;
	}
	ret->points = malloc(2 * (size_t)nr * sizeof(*ret->points));
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
	ret->at = options->at ? options->at : last->t4;
	ret->remote0 = last->t3 + (__u64)tsct_fit_multiply(
		ret->rate, (__s64)(ret->at - last->t4), &frac);
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

/* ---- pieces of a fit ----------------------------------------------------- */

struct tsct_cubic *tsct_fit_reserve(struct tsct_fit *fit, unsigned int nr)
{
	fit->nr_pieces = nr;
	fit->several = nr > 1 ? malloc(nr * sizeof(*fit->several)) : NULL;
	return nr > 1 ? fit->several : &fit->single;
}

void tsct_fit_free(struct tsct_fit *fit)
{
	free(fit->several);
	fit->several = NULL;
}

void tsct_plane_to_fit(const struct tsct_plane *plane,
		       const struct tsct_plane_line *line, struct tsct_fit *fit)
{
	double whole = floor(line->y0), rate = plane->rate;

	/* Clamps the rate to between half of and twice plane->rate, so that the fit,
	 * from local to remote counter, increases for any input. */
	rate += fmin(fmax(line->slope / plane->hz, -rate / 2), rate);
	*tsct_fit_reserve(fit, 1) = (struct tsct_cubic) {
		.from = plane->at,
		.base = plane->remote0 + (__u64)tsct_fit_to_s64(whole),
		.c = { line->y0 - whole, rate },
	};
}

/* ---- round trips, and rejection of implausible ones ------------------------- */

/* Copies the round trips of points with a usable middle and with index in [from, to) to
 * scratch; returns the number of copied values. */
static unsigned int collect_rtts(const struct tsct_plane *plane,
				 unsigned int from, unsigned int to)
{
	unsigned int nr = 0, i;

	for (i = from; i < to; i++)
		if (tsct_point_has_middle(&plane->point[i]))
			plane->scratch[nr++] = plane->point[i].rtt;
	return nr;
}

double tsct_plane_median_excess(const struct tsct_plane *plane)
{
	unsigned int nr = collect_rtts(plane, 0, plane->nr);

	return (nr ? tsct_nth_smallest(plane->scratch, nr, (nr - 1) / 2) : 0) -
		plane->min_rtt;
}

/* Returns the median of the round trips of used points with index in [from, to), in
 * remote counts; 0 if no point is used. */
static double plane_rtt_median(const struct tsct_plane *plane, unsigned int from,
			     unsigned int to)
{
	unsigned int nr = collect_rtts(plane, from, to);

	return nr ? tsct_nth_smallest(plane->scratch, nr, nr / 2) : 0;
}

/*
 * A wrong packet time may make a round trip shorter than any possible one. Of nr
 * measured round trips, the shortest are such outliers if they are few (at most
 * nr / OUTLIER_SHARE; at most 1 if nr is 8 or more, but less than OUTLIER_SHARE), and
 * the gap from them to the next value is larger than OUTLIER_GAP times the spread of
 * the nr / 10 + 3 values that follow. If nearly every packet queues, the round trip of
 * a packet that does not queue looks like an outlier, and is rejected, too.
 */
#define OUTLIER_SHARE	20
#define OUTLIER_GAP	2.0

static int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the smallest value that is not an outlier; reorders the values. @resolution:
 * smallest step of the values */
static double lowest_plausible(double *values, unsigned int nr, double resolution)
{
	/* Number of values to sort, smallest first. Larger values are not needed: only
	 * the smallest values may be outliers, by comparison with the next ones. */
	unsigned int head = nr / OUTLIER_SHARE + nr / 10 + 8;
	unsigned int most = nr < 8 ? 0 : nr / OUTLIER_SHARE, k;

	if (head < nr)
		tsct_nth_smallest(values, nr, head);
	else
		head = nr;
	qsort(values, head, sizeof(*values), compare_values);
	if (nr >= 8 && most < 1)
		most = 1;
	/* Finds the largest k for which a gap above the k smallest values marks these
	 * as outliers, such as round trips that are too short to be true. */
	for (k = most; k > 0; k--)
		if (values[k] - values[k - 1] > OUTLIER_GAP *
		    (values[k + nr / 10 + 3] - values[k]) + resolution)
			break;
	return values[k];
}

static void point_reject(struct tsct_point *point)
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
	plane->min_rtt = lowest_plausible(plane->scratch, plane->nr,
				      2 * plane->point[0].slack);
	for (i = 0; i < plane->nr; i++)
		if (plane->point[i].rtt < plane->min_rtt)
			point_reject(&plane->point[i]);
}

/* ---- Theil-Sen's estimate -------------------------------------------------- */

/*
 * Theil-Sen estimator: the median of slopes between pairs of points, then the median of
 * the remaining offsets. Only pairs from the earlier half of the time to the later half
 * are used, as the many exchanges of a session do not determine a rate. The result is
 * not very exact, but changes little while less than a quarter of each half is wrong,
 * so other estimates are checked against this one.
 */
static double line_at(const struct tsct_plane_line *line, double u)
{
	return line->y0 + line->slope * u;
}

/* Median slope from the points in the earlier half of the time, the first @early
 * of @nr, to points in the later half */
static double slope_of(const struct tsct_plane *plane, const unsigned int *of,
		       unsigned int early, unsigned int nr, double *slopes)
{
	unsigned int late = nr - early, pairs, found = 0, i;
	const struct tsct_point *a, *b;

	pairs = early && late ? (early > late ? early : late) : 0;
	for (i = 0; i < pairs; i++) {
		a = &plane->point[of[(size_t)i * early / pairs]];
		b = &plane->point[of[early + (size_t)i * late / pairs]];
		if (b->u > a->u)
			slopes[found++] = (b->y - a->y) / (b->u - a->u);
	}
	return found ? median(slopes, found) : 0;
}

/* Collects the indices of the used points in [from, to) with round trips up to the
 * median; returns the number of indices. */
static unsigned int append_short(const struct tsct_plane *plane,
				 unsigned int from, unsigned int to,
				 unsigned int *of)
{
	double limit = plane_rtt_median(plane, from, to);
	unsigned int nr = 0, i;

	for (i = from; i < to; i++)
		if (tsct_point_has_middle(&plane->point[i]) &&
		    plane->point[i].rtt <= limit)
			of[nr++] = i;
	return nr;
}

void tsct_theil_sen(const struct tsct_plane *plane,
		    const struct tsct_window *window,
		    struct tsct_fit_candidate *ret)
{
	unsigned int from = window->from, to = window->to, half = from;
	unsigned int early, nr, i, *of;
	double *values = plane->scratch, first, last, lever;
	double middle = (plane->point[from].u + plane->point[to - 1].u) / 2;
	const struct tsct_point *p;

	while (half < to && plane->point[half].u < middle)
		half++;
	of = (unsigned int *)(values + plane->nr);
	early = append_short(plane, from, half, of);
	nr = early + append_short(plane, half, to, of + early);
	*ret = (struct tsct_fit_candidate) { .sd = 0 };
	if (!nr)
		return;
	ret->line.slope = slope_of(plane, of, early, nr, values);
	for (i = 0; i < nr; i++) {
		p = &plane->point[of[i]];
		values[i] = p->y - ret->line.slope * p->u;
	}
	ret->line.y0 = median(values, nr);
	for (i = 0; i < nr; i++) {
		p = &plane->point[of[i]];
		values[i] = fabs(p->y - line_at(&ret->line, p->u));
	}
	/* The factor 1.48 converts a median deviation to the standard deviation of a
	 * normal distribution. */
	ret->spread = 1.48 * tsct_nth_smallest(values, nr, nr / 2);
	first = plane->point[of[0]].u;
	last = plane->point[of[nr - 1]].u;
	/* Standard deviation, at the plane's origin, of a regression line through
	 * evenly spaced points, times 1.25: medians are less exact than means */
	lever = last > first ? fabs(first + last) / (last - first) : 0;
	ret->sd = ret->spread * 1.25 * sqrt((1 + 3 * lever * lever) / nr);
}

/* ---- rejection of outliers ------------------------------------------------- */

/* Number of consecutive outliers, at the end of the exchanges, that show a change of a counter:
 * fewer outliers may be due to wrong packet times. */
#define CHANGE_NR	3

/*
 * Rejects points that are too far from the line. The middle of an exchange is
 * off by at most half of the round trip, and so is a line through most middles.
 * If a point is further off, its packet times or its source are wrong.
 */
static void reject_far(struct tsct_plane *plane,
		       const struct tsct_fit_candidate *others)
{
	double median_rtt = plane_rtt_median(plane, 0, plane->nr);
	unsigned int nr = 0, last = 0, i;

	for (i = 0; i < plane->nr; i++) {
		struct tsct_point *p = &plane->point[i];
		double off = fabs(p->y - line_at(&others->line, p->u));

		p->outlier = off > (fmax(p->rtt, 0) + median_rtt) / 2 +
			p->slack + 6 * others->spread;
		nr += p->outlier;
		last = p->outlier ? last + 1 : 0;
	}
	if (nr > plane->nr / 4 || last >= CHANGE_NR)
		return;
	for (i = 0; i < plane->nr; i++)
		if (plane->point[i].outlier)
			point_reject(&plane->point[i]);
}

/* Returns the delay of one direction, counts; @up: direction of the request */
static double delay_of(const struct tsct_point *p,
		       const struct tsct_fit_candidate *others, bool up)
{
	double y = line_at(&others->line, p->u);

	return up ? p->up - y : y - p->low;
}

/* Returns the shortest plausible delay of one direction, counts; @up: of requests */
static double shortest_delay(const struct tsct_plane *plane,
			     const struct tsct_fit_candidate *others, bool up)
{
	unsigned int nr = 0, i;

	for (i = 0; i < plane->nr; i++)
		if (plane->point[i].used)
			plane->scratch[nr++] = delay_of(&plane->point[i],
							others, up);
	return lowest_plausible(plane->scratch, nr, plane->point[0].slack);
}

/*
 * Rejects points whose delay in one direction is implausibly short. A wrong packet time
 * can shorten the delay in one direction although the round trip is plausible. Both
 * directions are measured before any point is rejected, so that neither has fewer
 * points to compare with.
 */
static void reject_early(struct tsct_plane *plane,
			 const struct tsct_fit_candidate *others)
{
	double request = shortest_delay(plane, others, true);
	double answer = shortest_delay(plane, others, false);
	struct tsct_point *p;

	for (p = plane->point; p < plane->point + plane->nr; p++)
		if (p->used && (delay_of(p, others, true) < request ||
				delay_of(p, others, false) < answer))
			point_reject(p);
}

void tsct_plane_reject_outliers(struct tsct_plane *plane)
{
	const struct tsct_window all = { 0, plane->nr };
	struct tsct_fit_candidate others;

	if (plane->nr < 5)
		return;
	tsct_theil_sen(plane, &all, &others);
	reject_far(plane, &others);
	reject_early(plane, &others);
}
