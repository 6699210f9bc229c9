// SPDX-License-Identifier: MIT
/*
 * Out of the rings, into the writer: what is taken, what is refused.
 *
 * Every event that was published in a ring since the recording began ends as
 * one event in a file or as one count of a cause of loss: see struct
 * tsct_ring_figures. That rests on the reader's account of the ring (struct
 * tsct_ring_stat), of which `seen` events lie behind us at any moment.
 */
#include <stdlib.h>

#include "lib/client/reader.h"
#include "lib/core/clock_params.h"
#include "recording_writer.h"

#define BATCH		4096	/* events before the next CPU has its turn */
#define RELEASE		256	/* events before writers get their room back */
#define AHEAD_NS	1000000	/* CPUs' counters may differ that much */
/* From an event's stamp until it is in its ring: a virtual CPU may stand still */
#define SETTLE_NS	100000000

/* One ring */
struct source {
	struct tsct_ring_stat last;	/* what is counted already */
	bool begun;			/* an event of ours was taken */
	bool done;			/* went past `until` */
	__u64 settled;			/* no stamp before it is to come */
};

struct tsct_drain {
	struct tsct_reader *reader;
	const struct tsct_channel *t;
	const struct tsct_clock *clock;
	struct tsct_writer *writer;
	struct tsct_recording *rec;
	__u32 stream;
	__u32 nr_cpus;
	__u64 now;			/* not before the last event's stamp */
	__u64 ahead, settle;		/* ticks */
	uint64_t last_no_ring;
	__u64 bytes;			/* of the records that were taken */
	struct source *sources;		/* per CPU */
};

__u64 tsct_drain_bytes(const struct tsct_drain *drain)
{
	return drain->bytes;
}

struct tsct_reader *tsct_drain_reader(struct tsct_drain *drain)
{
	return drain->reader;
}

/* ---- figures ----------------------------------------------------------- */

static struct tsct_ring_figures *figures_of(const struct tsct_drain *d,
					    __u32 cpu)
{
	return &d->rec->streams[d->stream].ring[cpu];
}

static __u64 *causes_of(const struct tsct_drain *d, __u32 cpu)
{
	return d->rec->streams[d->stream].loss[cpu].cause;
}

/* Published events that lie behind a reader, by its own account. */
static __u64 seen(const struct tsct_ring_stat *stat)
{
	return stat->before + stat->read + stat->overrun + stat->broken;
}

static void add(__u64 *sum, uint64_t *last, uint64_t now)
{
	if (now > *last)
		*sum += now - *last;
	/* Counters lie in memory that clients write. */
	if (*sum > TSCT_COUNT_MAX)
		*sum = TSCT_COUNT_MAX;
	*last = now;
}

static void count_losses(struct tsct_drain *d, __u32 cpu)
{
	struct tsct_ring_figures *ring = figures_of(d, cpu);
	struct tsct_ring_stat *last = &d->sources[cpu].last, now;
	__u64 *cause = causes_of(d, cpu);
	int i;

	if (tsct_reader_stat(d->reader, cpu, &now))
		return;
	for (i = 0; i < TSCT_LOST_NR; i++)
		add(&cause[TSCT_LOSS_FULL + i], &last->lost[i], now.lost[i]);
	add(&cause[TSCT_LOSS_OVERRUN], &last->overrun, now.overrun);
	add(&cause[TSCT_LOSS_BROKEN], &last->broken, now.broken);
	add(&ring->broken_places, &last->broken_places, now.broken_places);
	/*
	 * Where all is read the ring's own word is taken, which is not made of
	 * what we counted; with the rest unread, what lies behind us.
	 */
	ring->published_end = seen(&now);
	if (!now.unread && !d->sources[cpu].done)
		ring->published_end = now.published;
}

/*
 * An event from before the recording: the recording begins behind it, and what
 * was missed before it was missed before.
 */
static void begin_behind(struct tsct_drain *d, __u32 cpu)
{
	const struct tsct_ring_stat *now = tsct_reader_progress(d->reader, cpu);
	struct tsct_ring_stat *last = &d->sources[cpu].last;

	causes_of(d, cpu)[TSCT_LOSS_OVERRUN] = 0;
	causes_of(d, cpu)[TSCT_LOSS_BROKEN] = 0;
	last->overrun = now->overrun;
	last->broken = now->broken;
	last->broken_places = now->broken_places;
	*figures_of(d, cpu) = (struct tsct_ring_figures) {
		.published_begin = seen(now), .published_end = seen(now),
	};
}

/* ---- events ------------------------------------------------------------ */

/* Stamped later than now? A clock read is saved for events of the past. */
static bool is_ahead(struct tsct_drain *d, __u64 stamp)
{
	if (stamp <= d->now)
		return false;
	d->now = tsct_clock_cycles(d->clock);
	return stamp > d->now && stamp - d->now > d->ahead;
}

/* A definition seen for the first time goes into the metadata. */
static void learn(struct tsct_drain *d, __u32 id)
{
	const struct tsct_event_def *def;

	if (tsct_recording_def(d->rec, d->stream, id))
		return;
	def = tsct_reader_def(d->reader, id);
	if (def && !tsct_recording_add_def(d->rec, d->stream, def))
		tsct_writer_touch(d->writer);
}

static int take(struct tsct_drain *d, const struct tsct_event *event)
{
	struct source *source = &d->sources[event->cpu];

	if (event->cycles < d->rec->begin && !source->begun) {
		begin_behind(d, event->cpu);
		return 0;
	}
	source->begun = true;
	d->bytes += tsct_record_size(event->len);
	if (is_ahead(d, event->cycles)) {
		/* It would keep all that follows out of the file. */
		causes_of(d, event->cpu)[TSCT_LOSS_DISORDER]++;
		return 0;
	}
	learn(d, event->id);
	return tsct_writer_event(d->writer, d->stream, event);
}

/*
 * Is the next one later than the end? Neither it nor what follows is ours: it
 * stays where it is, for whoever reads the channel after us.
 */
static bool is_past(struct tsct_drain *d, __u32 cpu, __u64 until)
{
	const struct tsct_event *next;

	return until != UINT64_MAX &&
		tsct_reader_peek(d->reader, cpu, &next) == 1 &&
		next->cycles > until;
}

/*
 * A ring has its events in order, so what comes is not before @last. One in which
 * nothing was left gets none that is older than it takes to get there.
 */
static void settle(const struct tsct_drain *d, struct source *source, __u64 last,
		   bool empty, __u64 now)
{
	__u64 stamp = last < now ? last : now;

	if (source->done)
		stamp = UINT64_MAX;
	else if (empty && now > d->settle && now - d->settle > stamp)
		stamp = now - d->settle;
	if (stamp > source->settled)
		source->settled = stamp;
}

static int drain_cpu(struct tsct_drain *d, __u32 cpu, __u64 until, __u64 now,
		     __u64 *taken)
{
	struct source *source = &d->sources[cpu];
	struct tsct_event event;
	__u64 last = 0;
	int n, err = 0;

	if (source->done)
		return 0;
	for (n = 0; n < BATCH; n++) {
		source->done = is_past(d, cpu, until);
		if (source->done ||
		    tsct_reader_next(d->reader, cpu, &event) != 1)
			break;
		(*taken)++;
		last = event.cycles;
		if (take(d, &event))
			err = tsct_writer_error(d->writer);
		if (n % RELEASE == RELEASE - 1)
			tsct_reader_release(d->reader, cpu);
	}
	settle(d, source, last, n < BATCH, now);
	tsct_reader_release(d->reader, cpu);
	count_losses(d, cpu);
	return err;
}

__u64 tsct_drain_settled(const struct tsct_drain *d)
{
	__u64 first = UINT64_MAX;
	__u32 cpu;

	for (cpu = 0; cpu < d->nr_cpus; cpu++)
		if (d->sources[cpu].settled < first)
			first = d->sources[cpu].settled;
	return first;
}

static void count_no_ring(struct tsct_drain *d)
{
	add(&d->rec->streams[d->stream].lost_no_ring, &d->last_no_ring,
	    tsct_channel_lost_no_ring(d->t));
}

int tsct_drain_pass(struct tsct_drain *d, __u64 until, __u64 *ret_taken)
{
	/* Before any ring is looked at */
	const __u64 now = tsct_clock_cycles(d->clock);
	int err = 0, err2;
	__u64 taken = 0;
	__u32 cpu;

	for (cpu = 0; cpu < d->nr_cpus; cpu++) {
		err2 = drain_cpu(d, cpu, until, now, &taken);
		err = err ? err : err2;
	}
	count_no_ring(d);
	*ret_taken = taken;
	return err;
}

/* ---- snapshots --------------------------------------------------------- */

int tsct_drain_oldest(struct tsct_channel *t, __u64 *ret_stamp)
{
	struct tsct_reader *reader;
	struct tsct_event event;
	int err;

	err = tsct_reader_open(t, &reader);
	if (err)
		return err;
	err = tsct_reader_next_ordered(reader, UINT64_MAX, &event);
	if (err == 1)
		*ret_stamp = event.cycles;
	tsct_reader_close(reader);
	return err < 0 ? err : 0;
}

/*
 * What was overwritten before the image was taken, was before it: all of it lies
 * in front of the oldest event that the image has. It is no loss.
 */
static void begin_here(struct tsct_drain *d, __u32 cpu)
{
	const struct tsct_ring_stat *now = tsct_reader_progress(d->reader, cpu);

	d->sources[cpu].last.overrun = now->overrun;
	figures_of(d, cpu)->published_begin = now->before + now->overrun;
}

/* The image ends where the ring's head was, and the walk with it. */
static int copy_cpu(struct tsct_drain *d, __u32 cpu, __u64 until, char *image)
{
	struct source *source = &d->sources[cpu];
	struct tsct_event event;
	bool first = true;
	int err = 0;

	if (!tsct_reader_freeze(d->reader, cpu, image))
		return 0;
	for (;;) {
		source->done = is_past(d, cpu, until);
		if (source->done ||
		    tsct_reader_next(d->reader, cpu, &event) != 1)
			break;
		if (first)
			begin_here(d, cpu);
		first = false;
		if (take(d, &event))
			err = tsct_writer_error(d->writer);
	}
	if (first)
		begin_here(d, cpu);
	count_losses(d, cpu);
	source->done = true;
	tsct_reader_thaw(d->reader, cpu);
	return err;
}

int tsct_drain_snapshot(struct tsct_drain *d, __u64 until)
{
	int err = 0, err2;
	char *image;
	__u32 cpu;

	if (!tsct_reader_overwrites(d->reader))
		return -EINVAL;
	image = malloc(tsct_channel_info(d->t)->data_size);
	if (!image)
		return -ENOMEM;
	for (cpu = 0; cpu < d->nr_cpus; cpu++) {
		err2 = copy_cpu(d, cpu, until, image);
		err = err ? err : err2;
	}
	free(image);
	count_no_ring(d);
	return err;
}

/* ---- the drain --------------------------------------------------------- */

static void note_begin(struct tsct_drain *d, __u32 cpu)
{
	struct tsct_ring_stat *now = &d->sources[cpu].last;

	tsct_reader_stat(d->reader, cpu, now);
	figures_of(d, cpu)->published_begin = now->before;
	figures_of(d, cpu)->published_end = now->before;
}

/*
 * What is there from before the recording goes at once: were it overwritten
 * later, nobody could tell that it was not ours. A snapshot has all there is.
 * No more than a ring can hold, whatever its counts say and its writers do.
 */
static void drop_old(struct tsct_drain *d, __u32 cpu)
{
	__u64 most = tsct_channel_info(d->t)->data_size /
		sizeof(struct tsct_record);
	const struct tsct_event *next;
	struct tsct_event event;

	if (d->rec->snapshot)
		return;
	while (most-- && tsct_reader_peek(d->reader, cpu, &next) == 1 &&
	       next->cycles < d->rec->begin) {
		tsct_reader_next(d->reader, cpu, &event);
		begin_behind(d, cpu);
	}
	tsct_reader_release(d->reader, cpu);
}

int tsct_drain_open(struct tsct_channel *t, const struct tsct_clock *clock,
		    struct tsct_writer *writer, struct tsct_recording *rec,
		    __u32 stream, struct tsct_drain **ret_drain)
{
	struct tsct_drain *d = calloc(1, sizeof(*d));
	__u32 cpu;
	int err;

	if (!d)
		return -ENOMEM;
	d->t = t;
	d->clock = clock;
	d->writer = writer;
	d->rec = rec;
	d->stream = stream;
	d->nr_cpus = tsct_channel_info(t)->nr_cpus;
	if (d->nr_cpus > rec->nr_locations)
		d->nr_cpus = rec->nr_locations;
	d->ahead = tsct_ns_cycles(rec->real.mult, AHEAD_NS);
	d->settle = tsct_ns_cycles(rec->real.mult, SETTLE_NS);
	d->sources = calloc(d->nr_cpus, sizeof(*d->sources));
	err = d->sources ? tsct_reader_open(t, &d->reader) : -ENOMEM;
	if (err) {
		tsct_drain_close(d);
		return err;
	}
	d->last_no_ring = tsct_channel_lost_no_ring(d->t);
	for (cpu = 0; cpu < d->nr_cpus; cpu++) {
		note_begin(d, cpu);
		drop_old(d, cpu);
	}
	*ret_drain = d;
	return 0;
}

void tsct_drain_close(struct tsct_drain *d)
{
	if (!d)
		return;
	tsct_reader_close(d->reader);
	free(d->sources);
	free(d);
}
