// SPDX-License-Identifier: MIT
#include "timekeeper.h"

/* Time after a packet for which further packets are expected, ns: several
 * round trips of a local network */
#define QUIET_NS	2000000

void tick_schedule_ticked(struct tick_schedule *schedule, __s64 now_ns,
			  __s64 interval_ns)
{
	*schedule = (struct tick_schedule) {
		.last_ns = now_ns,
		.interval_ns = interval_ns,
		.had_packets = schedule->quiet_ns,
	};
}

void tick_schedule_packet(struct tick_schedule *schedule, __s64 now_ns, bool more)
{
	schedule->quiet_ns = more ? now_ns + QUIET_NS : now_ns;
}

__s64 tick_schedule_due(const struct tick_schedule *schedule)
{
	const __s64 due_ns = schedule->last_ns + schedule->interval_ns;
	const __s64 tolerance_ns = schedule->interval_ns / 4;
	/* Polls follow each other at about the same interval: if packets came
	 * in the previous interval, packets are likely in this interval. */
	const bool has_packets = schedule->had_packets || schedule->quiet_ns;
	const __s64 latest_ns = has_packets ? due_ns + tolerance_ns : due_ns;

	if (schedule->quiet_ns >= due_ns - tolerance_ns &&
	    schedule->quiet_ns < latest_ns)
		return schedule->quiet_ns;
	return latest_ns;
}
