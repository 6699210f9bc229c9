/* SPDX-License-Identifier: MIT */
/*
 * Bound of CLOCK_REALTIME's distance from UTC, as ClockBound or the kernel states it. The
 * error of a conversion from cycles to CLOCK_REALTIME is not part of this bound.
 */
#ifndef TSCT_UTC_H
#define TSCT_UTC_H

#include <tsctrace/tsctrace.h>

/* Growth of the kernel's own bound between updates by an NTP daemon, ppb (MAXFREQ) */
#define TSCT_UTC_KERNEL_PPB	500000

/* File of the ClockBound daemon's shared memory */
#define TSCT_CLOCKBOUND_PATH	"/var/run/clockbound/shm0"

/* Size of the contents of TSCT_CLOCKBOUND_PATH, bytes, in version 2 of the protocol */
#define TSCT_CLOCKBOUND_SIZE	72

/* Value of since_restore_ns if the virtual machine was not restored */
#define TSCT_NOT_RESTORED	UINT64_MAX

struct timex;

/*
 * tsct_utc_from_kernel - get the bound that the kernel states
 * @result: result of adjtimex(2), -1: failed
 * @timex: struct that adjtimex(2) has filled in; not read if @result is -1
 * @since_restore_ns: time since the virtual machine was restored, by
 *	CLOCK_MONOTONIC_COARSE, read before adjtimex(2); or TSCT_NOT_RESTORED
 *
 * Returns 0, or the reason why the bound is unknown: -ENODATA: TIME_ERROR, STA_UNSYNC,
 * or the stated bound is 16 s or more; -EBUSY: the kernel slews CLOCK_REALTIME by more than
 * TSCT_UTC_KERNEL_PPB (tick and freq); -ESTALE: maxerror does not prove that it was set
 * later than the restore.
 */
int tsct_utc_from_kernel(int result, const struct timex *timex,
			 __u64 since_restore_ns, struct tsct_utc *ret);

/*
 * tsct_utc_from_clockbound - get the bound that ClockBound states
 * @bytes: contents of TSCT_CLOCKBOUND_PATH
 * @now_ns: CLOCK_MONOTONIC_COARSE, ns
 *
 * Returns 0; -EAGAIN: ClockBound is writing; -EPROTO: @bytes are not of version
 * 2; -ESTALE: the bound is too old, or of the future; -ENODATA: ClockBound
 * knows no bound; -ERANGE: impossible values. *ret is "unknown" after an error.
 */
int tsct_utc_from_clockbound(const unsigned char bytes[TSCT_CLOCKBOUND_SIZE],
			     __s64 now_ns, struct tsct_utc *ret);

/*
 * Reads the bound: from ClockBound's file @path if the file belongs to root or this
 * user, is not writable by others and is valid, else from the kernel. @path may be NULL:
 * then only the kernel's bound is read. After a restore, both bounds are unknown until the
 * kernel's maxerror was set: ClockBound's bound comes from chronyd, which sets maxerror,
 * too. Not signal safe.
 * Returns 0; the error of tsct_utc_from_kernel() if no bound is known; or -errno of
 * adjtimex(2).
 */
int tsct_utc_read(const char *path, __u64 since_restore_ns, struct tsct_utc *ret);

/* Gets the bound in a published state, as it is @age_ns after state->utc_as_of_cycles. */
void tsct_utc_from_state(const struct tsct_clock_state *state, __u64 age_ns,
			 struct tsct_utc *ret);

/* Returns the bound as it is @age_ns after @utc was read; UINT64_MAX: unknown. */
__u64 tsct_utc_error_after(const struct tsct_utc *utc, __u64 age_ns);

#endif /* TSCT_UTC_H */
