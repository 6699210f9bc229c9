/* SPDX-License-Identifier: MIT */
/* Comparison of the counters of two CPUs from user space; for tsc_check.c. */
#ifndef TSCT_TSC_SKEW_H
#define TSCT_TSC_SKEW_H

#include <stdbool.h>
#include <tsctrace/abi.h>
#include <x86intrin.h>

/*
 * Reads TSC_AUX, which is returned, and the counter in one instruction, ordered
 * with those before and after it.
 */
static inline unsigned int tsct_tsc_skew_aux(__u64 *ret_cycles)
{
	unsigned int aux;

	*ret_cycles = __rdtscp(&aux);
	_mm_lfence();
	return aux;
}

/*
 * Pins the calling thread to a CPU. Returns 0 or -errno, such as when the CPU is
 * offline.
 */
int tsct_tsc_skew_pin(unsigned int cpu);

/*
 * tsct_tsc_skew_compare - compare the counter of the CPU that the calling thread
 * is pinned to with that of another CPU
 * @line: of the other CPU; its skew is set if it could be measured
 * @budget_ns: time for exchanges
 *
 * False if the counters are known to differ. Nothing is known, and @line stays
 * unchanged, if the other CPU is offline or busy.
 */
bool tsct_tsc_skew_compare(struct tsct_cpu_check *line, __s64 budget_ns);

#endif /* TSCT_TSC_SKEW_H */
