// SPDX-License-Identifier: MIT
/* The ring buffer in which BPF programs send records of the statedump */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "lib/client/gettime.h"
#include "lib/core/port.h"
#include "kernel_parts.h"
#include "tools/bpf/progs/events.h"
#include "monotonic.h"

#define PUMP_NS		5000000	/* maximum time of a pass, ns; then the rings are drained */

struct statedump_ring {
	const struct tsct_clock *clock;
	struct monotonic monotonic;
	struct ring_buffer *buffer;
	int map, counts_map;
	__u64 *counts;		/* index: enum statedump_count; mapped from counts_map */
	/* set by the current call of statedump_ring_pump() */
	__s64 until_ns;		/* CLOCK_MONOTONIC */
	statedump_take *take;
	void *context;
};

static int take_next(void *context, void *data, size_t size)
{
	struct statedump_ring *ring = context;
	const struct record *record = data;
	int err = ring->take(ring->context, record->id,
			     monotonic_to_cycles(&ring->monotonic, record->monotonic_ns),
			     record + 1, size - sizeof(*record));

	/* libbpf removes the record from the ring buffer even after an error. */
	return err ?: tsct_monotonic_ns() > ring->until_ns ? -EBUSY : 0;
}

int statedump_ring_pump(struct statedump_ring *ring, statedump_take *take_record,
			void *context)
{
	struct monotonic_reading now;
	int nr = monotonic_follow(&ring->monotonic, ring->clock, &now);

	if (nr <= 0)
		return nr == -EAGAIN ? 0 : nr;
	ring->until_ns = tsct_monotonic_ns() + PUMP_NS;
	ring->take = take_record;
	ring->context = context;
	nr = ring_buffer__consume(ring->buffer);
	return nr == -EBUSY ? 1 : nr > 0 ? 0 : nr;
}

int statedump_ring_open(const struct tsct_clock *clock, __u32 size,
			struct bpf_shared *shared, struct statedump_ring **ret)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	struct statedump_ring *ring = calloc(1, sizeof(*ring));
	int err;

	if (!ring)
		return -ENOMEM;
	ring->clock = clock;
	ring->counts = MAP_FAILED;
	ring->counts_map = -1;
	ring->map = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "tsct_statedump", 0, 0,
				   size, NULL);
	if (ring->map >= 0)
		ring->counts_map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "tsct_sd_counts",
						  sizeof(__u32), sizeof(__u64),
						  STATEDUMP_COUNTS, &options);
	if (ring->counts_map >= 0)
		ring->buffer = ring_buffer__new(ring->map, take_next, ring, NULL);
	if (ring->buffer)
		ring->counts = mmap(NULL, TSCT_PAGE_SIZE, PROT_READ, MAP_SHARED,
				    ring->counts_map, 0);
	if (ring->counts == MAP_FAILED) {
		err = -errno;
		statedump_ring_close(ring);
		return err;
	}
	shared->statedump = ring->map;
	shared->statedump_counts = ring->counts_map;
	*ret = ring;
	return 0;
}

void statedump_ring_close(struct statedump_ring *ring)
{
	if (!ring)
		return;
	if (ring->counts != MAP_FAILED)
		munmap(ring->counts, TSCT_PAGE_SIZE);
	ring_buffer__free(ring->buffer);
	if (ring->counts_map >= 0)
		close(ring->counts_map);
	if (ring->map >= 0)
		close(ring->map);
	free(ring);
}

unsigned long statedump_ring_count(const struct statedump_ring *ring, unsigned int count)
{
	return READ_ONCE(ring->counts[count]);
}
