/* SPDX-License-Identifier: MIT */
/* The counter that this machine stamps events with: the TSC, or a kernel clock. */
#ifndef TSCT_CLOCK_SOURCE_H
#define TSCT_CLOCK_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <tsctrace/tsctrace.h>

/*
 * Compares the counters of all CPUs; fills in check->flags. tsct_tsc_check_run()
 * is one; the library that programs link has none.
 */
typedef int (*tsct_tsc_check_fn)(struct tsct_check *check);

/*
 * tsct_source_choose - the source of this machine's stamps
 * @check_cpus: called where only a comparison of all CPUs can decide (an
 *	invariant TSC that the kernel neither uses nor has given up); NULL: the
 *	TSC is then not used
 * @why: the reason, a sentence without a full stop; may be NULL with size 0
 *
 * The module's choice where it is loaded. Else the TSC, if the CPU has RDTSCP,
 * the process may read it and core/tsc_trust.h accepts it. Else the first of
 * MONOTONIC_RAW, MONOTONIC and REALTIME that can be read. Returns TSCT_SOURCE_*.
 */
int tsct_source_choose(tsct_tsc_check_fn check_cpus, char *why, size_t size);

/* The same, without the module. */
int tsct_source_choose_local(tsct_tsc_check_fn check_cpus, char *why,
			     size_t size);

/* True if this process may execute RDTSCP, and the CPU has it. Reads no file. */
bool tsct_tsc_readable(void);

/*
 * Writes the kernel's clocksource (tsc, hpet, acpi_pm, kvm-clock ...) to
 * check->clocksource; "" if it cannot be read.
 */
void tsct_source_clocksource(struct tsct_check *check);

/*
 * tsct_source_features - what CPUID and the kernel report; visits no CPU
 *
 * Sets RDTSCP (the instruction exists and this process may use it),
 * INVARIANT, NONSTOP, UNSTABLE and CLOCKSOURCE in check->flags, and
 * check->clocksource. Reads some files, and never raises a signal.
 */
void tsct_source_features(struct tsct_check *check);

/* Boot id of the running kernel. 0 or -errno. */
int tsct_boot_id(__u8 ret_id[16]);

#endif /* TSCT_CLOCK_SOURCE_H */
