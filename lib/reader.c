// SPDX-License-Identifier: MIT
/*
 * Reading rings. What lies there may have been written by anybody who may
 * write the channel: a record is copied, then looked at, and what we return
 * points into the copy. Positions are ours; the tail in shared memory is only
 * ever written, but for the first look.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/def.h"
#include "handle.h"
#include "now.h"

#define CHECK_MS	10	/* rings of a socket provider do not wake us */
/* Overtaken so often in a row: the writer is too fast, let the caller go on */
#define OVERTAKEN_MAX	16

struct ring_reader {
	__u64 pos;		/* behind the last record returned */
	__u64 released;		/* what the writers know of it */
	struct tsct_ring_stat stat;
};

struct tsct_reader {
	struct tsct *t;
	struct ring_reader *rings;
	__u64 *copy;		/* one record */
	char *defs;		/* copy of the definition area */
	__u64 defs_used;
	bool defs_broken;
	const struct tsct_event_def **by_id;
};

static bool is_overwrite(const struct tsct_reader *reader)
{
	return reader->t->geo.policy == TSCT_POLICY_OVERWRITE;
}

static __u64 load_head(const struct tsct *t, unsigned int cpu)
{
	/* Pairs with the writers' publishing store: records lie below it */
	return smp_load_acquire(&tsct_ring_producer(t, cpu)->head);
}

/*
 * Where a reader before us stopped, or as far back as can be trusted: what was
 * overwritten before is not ours to miss. A CPU that comes up later has an
 * empty ring now: it is read from position 0.
 */
static void start(struct tsct_reader *reader, unsigned int cpu)
{
	struct ring_reader *ring = &reader->rings[cpu];

	if (!tsct_ring_ready(reader->t, cpu))
		return;
	if (is_overwrite(reader))
		ring->pos = tsct_ring_oldest(&reader->t->geo,
					     load_head(reader->t, cpu));
	else
		ring->pos = READ_ONCE(tsct_ring_consumer(reader->t, cpu)->tail);
	ring->released = ring->pos;
}

int tsct_reader_open(struct tsct *t, struct tsct_reader **ret_reader)
{
	struct tsct_reader *reader;
	unsigned int cpu;

	if (t->provider == TSCT_PROVIDER_NONE)
		return -ENODEV;
	if (!(t->roles & TSCT_ROLE_READ))
		return -EACCES;
	if (__atomic_fetch_add(&t->readers, 1, __ATOMIC_RELAXED) &&
	    t->geo.policy == TSCT_POLICY_DISCARD) {
		__atomic_fetch_sub(&t->readers, 1, __ATOMIC_RELAXED);
		return -EBUSY;
	}
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		goto leave;
	reader->t = t;
	reader->rings = calloc(t->header.nr_cpus, sizeof(*reader->rings));
	reader->copy = malloc(TSCT_BLOCK_SIZE_MAX);
	reader->defs = malloc(t->header.defs_size ?: 1);
	/* Large and hardly touched: untouched pages cost nothing */
	reader->by_id = calloc(TSCT_ID_MAX + 1, sizeof(*reader->by_id));
	if (!reader->rings || !reader->copy || !reader->defs ||
	    !reader->by_id) {
		tsct_reader_close(reader);
		return -ENOMEM;
	}
	for (cpu = 0; cpu < t->header.nr_cpus; cpu++)
		start(reader, cpu);
	*ret_reader = reader;
	return 0;
leave:
	__atomic_fetch_sub(&t->readers, 1, __ATOMIC_RELAXED);
	return -ENOMEM;
}

void tsct_reader_close(struct tsct_reader *reader)
{
	if (!reader)
		return;
	__atomic_fetch_sub(&reader->t->readers, 1, __ATOMIC_RELAXED);
	free(reader->rings);
	free(reader->copy);
	free(reader->defs);
	free(reader->by_id);
	free(reader);
}

/* ---- one ring ---------------------------------------------------------- */

static void publish_tail(struct tsct_reader *reader, unsigned int cpu)
{
	struct ring_reader *ring = &reader->rings[cpu];

	/* Our copies are done before the writers may use the room again */
	smp_store_release(&tsct_ring_consumer(reader->t, cpu)->tail, ring->pos);
	ring->released = ring->pos;
}

/*
 * The ring's head, if it can be one; else take what it says as our position,
 * as there is nothing to be read between the two.
 */
static bool look(struct tsct_reader *reader, unsigned int cpu, __u64 *ret_head)
{
	struct ring_reader *ring = &reader->rings[cpu];
	__u64 head, distance;

	head = load_head(reader->t, cpu);
	distance = head - ring->pos;
	*ret_head = head;
	if (!distance)
		return false;
	if (head % TSCT_RECORD_ALIGN == 0 && ring->pos % TSCT_RECORD_ALIGN == 0 &&
	    (is_overwrite(reader) ? (__s64)distance > 0 :
	     distance <= reader->t->geo.data_size))
		return true;
	ring->stat.broken++;
	ring->pos = head;
	if (!is_overwrite(reader))
		publish_tail(reader, cpu);
	return false;
}

/*
 * Was everything behind ring->pos still the reader's while it was copied? The
 * fence keeps the copy before this load of the head; a writer publishes a head
 * before it writes into the blocks that this head takes from us.
 */
static bool is_overtaken(struct tsct_reader *reader, unsigned int cpu)
{
	struct ring_reader *ring = &reader->rings[cpu];
	__u64 oldest;

	if (!is_overwrite(reader))
		return false;
	smp_rmb();
	oldest = tsct_ring_oldest(&reader->t->geo, load_head(reader->t, cpu));
	if ((__s64)(oldest - ring->pos) <= 0)
		return false;
	ring->stat.overruns++;
	ring->stat.overrun_bytes += oldest - ring->pos;
	ring->pos = oldest;
	return true;
}

static enum tsct_ring_step copy_next(struct tsct_reader *reader,
				     unsigned int cpu, __u64 head,
				     struct tsct_record *ret_header,
				     __u64 *ret_next)
{
	const struct tsct_geometry *geo = &reader->t->geo;
	const char *data = tsct_ring_data(reader->t, cpu);
	const __u64 pos = reader->rings[cpu].pos;
	enum tsct_ring_step step;

	step = tsct_ring_next(geo, data, pos, head, ret_header, ret_next);
	if (step == TSCT_STEP_RECORD)
		memcpy(reader->copy, data + (pos & (geo->data_size - 1)) +
		       sizeof(*ret_header),
		       ret_header->len - sizeof(*ret_header));
	return step;
}

static void fill_event(struct tsct_reader *reader, unsigned int cpu,
		       const struct tsct_record *header,
		       struct tsct_event *ret_event)
{
	*ret_event = (struct tsct_event) {
		.tsc = header->tsc,
		.cpu = cpu,
		.tid = header->tid,
		.id = header->id,
		.len = header->len - sizeof(*header),
		.payload = reader->copy,
	};
}

/* Every turn goes forward or counts as overtaken, so it ends. */
static int read_until(struct tsct_reader *reader, unsigned int cpu, __u64 head,
		      struct tsct_event *ret_event)
{
	struct ring_reader *ring = &reader->rings[cpu];
	struct tsct_record header;
	enum tsct_ring_step step;
	int overtaken = 0;
	__u64 next;

	if (is_overtaken(reader, cpu))
		overtaken++;
	while ((__s64)(head - ring->pos) > 0) {
		step = copy_next(reader, cpu, head, &header, &next);
		if (is_overtaken(reader, cpu)) {
			if (++overtaken > OVERTAKEN_MAX)
				return 0;
			head = load_head(reader->t, cpu);
			continue;
		}
		ring->pos = next;
		if (step == TSCT_STEP_BROKEN)
			ring->stat.broken++;
		if (step != TSCT_STEP_RECORD)
			continue;
		ring->stat.read++;
		fill_event(reader, cpu, &header, ret_event);
		return 1;
	}
	return 0;
}

int tsct_reader_next(struct tsct_reader *reader, unsigned int cpu,
		     struct tsct_event *ret_event)
{
	__u64 head;

	if (cpu >= reader->t->header.nr_cpus)
		return -EINVAL;
	if (!tsct_ring_ready(reader->t, cpu) || !look(reader, cpu, &head))
		return 0;
	return read_until(reader, cpu, head, ret_event);
}

void tsct_reader_release(struct tsct_reader *reader, unsigned int cpu)
{
	if (cpu < reader->t->header.nr_cpus && !is_overwrite(reader) &&
	    reader->rings[cpu].pos != reader->rings[cpu].released)
		publish_tail(reader, cpu);
}

int tsct_reader_stat(struct tsct_reader *reader, unsigned int cpu,
		     struct tsct_ring_stat *ret_stat)
{
	struct tsct_producer *producer;
	unsigned int i;

	if (cpu >= reader->t->header.nr_cpus)
		return -EINVAL;
	*ret_stat = reader->rings[cpu].stat;
	if (!tsct_ring_ready(reader->t, cpu))
		return 0;
	producer = tsct_ring_producer(reader->t, cpu);
	ret_stat->head = READ_ONCE(producer->head);
	for (i = 0; i < TSCT_LOST_NR; i++)
		ret_stat->lost[i] = READ_ONCE(producer->lost[i]);
	return 0;
}

/* ---- definitions ------------------------------------------------------- */

/*
 * Copies what was added since, then reads the copy. Only bytes up to defs_used
 * are ever complete; what does not parse there ends it for good.
 */
static void refresh_defs(struct tsct_reader *reader)
{
	const struct tsct *t = reader->t;
	const struct tsct_channel_header *shared = (void *)t->head_map;
	/* Pairs with the provider's release behind a definition */
	__u64 used = smp_load_acquire(&shared->defs_used);
	const struct tsct_event_def *def;
	size_t pos = reader->defs_used;
	int error;

	if (reader->defs_broken || used <= pos || used > t->header.defs_size)
		return;
	memcpy(reader->defs + pos, t->head_map + t->header.defs_offset + pos,
	       used - pos);
	while ((def = tsct_def_next(reader->defs, used, pos, &pos, &error)))
		if (!reader->by_id[def->id])
			reader->by_id[def->id] = def;
	reader->defs_used = pos;
	reader->defs_broken = error != 0;
}

const struct tsct_event_def *tsct_reader_def(struct tsct_reader *reader,
					     unsigned int id)
{
	if (id > TSCT_ID_MAX)
		return NULL;
	if (!reader->by_id[id])
		refresh_defs(reader);
	return reader->by_id[id];
}

/* ---- waiting ----------------------------------------------------------- */

static bool has_some(struct tsct_reader *reader, bool *ret_unreleased)
{
	unsigned int cpu;
	__u64 head;

	for (cpu = 0; cpu < reader->t->header.nr_cpus; cpu++) {
		if (!tsct_ring_ready(reader->t, cpu))
			continue;
		if (look(reader, cpu, &head))
			return true;
		if (reader->rings[cpu].pos != reader->rings[cpu].released)
			*ret_unreleased = true;
	}
	return false;
}

static __s64 now_ms(void)
{
	struct timespec now;

	tsct_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/*
 * The module's poll() looks at the rings itself, but by the tail it knows: as
 * long as something was read and not released it would not sleep.
 */
static int sleep_some(struct tsct_reader *reader, bool unreleased, __s64 left)
{
	struct pollfd pollfd = { .fd = reader->t->fd, .events = POLLIN };
	bool by_kernel = reader->t->provider == TSCT_PROVIDER_MODULE &&
		!unreleased && !is_overwrite(reader);
	int ms = left < 0 || left > 60000 ? 60000 : left;

	if (!by_kernel && ms > CHECK_MS)
		ms = CHECK_MS;
	if (poll(&pollfd, by_kernel, ms) < 0 && errno == EINTR)
		return -EINTR;
	return 0;
}

int tsct_reader_wait(struct tsct_reader *reader, int timeout_ms)
{
	const __s64 end = now_ms() + timeout_ms;
	bool unreleased;
	__s64 left = -1;
	int error;

	for (;;) {
		unreleased = false;
		if (has_some(reader, &unreleased))
			return 1;
		if (timeout_ms >= 0) {
			left = end - now_ms();
			if (left <= 0)
				return 0;
		}
		error = sleep_some(reader, unreleased, left);
		if (error)
			return error;
	}
}
