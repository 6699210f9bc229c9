// SPDX-License-Identifier: MIT
/*
 * Walking one ring. What lies there may have been written by anybody who may
 * write the channel: a record is copied, then looked at, and what we return
 * points into the copy. Positions are ours; the tail in shared memory is only
 * ever written, but for the first look.
 *
 * Counts are figures, ours and the ring's: where they disagree something is
 * counted as missing, and reading goes on as if they agreed.
 */
#include <errno.h>
#include <stdlib.h>

#include "reader.h"

/* Overtaken so often in a row: the writer is too fast, let the caller go on */
#define OVERTAKEN_MAX	16
#define FREEZE_TRIES	8

/* A head: the word as it was loaded, and where that is for us. */
struct head {
	__u64 word;
	__u64 pos;
};

static struct head load_head(const struct tsct_reader *reader, unsigned int cpu)
{
	const struct tsct_ring_reader *ring = &reader->rings[cpu];
	struct head head;

	/* Pairs with the writers' publishing store: records lie below it */
	head.word = ring->image ? ring->image_head :
		smp_load_acquire(&tsct_ring_producer(reader->t, cpu)->head);
	head.pos = tsct_pos_extend(ring->pos, head.word);
	return head;
}

/* Words, each in one load: a writer may be at work on the same ones. */
static void copy_words(void *to, const void *from, size_t len)
{
	const __u64 *source = from;
	__u64 *at = to;
	size_t i;

	for (i = 0; i < (len + 7) / 8; i++)
		at[i] = READ_ONCE(source[i]);
}

static void publish_tail(struct tsct_reader *reader, unsigned int cpu,
			 __u64 pos)
{
	/* Our copies are done before the writers may use the room again */
	smp_store_release(&tsct_ring_consumer(reader->t, cpu)->tail, pos);
	reader->rings[cpu].released = pos;
}

/* ---- counts ------------------------------------------------------------ */

/*
 * The ring says that @events were published before ring->pos. More than there
 * was room for since it said so last, or fewer than we have seen, is a lie: it
 * is believed from here on, but nothing is counted by it.
 */
static void settle(struct tsct_ring_reader *ring, __u64 events)
{
	const __u64 missed = events - ring->count;
	const __u64 room = (__s64)(ring->pos - ring->sure) > 0 ?
		(ring->pos - ring->sure) / sizeof(struct tsct_record) : 0;

	if (missed > room) {
		ring->stat.broken_places++;
	} else if (ring->overtaken) {
		ring->stat.overrun += missed;
	} else if (missed) {
		ring->stat.broken += missed;
		ring->stat.broken_places += !ring->doubtful;
	}
	ring->count = events;
	ring->sure = ring->pos;
	ring->overtaken = ring->doubtful = false;
}

/* We are at the head: does it say the same? */
static void settle_at(struct tsct_reader *reader, unsigned int cpu,
		      struct head head)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	const __u16 apart = TSCT_HEAD_EVENTS(head.word) - ring->count;
	const struct tsct_geometry *geo = &reader->t->geo;
	bool known;
	__u64 events;

	if (!apart && !ring->overtaken && !ring->doubtful)
		return;
	known = tsct_ring_events(geo, tsct_reader_data(reader, cpu), head.word, &events);
	smp_rmb();
	/* Nobody came round and began the block anew while we looked at it */
	if (!known || !tsct_ring_holds(geo, head.word,
				       load_head(reader, cpu).word))
		events = ring->count + (__u64)(__s64)(__s16)apart;
	settle(ring, events);
}

/* ---- records ----------------------------------------------------------- */

/*
 * The ring's head, if it can be one; else take what it says as our position,
 * as there is nothing to be read between the two.
 */
static bool look(struct tsct_reader *reader, unsigned int cpu,
		 struct head *ret_head)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	struct head head;
	__s64 distance;

	if (ring->has_head && (__s64)(ring->head_pos - ring->pos) > 0) {
		*ret_head = (struct head) { ring->head_word, ring->head_pos };
		return true;
	}
	ring->has_head = false;
	head = load_head(reader, cpu);
	distance = head.pos - ring->pos;
	*ret_head = head;
	if (!distance) {
		settle_at(reader, cpu, head);
		return false;
	}
	if (head.pos % TSCT_RECORD_ALIGN == 0 &&
	    ring->pos % TSCT_RECORD_ALIGN == 0 && distance > 0 &&
	    (tsct_reader_overwrites(reader) ||
	     (__u64)distance <= reader->t->geo.data_size)) {
		ring->has_head = !tsct_reader_overwrites(reader);
		ring->head_word = head.word;
		ring->head_pos = head.pos;
		return true;
	}
	ring->stat.broken_places++;
	ring->doubtful = true;
	ring->pos = head.pos;
	if (!tsct_reader_overwrites(reader))
		publish_tail(reader, cpu, head.pos);
	settle_at(reader, cpu, head);
	return false;
}

/*
 * Was everything behind ring->pos still the reader's while it was copied? The
 * fence keeps the copy before this load of the head; a writer publishes a head
 * before it writes into the blocks that this head takes from us.
 */
static bool is_overtaken(struct tsct_reader *reader, unsigned int cpu)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	__u64 oldest;

	if (!tsct_reader_overwrites(reader) || ring->image)
		return false;
	smp_rmb();
	oldest = tsct_ring_oldest(&reader->t->geo,
				  load_head(reader, cpu).pos);
	if ((__s64)(oldest - ring->pos) <= 0)
		return false;
	ring->stat.overruns++;
	ring->overtaken = true;
	ring->pos = oldest;
	return true;
}

/* What lies at ring->pos: a record's payload and a block's header are copied */
static enum tsct_ring_step copy_next(struct tsct_reader *reader,
				     unsigned int cpu, __u64 head, __u64 *copy,
				     struct tsct_record *ret_header,
				     struct tsct_block *ret_block,
				     __u64 *ret_next)
{
	const struct tsct_geometry *geo = &reader->t->geo;
	const char *data = tsct_reader_data(reader, cpu);
	const __u64 pos = reader->rings[cpu].pos;
	enum tsct_ring_step step;

	step = tsct_ring_next(geo, data, pos, head, ret_header, ret_next);
	if (step == TSCT_STEP_RECORD)
		copy_words(copy, data + (pos & (geo->data_size - 1)) +
			   sizeof(*ret_header),
			   ret_header->len - sizeof(*ret_header));
	else if (step == TSCT_STEP_BLOCK &&
		 !tsct_ring_block(geo, data, pos, ret_block))
		step = TSCT_STEP_BROKEN;
	return step;
}

static void fill_event(unsigned int cpu, const struct tsct_record *header,
		       const __u64 *copy, struct tsct_event *ret_event)
{
	*ret_event = (struct tsct_event) {
		.cycles = header->cycles,
		.cpu = cpu,
		.tid = header->tid,
		.id = header->id,
		.len = header->len - sizeof(*header),
		.payload = copy,
	};
}

/* Step over what was found; true: it was a record. */
static bool pass(struct tsct_ring_reader *ring, enum tsct_ring_step step,
		 const struct tsct_block *block, __u64 next)
{
	if (step == TSCT_STEP_BLOCK)
		settle(ring, block->events);
	if (step == TSCT_STEP_BROKEN) {
		ring->stat.broken_places++;
		ring->doubtful = true;
	}
	ring->next_pos = ring->pos;
	ring->pos = next;
	ring->count += step == TSCT_STEP_RECORD;
	return step == TSCT_STEP_RECORD;
}

/*
 * The next record below a head. 1, or 0: none. Every turn goes forward or counts as
 * overtaken, so it ends.
 */
static int walk(struct tsct_reader *reader, unsigned int cpu, __u64 *copy,
		struct head head, struct tsct_event *ret_event)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	struct tsct_record header;
	enum tsct_ring_step step;
	struct tsct_block block;
	int overtaken = 0;
	__u64 next;

	while ((__s64)(head.pos - ring->pos) > 0) {
		step = copy_next(reader, cpu, head.pos, copy, &header, &block,
				 &next);
		if (is_overtaken(reader, cpu)) {
			if (++overtaken > OVERTAKEN_MAX)
				return 0;
			head = load_head(reader, cpu);
			continue;
		}
		if (!pass(ring, step, &block, next))
			continue;
		fill_event(cpu, &header, copy, ret_event);
		return 1;
	}
	if (head.pos == ring->pos)
		settle_at(reader, cpu, head);
	return 0;
}

int tsct_reader_take(struct tsct_reader *reader, unsigned int cpu, __u64 *copy,
		     struct tsct_event *ret_event)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	struct head head;
	bool known;

	if (!tsct_ring_ready(reader->t, cpu))
		return 0;
	known = ring->has_head;
	if (!look(reader, cpu, &head))
		return 0;
	if (is_overtaken(reader, cpu))
		head = load_head(reader, cpu);
	if (walk(reader, cpu, copy, head, ret_event))
		return 1;
	/* Nothing up to where we knew of, or we got stuck below: what is there now? */
	if (!known)
		return 0;
	ring->has_head = false;
	return look(reader, cpu, &head) ?
		walk(reader, cpu, copy, head, ret_event) : 0;
}

int tsct_reader_fetch(struct tsct_reader *reader, unsigned int cpu)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];

	if (ring->has_next)
		return 1;
	if (!tsct_ring_ready(reader->t, cpu))
		return 0;
	if (!ring->copy)
		ring->copy = malloc(reader->t->geo.block_size);
	if (!ring->copy)
		return -ENOMEM;
	ring->has_next = tsct_reader_take(reader, cpu, ring->copy, &ring->next);
	return ring->has_next;
}

__u64 tsct_reader_unread(struct tsct_reader *reader, unsigned int cpu)
{
	const struct tsct_ring_reader *ring = &reader->rings[cpu];

	if (!tsct_ring_ready(reader->t, cpu))
		return 0;
	return tsct_ring_unread(&reader->t->geo,
				ring->has_next ? ring->next_pos : ring->pos,
				load_head(reader, cpu).word);
}

void tsct_reader_release(struct tsct_reader *reader, unsigned int cpu)
{
	struct tsct_ring_reader *ring;
	__u64 pos;

	if (cpu >= reader->t->header.nr_cpus || tsct_reader_overwrites(reader))
		return;
	ring = &reader->rings[cpu];
	ring->unreleased = false;
	pos = ring->has_next ? ring->next_pos : ring->pos;
	if (pos != ring->released)
		publish_tail(reader, cpu, pos);
}

/* ---- a copy of all of it ----------------------------------------------- */

/* [from, to) lies at the same offsets in the image as in the ring. */
static void copy_range(struct tsct_reader *reader, unsigned int cpu,
		       char *image, __u64 from, __u64 to)
{
	const __u64 size = reader->t->geo.data_size;
	const char *data = tsct_ring_data(reader->t, cpu);
	const __u64 at = from & (size - 1), len = to - from;
	const __u64 first = len < size - at ? len : size - at;

	copy_words(image + at, data + at, first);
	copy_words(image, data, len - first);
}

static void skip_broken(struct tsct_ring_reader *ring, __u64 head)
{
	ring->stat.broken_places++;
	ring->doubtful = true;
	ring->pos = head;
}

/* What is valid now. False: writers took more than half of it meanwhile. */
static bool copy_valid(struct tsct_reader *reader, unsigned int cpu,
		       char *image, struct tsct_ring_count *ret_now)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	__u64 from, size;

	is_overtaken(reader, cpu);
	tsct_reader_ring_figures(reader, cpu, ret_now);
	from = ring->pos;
	ret_now->head = tsct_pos_extend(from, ret_now->head);
	size = ret_now->head - from;
	if ((__s64)size < 0 || ret_now->head % TSCT_RECORD_ALIGN) {
		skip_broken(ring, ret_now->head);
		return true;
	}
	/* Since we looked where it begins, it went all the way round. */
	if (size > reader->t->geo.data_size)
		return false;
	copy_range(reader, cpu, image, from, ret_now->head);
	/* What is being written over by now is not sound in the copy */
	is_overtaken(reader, cpu);
	return (__s64)(ret_now->head - ring->pos) >= (__s64)(size / 2);
}

bool tsct_reader_freeze(struct tsct_reader *reader, unsigned int cpu,
			char *image)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	struct tsct_ring_count now;
	int tries = FREEZE_TRIES;

	if (!tsct_ring_ready(reader->t, cpu))
		return false;
	/* What is held lies before all that is copied: back to it */
	if (ring->has_next) {
		ring->has_next = false;
		ring->pos = ring->next_pos;
		ring->count--;
	}
	/* We may be kept from the CPU in the midst of it. */
	while (!copy_valid(reader, cpu, image, &now) && --tries)
		;
	if ((__s64)(now.head - ring->pos) > (__s64)reader->t->geo.data_size)
		skip_broken(ring, now.head);
	if ((__s64)(now.head - ring->pos) <= 0) {
		ring->pos = now.head;
		settle(ring, now.events);
	}
	ring->image = image;
	ring->image_head = TSCT_HEAD_POS(now.head) |
		now.events << TSCT_POS_BITS;
	return true;
}

/* Whatever follows was written after it. */
void tsct_reader_thaw(struct tsct_reader *reader, unsigned int cpu)
{
	reader->rings[cpu].image = NULL;
}
