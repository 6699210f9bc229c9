/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_RING_H
#define TSCT_KMOD_RING_H

#include <linux/timekeeping.h>
#include <asm/msr.h>
#include <asm/tsc.h>	/* 6.16: it has rdtsc() */

#include "../lib/core/ring.h"

struct page;
struct tsct_kchannel;

/*
 * One CPU's ring. All pages, the consumer's first, are mapped as one range:
 * consumer page, producer page, data. What user space can write is read once
 * and never believed; geometry and, in kernel channels, the head live here.
 */
struct tsct_ring {
	/* kernel channels, by the writer of this CPU alone */
	bool busy;		/* a writer is at work */
	u32 left;		/* bytes at `next` that need no second look */
	u8 *next;		/* where head lies in data */
	u64 head;		/* the one that counts, events and all */
	u64 last_cycles;		/* sources but the TSC */
	/* all */
	struct tsct_producer *producer;
	struct tsct_geometry geo;
	u32 source;
	struct tsct_consumer *consumer;
	u8 *data;
	struct page **pages;
	u32 nr_pages;
} ____cacheline_aligned;

/* What a stamp of `source` says now. Any context, NMI too. */
static __always_inline u64 tsct_source_read(u32 source)
{
	if (likely(source == TSCT_SOURCE_TSC))
		return rdtsc_ordered();
	return ktime_get_raw_fast_ns();
}

/*
 * tsct_ring_write - the kernel writes a record for a user program
 *
 * Process context only. `payload` is kernel memory. Returns 0, or, counted as
 * lost: -ENOSPC: full, -ENXIO: no ring on this CPU.
 */
int tsct_ring_write(struct tsct_kchannel *channel, u32 id, const void *payload,
		    u32 len);

/* Counts an event of this CPU as too big without having its payload. */
void tsct_ring_lost_too_big(struct tsct_kchannel *channel);

/* bpf.c */
void tsct_bpf_init(void);
/* Can BPF programs emit events? */
bool tsct_bpf_ready(void);

/* The kfunc. BPF programs find it through BTF, nothing else calls it. */
int tsct_bpf_emit(u32 channel, u32 event, const void *payload, u32 payload__sz);

#endif /* TSCT_KMOD_RING_H */
