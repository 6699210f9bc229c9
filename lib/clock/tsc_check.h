/* SPDX-License-Identifier: MIT */
/*
 * TSC check from user space, without the module: compares the counters of all
 * CPUs. It uses the structs of TSCT_IOC_CHECK.
 */
#ifndef TSCT_TSC_CHECK_H
#define TSCT_TSC_CHECK_H

#include <tsctrace/abi.h>

/*
 * tsct_tsc_check_run - run the check
 * @check: argument as of TSCT_IOC_CHECK: table and nr are input, all else is output;
 *	tsc_khz becomes 0
 *
 * Runs threads on every CPU that the caller's affinity allows, and compares
 * each counter with that of the first CPU. Blocks for about 200 ms, 2 s at most.
 * TSCT_CHECK_USABLE is set by core/tsc_trust.h, not strict. Returns 0, -ENOMEM,
 * or -EAGAIN: no thread could be started.
 */
int tsct_tsc_check_run(struct tsct_check *check);

#endif /* TSCT_TSC_CHECK_H */
