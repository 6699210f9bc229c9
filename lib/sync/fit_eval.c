// SPDX-License-Identifier: MIT
/* What a fitted function says. */
#include "fit_private.h"

#include <math.h>

/* The last piece that begins at or before it, or else the first */
static unsigned int find(const struct tsct_fit *fit, __u64 local)
{
	unsigned int from = 0, to = fit->nr_pieces, mid;

	while (to - from > 1) {
		mid = from + (to - from) / 2;
		if ((__s64)(local - fit->piece[mid].from) >= 0)
			from = mid;
		else
			to = mid;
	}
	return from;
}

/* Rounding must not carry a piece beyond the beginning of the next one. */
static void clamp(const struct tsct_fit *fit, unsigned int k, __u64 local,
		  __u64 *whole, double *frac)
{
	const struct tsct_cubic *next = &fit->piece[k + 1];
	__s64 over;

	if (k + 1 >= fit->nr_pieces || (__s64)(local - next->from) >= 0)
		return;
	over = (__s64)(*whole - next->base);
	if (over > 0 || (over == 0 && *frac > next->c[0])) {
		*whole = next->base;
		*frac = next->c[0];
	}
}

static double error_at(const struct tsct_fit *fit, __u64 local)
{
	double d = fabs((double)(__s64)(local - fit->at));

	return fit->error + d * (fit->rate_error + d * fit->wander);
}

__u64 tsct_fit_at(const struct tsct_fit *fit, __u64 local, double *ret_frac,
		  double *ret_error)
{
	unsigned int k = find(fit, local);
	const struct tsct_cubic *piece = &fit->piece[k];
	__s64 delta = (__s64)(local - piece->from);
	double d = (double)delta, frac, bend, whole;
	__u64 value = piece->base;

	value += (__u64)tsct_fit_times(piece->c[1], delta, &frac);
	bend = d * d * (piece->c[2] + d * piece->c[3]);
	whole = floor(bend);
	frac += bend - whole + piece->c[0];
	value += (__u64)tsct_fit_whole(whole);
	whole = floor(frac);
	value += (__u64)tsct_fit_whole(whole);
	frac -= whole;
	clamp(fit, k, local, &value, &frac);
	if (ret_frac)
		*ret_frac = frac < 1 ? frac : nextafter(1, 0);
	if (ret_error)
		*ret_error = error_at(fit, local);
	return value;
}

double tsct_fit_rate(const struct tsct_fit *fit, __u64 local)
{
	const struct tsct_cubic *piece = &fit->piece[find(fit, local)];
	double d = (double)(__s64)(local - piece->from);

	return piece->c[1] + d * (2 * piece->c[2] + d * 3 * piece->c[3]);
}
