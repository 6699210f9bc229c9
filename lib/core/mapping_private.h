/* SPDX-License-Identifier: MIT */
/* What making curves and using them have in common. */
#ifndef TSCT_CORE_CORRECT_PRIVATE_H
#define TSCT_CORE_CORRECT_PRIVATE_H

#include "mapping.h"

/* a * u / 2^64, rounded down */
static inline tsct_s128 tsct_times(tsct_s128 a, __u64 u)
{
	return (a >> 64) * u + (tsct_s128)((tsct_u128)(__u64)a * u >> 64);
}

/* The cubic itself at its d-th tick; b alone is needed. */
tsct_s128 tsct_mapping_curve_value(const struct tsct_mapping_curve *curve, __u64 d);

/* Where the line begins that begins at its d-th tick */
tsct_s128 tsct_mapping_curve_knot(const struct tsct_mapping_curve *curve, __u64 d);

#endif /* TSCT_CORE_CORRECT_PRIVATE_H */
