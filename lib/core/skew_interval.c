// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "skew_interval.h"

void tsct_skew_init(struct tsct_skew *skew)
{
	skew->min_tsc = (__s64)(1ULL << 63);
	skew->max_tsc = (__s64)~(1ULL << 63);
	skew->rounds = 0;
}

int tsct_skew_add(struct tsct_skew *skew, __u64 t0, __u64 tb, __u64 t1)
{
	/* Modulo 2^64: B's counter may be any distance away from A's. */
	__s64 min_tsc = (__s64)(tb - t1);
	__s64 max_tsc = (__s64)(tb - t0);

	/* Also catches a distance that no signed number can hold. */
	if (t1 < t0 || min_tsc > max_tsc)
		return -EINVAL;
	if (min_tsc < skew->min_tsc)
		min_tsc = skew->min_tsc;
	if (max_tsc > skew->max_tsc)
		max_tsc = skew->max_tsc;
	if (min_tsc > max_tsc)
		return -EINVAL;
	skew->min_tsc = min_tsc;
	skew->max_tsc = max_tsc;
	if (skew->rounds != ~0U)
		skew->rounds++;
	return 0;
}
