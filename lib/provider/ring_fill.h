/* SPDX-License-Identifier: MIT */
/*
 * Writes events into the rings of a channel that only the holder of its memory writes
 * (TSCT_CHANNEL_KERNEL), in the place of the kernel: for events that came another way,
 * with the times that they have. One thread at a time may write to a ring.
 */
#ifndef TSCT_RING_FILL_H
#define TSCT_RING_FILL_H

#include <tsctrace/tsctrace.h>

/*
 * tsct_ring_fill - append an event to the ring of a CPU
 * @channel: open for writing; no other process or thread writes to it
 * @cpu: below the channel's nr_cpus
 * @event: header of the event. len includes its payload, which is at most
 *	TSCT_PAYLOAD_MAX; cycles are not lower than those of the ring's last event
 *
 * Returns false, and writes nothing, if the ring is full (discard policy).
 */
bool tsct_ring_fill(struct tsct_channel *channel, unsigned int cpu,
		    const struct tsct_record *event, const void *payload);

/* Sets the number of events of a CPU that were lost for @cause, TSCT_LOST_*. */
void tsct_ring_fill_lost(struct tsct_channel *channel, unsigned int cpu,
			 unsigned int cause, __u64 events);

#endif /* TSCT_RING_FILL_H */
