/* SPDX-License-Identifier: MIT */
/*
 * The CPU-id check without the module: what user space can find out about the
 * counters by itself. Same structs as TSCT_IOC_CHECK.
 */
#ifndef TSCT_USERCHECK_H
#define TSCT_USERCHECK_H

#include <stdbool.h>

#include <tsctrace/abi.h>

/*
 * Did this thread ask, by prctl(), that reading the TSC is its end? Then clocks
 * are read by system calls from now on.
 */
bool tsct_tsc_forbidden(void);

/* May this process execute RDTSCP, and does the CPU have it? No file is read. */
bool tsct_tsc_readable(void);

/*
 * What the kernel keeps time by (tsc, hpet, acpi_pm, kvm-clock ...), in
 * check->clocksource; "" where that is not to be had.
 */
void tsct_usercheck_clocksource(struct tsct_check *check);

/*
 * tsct_usercheck_quick - what CPUID and the kernel say; no CPU is visited
 *
 * Sets RDTSCP (the instruction exists and this process may use it),
 * INVARIANT, NONSTOP, UNSTABLE and CLOCKSOURCE in check->flags, and
 * check->clocksource. Takes some file reads, and never raises a signal.
 */
void tsct_usercheck_quick(struct tsct_check *check);

/*
 * tsct_usercheck_run - the whole check
 * @check: as for TSCT_IOC_CHECK: table and nr in, all else out; tsc_khz is 0
 *
 * Visits every CPU that this thread may run on, in threads of its own, and
 * compares each one's counter with the first one's, within some 200 ms. The
 * verdict, TSCT_CHECK_USABLE, is that of core/verdict.h, not strict.
 * Returns 0; -ENOMEM; -EAGAIN: no thread could be started.
 */
int tsct_usercheck_run(struct tsct_check *check);

#endif /* TSCT_USERCHECK_H */
