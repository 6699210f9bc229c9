// SPDX-License-Identifier: MIT
/* A channel's reader: opening, counters, definitions, waiting */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/event_def.h"
#include "gettime.h"
#include "reader.h"

/* period of checks for new events if the kernel's poll() cannot be used, ms */
#define CHECK_MS	10

/* ---- opening ----------------------------------------------------------- */

int tsct_reader_open(struct tsct_channel *channel, struct tsct_reader **ret_reader)
{
	const struct tsct_channel_header *h;
	struct tsct_reader *reader;
	unsigned int cpu;

	channel = tsct_channel_target(channel);
	h = &channel->header;
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
	reader->rings = calloc(h->nr_cpus, sizeof(*reader->rings));
	reader->heap = calloc(h->nr_cpus, sizeof(*reader->heap));
	reader->in_order = calloc(h->nr_cpus, sizeof(*reader->in_order));
	reader->copy = malloc(h->block_size);
	reader->defs = malloc(h->defs_size ?: 1);
	/*
	 * Buffer of 512 KiB, most pages of which are never touched and so use no memory
	 */
	reader->by_id = calloc(TSCT_ID_MAX + 1, sizeof(*reader->by_id));
	if (!reader->rings || !reader->heap || !reader->in_order || !reader->copy ||
	    !reader->defs || !reader->by_id) {
		tsct_reader_close(reader);
		return -ENOMEM;
	}
	tsct_order_init(&reader->order, reader->heap, h->nr_cpus);
	for (cpu = 0; cpu < h->nr_cpus; cpu++)
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

/* ---- counters ---------------------------------------------------------- */

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
	for (i = 0; i < TSCT_LOST_MAX; i++)
		ret_stat->lost[i] = READ_ONCE(producer->lost[i]);
	return 0;
}

/* ---- definitions ------------------------------------------------------- */

/*
 * Copies the definitions that were added since the last call, then parses the
 * copy. Only bytes below defs_used are complete. A definition that does not parse
 * ends the reading of definitions for good.
 */
const struct tsct_event_def *tsct_reader_def(struct tsct_reader *reader,
					     unsigned int id)
{
	const struct tsct_channel *channel = reader->channel;
	const struct tsct_channel_header *shared = (void *)channel->head_map;
	const struct tsct_event_def *def;
	size_t pos = reader->defs_used;
	__u64 used;
	int err;

	if (id > TSCT_ID_MAX)
		return NULL;
	if (reader->by_id[id] || reader->defs_broken)
		return reader->by_id[id];
	/* acquire: pairs with the provider's release of defs_used after a definition */
	used = smp_load_acquire(&shared->defs_used);
	if (used <= pos || used > channel->header.defs_size)
		return NULL;
	memcpy(reader->defs + pos,
	       channel->head_map + channel->header.defs_offset + pos, used - pos);
	while ((def = tsct_event_def_next(reader->defs, used, pos, &pos, &err)))
		if (!reader->by_id[def->id])
			reader->by_id[def->id] = def;
	reader->defs_used = pos;
	reader->defs_broken = err != 0;
	return reader->by_id[id];
}

/* ---- waiting ----------------------------------------------------------- */

/* A server's socket has no watermark: tsct_reader_wait() polls the rings of a server
 * instead. */
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

/*
 * Returns true if a ring has an event and the watermark is reached. Without memory
 * for a peek it returns true, too: the caller's read then fails.
 */
static bool is_ready(struct tsct_reader *reader)
{
	const __u64 half = reader->channel->geo.data_size / 2;
	const __u32 nr = reader->channel->header.nr_cpus;
	const struct tsct_event *event;
	bool found = false;
	__u64 sum = 0, bytes;
	unsigned int cpu;

	for (cpu = 0; !found && cpu < nr; cpu++)
		found = tsct_reader_peek(reader, cpu, &event) != 0;
	if (!found || reader->watermark <= 1)
		return found;
	for (cpu = 0; cpu < nr; cpu++) {
		bytes = tsct_reader_unread(reader, cpu);
		if (bytes >= half)
			return true;
		sum += bytes;
	}
	return sum >= reader->watermark;
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

int tsct_reader_wait(struct tsct_reader *reader, int timeout_ms)
{
	const __s64 end_ms = tsct_monotonic_ns() / 1000000 + timeout_ms;
	struct pollfd pollfd = { .fd = reader->channel->fd, .events = POLLIN };
	bool may_poll = true, by_kernel;
	__s64 left_ms = -1;
	int ms, nr;

	while (!is_ready(reader)) {
		if (timeout_ms >= 0) {
			left_ms = end_ms - tsct_monotonic_ns() / 1000000;
			if (left_ms <= 0)
				return 0;
		}
		by_kernel = may_poll && can_poll(reader);
		ms = left_ms < 0 || left_ms > 60000 ? 60000 : left_ms;
		if (!by_kernel && ms > CHECK_MS)
			ms = CHECK_MS;
		nr = poll(&pollfd, by_kernel, ms);
		if (nr < 0 && errno == EINTR)
			return -EINTR;
		/* The kernel reported data where this reader finds none (a ring with
		 * false counts): do not poll next time, to prevent a busy loop. */
		may_poll = nr == 0 || !by_kernel;
	}
	return 1;
}
