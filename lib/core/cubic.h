/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A cubic piece of a function from one counter to another. */
#ifndef TSCT_CORE_CUBIC_H
#define TSCT_CORE_CUBIC_H

#include "port.h"

/*
 * remote = base + c[0] + c[1] d + c[2] d^2 + c[3] d^3, with d = local - from.
 * base is an integer, so that large counters lose no precision in the doubles.
 */
struct tsct_cubic {
	__u64 from;		/* local counter at which the piece begins */
	__u64 base;		/* remote counter there, rounded down */
	double c[4];		/* c[0]: fraction of base; c[1]: remote per local */
};

#define TSCT_CUBICS_MAX	256	/* pieces of one function, at most */

#endif /* TSCT_CORE_CUBIC_H */
