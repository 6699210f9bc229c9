/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_CPUCHECK_H
#define TSCT_KMOD_CPUCHECK_H

#include <linux/types.h>
#include <tsctrace/abi.h>

#include "../lib/core/tsc_trust.h"

/* Checks all CPUs, from now on after hotplug too, and chooses the source of cycles. */
int tsct_cpucheck_init(void);
void tsct_cpucheck_exit(void);
void tsct_cpucheck_report(void);	/* Logs one line about the state of the TSC. */

/* Returns the TSCT_SOURCE_* of new channels. May sleep. */
u32 tsct_cpucheck_source(void);

/* Returns the source that the last check chose. Callable in any context. */
u32 tsct_cpucheck_source_last(void);

/* Checks every online CPU again. Returns 0 or -EINTR. */
int tsct_cpucheck_run(void);
/* Schedules a work item that checks every online CPU again. */
void tsct_cpucheck_schedule(void);

/* Reads the kernel's clocks at one TSC value. Returns false if its clocksource is another. */
bool tsct_cpucheck_snapshot(struct tsct_clock_snapshot *ret);

/*
 * Fills in the output fields of *check. Returns a copy of the table, check->nr entries,
 * which the caller frees by kvfree(); or ERR_PTR(-ENOMEM).
 */
struct tsct_cpu_check *tsct_cpucheck_get(struct tsct_check *check);

#endif /* TSCT_KMOD_CPUCHECK_H */
