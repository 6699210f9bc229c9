// SPDX-License-Identifier: MIT
/*
 * The reference: a regression over all middles but those of the tenth of the
 * exchanges that took longest from t1 to t4.
 */
#include "fit_private.h"

#include <math.h>

/* Longer, or as long and later: before which of both is dropped first */
static bool worse(const struct tsct_exchange *x, unsigned int a, unsigned int b)
{
	__u64 took_a = x[a].t4 - x[a].t1, took_b = x[b].t4 - x[b].t1;

	return took_a != took_b ? took_a > took_b : a > b;
}

/* The least of a heap of those who are worst so far goes down to its place. */
static void sift(const struct tsct_exchange *x, unsigned int *heap,
		 unsigned int nr, unsigned int at)
{
	unsigned int child, was;

	while ((child = 2 * at + 1) < nr) {
		if (child + 1 < nr && worse(x, heap[child], heap[child + 1]))
			child++;
		if (!worse(x, heap[at], heap[child]))
			break;
		was = heap[at];
		heap[at] = heap[child];
		heap[child] = was;
		at = child;
	}
}

unsigned int tsct_fit_drop_tenth(const struct tsct_exchange *x,
				 unsigned int nr, bool *keep,
				 unsigned int *heap)
{
	unsigned int possible = 0, drop, i, k;

	for (i = 0; i < nr; i++)
		if (keep[i])
			heap[possible++] = i;
	drop = possible / 10;
	if (!drop)
		return 0;
	for (k = drop; k-- > 0;)
		sift(x, heap, drop, k);
	for (i = drop; i < possible; i++) {
		if (!worse(x, heap[i], heap[0]))
			continue;
		heap[0] = heap[i];
		sift(x, heap, drop, 0);
	}
	for (k = 0; k < drop; k++)
		keep[heap[k]] = false;
	return drop;
}

/* About the means, so that large sums lose nothing */
struct means {
	double nr, u, y, uu, uy;
};

static void add_up(const struct tsct_plane *plane, struct means *ret)
{
	const struct tsct_point *p;
	unsigned int i;

	*ret = (struct means) { 0 };
	for (i = 0; i < plane->nr; i++) {
		p = &plane->point[i];
		if (!p->used)
			continue;
		ret->nr++;
		ret->u += p->u;
		ret->y += p->y;
	}
	ret->u /= ret->nr;
	ret->y /= ret->nr;
	for (i = 0; i < plane->nr; i++) {
		p = &plane->point[i];
		if (!p->used)
			continue;
		ret->uu += (p->u - ret->u) * (p->u - ret->u);
		ret->uy += (p->u - ret->u) * (p->y - ret->y);
	}
}

void tsct_fit_linear(struct tsct_plane *plane, const struct tsct_exchange *x,
		     unsigned int nr, bool *keep, struct tsct_fit *fit)
{
	struct tsct_plane_line line = { 0, 0 };
	struct means means;
	unsigned int i;

	tsct_fit_drop_tenth(x, nr, keep, (unsigned int *)plane->scratch);
	for (i = 0; i < plane->nr; i++)
		plane->point[i].used = keep[plane->point[i].index];
	add_up(plane, &means);
	if (means.uu > 0)
		line.slope = means.uy / means.uu;
	line.y0 = means.y - line.slope * means.u;
	tsct_plane_put(plane, &line, fit);
	fit->sd = sqrt(1 / means.nr +
		       (means.uu > 0 ? means.u * means.u / means.uu : 0));
}
