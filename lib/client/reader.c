// SPDX-License-Identifier: MIT
/* A channel's reader: opening, single rings, counters, definitions, waiting. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/event_def.h"
#include "gettime.h"
#include "reader.h"

#define CHECK_MS	10	/* period of checks where no descriptor wakes us */

/* ---- opening ----------------------------------------------------------- */

static int allocate(struct tsct_reader *reader)
{
	const struct tsct_channel_header *h = &reader->channel->header;

	reader->rings = calloc(h->nr_cpus, sizeof(*reader->rings));
	reader->copy = malloc(h->block_size);
	reader->defs = malloc(h->defs_size ?: 1);
	/* 512 KiB of which few pages are ever touched: the others cost nothing */
	reader->by_id = calloc(TSCT_ID_MAX + 1, sizeof(*reader->by_id));
	return reader->rings && reader->copy && reader->defs &&
		reader->by_id ? 0 : -ENOMEM;
}

int tsct_reader_open(struct tsct_channel *channel, struct tsct_reader **ret_reader)
{
	struct tsct_reader *reader;
	unsigned int cpu;

	if (channel->provider == TSCT_PROVIDER_NONE)
		return -ENODEV;
	if (!(channel->roles & TSCT_ROLE_READ))
		return -EACCES;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	reader->channel = channel;
	if (__atomic_fetch_add(&channel->readers, 1, __ATOMIC_RELAXED) &&
	    !tsct_reader_overwrites(reader)) {
		tsct_reader_close(reader);
		return -EBUSY;
	}
	if (allocate(reader)) {
		tsct_reader_close(reader);
		return -ENOMEM;
	}
	for (cpu = 0; cpu < channel->header.nr_cpus; cpu++)
		tsct_reader_start(reader, cpu);
	*ret_reader = reader;
	return 0;
}

void tsct_reader_close(struct tsct_reader *reader)
{
	unsigned int cpu;

	if (!reader)
		return;
	__atomic_fetch_sub(&reader->channel->readers, 1, __ATOMIC_RELAXED);
	for (cpu = 0; reader->rings && cpu < reader->channel->header.nr_cpus; cpu++)
		free(reader->rings[cpu].copy);
	free(reader->rings);
	free(reader->heap);
	free(reader->in_order);
	free(reader->copy);
	free(reader->defs);
	free(reader->by_id);
	free(reader);
}

/* ---- one ring ---------------------------------------------------------- */

int tsct_reader_next(struct tsct_reader *reader, unsigned int cpu,
		     struct tsct_event *ret_event)
{
	struct tsct_ring_reader *ring;
	int found = 1;

	if (cpu >= reader->channel->header.nr_cpus)
		return -EINVAL;
	ring = &reader->rings[cpu];
	if (ring->has_next)
		*ret_event = ring->next;
	else
		found = tsct_reader_take(reader, cpu, reader->copy, ret_event);
	if (!found)
		return 0;
	ring->has_next = false;
	ring->unreleased = true;
	ring->stat.read++;
	return 1;
}

static void seek_end(struct tsct_reader *reader, unsigned int cpu)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	struct tsct_ring_count now;

	tsct_reader_ring_figures(reader, cpu, &now);
	if (ring->has_next)
		ring->stat.before++;
	ring->has_next = ring->has_head = false;
	ring->stat.before += now.events - ring->count;
	ring->pos = ring->confirmed_pos = now.head;
	ring->count = now.events;
	ring->overtaken = ring->damaged = false;
	tsct_reader_release(reader, cpu);
}

void tsct_reader_seek_end(struct tsct_reader *reader)
{
	unsigned int cpu;

	for (cpu = 0; cpu < reader->channel->header.nr_cpus; cpu++)
		if (tsct_ring_ready(reader->channel, cpu))
			seek_end(reader, cpu);
}

int tsct_reader_stat(struct tsct_reader *reader, unsigned int cpu,
		     struct tsct_ring_stat *ret_stat)
{
	const struct tsct_ring_reader *ring;
	struct tsct_producer *producer;
	struct tsct_ring_count now;
	unsigned int i;

	if (cpu >= reader->channel->header.nr_cpus)
		return -EINVAL;
	ring = &reader->rings[cpu];
	*ret_stat = ring->stat;
	if (!tsct_ring_ready(reader->channel, cpu))
		return 0;
	tsct_reader_ring_figures(reader, cpu, &now);
	ret_stat->published = now.events;
	ret_stat->unread = now.events - ring->count + ring->has_next;
	ret_stat->bytes = now.head;
	producer = tsct_ring_producer(reader->channel, cpu);
	for (i = 0; i < TSCT_LOST_NR; i++)
		ret_stat->lost[i] = READ_ONCE(producer->lost[i]);
	return 0;
}

/* ---- definitions ------------------------------------------------------- */

/*
 * Copies the definitions that were added since the last call, then parses the
 * copy. Only bytes below defs_used are complete. A definition that does not parse
 * ends the reading of definitions for good.
 */
static void read_new_defs(struct tsct_reader *reader)
{
	const struct tsct_channel *channel = reader->channel;
	const struct tsct_channel_header *shared = (void *)channel->head_map;
	/* Pairs with the provider's release store of defs_used after a definition */
	__u64 used = smp_load_acquire(&shared->defs_used);
	const struct tsct_event_def *def;
	size_t pos = reader->defs_used;
	int err;

	if (reader->defs_broken || used <= pos || used > channel->header.defs_size)
		return;
	memcpy(reader->defs + pos,
	       channel->head_map + channel->header.defs_offset + pos, used - pos);
	while ((def = tsct_event_def_next(reader->defs, used, pos, &pos, &err)))
		if (!reader->by_id[def->id])
			reader->by_id[def->id] = def;
	reader->defs_used = pos;
	reader->defs_broken = err != 0;
}

const struct tsct_event_def *tsct_reader_def(struct tsct_reader *reader,
					     unsigned int id)
{
	if (id > TSCT_ID_MAX)
		return NULL;
	if (!reader->by_id[id])
		read_new_defs(reader);
	return reader->by_id[id];
}

/* ---- waiting ----------------------------------------------------------- */

/* A server's socket has no watermark: there tsct_reader_wait() polls the rings. */
int tsct_reader_watermark(struct tsct_reader *reader, uint64_t bytes)
{
	struct tsct_watermark arg = { .bytes = bytes };
	int err = 0;

	if (reader->channel->provider == TSCT_PROVIDER_MODULE)
		err = tsct_channel_request(reader->channel, TSCT_IOC_WATERMARK,
					   &arg);
	if (!err)
		reader->watermark = bytes;
	return err;
}

static bool is_watermark_reached(struct tsct_reader *reader)
{
	const __u64 half = reader->channel->geo.data_size / 2;
	unsigned int cpu;
	__u64 sum = 0, bytes;

	if (reader->watermark <= 1)
		return true;
	for (cpu = 0; cpu < reader->channel->header.nr_cpus; cpu++) {
		bytes = tsct_reader_unread(reader, cpu);
		if (bytes >= half)
			return true;
		sum += bytes;
	}
	return sum >= reader->watermark;
}

/* Without memory for a peek the answer is yes: the caller's read then fails. */
static bool has_event(struct tsct_reader *reader)
{
	const struct tsct_event *event;
	bool found = false;
	unsigned int cpu;

	for (cpu = 0; !found && cpu < reader->channel->header.nr_cpus; cpu++)
		found = tsct_reader_peek(reader, cpu, &event) != 0;
	return found;
}

/*
 * The module's poll() compares head and tail: while events are read but not
 * released it would return at once. Block headers, which are no events, are
 * released here for the same reason.
 */
static bool can_poll(struct tsct_reader *reader)
{
	unsigned int cpu;

	if (reader->channel->provider != TSCT_PROVIDER_MODULE ||
	    tsct_reader_overwrites(reader))
		return false;
	for (cpu = 0; cpu < reader->channel->header.nr_cpus; cpu++) {
		if (reader->rings[cpu].unreleased)
			return false;
		if (tsct_ring_ready(reader->channel, cpu))
			tsct_reader_release(reader, cpu);
	}
	return true;
}

/*
 * Returns 0 or -EINTR. *may_poll is cleared if the kernel reported data where
 * this reader finds none (a ring with false counts): that prevents a busy loop.
 */
static int sleep_some(struct tsct_reader *reader, __s64 left_ms, bool *may_poll)
{
	struct pollfd pollfd = { .fd = reader->channel->fd, .events = POLLIN };
	bool by_kernel = *may_poll && can_poll(reader);
	int ms = left_ms < 0 || left_ms > 60000 ? 60000 : left_ms, nr;

	if (!by_kernel && ms > CHECK_MS)
		ms = CHECK_MS;
	nr = poll(&pollfd, by_kernel, ms);
	*may_poll = nr == 0 || !by_kernel;
	return nr < 0 && errno == EINTR ? -EINTR : 0;
}

int tsct_reader_wait(struct tsct_reader *reader, int timeout_ms)
{
	const __s64 end_ms = tsct_monotonic_ns() / 1000000 + timeout_ms;
	bool may_poll = true;
	__s64 left_ms = -1;
	int err;

	for (;;) {
		if (has_event(reader) && is_watermark_reached(reader))
			return 1;
		if (timeout_ms >= 0) {
			left_ms = end_ms - tsct_monotonic_ns() / 1000000;
			if (left_ms <= 0)
				return 0;
		}
		err = sleep_some(reader, left_ms, &may_poll);
		if (err)
			return err;
	}
}
