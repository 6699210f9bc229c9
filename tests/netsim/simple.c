// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "simple.h"

struct point {
	double x, y, rtt;	/* from the last exchange on */
};

static int by_rtt(const void *a, const void *b)
{
	const struct point *p = a, *q = b;

	return (p->rtt > q->rtt) - (p->rtt < q->rtt);
}

static struct point point_of(const struct tsct_exchange *x,
			     const struct tsct_exchange *last, double rate)
{
	double here = (double)(int64_t)(x->t1 - last->t1) +
		(double)(int64_t)(x->t4 - last->t1);
	double there = (double)(int64_t)(x->t2 - last->t2) +
		(double)(int64_t)(x->t3 - last->t2);

	return (struct point) {
		.x = here / 2,
		.y = there / 2,
		.rtt = tsct_exchange_rtt(x, rate),
	};
}

static double rate_of(const struct tsct_exchange *x, unsigned int nr)
{
	const struct tsct_exchange *last = &x[nr - 1];

	return (double)(int64_t)(last->t2 - x->t2) /
		(double)(int64_t)(last->t1 - x->t1);
}

static double regress(const struct point *points, unsigned int nr, double at)
{
	double x = 0, y = 0, xx = 0, xy = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		x += points[i].x / nr;
		y += points[i].y / nr;
	}
	for (i = 0; i < nr; i++) {
		xx += (points[i].x - x) * (points[i].x - x);
		xy += (points[i].x - x) * (points[i].y - y);
	}
	return y + xy / xx * (at - x);
}

double simple_error(const struct tsct_exchange *x, unsigned int nr, double part,
		    const struct truth *truth)
{
	const struct tsct_exchange *last = &x[nr - 1];
	struct point *points = calloc(nr, sizeof(*points));
	double rate = rate_of(x, nr), at, error;
	unsigned int i;

	if (!points)
		abort();
	for (i = 0; i < nr; i++)
		points[i] = point_of(&x[i], last, rate);
	qsort(points, nr, sizeof(*points), by_rtt);
	at = (double)(int64_t)(truth->local - last->t1);
	error = regress(points, (unsigned int)(nr * part + 0.5), at) -
		(double)(int64_t)(truth->remote - last->t2) - truth->frac;
	free(points);
	return error;
}
