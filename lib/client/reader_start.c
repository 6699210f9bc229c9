// SPDX-License-Identifier: MIT
/* What a ring says of itself, and where a reader begins in it. */
#include "reader.h"

/* Records in [from, to), which begins at a record; false: not only records */
static bool count_records(struct tsct_reader *reader, unsigned int cpu,
			  __u64 from, __u64 to, __u64 *ret_nr)
{
	const char *data = tsct_reader_data(reader, cpu);
	struct tsct_record header;
	enum tsct_ring_step step;
	__u64 pos = from, next;

	*ret_nr = 0;
	while ((__s64)(to - pos) > 0) {
		step = tsct_ring_next(&reader->t->geo, data, pos, to, &header,
				      &next);
		if (step == TSCT_STEP_BROKEN || step == TSCT_STEP_EMPTY)
			return false;
		*ret_nr += step == TSCT_STEP_RECORD;
		pos = next;
	}
	return true;
}

/*
 * Events before a discard ring's tail: by the header of its block, as long as
 * writers have not come round and begun it anew, else by the next thing behind
 * it that tells, a header or the head.
 */
static __u64 events_before(struct tsct_reader *reader, unsigned int cpu,
			   __u64 tail, const struct tsct_ring_count *now)
{
	const struct tsct_geometry *geo = &reader->t->geo;
	const char *data = tsct_reader_data(reader, cpu);
	const __u64 start = tail & ~(__u64)(geo->block_size - 1);
	const __u64 end = start + geo->block_size;
	struct tsct_block block;
	__u64 nr;

	if (tsct_ring_block(geo, data, start, &block) &&
	    count_records(reader, cpu, start, tail, &nr)) {
		smp_rmb();
		if (tsct_ring_block(geo, data, start, &block))
			return block.events + nr;
	}
	if ((__s64)(now->head - end) < 0)
		return count_records(reader, cpu, tail, now->head, &nr) ?
			now->events - nr : now->events;
	return tsct_ring_block(geo, data, end, &block) &&
		count_records(reader, cpu, tail, end, &nr) ?
		block.events - nr : now->events;
}

void tsct_reader_ring_figures(struct tsct_reader *reader, unsigned int cpu,
			 struct tsct_ring_count *ret_figures)
{
	const struct tsct_ring_reader *ring = &reader->rings[cpu];
	struct tsct_ring_count *now = ret_figures;

	if (tsct_ring_count(&reader->t->geo, tsct_ring_producer(reader->t, cpu),
			    tsct_ring_data(reader->t, cpu), now))
		return;
	/* No header tells: what is nearest to what we know */
	now->head = tsct_pos_extend(ring->pos, now->head);
	now->oldest = tsct_ring_oldest(&reader->t->geo, now->head);
	now->events = ring->count + (__u16)(now->events - ring->count);
}

/*
 * Where a reader before us stopped, or as far back as can be trusted: what was
 * overwritten before is not ours to miss. A CPU that comes up later has an
 * empty ring now: it is read from position 0.
 */
void tsct_reader_start(struct tsct_reader *reader, unsigned int cpu)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	struct tsct_ring_count now;
	__u64 tail;

	if (!tsct_ring_ready(reader->t, cpu))
		return;
	tsct_reader_ring_figures(reader, cpu, &now);
	if (tsct_reader_overwrites(reader)) {
		ring->pos = now.oldest;
		ring->count = now.overwritten;
	} else {
		tail = READ_ONCE(tsct_ring_consumer(reader->t, cpu)->tail);
		ring->pos = tsct_pos_extend(now.head, tail);
		ring->count = events_before(reader, cpu, ring->pos, &now);
	}
	ring->stat.before = ring->count;
	ring->released = ring->sure = ring->pos;
}
