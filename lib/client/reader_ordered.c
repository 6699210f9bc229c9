// SPDX-License-Identifier: MIT
/*
 * All CPUs in the order of their stamps: one event of each ring is held, and a
 * heap says which is the first.
 *
 * Rings that were found empty are not looked at again for every event, as most
 * CPUs of a large machine are idle. Who passes `until` says that what is stamped
 * up to it has been published: so a look is good for all events up to there.
 * Who takes whatever there is gets a new look after as many events as there are
 * rings, and what was published meanwhile may turn out late.
 */
#include <errno.h>
#include <stdlib.h>

#include "reader.h"

static int begin(struct tsct_reader *reader)
{
	const __u32 nr = reader->t->header.nr_cpus;

	if (reader->in_order)
		return 0;
	if (!reader->heap)
		reader->heap = calloc(nr, sizeof(*reader->heap));
	if (!reader->heap)
		return -ENOMEM;
	reader->in_order = calloc(nr, sizeof(*reader->in_order));
	if (!reader->in_order)
		return -ENOMEM;
	tsct_order_init(&reader->order, reader->heap, nr);
	reader->since_scan = nr;
	return 0;
}

static int add(struct tsct_reader *reader, __u32 cpu)
{
	struct tsct_order_cursor head = { .rank = cpu, .index = cpu };
	int found;

	if (reader->in_order[cpu])
		return 0;
	found = tsct_reader_fetch(reader, cpu);
	if (found <= 0)
		return found;
	head.key = reader->rings[cpu].next.cycles;
	reader->in_order[cpu] = true;
	return tsct_order_add(&reader->order, &head);
}

/* May a ring that was empty have something before @head by now? */
static bool must_scan(const struct tsct_reader *reader,
		      const struct tsct_order_cursor *head, __u64 until)
{
	if (!head || until == UINT64_MAX)
		return !head || reader->since_scan >=
			reader->t->header.nr_cpus;
	return head->key > reader->scanned;
}

static int scan(struct tsct_reader *reader, __u64 until)
{
	__u32 cpu;
	int error;

	for (cpu = 0; cpu < reader->t->header.nr_cpus; cpu++) {
		error = add(reader, cpu);
		if (error < 0)
			return error;
	}
	reader->since_scan = 0;
	/* "Whatever there is" promises nothing about what comes */
	reader->scanned = until == UINT64_MAX ? 0 : until;
	return 0;
}

static void drop_first(struct tsct_reader *reader)
{
	reader->in_order[tsct_order_first(&reader->order)->index] = false;
	tsct_order_drop(&reader->order);
}

/* The place of the one that was returned is its ring's next event's. */
static int refill(struct tsct_reader *reader)
{
	__u32 cpu;
	int found;

	if (!reader->first_gone)
		return 0;
	cpu = tsct_order_first(&reader->order)->index;
	found = tsct_reader_fetch(reader, cpu);
	if (found < 0)
		return found;
	reader->first_gone = false;
	if (found)
		tsct_order_advance(&reader->order,
				   reader->rings[cpu].next.cycles);
	else
		drop_first(reader);
	return 0;
}

/*
 * Somebody took the first one by tsct_reader_next(), or skipped it: what is
 * held is not what the heap says.
 */
static bool is_stale(const struct tsct_reader *reader)
{
	const struct tsct_order_cursor *first = tsct_order_first(&reader->order);
	const struct tsct_ring_reader *ring;

	if (!first)
		return false;
	ring = &reader->rings[first->index];
	return !ring->has_next || ring->next.cycles != first->key;
}

static const struct tsct_order_cursor *first(struct tsct_reader *reader, __u64 until)
{
	const struct tsct_order_cursor *head = tsct_order_first(&reader->order);

	while (head && is_stale(reader)) {
		drop_first(reader);
		reader->since_scan = reader->t->header.nr_cpus;
		reader->scanned = 0;
		head = tsct_order_first(&reader->order);
	}
	return head && head->key <= until ? head : NULL;
}

static void hand_out(struct tsct_reader *reader, __u32 cpu,
		     struct tsct_event *ret_event)
{
	tsct_reader_next(reader, cpu, ret_event);
	if (ret_event->cycles < reader->last_any)
		ret_event->flags |= TSCT_EVENT_LATE;
	else
		reader->last_any = ret_event->cycles;
	reader->first_gone = true;
	reader->since_scan++;
}

int tsct_reader_next_ordered(struct tsct_reader *reader, uint64_t until,
			 struct tsct_event *ret_event)
{
	const struct tsct_order_cursor *head;
	int error = begin(reader);

	if (!error)
		error = refill(reader);
	if (error)
		return error;
	head = first(reader, until);
	if (must_scan(reader, head, until)) {
		error = scan(reader, until);
		if (error)
			return error;
		head = first(reader, until);
	}
	if (!head)
		return 0;
	hand_out(reader, head->index, ret_event);
	return 1;
}
