/* SPDX-License-Identifier: MIT */
/* Tangents of fits, for the drawings of `trace-ctl report sync` */
#ifndef TSCT_TANGENT_H
#define TSCT_TANGENT_H

#include "fit.h"

/* Tangent of a fit at fit->at. Reports state offsets from this tangent, so that the offsets
 * are small enough for a drawing. */
struct tsct_tangent {
	const struct tsct_fit *fit;
	__u64 at, base;			/* tangent point: local cycles; remote counts */
	double frac;			/* fraction to add to base, remote counts */
	double rate;			/* slope, remote counts per local cycle */
	double ns;			/* unit of the remote counter, ns per count */
};

/* Makes the tangent of @fit at fit->at. *ret keeps a pointer to @fit. @ns: length of a
 * count of the remote counter, ns; used to convert distances from the tangent from
 * remote counts to ns */
static inline void tsct_tangent_make(const struct tsct_fit *fit, double ns,
		       struct tsct_tangent *ret)
{
	ret->fit = fit;
	ret->at = fit->at;
	ret->base = tsct_fit_at(fit, fit->at, &ret->frac, NULL);
	ret->rate = tsct_fit_rate(fit, fit->at);
	ret->ns = ns;
}

/* Returns the distance of a point from the tangent of a fit at fit->at, in ns: @remote
 * + @frac minus the remote counter that the tangent gives for @local. */
static inline double tsct_tangent_beyond(const struct tsct_tangent *tangent, __u64 local,
			   __u64 remote, double frac)
{
	return ((double)(__s64)(remote - tangent->base) + frac - tangent->frac -
		(double)(__s64)(local - tangent->at) * tangent->rate) *
		tangent->ns;
}

/* Returns the distance of an exchange from the tangent of a fit, in ns: the middle of
 * t2 and t3 minus the remote counter that the tangent gives for the middle of t1 and
 * t4. *ret_local: the middle of t1 and t4, rounded down, local cycles */
static inline double tsct_tangent_exchange(const struct tsct_tangent *tangent,
			     const struct tsct_exchange *x, __u64 *ret_local)
{
	const __u64 local = x->t1 + (x->t4 - x->t1) / 2;
	const __u64 remote = x->t2 + (x->t3 - x->t2) / 2;
	const double halves = (double)((x->t3 - x->t2) & 1) / 2 -
		(double)((x->t4 - x->t1) & 1) / 2 * tangent->rate;

	*ret_local = local;
	return tsct_tangent_beyond(tangent, local, remote, halves);
}

#endif /* TSCT_TANGENT_H */
