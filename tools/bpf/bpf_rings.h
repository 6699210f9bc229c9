/* SPDX-License-Identifier: MIT */
/*
 * Ring buffers of BPF, one per CPU, in which BPF programs record events on a kernel
 * without the module. The recorder moves the events into the rings of a channel, with
 * counter values in place of the times of CLOCK_MONOTONIC, and in order.
 */
#ifndef TSCT_TOOLS_BPF_RINGS_H
#define TSCT_TOOLS_BPF_RINGS_H

#include <tsctrace/tsctrace.h>

struct bpf_rings;

/*
 * bpf_rings_open - make a ring buffer for each CPU, of the size of the channel's rings
 * @channel: with TSCT_CHANNEL_KERNEL, open for writing. The caller closes it, and
 *	@clock, later than the ring buffers.
 *
 * Returns 0 or -errno.
 */
int bpf_rings_open(struct tsct_channel *channel, const struct tsct_clock *clock,
		   struct bpf_rings **ret_rings);
void bpf_rings_close(struct bpf_rings *rings);

/* Descriptors of the maps `rings` and `counts` of progs/kernel.h */
int bpf_rings_map(const struct bpf_rings *rings);
int bpf_rings_counts(const struct bpf_rings *rings);

/*
 * bpf_rings_pump - move events into the rings of the channel
 *
 * A program that interrupts another one on its CPU records a later time first. So the
 * events of the last HOLD_NS are held back, and sorted. An event that comes even later
 * is moved out of order, and the recording counts it as lost (disorder). Returns the
 * number of events moved, or -errno.
 */
int bpf_rings_pump(struct bpf_rings *rings);

/*
 * bpf_rings_flush - move all events up to the end of the recording
 * @end: in cycles
 *
 * To be called when no program is attached any more, with the same @end each time, until it
 * returns 0: there may be more events for which the channel's rings have no room yet. Later
 * events are left out: all programs and CPUs end at the same time. Returns as
 * bpf_rings_pump().
 */
int bpf_rings_flush(struct bpf_rings *rings, uint64_t end);

/* Returns the number of events that programs recorded, and that were not moved. */
uint64_t bpf_rings_missing(const struct bpf_rings *rings);

#endif /* TSCT_TOOLS_BPF_RINGS_H */
