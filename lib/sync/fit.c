// SPDX-License-Identifier: MIT
/* Which fit is made, and what is told of it. */
#include "fit_private.h"

#include <math.h>
#include <stdlib.h>

static const char *const names[TSCT_FIT_NR] = {
	[TSCT_FIT_AUTO] = "auto",
	[TSCT_FIT_LINEAR] = "linear",
	[TSCT_FIT_SPLINE] = "spline",
	[TSCT_FIT_HULL] = "hull",
	[TSCT_FIT_REGRESSION] = "regression",
};

int tsct_fit_kind_of(const char *name)
{
	int kind;

	for (kind = 0; kind < TSCT_FIT_NR; kind++)
		if (!strcmp(name, names[kind]))
			return kind;
	return -EINVAL;
}

const char *tsct_fit_name(enum tsct_fit_kind kind)
{
	return (unsigned int)kind < TSCT_FIT_NR ? names[kind] : "unknown";
}

/* Theirs minus what the function makes of ours, at the middle of an exchange */
static double off(const struct tsct_plane *plane, const struct tsct_fit *fit,
		  const struct tsct_exchange *x)
{
	__u64 took = x->t4 - x->t1, mid = x->t1 + took / 2, value;
	double frac;

	value = tsct_fit_at(fit, mid, &frac, NULL);
	if (took & 1)
		frac += plane->rate / 2;
	return ((double)(__s64)(x->t2 - value) + (double)(__s64)(x->t3 - value)) /
		2 - frac - plane->shift;
}

static void tell(const struct tsct_plane *plane, const struct tsct_exchange *x,
		 unsigned int nr, const bool *keep, struct tsct_fit *fit)
{
	double sum = 0, d;
	unsigned int i;

	fit->nr_kept = 0;
	for (i = 0; i < nr; i++) {
		if (!keep[i])
			continue;
		d = off(plane, fit, &x[i]);
		sum += d * d;
		fit->nr_kept++;
	}
	fit->nr_dropped = nr - fit->nr_kept;
	fit->residual = fit->nr_kept ? sqrt(sum / fit->nr_kept) : 0;
	for (i = 0; i < plane->nr; i++)
		plane->scratch[i] = plane->point[i].width;
	fit->rtt_min = plane->least / plane->rate;
	fit->rtt_median = tsct_fit_select(plane->scratch, plane->nr,
					  plane->nr / 2) / plane->rate;
}

/* How far the pieces bend away from their tangent at any point: half f'' */
static double bend_of(const struct tsct_fit *fit)
{
	const struct tsct_cubic *p;
	double most = 0, end;
	unsigned int k;

	for (k = 0; k + 1 < fit->nr_pieces; k++) {
		p = &fit->piece[k];
		end = (double)(__s64)(p[1].from - p->from);
		most = fmax(most, fmax(fabs(p->c[2]),
				       fabs(p->c[2] + 3 * p->c[3] * end)));
	}
	return most;
}

/* The function may lie anywhere: from there to the farther end of what may be. */
static void bound(const struct tsct_plane *plane,
		  const struct tsct_fit_bounds *bounds, struct tsct_fit *fit)
{
	double frac, y, slope;
	__u64 value;

	fit->at = plane->at;
	value = tsct_fit_at(fit, fit->at, &frac, NULL);
	y = (double)(__s64)(value - plane->remote0) + frac;
	slope = (tsct_fit_rate(fit, fit->at) - plane->rate) * plane->hz;
	fit->error = fmax(bounds->y.max - y, y - bounds->y.min) + fit->doubt;
	fit->rate_error = fmax(bounds->slope.max - slope,
			       slope - bounds->slope.min) / plane->hz;
	fit->wander = plane->wander / 2 / (plane->hz * plane->hz) + bend_of(fit);
}

static int make_reference(struct tsct_plane *plane,
			  const struct tsct_exchange *x, unsigned int nr,
			  bool *keep, struct tsct_fit *fit)
{
	unsigned int i;

	for (i = 0; i < plane->nr; i++)
		keep[plane->point[i].index] = true;
	if (fit->kind == TSCT_FIT_SPLINE)
		return tsct_fit_spline(plane, x, nr, keep, fit);
	tsct_fit_linear(plane, x, nr, keep, fit);
	return 0;
}

static unsigned int nr_sound(const struct tsct_plane *plane)
{
	unsigned int nr = 0, i;

	for (i = 0; i < plane->nr; i++)
		nr += plane->point[i].sound;
	return nr;
}

/* Of what contradicts nobody, and of what came after the last that did */
static void make_best(struct tsct_plane *plane, struct tsct_fit_bounds *bounds,
		      bool *keep, struct tsct_fit *fit)
{
	unsigned int nr, i;

	while (plane->nr > 1 && !plane->point[0].sound) {
		plane->point++;
		plane->nr--;
	}
	for (i = 0; i + 1 < plane->nr; i++)
		plane->point[i].used = plane->point[i].sound;
	plane->point[i].used = plane->point[i].sound || plane->nr == 1;
	nr = nr_sound(plane);
	tsct_fit_best(plane, fit->kind, fit);
	if (nr_sound(plane) != nr)
		tsct_fit_bound(plane, bounds);
	for (i = 0; i < plane->nr; i++)
		keep[plane->point[i].index] = plane->point[i].used;
}

static int make(struct tsct_plane *plane, const struct tsct_exchange *x,
		unsigned int nr, enum tsct_fit_kind kind, bool *keep,
		struct tsct_fit *fit)
{
	bool reference = kind == TSCT_FIT_LINEAR || kind == TSCT_FIT_SPLINE;
	struct tsct_fit_bounds bounds;
	int err = 0;

	memset(keep, 0, nr * sizeof(*keep));
	fit->sd = 0;
	fit->doubt = 0;
	fit->kind = kind;
	tsct_plane_screen(plane);
	tsct_plane_outvote(plane);
	tsct_fit_bound(plane, &bounds);
	if (reference)
		err = make_reference(plane, x, nr, keep, fit);
	else
		make_best(plane, &bounds, keep, fit);
	if (err)
		return err;
	bound(plane, &bounds, fit);
	tell(plane, x, nr, keep, fit);
	/* Of these two it is a factor so far. */
	if (reference)
		fit->sd *= fit->residual;
	return 0;
}

int tsct_fit_make(const struct tsct_exchange *x, unsigned int nr,
		  const struct tsct_fit_options *options, double remote_hz,
		  struct tsct_fit *ret_fit, bool *keep)
{
	struct tsct_plane plane;
	bool *kept = keep;
	int err;

	if ((unsigned int)options->kind >= TSCT_FIT_NR)
		return -EINVAL;
	if (!nr)
		return -ENODATA;
	if (!keep)
		kept = malloc(nr * sizeof(*kept));
	err = kept ? tsct_plane_make(x, nr, options, remote_hz, &plane) : -ENOMEM;
	if (!err)
		err = make(&plane, x, nr, options->kind, kept, ret_fit);
	if (kept)
		tsct_plane_free(&plane);
	if (!keep)
		free(kept);
	return err;
}
