// SPDX-License-Identifier: MIT
/* Out of the rings, into the writer: what is taken, what is refused. */
#include <stdlib.h>

#include "handle.h"
#include "core/scale.h"
#include "writer.h"

#define BATCH		4096	/* events of one CPU before the next has its turn */
#define RELEASE		256	/* events before the writers get their room back */
#define AHEAD_NS	1000000	/* CPUs' counters may differ that much */
/* Counters lie in memory that clients write: keep sums of them in range. */
#define LOST_MAX	(UINT64_MAX / 65536)

struct tsct_drain {
	struct tsct_reader *reader;
	const struct tsct *t;
	const struct tsct_clock *clock;
	struct tsct_writer *writer;
	struct tsct_recording *rec;
	__u32 stream;
	__u32 nr_cpus;
	__u64 now;			/* not before the last event's stamp */
	__u64 ahead;			/* ticks */
	struct tsct_ring_stat *last;	/* per CPU, what is counted already */
	uint64_t last_no_ring;
	bool *done;			/* per CPU: went past `until` */
};

struct tsct_reader *tsct_drain_reader(struct tsct_drain *drain)
{
	return drain->reader;
}

/* ---- losses ------------------------------------------------------------ */

static void add(__u64 *sum, uint64_t *last, uint64_t now)
{
	if (now > *last)
		*sum += now - *last;
	if (*sum > LOST_MAX)
		*sum = LOST_MAX;
	*last = now;
}

static void count_losses(struct tsct_drain *d, __u32 cpu)
{
	__u64 *cause = d->rec->streams[d->stream].loss[cpu].cause;
	struct tsct_ring_stat *last = &d->last[cpu], now;
	int i;

	if (tsct_reader_stat(d->reader, cpu, &now))
		return;
	for (i = 0; i < TSCT_LOST_NR; i++)
		add(&cause[TSCT_LOSS_FULL + i], &last->lost[i], now.lost[i]);
	add(&cause[TSCT_LOSS_OVERRUN], &last->overruns, now.overruns);
	add(&cause[TSCT_LOSS_BROKEN], &last->broken, now.broken);
}

/* ---- events ------------------------------------------------------------ */

/* Stamped later than now? A clock read is saved for events of the past. */
static bool is_ahead(struct tsct_drain *d, __u64 stamp)
{
	if (stamp <= d->now)
		return false;
	d->now = tsct_clock_stamp(d->clock);
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
	struct tsct_loss *loss;

	if (event->tsc < d->rec->begin)
		return 0;
	if (is_ahead(d, event->tsc)) {
		/* It would keep all that follows out of the file. */
		loss = &d->rec->streams[d->stream].loss[event->cpu];
		loss->cause[TSCT_LOSS_DISORDER]++;
		return 0;
	}
	learn(d, event->id);
	return tsct_writer_event(d->writer, d->stream, event);
}

static int drain_cpu(struct tsct_drain *d, __u32 cpu, __u64 until,
		     __u64 *taken)
{
	struct tsct_event event;
	int n, err = 0;

	for (n = 0; n < BATCH && !d->done[cpu]; n++) {
		if (tsct_reader_next(d->reader, cpu, &event) != 1)
			break;
		(*taken)++;
		if (event.tsc > until)
			d->done[cpu] = true;
		else if (take(d, &event))
			err = tsct_writer_error(d->writer);
		if (n % RELEASE == RELEASE - 1)
			tsct_reader_release(d->reader, cpu);
	}
	tsct_reader_release(d->reader, cpu);
	count_losses(d, cpu);
	return err;
}

int tsct_drain_pass(struct tsct_drain *d, __u64 until, __u64 *ret_taken)
{
	int err = 0, err2;
	__u64 taken = 0;
	__u32 cpu;

	for (cpu = 0; cpu < d->nr_cpus; cpu++) {
		err2 = drain_cpu(d, cpu, until, &taken);
		err = err ? err : err2;
	}
	add(&d->rec->streams[d->stream].lost_no_ring, &d->last_no_ring,
	    tsct_lost_no_ring(d->t));
	*ret_taken = taken;
	return err;
}

/* ---- the drain --------------------------------------------------------- */

int tsct_drain_open(struct tsct *t, const struct tsct_clock *clock,
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
	d->nr_cpus = tsct_header(t)->nr_cpus;
	if (d->nr_cpus > rec->nr_cpus)
		d->nr_cpus = rec->nr_cpus;
	d->ahead = tsct_ns_ticks(rec->real.mult, AHEAD_NS);
	d->last = calloc(d->nr_cpus, sizeof(*d->last));
	d->done = calloc(d->nr_cpus, sizeof(*d->done));
	err = d->last && d->done ? tsct_reader_open(t, &d->reader) : -ENOMEM;
	if (err) {
		tsct_drain_close(d);
		return err;
	}
	d->last_no_ring = tsct_lost_no_ring(d->t);
	for (cpu = 0; cpu < d->nr_cpus; cpu++)
		tsct_reader_stat(d->reader, cpu, &d->last[cpu]);
	*ret_drain = d;
	return 0;
}

void tsct_drain_close(struct tsct_drain *d)
{
	if (!d)
		return;
	tsct_reader_close(d->reader);
	free(d->last);
	free(d->done);
	free(d);
}
