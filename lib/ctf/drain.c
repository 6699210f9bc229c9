// SPDX-License-Identifier: MIT
/*
 * Copies events from the rings of a channel to the recording writer. Every event published
 * in a ring since the start of the recording is either written to a file, or counted as
 * lost, by cause (struct tsct_ring_figures). take_records() takes nearly all events, many
 * at a time; take_event() takes the others. count_passed() returns the number of published
 * events that the reader has passed, that is skipped, read or lost.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/client/reader.h"
#include "lib/clockpage/clock_params.h"
#include "syscall_event.h"
#include "recording_writer.h"

/* number of events after which a pass goes on to the next CPU; may be exceeded by one packet */
#define BATCH		4096
/* number of events taken before their space in the ring is released to writers */
#define RELEASE		256
#define AHEAD_NS	1000000	/* largest accepted lead of an event over present time, ns */
/* Assumed longest time between an event's counter reading and its publication, ns */
#define SETTLE_NS	100000000

/* State of copying one ring */
struct drain_ring {
	/* reader's counters at the last update of the losses */
	struct tsct_ring_stat last;
	bool begun;	/* flag: an event of the recording was taken from the ring */
	bool done;	/* flag: the ring's next event is after the recording's end */
	__u64 settled;	/* lower limit of the time of the ring's later events, cycles */
};

struct tsct_drain {
	struct tsct_reader *reader;
	const struct tsct_channel *channel;
	const struct tsct_clock *clock;
	struct tsct_recording_writer *writer;
	struct tsct_recording *rec;
	__u32 stream;
	__u32 nr_cpus;
	bool by_kernel;			/* flag: the kernel writes the channel's events */
	__u64 now;			/* most recent reading of the clock, cycles */
	__u64 ahead, settle;		/* AHEAD_NS and SETTLE_NS in cycles */
	uint64_t last_no_ring;
	__u64 bytes;	/* size of the records taken from the rings, bytes */
	struct drain_ring *rings;	/* state of each ring, by CPU */
};

__u64 tsct_drain_bytes(const struct tsct_drain *drain)
{
	return drain->bytes;
}

struct tsct_reader *tsct_drain_reader(struct tsct_drain *drain)
{
	return drain->reader;
}

/* ---- numbers of events published and lost ------------------------------ */

static struct tsct_ring_figures *figures_of(const struct tsct_drain *d, __u32 cpu)
{
	return &d->rec->streams[d->stream].ring[cpu];
}

static __u64 *causes_of(const struct tsct_drain *d, __u32 cpu)
{
	return d->rec->streams[d->stream].loss[cpu].cause;
}

/* Returns the number of published events that the reader has passed. */
static __u64 count_passed(const struct tsct_ring_stat *stat)
{
	return stat->before + stat->read + stat->overrun + stat->broken;
}

static void add_increase(__u64 *sum, uint64_t *last, uint64_t now)
{
	if (now > *last)
		*sum += now - *last;
	/* Programs can write any counts of events to the ring's memory: the limit keeps the
	 * sum of the counts of all rings from overflowing. */
	*sum = min(*sum, TSCT_COUNT_MAX);
	*last = now;
}

static void count_losses(struct tsct_drain *d, __u32 cpu)
{
	struct tsct_ring_figures *ring = figures_of(d, cpu);
	struct tsct_ring_stat *last = &d->rings[cpu].last, now;
	__u64 *cause = causes_of(d, cpu);
	int i;

	if (tsct_reader_stat(d->reader, cpu, &now))
		return;
	for (i = 0; i < TSCT_LOST_NR; i++)
		add_increase(&cause[TSCT_LOSS_FULL + i], &last->lost[i], now.lost[i]);
	add_increase(&cause[TSCT_LOSS_OVERRUN], &last->overrun, now.overrun);
	add_increase(&cause[TSCT_LOSS_BROKEN], &last->broken, now.broken);
	add_increase(&ring->broken_places, &last->broken_places, now.broken_places);
	/* published_end counts the events that the reader has passed. Once the ring is
	 * empty, published_end is the ring's own count of published events, which does
	 * not depend on the reader's counters. */
	ring->published_end = count_passed(&now);
	if (!now.unread && !d->rings[cpu].done)
		ring->published_end = now.published;
}

/* Called after the reader has passed an event from before the recording: sets
 * published_begin of the ring to the number of passed events, and the ring's numbers of
 * overwritten and broken events to 0, because these losses are from before the recording. */
static void begin_behind(struct tsct_drain *d, __u32 cpu)
{
	const struct tsct_ring_stat *now = tsct_reader_progress(d->reader, cpu);
	struct tsct_ring_stat *last = &d->rings[cpu].last;

	causes_of(d, cpu)[TSCT_LOSS_OVERRUN] = 0;
	causes_of(d, cpu)[TSCT_LOSS_BROKEN] = 0;
	last->overrun = now->overrun;
	last->broken = now->broken;
	last->broken_places = now->broken_places;
	*figures_of(d, cpu) = (struct tsct_ring_figures) {
		.published_begin = count_passed(now), .published_end = count_passed(now),
	};
}

/* ---- events ------------------------------------------------------------ */

/* Writes one event, or counts the event as lost. Returns 0 or -errno. */
static int take_event(struct tsct_drain *d, const struct tsct_event *event)
{
	struct drain_ring *ring = &d->rings[event->cpu];
	const struct tsct_event_def *def;
	struct tsct_event_def call;

	if (event->cycles < d->rec->begin && !ring->begun) {
		begin_behind(d, event->cpu);
		return 0;
	}
	ring->begun = true;
	d->bytes += tsct_record_size(event->len);
	/* The clock is read only if the event is after the clock's last reading. */
	if (unlikely(event->cycles > d->now)) {
		d->now = tsct_clock_cycles(d->clock);
		if (event->cycles > d->now && event->cycles - d->now > d->ahead) {
			/* An event in the future is not written: the events after it
			 * would be out of order. */
			causes_of(d, event->cpu)[TSCT_LOSS_DISORDER]++;
			return 0;
		}
	}
	/* The first event with an ID adds the ID's definition to the recording. */
	if (unlikely(!tsct_recording_writer_knows(d->writer, d->stream, event->id))) {
		def = tsct_reader_def(d->reader, event->id);
		if (!def && d->by_kernel && tsct_syscall_event_def &&
		    tsct_syscall_event_def(event->id, &call))
			def = &call;
		if (def)
			tsct_recording_writer_define(d->writer, d->stream, event->id, def,
					def == &call &&
					!tsct_syscall_event_is_frequent(call.name));
	}
	return tsct_recording_writer_event(d->writer, d->stream, event);
}

/* Writes the next events of a ring, up to the first one that needs take_event(), and moves the
 * reader past the written events. @until: highest counter value of an event to take. Returns 0 or
 * -errno. */
static int take_records(struct tsct_drain *d, __u32 cpu, __u64 until,
			struct tsct_records_done *ret_done)
{
	struct tsct_record_batch batch = {
		.stream = d->stream, .cpu = cpu, .until = until < d->now ? until : d->now,
	};
	int err;

	*ret_done = (struct tsct_records_done) { .events = 0 };
	if (!d->rings[cpu].begun)
		return 0;
	batch.len = tsct_reader_records(d->reader, cpu, &batch.from);
	if (!batch.len)
		return 0;
	err = tsct_recording_writer_records(d->writer, &batch, ret_done);
	tsct_reader_advance(d->reader, cpu, ret_done->bytes, ret_done->events);
	d->bytes += ret_done->bytes;
	return err;
}

/* Returns true if the next event of a ring is after @until, the end of the recording. That
 * event stays in the ring for the channel's next reader. */
static bool is_past(struct tsct_drain *d, __u32 cpu, __u64 until)
{
	const struct tsct_event *next;

	return until != UINT64_MAX &&
		tsct_reader_peek(d->reader, cpu, &next) == 1 &&
		next->cycles > until;
}

/* Sets the lower limit of the times of the ring's later events, cycles. The limit is
 * @last, the time of the last taken event, because events of a ring are in order, but at
 * most @now. If the ring is @empty, the limit is at least @now minus SETTLE_NS. */
static void settle_ring(const struct tsct_drain *d, struct drain_ring *ring, __u64 last,
			bool empty, __u64 now)
{
	__u64 cycles = last < now ? last : now;

	if (ring->done)
		cycles = UINT64_MAX;
	else if (empty && now > d->settle && now - d->settle > cycles)
		cycles = now - d->settle;
	ring->settled = max(ring->settled, cycles);
}

static int drain_cpu(struct tsct_drain *d, __u32 cpu, __u64 until, __u64 now,
		     __u64 *taken)
{
	struct drain_ring *ring = &d->rings[cpu];
	struct tsct_records_done done;
	struct tsct_event event;
	__u64 last = 0, n = 0;
	int err = 0;

	if (ring->done)
		return 0;
	for (; n < BATCH; n++) {
		err = take_records(d, cpu, until, &done) ?: err;
		n += done.events;
		if (done.events)
			last = done.last;
		if (done.events || n % RELEASE == 0)
			tsct_reader_release(d->reader, cpu);
		ring->done = is_past(d, cpu, until);
		if (ring->done ||
		    tsct_reader_next(d->reader, cpu, &event) != 1)
			break;
		last = event.cycles;
		err = take_event(d, &event) ?: err;
	}
	*taken += n;
	settle_ring(d, ring, last, n < BATCH, now);
	tsct_reader_release(d->reader, cpu);
	count_losses(d, cpu);
	return err;
}

__u64 tsct_drain_settled(const struct tsct_drain *d)
{
	__u64 first = UINT64_MAX;
	__u32 cpu;

	for (cpu = 0; cpu < d->nr_cpus; cpu++)
		first = min(first, d->rings[cpu].settled);
	return first;
}

/* Counts the events that were lost because their CPU has no ring. */
static void count_no_ring(struct tsct_drain *d)
{
	add_increase(&d->rec->streams[d->stream].lost_no_ring, &d->last_no_ring,
		     tsct_channel_lost_no_ring(d->channel));
}

int tsct_drain_pass(struct tsct_drain *d, __u64 until, __u64 *ret_taken)
{
	/* present time in cycles, read before any ring is read */
	const __u64 now = tsct_clock_cycles(d->clock);
	__u64 taken = 0;
	int err = 0;
	__u32 cpu;

	for (cpu = 0; cpu < d->nr_cpus; cpu++)
		err = drain_cpu(d, cpu, until, now, &taken) ?: err;
	count_no_ring(d);
	*ret_taken = taken;
	return err;
}

int tsct_drains_pass(struct tsct_drain *const *drains, unsigned int nr, __u64 until,
		     __u64 *ret_taken)
{
	struct tsct_recording_writer *writer = drains[0]->writer;
	__u64 taken, settled = UINT64_MAX, first;
	unsigned int i;

	*ret_taken = 0;
	for (i = 0; i < nr; i++) {
		tsct_drain_pass(drains[i], until, &taken);
		*ret_taken += taken;
		first = tsct_drain_settled(drains[i]);
		settled = min(settled, first);
	}
	tsct_recording_writer_settle(writer, settled);
	return tsct_recording_writer_error(writer);
}

/* ---- snapshots --------------------------------------------------------- */

int tsct_drain_oldest(struct tsct_channel *channel, __u64 *ret_cycles)
{
	struct tsct_reader *reader;
	struct tsct_event event;
	int err;

	err = tsct_reader_open(channel, &reader);
	if (err)
		return err;
	err = tsct_reader_next_ordered(reader, UINT64_MAX, &event);
	if (err == 1)
		*ret_cycles = event.cycles;
	tsct_reader_close(reader);
	return err < 0 ? err : 0;
}

/* Sets published_begin of a ring to the number of events overwritten before a snapshot's copy:
 * these events are older than all events in the copy, so they are not lost. */
static void begin_here(struct tsct_drain *d, __u32 cpu)
{
	const struct tsct_ring_stat *now = tsct_reader_progress(d->reader, cpu);

	d->rings[cpu].last.overrun = now->overrun;
	figures_of(d, cpu)->published_begin = now->before + now->overrun;
}

/* Copies a ring to memory, and takes the events from the copy. Returns 0 or -errno. */
static int copy_cpu(struct tsct_drain *d, __u32 cpu, __u64 until, char *image)
{
	struct drain_ring *ring = &d->rings[cpu];
	struct tsct_records_done done;
	struct tsct_event event;
	bool first = true;
	int err = 0;

	if (!tsct_reader_freeze(d->reader, cpu, image))
		return 0;
	for (;;) {
		err = take_records(d, cpu, until, &done) ?: err;
		ring->done = is_past(d, cpu, until);
		if (ring->done ||
		    tsct_reader_next(d->reader, cpu, &event) != 1)
			break;
		if (first)
			begin_here(d, cpu);
		first = false;
		err = take_event(d, &event) ?: err;
	}
	if (first)
		begin_here(d, cpu);
	count_losses(d, cpu);
	ring->done = true;
	tsct_reader_thaw(d->reader, cpu);
	return err;
}

int tsct_drain_snapshot(struct tsct_drain *d, __u64 until)
{
	char *image;
	int err = 0;
	__u32 cpu;

	if (!tsct_reader_overwrites(d->reader))
		return -EINVAL;
	image = malloc(tsct_channel_info(d->channel)->data_size);
	if (!image)
		return -ENOMEM;
	for (cpu = 0; cpu < d->nr_cpus; cpu++)
		err = copy_cpu(d, cpu, until, image) ?: err;
	free(image);
	count_no_ring(d);
	return err;
}

/* ---- the drain --------------------------------------------------------- */

/*
 * Sets published_begin of a ring to the number of events published before the recording.
 * Except for a snapshot, also drops events from before the recording that are still in the
 * ring: if these were overwritten later, they would be counted as lost. The loop drops at
 * most as many events as fit in a ring, because programs can write any counts to the ring,
 * and add events meanwhile.
 */
static void begin_ring(struct tsct_drain *d, __u32 cpu)
{
	__u64 max = tsct_channel_info(d->channel)->data_size /
		sizeof(struct tsct_record);
	struct tsct_ring_stat *now = &d->rings[cpu].last;
	const struct tsct_event *next;
	struct tsct_event event;

	tsct_reader_stat(d->reader, cpu, now);
	figures_of(d, cpu)->published_begin = now->before;
	figures_of(d, cpu)->published_end = now->before;
	if (d->rec->snapshot)
		return;
	while (max-- && tsct_reader_peek(d->reader, cpu, &next) == 1 &&
	       next->cycles < d->rec->begin) {
		tsct_reader_next(d->reader, cpu, &event);
		begin_behind(d, cpu);
	}
	tsct_reader_release(d->reader, cpu);
}

int tsct_drain_open(struct tsct_channel *channel, const struct tsct_clock *clock,
		    struct tsct_recording_writer *writer, struct tsct_recording *rec,
		    __u32 stream, struct tsct_drain **ret_drain)
{
	struct tsct_drain *d = calloc(1, sizeof(*d));
	__u32 cpu;
	int err;

	if (!d)
		return -ENOMEM;
	d->channel = channel;
	d->clock = clock;
	d->writer = writer;
	d->rec = rec;
	d->stream = stream;
	d->nr_cpus = tsct_channel_info(channel)->nr_cpus;
	d->by_kernel = tsct_channel_info(channel)->flags & TSCT_CHANNEL_KERNEL;
	d->nr_cpus = min(d->nr_cpus, rec->nr_locations);
	d->ahead = tsct_ns_cycles(rec->real.mult, AHEAD_NS);
	d->settle = tsct_ns_cycles(rec->real.mult, SETTLE_NS);
	d->rings = calloc(d->nr_cpus, sizeof(*d->rings));
	err = d->rings ? tsct_reader_open(channel, &d->reader) : -ENOMEM;
	if (err) {
		tsct_drain_close(d);
		return err;
	}
	d->last_no_ring = tsct_channel_lost_no_ring(d->channel);
	for (cpu = 0; cpu < d->nr_cpus; cpu++)
		begin_ring(d, cpu);
	*ret_drain = d;
	return 0;
}

struct tsct_ring_stat *tsct_drain_losses(struct tsct_channel *channel)
{
	const __u32 nr_cpus = tsct_channel_info(channel)->nr_cpus;
	struct tsct_ring_stat *losses = calloc(nr_cpus + 1, sizeof(*losses));
	struct tsct_reader *reader;
	__u32 cpu;

	if (!losses || tsct_reader_open(channel, &reader)) {
		free(losses);
		return NULL;
	}
	for (cpu = 0; cpu < nr_cpus; cpu++)
		tsct_reader_stat(reader, cpu, &losses[cpu]);
	losses[nr_cpus].lost[0] = tsct_channel_lost_no_ring(channel);
	tsct_reader_close(reader);
	return losses;
}

void tsct_drain_count_since(struct tsct_drain *d, const struct tsct_ring_stat *losses)
{
	__u32 cpu;

	for (cpu = 0; cpu < d->nr_cpus; cpu++)
		memcpy(d->rings[cpu].last.lost, losses[cpu].lost, sizeof(losses[cpu].lost));
	d->last_no_ring = losses[tsct_channel_info(d->channel)->nr_cpus].lost[0];
}

void tsct_drain_close(struct tsct_drain *d)
{
	if (!d)
		return;
	tsct_reader_close(d->reader);
	free(d->rings);
	free(d);
}
