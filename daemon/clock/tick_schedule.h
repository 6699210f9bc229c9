/* SPDX-License-Identifier: MIT */
/*
 * Times of the timekeeper's ticks. After a second of sleep, most of a tick's cost, and
 * of a packet's, is that caches are cold. So a tick that is due soon follows the packets
 * that woke the daemon; but not between the packets of a poll, which it would delay.
 * Pure: the time is an argument.
 */
#ifndef TSCTRACED_TICK_SCHEDULE_H
#define TSCTRACED_TICK_SCHEDULE_H

#include <stdbool.h>
#include <tsctrace/abi.h>

/* Times are of CLOCK_MONOTONIC, ns. All members 0: the first tick is due at once. */
struct tick_schedule {
	__s64 last_ns;		/* time of the latest tick */
	__s64 interval_ns;	/* nominal time from a tick to the next one */
	__s64 quiet_ns;		/* time from which on no more packets are expected; 0:
				 * none came since that tick */
	bool had_packets;	/* packets came in the interval before the latest tick */
};

/* Records a tick at @now_ns; the next one is due about @interval_ns later. */
void tick_schedule_ticked(struct tick_schedule *schedule, __s64 now_ns,
			  __s64 interval_ns);

/* Records that a packet was received at @now_ns. @more: others may follow at once */
void tick_schedule_packet(struct tick_schedule *schedule, __s64 now_ns, bool more);

/*
 * tick_schedule_due - time of the next tick, ns
 *
 * One interval after the latest tick; or, next to packets, between three quarters of an
 * interval and one and a quarter after it.
 */
__s64 tick_schedule_due(const struct tick_schedule *schedule);

#endif /* TSCTRACED_TICK_SCHEDULE_H */
