/* SPDX-License-Identifier: MIT */
/*
 * Counter values of packets. The kernel timestamps packets by CLOCK_REALTIME; the clock
 * segments in the clock area convert such a timestamp to cycles, with an error bound.
 */
#ifndef TSCTRACED_PACKET_CLOCK_H
#define TSCTRACED_PACKET_CLOCK_H

#include <time.h>

#include "lib/clock/clock_private.h"
#include "daemon/clock/platform_linux.h"
#include "lib/ntp/client.h"

struct packet_clock {
	const struct timekeeper *timekeeper;
	const struct platform *platform;
	struct tsct_clock_full clock;	/* reader of the daemon's own clock file */
	/* packet_clock_refresh() sets the fields `usable` and `hz`. */
	bool usable;			/* CLOCK_REALTIME agrees with the clock page */
	double hz;			/* frequency of the counter; 0: unknown */
	/* error bound of packet times that this process takes, on any CPU, cycles; set
	 * by packet_clock_refresh() */
	__u32 skew_cycles;
};

/*
 * packet_clock_refresh - update the packet clock from the published clock
 *
 * Call before each batch of packets. Checks that CLOCK_REALTIME agrees with the
 * published clock: if it was set just now, kernel timestamps cannot be
 * converted.
 */
void packet_clock_refresh(struct packet_clock *c);

/*
 * packet_clock_kernel - convert a kernel timestamp of a packet to cycles
 * @after, @before: the timestamp was certainly taken after and before these cycles
 * @fallback: packet time to return if the timestamp is impossible, or cannot be
 *	converted
 */
struct tsct_packet_time packet_clock_kernel(const struct packet_clock *c,
					    const struct timespec *ts,
					    __u64 after, __u64 before,
					    __u64 fallback);

/* Converts cycles to CLOCK_REALTIME and an error bound, ns; false: unknown */
bool packet_clock_real(const struct packet_clock *c, __u64 cycles, __s64 *ret_ns,
		       __u64 *ret_error_ns);

/* Estimates CLOCK_REALTIME at a counter value, ns. If the clock cannot convert this
 * value, extrapolates from the present time at the counter's rate. */
__s64 packet_clock_estimate_ns(const struct packet_clock *c, __u64 cycles);

/* Converts a duration from ns to cycles, at 1 GHz if the rate is unknown. */
__s64 packet_clock_cycles(const struct packet_clock *c, __s64 ns);

#endif /* TSCTRACED_PACKET_CLOCK_H */
