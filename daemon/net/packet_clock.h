/* SPDX-License-Identifier: MIT */
/* Counter values of packets. The kernel timestamps packets by CLOCK_REALTIME;
 * the clock area's history converts that to the counter, with a bound. */
#ifndef TSCTRACED_PACKET_CLOCK_H
#define TSCTRACED_PACKET_CLOCK_H

#include <time.h>

#include "lib/clock/clock_private.h"
#include "daemon/clock/platform_linux.h"
#include "lib/ntp/client.h"

struct packet_clock {
	const struct timekeeper *timekeeper;
	const struct platform *platform;
	struct tsct_clock_full clock;	/* of the daemon's own clock file */
	/* As of the last packet_clock_refresh() */
	bool usable;
	double hz;			/* of the counter; 0: not known */
};

void packet_clock_init(struct packet_clock *c,
		       const struct timekeeper *timekeeper,
		       const struct platform *platform);

/* The counter now, ordered with the system calls around it */
__u64 packet_clock_now(const struct packet_clock *c);

/*
 * packet_clock_refresh - to be called before a batch of packets is processed:
 * follows the published clock, and checks that CLOCK_REALTIME agrees with it.
 * If it was set just now, kernel timestamps cannot be converted.
 */
void packet_clock_refresh(struct packet_clock *c);

/*
 * packet_clock_kernel - the counter at a kernel timestamp
 * @after, @before: counter values that the timestamp was certainly taken
 * between
 * @fallback: used if the timestamp is impossible, or cannot be converted
 */
struct tsct_packet_time packet_clock_kernel(const struct packet_clock *c,
					    const struct timespec *ts,
						__u64 after,
					    __u64 before, __u64 fallback);

/* CLOCK_REALTIME at a counter value, and its bound; false: not known */
bool packet_clock_real(const struct packet_clock *c, __u64 cycles, __s64 *ret_ns,
		       __u64 *ret_error_ns);

/* A duration in cycles; as if at 1 GHz where the rate is not known */
__s64 packet_clock_cycles(const struct packet_clock *c, __s64 ns);

#endif /* TSCTRACED_PACKET_CLOCK_H */
