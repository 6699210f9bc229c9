// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "skew_interval.h"

void tsct_skew_interval_init(struct tsct_skew_interval *skew)
{
	skew->min_cycles = (__s64)(1ULL << 63);
	skew->max_cycles = (__s64)~(1ULL << 63);
	skew->rounds = 0;
}

int tsct_skew_interval_add(struct tsct_skew_interval *skew, __u64 t0, __u64 tb, __u64 t1)
{
	/* Modulo 2^64: B's counter may be any distance away from A's. */
	__s64 min_cycles = (__s64)(tb - t1);
	__s64 max_cycles = (__s64)(tb - t0);

	/* Also catches a distance that no signed number can hold. */
	if (t1 < t0 || min_cycles > max_cycles)
		return -EINVAL;
	if (min_cycles < skew->min_cycles)
		min_cycles = skew->min_cycles;
	if (max_cycles > skew->max_cycles)
		max_cycles = skew->max_cycles;
	if (min_cycles > max_cycles)
		return -EINVAL;
	skew->min_cycles = min_cycles;
	skew->max_cycles = max_cycles;
	if (skew->rounds != ~0U)
		skew->rounds++;
	return 0;
}
