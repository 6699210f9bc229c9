/* SPDX-License-Identifier: MIT */
/*
 * Offsets for a drawing: against a plain line, a fit's tangent where it is best. What
 * is left is small enough to be seen. Pure.
 */
#ifndef TSCT_SYNC_TANGENT_H
#define TSCT_SYNC_TANGENT_H

#include "fit.h"

struct tsct_tangent {
	const struct tsct_fit *fit;
	__u64 at, base;			/* our counter, theirs */
	double frac;			/* of theirs */
	double rate;			/* theirs per ours */
	double ns;			/* ns per count of theirs */
};

/* At fit->at. @ns: per count of theirs */
void tsct_tangent_make(const struct tsct_fit *fit, double ns,
		       struct tsct_tangent *ret);

/* Their counter beyond the tangent's at ours, in ns; @frac: of their count */
double tsct_tangent_beyond(const struct tsct_tangent *t, __u64 local,
			   __u64 remote, double frac);

/* The same for the middle of an exchange; *ret_local: where that is */
double tsct_tangent_exchange(const struct tsct_tangent *t,
			     const struct tsct_exchange *x, __u64 *ret_local);

#endif /* TSCT_SYNC_TANGENT_H */
