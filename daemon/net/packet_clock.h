/* SPDX-License-Identifier: MIT */
/*
 * Stamps of packets. The kernel stamps them by CLOCK_REALTIME; what the counter
 * was then the clock area's history tells, within a bound.
 */
#ifndef TSCTRACED_NETCLOCK_H
#define TSCTRACED_NETCLOCK_H

#include <time.h>

#include "lib/clock/clock_private.h"
#include "daemon/clock/platform_linux.h"
#include "lib/ntp/client.h"

struct packet_clock {
	const struct timekeeper *keeper;
	const struct platform *real;
	struct tsct_clock_full clock;	/* of the daemon's own clock file */
	/* Of this round, see packet_clock_round() */
	bool usable;
	double hz;			/* 0: not known */
};

void packet_clock_init(struct packet_clock *c, const struct timekeeper *keeper,
		   const struct platform *real);

/* The counter now, in order; and stamps taken of it */
__u64 packet_clock_now(const struct packet_clock *c);

/*
 * packet_clock_round - before a round of packets is looked at: does CLOCK_REALTIME
 * go on as the clock area has it? If it was set just now, nothing that the
 * kernel stamped can be told.
 */
void packet_clock_round(struct packet_clock *c);

/*
 * packet_clock_kernel - what the counter was at a stamp of the kernel's
 * @after, @before: it was between these for certain
 *
 * A stamp that cannot be, or cannot be converted, is @fallback, a program's.
 */
struct tsct_packet_time packet_clock_kernel(const struct packet_clock *c,
				  const struct timespec *ts, __u64 after,
				  __u64 before, __u64 fallback);

/* CLOCK_REALTIME at a stamp; false: not known. *ret_error_ns: its bound */
bool packet_clock_real(const struct packet_clock *c, __u64 ticks, __s64 *ret_ns,
		   __u64 *ret_error_ns);

/* Ticks of a length in ns */
__s64 packet_clock_cycles(const struct packet_clock *c, __s64 ns);

#endif /* TSCTRACED_NETCLOCK_H */
