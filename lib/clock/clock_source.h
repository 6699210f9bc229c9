/* SPDX-License-Identifier: MIT */
/* The clock source: the counter that cycles come from, TSC or a kernel clock. */
#ifndef TSCT_CLOCK_SOURCE_H
#define TSCT_CLOCK_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <tsctrace/tsctrace.h>

/* Compares the counters of all CPUs and fills in check->flags. */
typedef int (*tsct_tsc_check_fn)(struct tsct_check *check);

/*
 * tsct_source_check_cpus - set the function that compares the CPUs' counters in this process
 * @check_cpus: called if only a comparison of all CPUs can decide on a source, that is
 *	for an invariant TSC that the kernel neither uses nor has marked unstable
 *	(its clocksource is kvm-clock, hyperv, hpet ...)
 *
 * Call it in main(), before any clock is opened. tsctraced and trace-ctl set
 * tsct_tsc_check_run(). Other programs that link the library set no function, because the
 * check blocks and starts threads: they do not use such a TSC.
 */
void tsct_source_check_cpus(tsct_tsc_check_fn check_cpus);

/*
 * tsct_source_choose - choose the source that this process should use
 * @why: the reason, a sentence without a full stop; may be NULL with size 0
 *
 * Chooses the module's source, if the module is loaded and this process can
 * read that source; else the TSC, if this process may execute RDTSCP and
 * core/tsc_trust.h accepts the TSC; else the first of MONOTONIC_RAW, MONOTONIC
 * and REALTIME that can be read. Returns TSCT_SOURCE_*.
 */
int tsct_source_choose(char *why, size_t size);

/*
 * Chooses the source for this process without the module: the TSC if trusted, else the
 * first readable one of MONOTONIC_RAW, MONOTONIC and REALTIME. Arguments: see
 * tsct_source_choose(). Returns TSCT_SOURCE_*.
 */
int tsct_source_choose_local(char *why, size_t size);

/* Returns true if the CPU has RDTSCP and this process may execute it. Reads no file. */
bool tsct_tsc_readable(void);

/*
 * Writes the kernel's clocksource (tsc, hpet, acpi_pm, kvm-clock ...) to
 * check->clocksource; "" if it cannot be read.
 */
void tsct_source_clocksource(struct tsct_check *check);

/*
 * tsct_source_features - get the TSC's properties as CPUID and the kernel report
 * them, without a comparison of the CPUs
 *
 * Sets TSCT_CHECK_RDTSCP (this process may execute RDTSCP), INVARIANT, NONSTOP,
 * UNSTABLE and CLOCKSOURCE in check->flags, and check->clocksource. Reads files
 * in /proc and /sys, and never raises a signal.
 */
void tsct_source_features(struct tsct_check *check);

/* tsct_source_compare - measure a lower and an upper bound of @clock minus CLOCK_MONOTONIC, ns */
void tsct_source_compare(clockid_t clock, __s64 *ret_min_ns, __s64 *ret_max_ns);

/*
 * tsct_boot_id - read the boot ID of the running kernel, a UUID; *ret_id has the bytes
 * in the order of the UUID's text. Returns 0 or -errno.
 */
int tsct_boot_id(__u8 ret_id[16]);

#endif /* TSCT_CLOCK_SOURCE_H */
