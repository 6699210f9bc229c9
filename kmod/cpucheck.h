/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_CPUCHECK_H
#define TSCT_KMOD_CPUCHECK_H

#include <linux/types.h>
#include <tsctrace/abi.h>

#include "../lib/core/tsc_trust.h"

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
 * snapshot.c: the kernel's clocks at one count of the TSC. False: it keeps time
 * by something else.
 */
bool tsct_cpucheck_snapshot(struct tsct_clock_snapshot *ret);

/* Fills in what is out in *check; the table of check->nr is the caller's. */
struct tsct_cpu_check *tsct_cpucheck_get(struct tsct_check *check);

/*
 * measure.c: fills in the entry of a CPU that is online and stays so, as is the
 * one it is compared with; or of one that is not.
 */
void tsct_measure_cpu(struct tsct_cpu_check *entry, u32 cpu, u32 reference);
void tsct_measure_none(struct tsct_cpu_check *entry, u32 cpu);

/*
 * exchange.c: bounds of `cpu`'s counter minus the reference's. Both are
 * online and stay so. -ETIMEDOUT: they never met, -ERANGE: a counter jumped.
 */
int tsct_exchange_skew(u32 reference, u32 cpu, struct tsct_skew_interval *skew);

#endif /* TSCT_KMOD_CPUCHECK_H */
