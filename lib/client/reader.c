// SPDX-License-Identifier: MIT
/* A channel's reader: its life, and what it knows of the rings. */
#include <errno.h>
#include <stdlib.h>

#include "reader.h"

static int allocate(struct tsct_reader *reader)
{
	const struct tsct_channel_header *h = &reader->t->header;

	reader->rings = calloc(h->nr_cpus, sizeof(*reader->rings));
	reader->copy = malloc(h->block_size);
	reader->defs = malloc(h->defs_size ?: 1);
	/* Large and hardly touched: untouched pages cost nothing */
	reader->by_id = calloc(TSCT_ID_MAX + 1, sizeof(*reader->by_id));
	return reader->rings && reader->copy && reader->defs &&
		reader->by_id ? 0 : -ENOMEM;
}

int tsct_reader_open(struct tsct_channel *t, struct tsct_reader **ret_reader)
{
	struct tsct_reader *reader;
	unsigned int cpu;

	if (t->provider == TSCT_PROVIDER_NONE)
		return -ENODEV;
	if (!(t->roles & TSCT_ROLE_READ))
		return -EACCES;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	reader->t = t;
	if (__atomic_fetch_add(&t->readers, 1, __ATOMIC_RELAXED) &&
	    !tsct_reader_overwrites(reader)) {
		tsct_reader_close(reader);
		return -EBUSY;
	}
	if (allocate(reader)) {
		tsct_reader_close(reader);
		return -ENOMEM;
	}
	for (cpu = 0; cpu < t->header.nr_cpus; cpu++)
		tsct_reader_start(reader, cpu);
	*ret_reader = reader;
	return 0;
}

void tsct_reader_close(struct tsct_reader *reader)
{
	unsigned int cpu;

	if (!reader)
		return;
	__atomic_fetch_sub(&reader->t->readers, 1, __ATOMIC_RELAXED);
	for (cpu = 0; reader->rings && cpu < reader->t->header.nr_cpus; cpu++)
		free(reader->rings[cpu].copy);
	free(reader->rings);
	free(reader->heap);
	free(reader->in_order);
	free(reader->copy);
	free(reader->defs);
	free(reader->by_id);
	free(reader);
}

int tsct_reader_next(struct tsct_reader *reader, unsigned int cpu,
		     struct tsct_event *ret_event)
{
	struct tsct_ring_reader *ring;
	int found = 1;

	if (cpu >= reader->t->header.nr_cpus)
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

static void seek_new(struct tsct_reader *reader, unsigned int cpu)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	struct tsct_ring_count now;

	tsct_reader_ring_figures(reader, cpu, &now);
	if (ring->has_next)
		ring->stat.before++;
	ring->has_next = ring->has_head = false;
	ring->stat.before += now.events - ring->count;
	ring->pos = ring->sure = now.head;
	ring->count = now.events;
	ring->overtaken = ring->doubtful = false;
	tsct_reader_release(reader, cpu);
}

void tsct_reader_seek_end(struct tsct_reader *reader)
{
	unsigned int cpu;

	for (cpu = 0; cpu < reader->t->header.nr_cpus; cpu++)
		if (tsct_ring_ready(reader->t, cpu))
			seek_new(reader, cpu);
}

int tsct_reader_stat(struct tsct_reader *reader, unsigned int cpu,
		     struct tsct_ring_stat *ret_stat)
{
	const struct tsct_ring_reader *ring;
	struct tsct_producer *producer;
	struct tsct_ring_count now;
	unsigned int i;

	if (cpu >= reader->t->header.nr_cpus)
		return -EINVAL;
	ring = &reader->rings[cpu];
	*ret_stat = ring->stat;
	if (!tsct_ring_ready(reader->t, cpu))
		return 0;
	tsct_reader_ring_figures(reader, cpu, &now);
	ret_stat->published = now.events;
	ret_stat->unread = now.events - ring->count + ring->has_next;
	ret_stat->bytes = now.head;
	producer = tsct_ring_producer(reader->t, cpu);
	for (i = 0; i < TSCT_LOST_NR; i++)
		ret_stat->lost[i] = READ_ONCE(producer->lost[i]);
	return 0;
}
