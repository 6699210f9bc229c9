// SPDX-License-Identifier: MIT
/*
 * Reads the events of all CPUs in the order of the events' cycles: one event of each
 * ring is held, and a heap finds the one with the lowest cycles.
 *
 * Empty rings are not examined again for every event, as most CPUs of a large machine
 * are idle. A caller that passes @until asserts that all events up to @until are
 * published already, so rings that a scan found empty contain no such event. If
 * @until is UINT64_MAX, all rings are scanned again after as many events as there are
 * rings; events published between two scans may be returned late (TSCT_EVENT_LATE).
 */
#include "reader.h"

/* Puts every CPU that has an event into the heap. Returns 0 or -ENOMEM. */
static int scan_rings(struct tsct_reader *reader, __u64 until)
{
	struct tsct_order_cursor head;
	const struct tsct_event *event;
	__u32 cpu;
	int found;

	for (cpu = 0; cpu < reader->channel->header.nr_cpus; cpu++) {
		if (reader->rings[cpu].in_order)
			continue;
		found = tsct_reader_peek(reader, cpu, &event);
		if (found < 0)
			return found;
		if (!found)
			continue;
		head = (struct tsct_order_cursor) {
			.key = event->cycles, .rank = cpu, .index = cpu,
		};
		reader->rings[cpu].in_order = true;
		tsct_order_add(&reader->order, &head);
	}
	reader->since_scan = 0;
	/*
	 * If @until is UINT64_MAX, the scan finds the events that are published by now.
	 * Events with low cycles may still be published in the rings that were empty, so
	 * scanned_until is 0: the next event may need another scan.
	 */
	reader->scanned_until = until == UINT64_MAX ? 0 : until;
	return 0;
}

static void drop_first(struct tsct_reader *reader)
{
	reader->rings[tsct_order_first(&reader->order)->index].in_order = false;
	tsct_order_drop(&reader->order);
}

/* Replaces the returned event by the next event of its ring. Returns 0 or -ENOMEM. */
static int refill_first(struct tsct_reader *reader)
{
	const struct tsct_event *event;
	int found = tsct_reader_peek(reader, tsct_order_first(&reader->order)->index,
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
 * Returns the first cursor, if it is not after @until. Drops cursors whose event was
 * taken by tsct_reader_next() or tsct_reader_seek_end() meanwhile.
 */
static const struct tsct_order_cursor *
first_until(struct tsct_reader *reader, __u64 until)
{
	const struct tsct_order_cursor *head;
	const struct tsct_ring_reader *ring;

	while ((head = tsct_order_first(&reader->order))) {
		ring = &reader->rings[head->index];
		if (ring->has_next && ring->next.cycles == head->key)
			return head->key <= until ? head : NULL;
		drop_first(reader);
		reader->since_scan = reader->channel->header.nr_cpus;
		reader->scanned_until = 0;
	}
	return NULL;
}

int tsct_reader_next_ordered(struct tsct_reader *reader, uint64_t until,
			     struct tsct_event *ret_event)
{
	const struct tsct_order_cursor *head;
	int err = reader->first_returned ? refill_first(reader) : 0;
	bool must_scan;

	if (err)
		return err;
	head = first_until(reader, until);
	/* A ring that was empty may now hold an event with lower cycles than @head. */
	if (!head)
		must_scan = true;
	else if (until == UINT64_MAX)
		must_scan = reader->since_scan >= reader->channel->header.nr_cpus;
	else
		must_scan = head->key > reader->scanned_until;
	if (must_scan) {
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
