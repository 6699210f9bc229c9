// SPDX-License-Identifier: MIT
/* Which exchanges an estimate is made of, by how long they took. */
#include "fit_private.h"

#include <stdlib.h>

static void swap(double *a, double *b)
{
	double was = *a;

	*a = *b;
	*b = was;
}

/* Puts the middle one of three in the middle, which sorted input likes. */
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

double tsct_fit_select(double *values, unsigned int nr, unsigned int k)
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

double tsct_plane_quantile(const struct tsct_plane *plane, double q)
{
	unsigned int nr = 0, i;

	for (i = 0; i < plane->nr; i++)
		if (plane->point[i].used)
			plane->scratch[nr++] = plane->point[i].width;
	if (!nr)
		return 0;
	return tsct_fit_select(plane->scratch, nr, (unsigned int)(q * (nr - 1)));
}

/*
 * A stamp that came too early, or was taken too late, makes a round trip shorter
 * than any there can be. Such a one stands alone: what lies between it and the
 * next is more than what the next ten lie apart. A line that queues on its way
 * nearly always looks the same; then one lucky packet is lost.
 */
#define LONELY_SHARE	20	/* at most one in so many */
#define LONELY_GAP	2.0

static unsigned int nr_lonely(const double *widths, unsigned int nr,
			      double grain)
{
	unsigned int most = nr / LONELY_SHARE, beside, k;

	if (nr < 8)
		return 0;
	beside = nr / 10 + 3;
	if (most < 1)
		most = 1;
	for (k = most; k > 0; k--)
		if (widths[k] - widths[k - 1] >
		    LONELY_GAP * (widths[k + beside] - widths[k]) + grain)
			return k;
	return 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double tsct_fit_first(double *values, unsigned int nr, double grain)
{
	/* Only the lowest need to be in order. */
	unsigned int head = nr / LONELY_SHARE + nr / 10 + 8;

	if (head < nr)
		tsct_fit_select(values, nr, head);
	else
		head = nr;
	qsort(values, head, sizeof(*values), compare);
	return values[nr_lonely(values, nr, grain)];
}

void tsct_plane_drop(struct tsct_point *p)
{
	p->lonely = true;
	p->used = false;
	p->sound = false;
}

void tsct_plane_screen(struct tsct_plane *plane)
{
	unsigned int i;

	for (i = 0; i < plane->nr; i++)
		plane->scratch[i] = plane->point[i].width;
	plane->least = tsct_fit_first(plane->scratch, plane->nr,
				      2 * plane->point[0].slack);
	for (i = 0; i < plane->nr; i++)
		if (plane->point[i].width < plane->least)
			tsct_plane_drop(&plane->point[i]);
}
