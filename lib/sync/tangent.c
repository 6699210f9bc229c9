// SPDX-License-Identifier: MIT
#include "tangent.h"

void tsct_tangent_make(const struct tsct_fit *fit, double ns,
		       struct tsct_tangent *ret)
{
	ret->fit = fit;
	ret->at = fit->at;
	ret->base = tsct_fit_at(fit, fit->at, &ret->frac, NULL);
	ret->rate = tsct_fit_rate(fit, fit->at);
	ret->ns = ns;
}

double tsct_tangent_beyond(const struct tsct_tangent *t, __u64 local,
			   __u64 remote, double frac)
{
	return ((double)(__s64)(remote - t->base) + frac - t->frac -
		(double)(__s64)(local - t->at) * t->rate) * t->ns;
}

double tsct_tangent_exchange(const struct tsct_tangent *t,
			     const struct tsct_exchange *x, __u64 *ret_local)
{
	const __u64 local = x->t1 + (x->t4 - x->t1) / 2;
	const __u64 remote = x->t2 + (x->t3 - x->t2) / 2;
	const double halves = (double)((x->t3 - x->t2) & 1) / 2 -
		(double)((x->t4 - x->t1) & 1) / 2 * t->rate;

	*ret_local = local;
	return tsct_tangent_beyond(t, local, remote, halves);
}
