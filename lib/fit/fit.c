// SPDX-License-Identifier: MIT
#include "fit_plane.h"

#include <math.h>
#include <stdlib.h>

static const char *const names[TSCT_FIT_NR] = {
	[TSCT_FIT_AUTO] = "auto",
	[TSCT_FIT_LINEAR] = "linear",
	[TSCT_FIT_SPLINE] = "spline",
	[TSCT_FIT_ITC] = "itc",
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

const char *tsct_fit_reason_text(enum tsct_fit_reason reason)
{
	static const char *const texts[TSCT_FIT_REASON_NR] = {
		[TSCT_FIT_REQUESTED] = "",
		[TSCT_FIT_EDGE] = "edge",
		[TSCT_FIT_NOISE] = "noise",
		[TSCT_FIT_BOTH] = "both",
		[TSCT_FIT_FEW] = "few",
		[TSCT_FIT_CONTRADICTION] = "contradiction",
	};

	return (unsigned int)reason < TSCT_FIT_REASON_NR ? texts[reason] : "";
}

const char *tsct_fit_error(int err)
{
	switch (err) {
	case -ENODATA:
		return "no usable exchange";
	case -ERANGE:
		return "the rate between the counters is out of range";
	default:
		return strerror(-err);
	}
}

static void set_figures(const struct tsct_plane *plane,
			const struct tsct_exchange *x, unsigned int nr,
			const bool *keep, struct tsct_fit *fit)
{
	double sum = 0, frac, d;
	__u64 rtt, value;
	unsigned int i;

	fit->nr_kept = 0;
	for (i = 0; i < nr; i++) {
		if (!keep[i])
			continue;
		/* d: distance of the exchange's middle from the fit, remote counts */
		rtt = x[i].t4 - x[i].t1;
		value = tsct_fit_at(fit, x[i].t1 + rtt / 2, &frac, NULL);
		if (rtt & 1)
			frac += plane->rate / 2;
		d = ((double)(__s64)(x[i].t2 - value) +
		     (double)(__s64)(x[i].t3 - value)) / 2 - frac - plane->shift;
		sum += d * d;
		fit->nr_kept++;
	}
	fit->nr_dropped = nr - fit->nr_kept;
	fit->residual = fit->nr_kept ? sqrt(sum / fit->nr_kept) : 0;
	for (i = 0; i < plane->nr; i++)
		plane->scratch[i] = plane->point[i].rtt;
	fit->rtt_min = plane->min_rtt / plane->rate;
	fit->rtt_median = tsct_nth_smallest(plane->scratch, plane->nr,
					    plane->nr / 2) / plane->rate;
}

/* Sets the error bound of a fit: the distance from the fit to the farther end of the
 * range that causality allows. */
static void set_bound(const struct tsct_plane *plane,
		      const struct tsct_fit_bounds *bounds,
		      struct tsct_fit *fit)
{
	const struct tsct_cubic *p = tsct_fit_pieces(fit);
	const struct tsct_cubic *last = p + fit->nr_pieces - 1;
	double frac, y, slope, end, curvature = 0;
	__u64 value;

	fit->at = plane->at;
	value = tsct_fit_at(fit, fit->at, &frac, NULL);
	y = (double)(__s64)(value - plane->remote0) + frac;
	slope = (tsct_fit_rate(fit, fit->at) - plane->rate) * plane->hz;
	fit->error = fmax(bounds->y.max - y, y - bounds->y.min) +
		fit->disagreement;
	fit->rate_error = fmax(bounds->slope.max - slope,
			       slope - bounds->slope.min) / plane->hz;
	/* Largest curvature |f''| / 2 of any piece of the fit, counts per cycle
	 * squared */
	for (; p < last; p++) {
		end = (double)(__s64)(p[1].from - p->from);
		curvature = fmax(curvature,
				 fmax(fabs(p->c[2]),
				      fabs(p->c[2] + 3 * p->c[3] * end)));
	}
	fit->wander = plane->wander / 2 / (plane->hz * plane->hz) + curvature;
}

static unsigned int nr_sound(const struct tsct_plane *plane)
{
	unsigned int nr = 0, i;

	for (i = 0; i < plane->nr; i++)
		nr += plane->point[i].sound;
	return nr;
}

/* Makes the fit from the used points alone: windows of exchanges and the statistics of
 * delays are about these. Updates the points' flags. */
static void combine_used(struct tsct_plane *plane, struct tsct_fit *fit)
{
	struct tsct_plane used = *plane;
	unsigned int i;

	used.point = plane->point + plane->nr;
	used.nr = 0;
	for (i = 0; i < plane->nr; i++)
		if (plane->point[i].used)
			used.point[used.nr++] = plane->point[i];
	if (!used.nr)
		return tsct_fit_combine(plane, fit->kind, fit);
	tsct_fit_combine(&used, fit->kind, fit);
	while (i--)
		if (plane->point[i].used)
			plane->point[i] = used.point[--used.nr];
}

/* Sets `used` of the sound points without those of a slow place; if there are no others, of
 * all sound ones. */
static void choose_used(struct tsct_plane *plane)
{
	unsigned int used = 0, i;
	struct tsct_point *p;

	for (i = 0; i < plane->nr; i++) {
		p = &plane->point[i];
		p->used = p->sound && !p->slow_place;
		used += p->used;
	}
	for (i = 0; i < plane->nr && !used; i++)
		plane->point[i].used = plane->point[i].sound || plane->nr == 1;
}

/* Makes the fit from the points that do not contradict others (flag `sound`). If that
 * clears the flag of more points, updates @bounds, the error bounds of the fit.
 * @slow_limit: result of tsct_plane_find_slow_routes() */
static void make_estimate(struct tsct_plane *plane, double slow_limit,
			  struct tsct_fit_bounds *bounds, bool *keep,
			  struct tsct_fit *fit)
{
	enum tsct_fit_kind kind = fit->kind;
	unsigned int nr, i;

	while (plane->nr > 1 && !plane->point[0].sound) {
		plane->point++;
		plane->nr--;
	}
	choose_used(plane);
	nr = nr_sound(plane);
	combine_used(plane, fit);
	if (fit->sd > slow_limit) {
		for (i = 0; i < plane->nr; i++)
			plane->point[i].slow_route = false;
		fit->kind = kind;
		combine_used(plane, fit);
	}
	if (nr_sound(plane) != nr)
		tsct_fit_bound(plane, bounds);
	for (i = 0; i < plane->nr; i++)
		keep[plane->point[i].index] = plane->point[i].used;
}

static int make(struct tsct_plane *plane, const struct tsct_exchange *x,
		unsigned int nr, enum tsct_fit_kind kind, bool *keep,
		struct tsct_fit *fit)
{
	bool reference = tsct_fit_is_reference(kind);
	struct tsct_fit_bounds bounds;
	double slow_limit = HUGE_VAL;
	unsigned int i;
	int err = 0;

	memset(keep, 0, nr * sizeof(*keep));
	fit->sd = 0;
	fit->disagreement = 0;
	fit->kind = kind;
	fit->reason = TSCT_FIT_REQUESTED;
	tsct_plane_reject_short(plane);
	if (!reference) {
		tsct_plane_compare_pairs(plane, x);
		slow_limit = tsct_plane_find_slow_routes(plane);
	}
	tsct_plane_reject_outliers(plane);
	tsct_fit_bound(plane, &bounds);
	for (i = 0; i < plane->nr && reference; i++)
		keep[plane->point[i].index] = true;
	if (reference)
		err = tsct_fit_reference(plane, kind, x, nr, keep, fit);
	else
		make_estimate(plane, slow_limit, &bounds, keep, fit);
	if (err)
		return err;
	set_bound(plane, &bounds, fit);
	set_figures(plane, x, nr, keep, fit);
	/* Reference fits set sd as a multiple of the residual. */
	if (reference)
		fit->sd *= fit->residual;
	fit->nr_pairs = plane->nr_pairs;
	fit->slow_place = plane->slow_place;
	return 0;
}

int tsct_fit_make(const struct tsct_exchange *x, unsigned int nr,
		  const struct tsct_fit_options *options, double remote_hz,
		  struct tsct_fit *ret_fit, bool *keep)
{
	struct tsct_plane plane;
	bool *kept = keep;
	int err;

	ret_fit->several = NULL;
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

/* ---- evaluation of a fit ------------------------------------------------ */

/* Returns the index of the last piece that begins at or before @local, else of the
 * first piece. */
static unsigned int find_piece(const struct tsct_fit *fit, __u64 local)
{
	const struct tsct_cubic *piece = tsct_fit_pieces(fit);
	unsigned int from = 0, to = fit->nr_pieces, mid;

	while (to - from > 1) {
		mid = from + (to - from) / 2;
		if ((__s64)(local - piece[mid].from) >= 0)
			from = mid;
		else
			to = mid;
	}
	return from;
}

__u64 tsct_fit_at(const struct tsct_fit *fit, __u64 local, double *ret_frac,
		  double *ret_error)
{
	unsigned int k = find_piece(fit, local);
	const struct tsct_cubic *piece = tsct_fit_pieces(fit) + k, *next = piece + 1;
	__s64 delta = (__s64)(local - piece->from), over;
	double d = (double)delta, frac, bend, whole;
	__u64 value = piece->base;

	value += (__u64)tsct_fit_multiply(piece->c[1], delta, &frac);
	bend = d * d * (piece->c[2] + d * piece->c[3]);
	whole = floor(bend);
	frac += bend - whole + piece->c[0];
	value += (__u64)tsct_fit_to_s64(whole);
	whole = floor(frac);
	value += (__u64)tsct_fit_to_s64(whole);
	frac -= whole;
	/* Rounding must not carry the value of a piece beyond the beginning of the next
	 * piece. */
	if (k + 1 < fit->nr_pieces && (__s64)(local - next->from) < 0) {
		over = (__s64)(value - next->base);
		if (over > 0 || (over == 0 && frac > next->c[0])) {
			value = next->base;
			frac = next->c[0];
		}
	}
	if (ret_frac)
		*ret_frac = frac < 1 ? frac : nextafter(1, 0);
	if (ret_error) {
		d = fabs((double)(__s64)(local - fit->at));
		*ret_error = fit->error + d * (fit->rate_error + d * fit->wander);
	}
	return value;
}

double tsct_fit_rate(const struct tsct_fit *fit, __u64 local)
{
	const struct tsct_cubic *piece = tsct_fit_pieces(fit) +
		find_piece(fit, local);
	double d = (double)(__s64)(local - piece->from);

	return piece->c[1] + d * (2 * piece->c[2] + d * 3 * piece->c[3]);
}

/* ---- tangents of a fit --------------------------------------------------- */

void tsct_tangent_make(const struct tsct_fit *fit, double ns,
		       struct tsct_tangent *ret)
{
	ret->fit = fit;
	ret->at = fit->at;
	ret->base = tsct_fit_at(fit, fit->at, &ret->frac, NULL);
	ret->rate = tsct_fit_rate(fit, fit->at);
	ret->ns = ns;
}

double tsct_tangent_beyond(const struct tsct_tangent *tangent, __u64 local,
			   __u64 remote, double frac)
{
	return ((double)(__s64)(remote - tangent->base) + frac - tangent->frac -
		(double)(__s64)(local - tangent->at) * tangent->rate) *
		tangent->ns;
}

double tsct_tangent_exchange(const struct tsct_tangent *tangent,
			     const struct tsct_exchange *x, __u64 *ret_local)
{
	const __u64 local = x->t1 + (x->t4 - x->t1) / 2;
	const __u64 remote = x->t2 + (x->t3 - x->t2) / 2;
	const double halves = (double)((x->t3 - x->t2) & 1) / 2 -
		(double)((x->t4 - x->t1) & 1) / 2 * tangent->rate;

	*ret_local = local;
	return tsct_tangent_beyond(tangent, local, remote, halves);
}
