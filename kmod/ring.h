/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_RING_H
#define TSCT_KMOD_RING_H

#include <linux/timekeeping.h>
#include <asm/msr.h>
#include <asm/tsc.h>	/* asm/tsc.h declares rdtsc() from 6.16 on */

#include "../lib/core/ring.h"

struct page;
struct tsct_kchannel;

/*
 * One CPU's ring. The pages are mapped as one range: consumer page, producer page,
 * data. Values that user space can write are read once and checked before use; this
 * struct has trusted copies of the geometry and, in kernel channels, of the head.
 */
struct tsct_ring {
	/* Members for kernel channels only; written by the writer on this CPU */
	u32 busy;		/* TSCT_RING_*: whether a writer is storing a record */
	u32 left;		/* bytes from `next` on that records may take without
				 * checks for a full ring or the end of the block;
				 * watch.c on any CPU may set it to 0
				 */
	u8 *next;		/* address of the next record in data */
	u64 head;		/* trusted copy of tsct_producer.head */
	/* Members used for kernel channels and user channels */
	u64 last_cycles;	/* cycles of the last record; unused if the source is the TSC */
	struct tsct_kchannel *channel;
	struct tsct_producer *producer;
	struct tsct_geometry geo;
	u32 source;		/* source of the cycles in records, TSCT_SOURCE_* */
	struct tsct_consumer *consumer;
	u8 *data;
	struct page **pages;
	u32 nr_pages;
	/*
	 * Member for kernel channels only, written by watch.c: position from which on the slow
	 * path queues the channel's `notify`, if notify_armed is set
	 */
	u64 notify_at;
	/* For kernel channels only: event that interrupted the writer; the writer records it */
	struct tsct_record nested;
	u8 nested_payload[];
} ____cacheline_aligned;

/* Size of nested_payload, bytes; rings of user channels have no nested_payload */
#define TSCT_NESTED_PAYLOAD_MAX	1024

/*
 * Values of tsct_ring.busy. A writer subtracts 1 at its end, by one instruction
 * without lock prefix, because only interrupts of this CPU also change the value. BUSY
 * becomes IDLE. PENDING becomes TAKEN, and the writer records the event in `nested`.
 */
#define TSCT_RING_IDLE		0
#define TSCT_RING_BUSY		1	/* a writer stores a record; `nested` is free */
#define TSCT_RING_TAKEN		3	/* `nested` is being written or read */
#define TSCT_RING_PENDING	4	/* `nested` has an event */

/* Returns the bytes from @head to notify_at; 0: @head has reached notify_at. */
static __always_inline u64 tsct_ring_notify_rest(const struct tsct_ring *ring, u64 head)
{
	u64 rest = tsct_pos_distance(head, READ_ONCE(ring->notify_at));

	return rest >> (TSCT_POS_BITS - 1) ? 0 : rest;
}

/* Returns the present cycles of @source. Any context, NMI too. */
static __always_inline u64 tsct_source_read(u32 source)
{
	if (likely(source == TSCT_SOURCE_TSC))
		return rdtsc_ordered();
	return ktime_get_raw_fast_ns();
}

/*
 * tsct_ring_write - write a record to this CPU's ring for a user program
 * @payload: kernel memory, @len bytes; not read if @len is too large
 *
 * Process context only. Returns 0, or, with the event counted as lost: -ENOSPC: ring
 * full, -EMSGSIZE: payload too big, -ENXIO: no ring on this CPU.
 */
int tsct_ring_write(struct tsct_kchannel *channel, u32 id, const void *payload,
		    u32 len);

/*
 * tsct_bpf_emit - the kfunc: tsct_emit() to the kernel channel with a handle
 * @handle: bpf_handle of the channel, which only the channel's owner can read
 * @id: id of the event in that channel
 * @payload: @payload__sz bytes; the suffix __sz tells the BPF verifier the size of @payload
 *
 * Only BPF programs call it; they find it through BTF. Returns 0; -ENOENT: no such channel;
 * or the errors of tsct_emit(). Context: any.
 */
int tsct_bpf_emit(u64 handle, u32 id, const void *payload, u32 payload__sz);

/* api.c: registers the kfunc; on failure, logs the reason. */
void tsct_bpf_init(void);
/* Returns true if the kfunc tsct_bpf_emit() is registered. */
bool tsct_bpf_ready(void);

#endif /* TSCT_KMOD_RING_H */
