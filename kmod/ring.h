/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_RING_H
#define TSCT_KMOD_RING_H

#include <linux/timekeeping.h>
#include <asm/msr.h>
#include <asm/tsc.h>	/* rdtsc(), from 6.16 on */

#include "../lib/core/ring.h"

struct page;
struct tsct_kchannel;

/*
 * One CPU's ring. The pages are mapped as one range: consumer page, producer page,
 * data. A value that user space can write is read once and checked before use; this
 * struct has the trusted copies of geometry and, in kernel channels, head.
 */
struct tsct_ring {
	/* Kernel channels only; written by the writer on this CPU. */
	bool busy;		/* a record is being written */
	u32 left;		/* bytes at `next` that need no checks */
	u8 *next;		/* address of the next record in data */
	u64 head;		/* trusted copy of tsct_producer.head */
	u64 last_cycles;	/* last cycles; for sources other than the TSC */
	/* All channels */
	struct tsct_producer *producer;
	struct tsct_geometry geo;
	u32 source;		/* TSCT_SOURCE_* */
	struct tsct_consumer *consumer;
	u8 *data;
	struct page **pages;
	u32 nr_pages;
} ____cacheline_aligned;

/* The present cycles of @source. Any context, NMI too. */
static __always_inline u64 tsct_source_read(u32 source)
{
	if (likely(source == TSCT_SOURCE_TSC))
		return rdtsc_ordered();
	return ktime_get_raw_fast_ns();
}

/*
 * tsct_ring_write - write a record to this CPU's ring for a user program
 * @payload: kernel memory, @len bytes; not read if @len exceeds tsct_payload_max()
 *
 * Process context only. Returns 0, or, counted as lost: -ENOSPC: full, -EMSGSIZE: too
 * big, -ENXIO: no ring on this CPU.
 */
int tsct_ring_write(struct tsct_kchannel *channel, u32 id, const void *payload,
		    u32 len);

/* bpf.c: registers the kfunc; logs why where that fails */
void tsct_bpf_init(void);
/* True if the kfunc is registered. */
bool tsct_bpf_ready(void);
/* The kfunc. Called only by BPF programs, which find it through BTF. */
int tsct_bpf_emit(u32 channel, u32 event, const void *payload, u32 payload__sz);

#endif /* TSCT_KMOD_RING_H */
