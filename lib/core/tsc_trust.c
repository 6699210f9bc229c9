// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "tsc_trust.h"

/* Properties that the TSC must have if it is not the kernel's clocksource */
#define PROOF	(TSCT_CHECK_INVARIANT | TSCT_CHECK_NONSTOP)

void tsct_skew_interval_init(struct tsct_skew_interval *skew)
{
	skew->min_cycles = (__s64)(1ULL << 63);
	skew->max_cycles = (__s64)~(1ULL << 63);
	skew->rounds = 0;
}

int tsct_skew_interval_add(struct tsct_skew_interval *skew, __u64 t0, __u64 tb,
			   __u64 t1)
{
	/*
	 * The counters of CPUs A and B may be any distance apart, so distances are
	 * computed modulo 2^64.
	 */
	__s64 min_cycles = (__s64)(tb - t1);
	__s64 max_cycles = (__s64)(tb - t0);

	/* If the interval of distances between the counters crosses the limit of __s64,
	 * min_cycles is larger than max_cycles. */
	if (t1 < t0 || min_cycles > max_cycles)
		return -EINVAL;
	min_cycles = max(min_cycles, skew->min_cycles);
	max_cycles = min(max_cycles, skew->max_cycles);
	if (min_cycles > max_cycles)
		return -EINVAL;
	skew->min_cycles = min_cycles;
	skew->max_cycles = max_cycles;
	if (skew->rounds != ~0U)
		skew->rounds++;
	return 0;
}

bool tsct_tsc_trusted(__u32 flags, bool in_step)
{
	if (!(flags & TSCT_CHECK_RDTSCP) || flags & TSCT_CHECK_UNSTABLE)
		return false;
	if (flags & TSCT_CHECK_CLOCKSOURCE)
		return true;
	return (flags & PROOF) == PROOF && in_step;
}

const char *tsct_tsc_trust_reason(__u32 flags)
{
	if (flags & TSCT_CHECK_USABLE)
		return flags & TSCT_CHECK_CLOCKSOURCE ?
			"the kernel's clocksource is the TSC" :
			"the TSC is invariant, and the CPU check passed";
	if (!(flags & TSCT_CHECK_RDTSCP))
		return "RDTSCP is missing or not permitted";
	if (flags & TSCT_CHECK_UNSTABLE)
		return "the kernel marked the TSC unstable";
	if ((flags & PROOF) != PROOF)
		return "the TSC is not invariant, and not the kernel's clocksource";
	return "the counters of the CPUs differ, or not all were compared";
}
