/* SPDX-License-Identifier: MIT */
/*
 * The TSC check without the module: compares the counters of all CPUs from user
 * space. Same structs as TSCT_IOC_CHECK.
 */
#ifndef TSCT_TSC_CHECK_H
#define TSCT_TSC_CHECK_H

#include <tsctrace/abi.h>

/*
 * tsct_tsc_check_run - the whole check
 * @check: as for TSCT_IOC_CHECK: table and nr in, all else out; tsc_khz is 0
 *
 * Visits every CPU that this thread may run on, in threads of its own, and
 * compares each one's counter with the first one's, within some 200 ms.
 * TSCT_CHECK_USABLE is set by the rule of core/tsc_trust.h, not strict.
 * Returns 0; -ENOMEM; -EAGAIN: no thread could be started.
 */
int tsct_tsc_check_run(struct tsct_check *check);

#endif /* TSCT_TSC_CHECK_H */
