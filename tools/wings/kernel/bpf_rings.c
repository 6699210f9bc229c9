// SPDX-License-Identifier: MIT
/* Moves events from ring buffers of BPF into the rings of a channel */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "lib/base/array.h"
#include "kernel_parts.h"
#include "lib/client/channel.h"
#include "lib/client/gettime.h"
#include "lib/core/port.h"
#include "monotonic.h"
#include "tools/bpf/progs/events.h"

/* Time for which events are held back for sorting, ns: longer than an interrupt, and longer than
 * a preempted program waits for its CPU */
#define HOLD_NS		20000000ULL
/* maximum size of the events of a CPU that are held back, bytes */
#define HELD_MAX	(8U << 20)
/* size of the ring buffer of a CPU that is not in @cpus of bpf_rings_open(), bytes */
#define RING_OTHER	(64U << 10)

/* An event that is held back */
struct held {
	__u64 ns;		/* CLOCK_MONOTONIC, ns */
	size_t at;		/* offset of the event in struct cpu_ring.bytes, bytes */
};

struct cpu_ring {
	struct ring_buffer *buffer;
	int fd;
	char *bytes;		/* events that are held back, in order of arrival */
	size_t used, room;
	struct held *held;	/* for each event in `bytes`, sorted by time, oldest first */
	size_t nr_held, held_room;
	__u64 taken;		/* number of events taken from the ring buffer */
	__u64 full, nested;	/* numbers of events lost before the recording's begin */
	__u64 refused;		/* number of events with a time before opened_ns or in the future */
	int err;
};

struct bpf_rings {
	struct tsct_channel *channel;
	const struct tsct_clock *clock;
	struct monotonic monotonic;
	struct cpu_ring *cpus;
	unsigned int nr_cpus;
	int map, counts_map;
	struct ring_counts *counts;	/* array by CPU, mapped from counts_map */
	size_t counts_size;
	/* begin and end of the recording, cycles; begin is UINT64_MAX until it has begun */
	__u64 begin, end;
	/* CLOCK_MONOTONIC when the ring buffers were made, and at the last bpf_rings_pump(), ns */
	__u64 opened_ns, now_ns;
};

/* ---- from the ring buffer ---------------------------------------------- */

/* Holds back an event. @data begins with struct record, because only BPF programs write events. */
static int hold_event(void *context, void *data, size_t size)
{
	struct cpu_ring *cpu = context;
	const struct record *record = data;
	size_t i;

	if (tsct_array_reserve(&cpu->bytes, &cpu->room, cpu->used + size + 8, 1) ||
	    tsct_array_reserve(&cpu->held, &cpu->held_room, cpu->nr_held + 1,
			       sizeof(*cpu->held))) {
		cpu->err = -ENOMEM;
		return -ENOMEM;
	}
	memcpy(cpu->bytes + cpu->used, data, size);
	for (i = cpu->nr_held++; i && cpu->held[i - 1].ns > record->monotonic_ns; i--)
		cpu->held[i] = cpu->held[i - 1];
	cpu->held[i] = (struct held) { record->monotonic_ns, cpu->used };
	cpu->used += (size + 7) & ~7UL;
	cpu->taken++;
	return cpu->used < HELD_MAX ? 0 : -EAGAIN;
}

/* ---- to the ring ------------------------------------------------------- */

/* Fills the block at @head with a pad up to its end, and writes the next block's header. */
static void begin_block(const struct tsct_geometry *geo, char *data,
			const struct tsct_ring_slot *slot, __u64 head, __u64 cycles)
{
	const __u64 mask = geo->data_size - 1;
	const __u64 pad = tsct_pad_word(slot->pad_len);
	struct tsct_block last = { 0 }, next;

	tsct_ring_block(geo, data, head, &last);
	tsct_block_next(geo, &last, head, cycles, &next);
	memcpy(data + (slot->pad_pos & mask), &pad, sizeof(pad));
	memcpy(data + ((slot->pos - sizeof(next)) & mask), &next, sizeof(next));
}

/*
 * Appends an event to the ring of a CPU, as the kernel would do: only the provider writes
 * to a channel with TSCT_CHANNEL_KERNEL.
 * @event: header of the event. len includes the payload, which is at most
 *	TSCT_PAYLOAD_MAX; cycles are not lower than those of the ring's last event
 *
 * Returns false, and writes nothing, if the ring is full (discard policy).
 */
static bool fill_ring(struct tsct_channel *channel, unsigned int cpu,
		      const struct tsct_record *event, const void *payload)
{
	struct tsct_producer *producer = tsct_ring_producer(channel, cpu);
	const struct tsct_geometry *geo = &channel->geo;
	char *data = (char *)producer + TSCT_PAGE_SIZE;
	const __u32 len = event->len - sizeof(*event);
	const __u64 head = producer->head;
	struct tsct_ring_slot slot;
	char *at;

	slot = tsct_ring_place(geo, head, tsct_record_size(len));
	/* Acquire: pairs with the reader's release of the tail, after the reader's last
	 * use of the bytes that this event overwrites. */
	if (!tsct_ring_fits(geo, slot.head,
			    smp_load_acquire(&tsct_ring_consumer(channel, cpu)->tail)))
		return false;
	if (slot.pad_len)
		begin_block(geo, data, &slot, head, event->cycles);
	at = data + (slot.pos & (geo->data_size - 1));
	memcpy(at, event, sizeof(*event));
	memcpy(at + sizeof(*event), payload, len);
	/* release: pairs with the reader's acquire of head */
	smp_store_release(&producer->head, slot.head);
	return true;
}

/* Sets the number of events of a CPU that were lost for @cause, TSCT_LOST_*. */
static void set_lost(struct tsct_channel *channel, unsigned int cpu, unsigned int cause,
		     __u64 events)
{
	WRITE_ONCE(tsct_ring_producer(channel, cpu)->lost[cause], events);
}

/* Moves an event that was held back into the channel. Omits an event before the
 * recording's begin or after its end. Counts an event with an impossible time as
 * refused. Returns false if the ring is full. */
static bool move_event(struct bpf_rings *rings, unsigned int number, const struct held *held)
{
	struct cpu_ring *cpu = &rings->cpus[number];
	struct tsct_record header;

	if (held->ns < rings->opened_ns ||
	    (held->ns > rings->now_ns && held->ns > (__u64)tsct_monotonic_ns())) {
		cpu->refused++;
		return true;
	}
	memcpy(&header, cpu->bytes + held->at, sizeof(header));
	header.cycles = monotonic_to_cycles(&rings->monotonic, held->ns);
	return header.cycles < rings->begin || header.cycles > rings->end ||
		fill_ring(rings->channel, number, &header,
			  cpu->bytes + held->at + sizeof(header));
}

/* Removes the oldest @nr events of the events that are held back. */
static void drop_moved(struct cpu_ring *cpu, size_t nr)
{
	size_t i, first = cpu->used;

	cpu->nr_held -= nr;
	memmove(cpu->held, cpu->held + nr, cpu->nr_held * sizeof(*cpu->held));
	for (i = 0; i < cpu->nr_held; i++)
		if (cpu->held[i].at < first)
			first = cpu->held[i].at;
	memmove(cpu->bytes, cpu->bytes + first, cpu->used - first);
	cpu->used -= first;
	for (i = 0; i < cpu->nr_held; i++)
		cpu->held[i].at -= first;
}

/* Moves the events of a CPU up to @until (CLOCK_MONOTONIC, ns). Returns their number. */
static size_t move_until(struct bpf_rings *rings, unsigned int number, __u64 until)
{
	struct cpu_ring *cpu = &rings->cpus[number];
	size_t nr = 0;

	while (nr < cpu->nr_held && cpu->held[nr].ns <= until &&
	       move_event(rings, number, &cpu->held[nr]))
		nr++;
	if (nr)
		drop_moved(cpu, nr);
	return nr;
}

static int pump_cpu(struct bpf_rings *rings, unsigned int number, __u64 until)
{
	struct cpu_ring *cpu = &rings->cpus[number];
	size_t moved;

	if (cpu->used < HELD_MAX)
		ring_buffer__consume(cpu->buffer);
	if (cpu->err)
		return cpu->err;
	if (cpu->nr_held && cpu->used >= HELD_MAX)
		until = cpu->held[cpu->nr_held / 2].ns > until ?
			cpu->held[cpu->nr_held / 2].ns : until;
	moved = move_until(rings, number, until);
	if (rings->begin == UINT64_MAX) {
		cpu->full = READ_ONCE(rings->counts[number].full);
		cpu->nested = READ_ONCE(rings->counts[number].nested);
		cpu->refused = 0;
		return (int)moved;
	}
	set_lost(rings->channel, number, TSCT_LOST_FULL,
		 READ_ONCE(rings->counts[number].full) - cpu->full);
	set_lost(rings->channel, number, TSCT_LOST_NESTED,
		 READ_ONCE(rings->counts[number].nested) - cpu->nested);
	set_lost(rings->channel, number, TSCT_LOST_REFUSED, cpu->refused);
	return (int)moved;
}

int bpf_rings_pump(struct bpf_rings *rings, bool is_last, uint64_t end)
{
	struct monotonic_reading now;
	unsigned int cpu;
	int nr, moved = 0;

	rings->end = end;
	nr = monotonic_follow(&rings->monotonic, rings->clock, &now);
	if (nr <= 0)
		return nr;
	rings->now_ns = (__u64)now.ns;
	for (cpu = 0; cpu < rings->nr_cpus; cpu++) {
		nr = pump_cpu(rings, cpu, is_last ? UINT64_MAX : now.ns - HOLD_NS);
		if (nr < 0)
			return nr;
		moved += nr;
	}
	return moved;
}

void bpf_rings_begin(struct bpf_rings *rings, uint64_t begin)
{
	rings->begin = begin;
}

uint64_t bpf_rings_missing(const struct bpf_rings *rings)
{
	uint64_t missing = 0;
	unsigned int cpu;

	for (cpu = 0; cpu < rings->nr_cpus; cpu++)
		missing += READ_ONCE(rings->counts[cpu].published) -
			rings->cpus[cpu].taken + rings->cpus[cpu].nr_held;
	return missing;
}

uint64_t bpf_rings_refused(const struct bpf_rings *rings)
{
	uint64_t refused = 0;
	unsigned int cpu;

	for (cpu = 0; cpu < rings->nr_cpus; cpu++)
		refused += rings->cpus[cpu].refused;
	return refused;
}

/* ---- the ring buffers -------------------------------------------------- */

static int open_cpu_ring(struct bpf_rings *rings, __u32 number, __u32 size)
{
	struct cpu_ring *cpu = &rings->cpus[number];

	cpu->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "tsct_ring", 0, 0, size, NULL);
	if (cpu->fd < 0)
		return -errno;
	cpu->buffer = ring_buffer__new(cpu->fd, hold_event, cpu, NULL);
	if (!cpu->buffer || bpf_map_update_elem(rings->map, &number, &cpu->fd, 0))
		return -errno;
	return 0;
}

/* Creates the maps `rings` and `counts`. Returns 0 or -errno. */
static int open_maps(struct bpf_rings *rings)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);
	int inner = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "tsct_inner", 0, 0,
				   TSCT_PAGE_SIZE, NULL);

	if (inner < 0)
		return -errno;
	options.inner_map_fd = inner;
	rings->map = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "tsct_rings",
				    sizeof(__u32), sizeof(__u32), rings->nr_cpus,
				    &options);
	close(inner);
	if (rings->map < 0)
		return -errno;
	options.inner_map_fd = 0;
	options.map_flags = BPF_F_MMAPABLE;
	rings->counts_map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "tsct_counts",
					   sizeof(__u32), sizeof(*rings->counts),
					   rings->nr_cpus, &options);
	if (rings->counts_map < 0)
		return -errno;
	rings->counts_size = (rings->nr_cpus * sizeof(*rings->counts) +
			      TSCT_PAGE_SIZE - 1) & ~(TSCT_PAGE_SIZE - 1UL);
	rings->counts = mmap(NULL, rings->counts_size, PROT_READ, MAP_SHARED,
			     rings->counts_map, 0);
	if (rings->counts == MAP_FAILED) {
		rings->counts = NULL;
		return -errno;
	}
	return 0;
}

int bpf_rings_open(struct tsct_channel *channel, const struct tsct_clock *clock,
		   const cpu_set_t *cpus, struct bpf_shared *shared, struct bpf_rings **ret_rings)
{
	const struct tsct_channel_header *header = tsct_channel_info(channel);
	struct bpf_rings *rings = calloc(1, sizeof(*rings));
	__u32 cpu;
	int err = -ENOMEM;

	if (!rings)
		return -ENOMEM;
	rings->channel = channel;
	rings->clock = clock;
	rings->begin = UINT64_MAX;
	rings->opened_ns = (__u64)tsct_monotonic_ns();
	rings->map = rings->counts_map = -1;
	rings->nr_cpus = header->nr_cpus;
	rings->cpus = calloc(rings->nr_cpus, sizeof(*rings->cpus));
	for (cpu = 0; rings->cpus && cpu < rings->nr_cpus; cpu++)
		rings->cpus[cpu].fd = -1;
	if (rings->cpus)
		err = open_maps(rings);
	for (cpu = 0; !err && cpu < rings->nr_cpus; cpu++)
		err = open_cpu_ring(rings, cpu, !cpus || cpu >= CPU_SETSIZE ||
				    CPU_ISSET(cpu, cpus) || header->data_size < RING_OTHER ?
				    (__u32)header->data_size : RING_OTHER);
	if (err) {
		bpf_rings_close(rings);
		return err;
	}
	shared->rings = rings->map;
	shared->counts = rings->counts_map;
	*ret_rings = rings;
	return 0;
}

void bpf_rings_close(struct bpf_rings *rings)
{
	struct cpu_ring *cpu;

	if (!rings)
		return;
	for (cpu = rings->cpus; cpu && cpu < rings->cpus + rings->nr_cpus; cpu++) {
		ring_buffer__free(cpu->buffer);
		if (cpu->fd >= 0)
			close(cpu->fd);
		free(cpu->bytes);
		free(cpu->held);
	}
	if (rings->counts)
		munmap(rings->counts, rings->counts_size);
	if (rings->counts_map >= 0)
		close(rings->counts_map);
	if (rings->map >= 0)
		close(rings->map);
	free(rings->cpus);
	free(rings);
}
