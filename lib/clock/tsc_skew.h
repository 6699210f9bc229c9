/* SPDX-License-Identifier: MIT */
/* The counters of two CPUs, compared from user space; for usercheck.c. */
#ifndef TSCT_TSC_SKEW_H
#define TSCT_TSC_SKEW_H

#include <stdbool.h>
#include <tsctrace/abi.h>
#include <x86intrin.h>

/* TSC_AUX and counter at one moment, in the order of the program. */
static inline unsigned int tsct_tsc_skew_aux(__u64 *ret_tsc)
{
	unsigned int aux;

	*ret_tsc = __rdtscp(&aux);
	_mm_lfence();
	return aux;
}

/*
 * Moves the calling thread to a CPU. Returns 0 or -errno: the CPU may have gone
 * offline meanwhile.
 */
int tsct_tsc_skew_pin(unsigned int cpu);

/*
 * tsct_tsc_skew_compare - compare the CPU that we are pinned to with another
 * @line: of the other; gets the bounds, if there are any
 * @budget_ns: time for exchanges
 *
 * False if the counters are known to differ; where nothing can be found out, as
 * the other CPU is gone or busy, the line stays as it is.
 */
bool tsct_tsc_skew_compare(struct tsct_cpu_check *line, __s64 budget_ns);

#endif /* TSCT_TSC_SKEW_H */
