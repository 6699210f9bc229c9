/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Buffers in which BPF programs make events that are too large for a program's stack */
#ifndef TSCT_BPF_BUFFERS_H
#define TSCT_BPF_BUFFERS_H

#include "kernel.h"

/* Number of events that were not recorded because no buffer was free */
__u64 missed;

/*
 * Buffers for events. Each CPU has several, because a program may interrupt another
 * program on the same CPU, or run while another one is preempted.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BUFFERS_PER_CPU);
	__type(key, __u32);
	__type(value, struct buffer);
} buffers SEC(".maps");

static __always_inline struct buffer *find_buffer(void)
{
	__u32 first = bpf_get_smp_processor_id() * BUFFERS_PER_CPU, i, at;
	struct buffer *buffer;

	for (i = 0; i < BUFFERS_PER_CPU; i++) {
		at = first + i;
		buffer = bpf_map_lookup_elem(&buffers, &at);
		if (buffer && !__sync_val_compare_and_swap(&buffer->taken, 0, 1))
			return buffer;
	}
	return NULL;
}

/* Returns a free buffer for an event. If none is free, counts a missed event and returns NULL. */
static __always_inline struct buffer *take_buffer(void)
{
	struct buffer *buffer = find_buffer();

	if (!buffer)
		__sync_fetch_and_add(&missed, 1);
	return buffer;
}

static __always_inline void give_buffer(struct buffer *buffer)
{
	__sync_lock_test_and_set(&buffer->taken, 0);
}

#endif /* TSCT_BPF_BUFFERS_H */
