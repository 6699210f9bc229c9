/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How far apart are the counters of two CPUs? CPU A reads t0, signals B; B
 * reads tb and answers; A reads t1. Whatever the signals took, B's counter
 * minus A's lies in [tb - t1, tb - t0]: bounds need no assumption about
 * symmetry, and many exchanges intersect to a narrow interval.
 */
#ifndef TSCT_CORE_SKEW_H
#define TSCT_CORE_SKEW_H

#include "port.h"

struct tsct_skew_interval {
	__s64 min_cycles;
	__s64 max_cycles;
	__u32 rounds;
};

void tsct_skew_interval_init(struct tsct_skew_interval *skew);

/*
 * tsct_skew_interval_add - take one exchange into account
 *
 * Returns 0; -EINVAL: t1 before t0, or the interval does not meet what was
 * known (a counter jumped): @skew is then left as it was.
 */
int tsct_skew_interval_add(struct tsct_skew_interval *skew, __u64 t0, __u64 tb, __u64 t1);

#endif /* TSCT_CORE_SKEW_H */
