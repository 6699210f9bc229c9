/* SPDX-License-Identifier: MIT */
/*
 * Reads the kernel's clocks, also in threads that may not read the TSC. All
 * functions are thread safe and async-signal-safe.
 */
#ifndef TSCT_GETTIME_H
#define TSCT_GETTIME_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Set when tsct_tsc_forbidden() finds a thread that may not read the TSC, and never
 * cleared. The C library's clock_gettime() reads the TSC if it is the kernel's
 * clocksource, and would raise SIGSEGV in such a thread.
 */
extern bool tsct_tsc_is_forbidden;

/* Reads a clock like clock_gettime(2), but by a system call if the TSC is forbidden. */
static inline int tsct_gettime(clockid_t clock, struct timespec *ret_time)
{
	if (__builtin_expect(__atomic_load_n(&tsct_tsc_is_forbidden,
					     __ATOMIC_RELAXED), 0))
		return (int)syscall(SYS_clock_gettime, clock, ret_time);
	return clock_gettime(clock, ret_time);
}

/*
 * Offsets of this process's time namespace, ns: a clock's time in the namespace minus its
 * time on the host. `known` is false until tsct_time_namespace_read() has set the offsets.
 */
struct tsct_time_namespace {
	bool known;
	__s64 monotonic_ns, boottime_ns;
};

extern struct tsct_time_namespace tsct_time_namespace;
void tsct_time_namespace_read(void);

/*
 * Returns a clock's time in ns; 0: this kernel has no such clock. In a time namespace, the time
 * is the host's, which the kernel, the daemon and programs in other namespaces use.
 */
static inline __s64 tsct_gettime_ns(clockid_t clock)
{
	const struct tsct_time_namespace *own = &tsct_time_namespace;
	struct timespec now;

	if (tsct_gettime(clock, &now))
		return 0;
	if (__builtin_expect(!__atomic_load_n(&own->known, __ATOMIC_ACQUIRE), 0))
		tsct_time_namespace_read();
	return now.tv_sec * 1000000000LL + now.tv_nsec -
		(clock == CLOCK_BOOTTIME ? own->boottime_ns :
		 clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW ||
		 clock == CLOCK_MONOTONIC_COARSE ? own->monotonic_ns : 0);
}

/* Returns CLOCK_MONOTONIC in ns, for timeouts: setting the system clock does not change it. */
static inline __s64 tsct_monotonic_ns(void)
{
	return tsct_gettime_ns(CLOCK_MONOTONIC);
}

/*
 * tsct_tsc_forbidden - returns true if this thread may not read the TSC (PR_SET_TSC).
 * The process then reads clocks by system calls from now on.
 */
bool tsct_tsc_forbidden(void);

#endif /* TSCT_GETTIME_H */
