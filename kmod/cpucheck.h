/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_CPUCHECK_H
#define TSCT_KMOD_CPUCHECK_H

#include <linux/types.h>
#include <tsctrace/abi.h>

#include "../lib/core/skew_interval.h"

int tsct_cpucheck_init(void);
int tsct_cpucheck_start(void);		/* from here on it follows events */
void tsct_cpucheck_stop(void);
void tsct_cpucheck_exit(void);
void tsct_cpucheck_report(void);	/* one line for the kernel log */

/* What new channels and the clock count by. Process context. */
u32 tsct_cpucheck_source(void);

/* Checks every online CPU again. */
int tsct_cpucheck_run(void);
/* The same, soon. */
void tsct_cpucheck_schedule(void);

/*
 * The kernel's clocks at one count of the TSC. False: it keeps time
 * by something else.
 */
bool tsct_cpucheck_snapshot(struct tsct_clock_snapshot *ret);

/* Fills in what is out in *check; the table of check->nr is the caller's. */
struct tsct_cpu_check *tsct_cpucheck_get(struct tsct_check *check);

/*
 * tsc_skew.c: fills in the entry of a CPU that is online and stays so, as is the
 * one it is compared with; or of one that is not.
 */
void tsct_cpu_check_measure(struct tsct_cpu_check *entry, u32 cpu, u32 reference);
void tsct_cpu_check_init(struct tsct_cpu_check *entry, u32 cpu);

#endif /* TSCT_KMOD_CPUCHECK_H */
