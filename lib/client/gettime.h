/* SPDX-License-Identifier: MIT */
/* Reads the kernel's clocks, also where the TSC is forbidden. */
#ifndef TSCT_GETTIME_H
#define TSCT_GETTIME_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Set for good when a thread turns out to have forbidden itself the TSC (see
 * tsct_tsc_forbidden()): the C library's clock_gettime() reads it, too, where
 * the kernel keeps time by it, and would be that thread's end.
 */
extern bool tsct_tsc_is_forbidden;

static inline int tsct_gettime(clockid_t clock, struct timespec *ret_time)
{
	if (__builtin_expect(__atomic_load_n(&tsct_tsc_is_forbidden,
					     __ATOMIC_RELAXED), 0))
		return (int)syscall(SYS_clock_gettime, clock, ret_time);
	return clock_gettime(clock, ret_time);
}

/* The time that timeouts are measured by: goes on whatever is set. */
static inline __s64 tsct_monotonic_ns(void)
{
	struct timespec now;

	tsct_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/*
 * Returns true if this thread has forbidden itself to read the TSC
 * (PR_SET_TSC); clocks are then read by system calls from now on.
 */
bool tsct_tsc_forbidden(void);

#endif /* TSCT_GETTIME_H */
