// SPDX-License-Identifier: MIT
/*
 * Reading all CPUs in the order of their cycles: one event of each ring is held,
 * and a heap finds the first.
 *
 * Rings that were found empty are not examined again for every event, as most
 * CPUs of a large machine are idle. A caller that passes @until states that events
 * up to it have been published: so one scan holds for all events up to there. For
 * a caller that takes whatever there is, all rings are scanned again after as many
 * events as there are rings; events published meanwhile may turn out late.
 */
#include <errno.h>
#include <stdlib.h>

#include "reader.h"

static int ordering_begin(struct tsct_reader *reader)
{
	const __u32 nr = reader->channel->header.nr_cpus;

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

/* May a ring that was empty hold something before @head by now? */
static bool must_scan(const struct tsct_reader *reader,
		      const struct tsct_order_cursor *head, __u64 until)
{
	if (!head || until == UINT64_MAX)
		return !head || reader->since_scan >=
			reader->channel->header.nr_cpus;
	return head->key > reader->scanned_until;
}

/* Puts every CPU that has an event into the heap. */
static int scan_rings(struct tsct_reader *reader, __u64 until)
{
	struct tsct_order_cursor head;
	const struct tsct_event *event;
	__u32 cpu;
	int found;

	for (cpu = 0; cpu < reader->channel->header.nr_cpus; cpu++) {
		if (reader->in_order[cpu])
			continue;
		found = tsct_reader_peek(reader, cpu, &event);
		if (found < 0)
			return found;
		if (!found)
			continue;
		head = (struct tsct_order_cursor) {
			.key = event->cycles, .rank = cpu, .index = cpu,
		};
		reader->in_order[cpu] = true;
		tsct_order_add(&reader->order, &head);
	}
	reader->since_scan = 0;
	/* UINT64_MAX, "all events present", is no bound for later events. */
	reader->scanned_until = until == UINT64_MAX ? 0 : until;
	return 0;
}

static void drop_first(struct tsct_reader *reader)
{
	reader->in_order[tsct_order_first(&reader->order)->index] = false;
	tsct_order_drop(&reader->order);
}

/* Replaces the event that was returned by its ring's next one. */
static int refill_first(struct tsct_reader *reader)
{
	const struct tsct_event *event;
	int found;

	if (!reader->first_returned)
		return 0;
	found = tsct_reader_peek(reader, tsct_order_first(&reader->order)->index,
				 &event);
	if (found < 0)
		return found;
	reader->first_returned = false;
	if (found)
		tsct_order_advance(&reader->order, event->cycles);
	else
		drop_first(reader);
	return 0;
}

/*
 * The heap's first CPU differs from the event that its ring holds if that was read
 * by tsct_reader_next(), or skipped.
 */
static bool is_stale(const struct tsct_reader *reader,
		     const struct tsct_order_cursor *first)
{
	const struct tsct_ring_reader *ring = &reader->rings[first->index];

	return !ring->has_next || ring->next.cycles != first->key;
}

static const struct tsct_order_cursor *
first_until(struct tsct_reader *reader, __u64 until)
{
	const struct tsct_order_cursor *head = tsct_order_first(&reader->order);

	while (head && is_stale(reader, head)) {
		drop_first(reader);
		reader->since_scan = reader->channel->header.nr_cpus;
		reader->scanned_until = 0;
		head = tsct_order_first(&reader->order);
	}
	return head && head->key <= until ? head : NULL;
}

int tsct_reader_next_ordered(struct tsct_reader *reader, uint64_t until,
			     struct tsct_event *ret_event)
{
	const struct tsct_order_cursor *head;
	int err = ordering_begin(reader);

	if (!err)
		err = refill_first(reader);
	if (err)
		return err;
	head = first_until(reader, until);
	if (must_scan(reader, head, until)) {
		err = scan_rings(reader, until);
		if (err)
			return err;
		head = first_until(reader, until);
	}
	if (!head)
		return 0;
	tsct_reader_next(reader, head->index, ret_event);
	if (ret_event->cycles < reader->last_ordered)
		ret_event->flags |= TSCT_EVENT_LATE;
	else
		reader->last_ordered = ret_event->cycles;
	reader->first_returned = true;
	reader->since_scan++;
	return 1;
}
