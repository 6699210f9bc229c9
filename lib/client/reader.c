// SPDX-License-Identifier: MIT
/*
 * A channel's reader. A ring's content may come from any process that can write the
 * channel: a record is copied, then checked, and events point into the copy.
 * The reader's position is private: the tail in shared memory is read once, at
 * the beginning, and only written afterwards.
 *
 * Counts of events serve for statistics only: if the reader's count differs from the
 * ring's, the difference is counted as missing events, and reading goes on.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/core/event_def.h"
#include "channel_admin.h"
#include "gettime.h"
#include "reader.h"

/* period of checks for new events if the kernel's poll() cannot be used, ms */
#define CHECK_MS	10
/* Maximum number of times that one call reads again, because writers overwrote the
 * record that the call was reading */
#define OVERTAKEN_MAX	16
#define FREEZE_TRIES	8
/* Maximum size of the result of tsct_reader_records(), bytes. It is limited because writers
 * can reuse the records' room in the ring only when the caller has passed all of them. */
#define RECORDS_MAX	16384

/* A ring's head: the word as loaded, and the word's position extended to 64 bits */
struct ring_head {
	__u64 word;
	__u64 pos;
};

static struct ring_head load_head(const struct tsct_reader *reader, unsigned int cpu)
{
	const struct tsct_ring_reader *ring = &reader->rings[cpu];
	struct ring_head head;

	/* acquire: records below a head that writers stored are complete */
	head.word = ring->image ? ring->image_head :
		smp_load_acquire(&tsct_ring_producer(reader->channel, cpu)->head);
	head.pos = tsct_pos_extend(ring->pos, head.word);
	return head;
}

/* Returns the start of a ring's data: of the ring itself, or of its private copy. */
static const char *reader_data(const struct tsct_reader *reader, unsigned int cpu)
{
	const char *image = reader->rings[cpu].image;

	return image ? image : tsct_ring_data(reader->channel, cpu);
}

/* Copies words, each with one load, because a writer may be storing to the same words. */
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
	/*
	 * Release: pairs with the writers' acquire of the tail. The reader has copied
	 * the records below @pos before writers overwrite them.
	 */
	smp_store_release(&tsct_ring_consumer(reader->channel, cpu)->tail, pos);
	reader->rings[cpu].released = pos;
}

/* ---- counts ------------------------------------------------------------ */

/*
 * Counts the events before ring->pos that the reader did not get: @events minus ring->count.
 * @events is the number of events before ring->pos as the ring states it; ring->count is
 * the number as the reader counted it, and becomes @events. Counts no event as missing if
 * @events is impossible: less than ring->count, or more than fit between the position of
 * the last such comparison and ring->pos.
 */
static void reconcile(struct tsct_ring_reader *ring, __u64 events)
{
	const __u64 missed = events - ring->count;
	const __u64 room = (__s64)(ring->pos - ring->confirmed_pos) > 0 ?
		(ring->pos - ring->confirmed_pos) / sizeof(struct tsct_record) : 0;

	if (missed > room) {
		ring->stat.broken_places++;
	} else if (ring->overtaken) {
		ring->stat.overrun += missed;
	} else if (missed) {
		ring->stat.broken += missed;
		ring->stat.broken_places += !ring->damaged;
	}
	ring->count = events;
	ring->confirmed_pos = ring->pos;
	ring->overtaken = ring->damaged = false;
}

/*
 * Compares ring->count with the number of all events published in the ring, when the
 * reader has reached the ring's head.
 */
static void reconcile_at_head(struct tsct_reader *reader, unsigned int cpu,
			      struct ring_head head)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	const __u16 apart = TSCT_HEAD_EVENTS(head.word) - ring->count;
	const struct tsct_geometry *geo = &reader->channel->geo;
	bool known;
	__u64 events;

	if (!apart && !ring->overtaken && !ring->damaged)
		return;
	known = tsct_ring_events(geo, reader_data(reader, cpu), head.word,
				 &events);
	smp_rmb();
	/* Writers may have overwritten the block while it was read. */
	if (!known || !tsct_ring_holds(geo, head.word,
				       load_head(reader, cpu).word))
		events = ring->count + (__u64)(__s64)(__s16)apart;
	reconcile(ring, events);
}

/* ---- start of reading --------------------------------------------------- */

/* Counts the records from position @from to @to. Returns false at invalid data. */
static bool count_records(struct tsct_reader *reader, unsigned int cpu,
			  __u64 from, __u64 to, __u64 *ret_nr)
{
	const char *data = reader_data(reader, cpu);
	struct tsct_record header;
	enum tsct_ring_step step;
	__u64 pos = from, next;

	*ret_nr = 0;
	while ((__s64)(to - pos) > 0) {
		step = tsct_ring_next(&reader->channel->geo, data, pos, to, &header,
				      &next);
		if (step == TSCT_STEP_BROKEN || step == TSCT_STEP_EMPTY)
			return false;
		*ret_nr += step == TSCT_STEP_RECORD;
		pos = next;
	}
	return true;
}

/*
 * Returns the number of events before a discard ring's tail: the event count in
 * the header of the tail's block, plus the number of records from that header
 * to the tail. If writers have overwritten these records, takes the event count
 * in the next block's header (in the ring's head if there is no next block),
 * minus the number of records from the tail to that block or head.
 */
static __u64 events_before(struct tsct_reader *reader, unsigned int cpu,
			   __u64 tail, const struct tsct_ring_count *now)
{
	const struct tsct_geometry *geo = &reader->channel->geo;
	const char *data = reader_data(reader, cpu);
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

/* Reads the head and the counts of a ring as they were at one moment. */
static void count_ring(struct tsct_reader *reader, unsigned int cpu,
		       struct tsct_ring_count *now)
{
	const struct tsct_ring_reader *ring = &reader->rings[cpu];

	if (tsct_ring_count(&reader->channel->geo, tsct_ring_producer(reader->channel, cpu),
			    tsct_ring_data(reader->channel, cpu), now))
		return;
	/*
	 * No block header is valid, so only the low bits in the head are known: 48 of
	 * the position and 16 of the event count. Takes the position nearest to
	 * ring->pos, and the lowest event count that is not below ring->count.
	 */
	now->head = tsct_pos_extend(ring->pos, now->head);
	now->oldest = tsct_ring_oldest(&reader->channel->geo, now->head);
	now->events = ring->count + (__u16)(now->events - ring->count);
}

/*
 * Reading begins at the position where the previous reader stopped (discard policy), or
 * at the oldest valid event (overwrite policy); events overwritten before that do not
 * count as missing. The ring of a CPU that is offline now is read from position 0
 * later.
 */
static void start_ring(struct tsct_reader *reader, unsigned int cpu)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	struct tsct_ring_count now;
	__u64 tail;

	if (!tsct_ring_ready(reader->channel, cpu))
		return;
	count_ring(reader, cpu, &now);
	if (tsct_reader_overwrites(reader)) {
		ring->pos = now.oldest;
		ring->count = now.overwritten;
	} else {
		tail = READ_ONCE(tsct_ring_consumer(reader->channel, cpu)->tail);
		ring->pos = tsct_pos_extend(now.head, tail);
		ring->count = events_before(reader, cpu, ring->pos, &now);
	}
	ring->stat.before = ring->count;
	ring->released = ring->confirmed_pos = ring->pos;
}

/* ---- records ----------------------------------------------------------- */

/* Continues reading at @to, because the data before it is invalid. */
static void skip_damage(struct tsct_ring_reader *ring, __u64 to)
{
	ring->stat.broken_places++;
	ring->damaged = true;
	ring->pos = to;
}

/*
 * Loads the ring's head. Returns true if there is data to read between ring->pos and
 * the head. If the head is impossible, no data before the head can be read:
 * reading continues at the head.
 */
static bool find_head(struct tsct_reader *reader, unsigned int cpu,
		      struct ring_head *ret_head)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	struct ring_head head;
	__s64 distance;

	if (ring->has_head && (__s64)(ring->head_pos - ring->pos) > 0) {
		*ret_head = (struct ring_head) { ring->head_word, ring->head_pos };
		return true;
	}
	ring->has_head = false;
	head = load_head(reader, cpu);
	distance = head.pos - ring->pos;
	*ret_head = head;
	if (distance > 0 && head.pos % TSCT_RECORD_ALIGN == 0 &&
	    ring->pos % TSCT_RECORD_ALIGN == 0 &&
	    (tsct_reader_overwrites(reader) ||
	     (__u64)distance <= reader->channel->geo.data_size)) {
		ring->has_head = !tsct_reader_overwrites(reader);
		ring->head_word = head.word;
		ring->head_pos = head.pos;
		return true;
	}
	if (distance) {
		skip_damage(ring, head.pos);
		if (!tsct_reader_overwrites(reader))
			publish_tail(reader, cpu, head.pos);
	}
	reconcile_at_head(reader, cpu, head);
	return false;
}

/*
 * Returns true if a writer reused the data at ring->pos while it was copied; the
 * reader then continues at the oldest valid position. The fence orders the copy
 * before this load of the head. The fence pairs with the writers' order: they
 * publish a head before they store into the blocks that this head reclaims.
 */
static bool is_overtaken(struct tsct_reader *reader, unsigned int cpu)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	__u64 oldest;

	if (!tsct_reader_overwrites(reader) || ring->image)
		return false;
	smp_rmb();
	oldest = tsct_ring_oldest(&reader->channel->geo,
				  load_head(reader, cpu).pos);
	if ((__s64)(oldest - ring->pos) <= 0)
		return false;
	ring->stat.overruns++;
	ring->overtaken = true;
	ring->pos = oldest;
	return true;
}

/* Returns the event id of a record; 0: the wide id in the payload is invalid. */
static __u32 record_id(const struct tsct_record *header, const __u64 *payload)
{
	return header->id != TSCT_ID_WIDE ? header->id : payload[0] > TSCT_ID_MAX &&
		payload[0] <= TSCT_ID_WIDE_MAX ? (__u32)payload[0] : 0;
}

/*
 * Reads the next record below @head. Returns 1, or 0: there is none. The loop ends:
 * every iteration advances ring->pos towards the head, except when writers overwrote
 * the data that was being read, which ends the loop after OVERTAKEN_MAX times.
 */
static int next_record(struct tsct_reader *reader, unsigned int cpu, __u64 *copy,
		       struct ring_head head, struct tsct_event *ret_event)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	const struct tsct_geometry *geo = &reader->channel->geo;
	const char *data = reader_data(reader, cpu);
	struct tsct_record header;
	enum tsct_ring_step step;
	struct tsct_block block;
	int overtaken = 0;
	__u64 next;
	__u32 id = 0;
	bool wide;

	while ((__s64)(head.pos - ring->pos) > 0) {
		step = tsct_ring_next(geo, data, ring->pos, head.pos, &header, &next);
		if (step == TSCT_STEP_RECORD)
			copy_words(copy, data + (ring->pos & (geo->data_size - 1)) +
				   sizeof(header), header.len - sizeof(header));
		else if (step == TSCT_STEP_BLOCK &&
			 !tsct_ring_block(geo, data, ring->pos, &block))
			step = TSCT_STEP_BROKEN;
		if (is_overtaken(reader, cpu)) {
			if (++overtaken > OVERTAKEN_MAX)
				return 0;
			head = load_head(reader, cpu);
			continue;
		}
		if (step == TSCT_STEP_RECORD) {
			id = record_id(&header, copy);
			step = id ? TSCT_STEP_RECORD : TSCT_STEP_BROKEN;
		}
		if (step == TSCT_STEP_BLOCK)
			reconcile(ring, block.events);
		ring->next_pos = ring->pos;
		if (step == TSCT_STEP_BROKEN)
			skip_damage(ring, next);
		ring->pos = next;
		if (step != TSCT_STEP_RECORD)
			continue;
		ring->count++;
		wide = id > TSCT_ID_MAX;
		*ret_event = (struct tsct_event) {
			.cycles = header.cycles,
			.cpu = cpu,
			.tid = header.tid,
			.id = id,
			.len = header.len - sizeof(header) - (wide ? sizeof(*copy) : 0),
			.payload = wide ? copy + 1 : copy,
		};
		return 1;
	}
	if (head.pos == ring->pos)
		reconcile_at_head(reader, cpu, head);
	return 0;
}

/* Reads the next record into @copy, which has block_size bytes. Returns 1, or 0: no record now. */
static int take_record(struct tsct_reader *reader, unsigned int cpu, __u64 *copy,
		       struct tsct_event *ret_event)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	struct ring_head head;
	bool known;

	if (!tsct_ring_ready(reader->channel, cpu))
		return 0;
	known = ring->has_head;
	if (!find_head(reader, cpu, &head))
		return 0;
	if (is_overtaken(reader, cpu))
		head = load_head(reader, cpu);
	if (next_record(reader, cpu, copy, head, ret_event))
		return 1;
	/* There is no record below the cached head, so load the head again. */
	if (!known)
		return 0;
	ring->has_head = false;
	return find_head(reader, cpu, &head) ?
		next_record(reader, cpu, copy, head, ret_event) : 0;
}

int tsct_reader_next(struct tsct_reader *reader, unsigned int cpu,
		     struct tsct_event *ret_event)
{
	struct tsct_ring_reader *ring;

	if (cpu >= reader->channel->header.nr_cpus)
		return -EINVAL;
	ring = &reader->rings[cpu];
	if (ring->has_next)
		*ret_event = ring->next;
	else if (!take_record(reader, cpu, reader->copy, ret_event))
		return 0;
	ring->has_next = false;
	ring->unreleased = true;
	ring->stat.read++;
	return 1;
}

int tsct_reader_peek(struct tsct_reader *reader, unsigned int cpu,
		     const struct tsct_event **ret_event)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];

	*ret_event = &ring->next;
	if (ring->has_next)
		return 1;
	if (!tsct_ring_ready(reader->channel, cpu))
		return 0;
	if (!ring->copy)
		ring->copy = malloc(reader->channel->geo.block_size);
	if (!ring->copy)
		return -ENOMEM;
	ring->has_next = take_record(reader, cpu, ring->copy, &ring->next);
	return ring->has_next;
}

size_t tsct_reader_records(struct tsct_reader *reader, unsigned int cpu,
			   const char **ret_from)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	const struct tsct_geometry *geo = &reader->channel->geo;
	const bool overwrites = tsct_reader_overwrites(reader);
	const __u64 offset = ring->pos & (geo->block_size - 1);
	/* The last TSCT_RECORD_ALIGN bytes of a block hold a pad, never a record. */
	__u64 len = geo->block_size - offset - TSCT_RECORD_ALIGN, published;

	if (ring->has_next || !(overwrites || ring->has_head) || !offset ||
	    offset % TSCT_RECORD_ALIGN || !tsct_ring_ready(reader->channel, cpu))
		return 0;
	published = (overwrites ? load_head(reader, cpu).pos : ring->head_pos) - ring->pos;
	if ((__s64)published <= 0 || published % TSCT_RECORD_ALIGN)
		return 0;
	len = min(len, published);
	len = min(len, RECORDS_MAX);
	*ret_from = reader_data(reader, cpu) + (ring->pos & (geo->data_size - 1));
	if (!overwrites || ring->image)
		return len;
	/* Writers may overwrite the records at any time: only a copy can be checked. */
	copy_words(reader->copy, *ret_from, len);
	*ret_from = (const char *)reader->copy;
	return is_overtaken(reader, cpu) ? 0 : len;
}

/* Returns the number of bytes between the reader's position and the head of a ring. */
static __u64 unread_bytes(struct tsct_reader *reader, unsigned int cpu)
{
	const struct tsct_ring_reader *ring = &reader->rings[cpu];

	if (!tsct_ring_ready(reader->channel, cpu))
		return 0;
	return tsct_ring_unread(&reader->channel->geo,
				ring->has_next ? ring->next_pos : ring->pos,
				load_head(reader, cpu).word);
}

void tsct_reader_release(struct tsct_reader *reader, unsigned int cpu)
{
	struct tsct_ring_reader *ring;
	__u64 pos;

	if (cpu >= reader->channel->header.nr_cpus || tsct_reader_overwrites(reader))
		return;
	ring = &reader->rings[cpu];
	ring->unreleased = false;
	pos = ring->has_next ? ring->next_pos : ring->pos;
	if (pos != ring->released)
		publish_tail(reader, cpu, pos);
}

void tsct_reader_seek_end(struct tsct_reader *reader)
{
	struct tsct_ring_reader *ring = reader->rings;
	struct tsct_ring_count now;
	unsigned int cpu;

	for (cpu = 0; cpu < reader->channel->header.nr_cpus; cpu++, ring++) {
		if (!tsct_ring_ready(reader->channel, cpu))
			continue;
		count_ring(reader, cpu, &now);
		ring->stat.before += now.events - ring->count + ring->has_next;
		ring->has_next = ring->has_head = false;
		ring->pos = ring->confirmed_pos = now.head;
		ring->count = now.events;
		ring->overtaken = ring->damaged = false;
		tsct_reader_release(reader, cpu);
	}
}

/* ---- private copies of rings -------------------------------------------- */

/*
 * Copies the ring's valid data to the same offsets in @image. Returns false if writers
 * overwrote more than half of this data meanwhile.
 */
static bool copy_valid(struct tsct_reader *reader, unsigned int cpu,
		       char *image, struct tsct_ring_count *ret_now)
{
	const __u64 ring_size = reader->channel->geo.data_size;
	const char *data = tsct_ring_data(reader->channel, cpu);
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	__u64 at, size, first;

	is_overtaken(reader, cpu);
	count_ring(reader, cpu, ret_now);
	ret_now->head = tsct_pos_extend(ring->pos, ret_now->head);
	size = ret_now->head - ring->pos;
	if ((__s64)size < 0 || ret_now->head % TSCT_RECORD_ALIGN) {
		skip_damage(ring, ret_now->head);
		return true;
	}
	/* Writers have overwritten the whole ring since ring->pos was determined. */
	if (size > ring_size)
		return false;
	at = ring->pos & (ring_size - 1);
	first = size < ring_size - at ? size : ring_size - at;
	copy_words(image + at, data + at, first);
	copy_words(image, data, size - first);
	/* Advances ring->pos past the data that writers overwrote during the copy. */
	is_overtaken(reader, cpu);
	return (__s64)(ret_now->head - ring->pos) >= (__s64)(size / 2);
}

bool tsct_reader_freeze(struct tsct_reader *reader, unsigned int cpu,
			char *image)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];
	struct tsct_ring_count now;
	int tries = FREEZE_TRIES;

	if (!tsct_ring_ready(reader->channel, cpu))
		return false;
	/* Moves ring->pos back to the start of an event that was peeked at but not
	 * returned yet, so that the copy of the ring contains that event. */
	if (ring->has_next) {
		ring->has_next = false;
		ring->pos = ring->next_pos;
		ring->count--;
	}
	/* Copies again, up to FREEZE_TRIES times in all, if writers overwrote too much
	 * data during the copy, for example because this thread was preempted. */
	while (!copy_valid(reader, cpu, image, &now) && --tries)
		;
	if ((__s64)(now.head - ring->pos) > (__s64)reader->channel->geo.data_size)
		skip_damage(ring, now.head);
	if ((__s64)(now.head - ring->pos) <= 0) {
		ring->pos = now.head;
		reconcile(ring, now.events);
	}
	ring->image = image;
	ring->image_head = TSCT_HEAD_POS(now.head) |
		now.events << TSCT_POS_BITS;
	return true;
}

void tsct_reader_thaw(struct tsct_reader *reader, unsigned int cpu)
{
	reader->rings[cpu].image = NULL;
}

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
	reader->copy = malloc(h->block_size);
	if (!reader->rings || !reader->heap || !reader->copy) {
		tsct_reader_close(reader);
		return -ENOMEM;
	}
	tsct_order_init(&reader->order, reader->heap, h->nr_cpus);
	for (cpu = 0; cpu < h->nr_cpus; cpu++)
		start_ring(reader, cpu);
	*ret_reader = reader;
	return 0;
}

void tsct_reader_close(struct tsct_reader *reader)
{
	struct tsct_reader_defs *defs, *next;
	unsigned int cpu;

	if (!reader)
		return;
	__atomic_fetch_sub(&reader->channel->readers, 1, __ATOMIC_RELAXED);
	for (cpu = 0; reader->rings && cpu < reader->channel->header.nr_cpus; cpu++)
		free(reader->rings[cpu].copy);
	free(reader->rings);
	free(reader->heap);
	free(reader->copy);
	for (defs = reader->defs; defs; defs = next) {
		next = defs->next;
		free(defs);
	}
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
	count_ring(reader, cpu, &now);
	ret_stat->published = now.events;
	ret_stat->unread = now.events - ring->count + ring->has_next;
	ret_stat->bytes = now.head;
	producer = tsct_ring_producer(reader->channel, cpu);
	for (i = 0; i < TSCT_LOST_MAX; i++)
		ret_stat->lost[i] = READ_ONCE(producer->lost[i]);
	return 0;
}

/* ---- definitions ------------------------------------------------------- */

static const struct tsct_event_def *known_def(const struct tsct_reader *reader, unsigned int id)
{
	return id < reader->nr_ids ? reader->by_id[id] : NULL;
}

/*
 * Copies the next @len bytes of definitions from @from, and parses the copy.
 * Returns the size, bytes, of the whole definitions at the begin of the copy;
 * 0: out of memory, or no whole definition (sets reader->defs_broken).
 */
static size_t copy_defs(struct tsct_reader *reader, const char *from, size_t len)
{
	struct tsct_reader_defs *copy = malloc(sizeof(*copy) + len);
	const struct tsct_event_def *def;
	size_t pos = 0, next;
	__u32 id;
	int err;

	if (!copy)
		return 0;
	copy->next = reader->defs;
	reader->defs = copy;
	memcpy(copy->area, from, len);
	for (; (def = tsct_event_def_next(copy->area, len, pos, &next, &err)); pos = next) {
		id = tsct_event_def_id(def);
		if (tsct_array_extend(&reader->by_id, &reader->nr_ids, id + 1,
				      sizeof(*reader->by_id)))
			return pos;
		if (!reader->by_id[id])
			reader->by_id[id] = def;
	}
	reader->defs_broken = !pos;
	return pos;
}

/*
 * Copies the definitions that were added since the last call, in parts. Only the first
 * defs_used bytes are complete. After a definition that does not parse, no more definitions
 * are read.
 */
const struct tsct_event_def *tsct_reader_def(struct tsct_reader *reader,
					     unsigned int id)
{
	size_t used, left, len = 1;
	const char *defs;

	if (known_def(reader, id) || reader->defs_broken)
		return known_def(reader, id);
	defs = tsct_channel_defs(reader->channel, &used);
	while (len && used > reader->defs_used) {
		left = used - reader->defs_used;
		len = copy_defs(reader, defs + reader->defs_used,
				left < TSCT_DEFS_SIZE ? left : TSCT_DEFS_SIZE);
		reader->defs_used += len;
	}
	return known_def(reader, id);
}

/* ---- waiting ----------------------------------------------------------- */

/* Returns true if the kernel wakes readers of the channel. If programs write the channel,
 * nothing wakes the readers: tsct_reader_wait() checks the rings at intervals. */
static bool wakes_readers(const struct tsct_channel *channel)
{
	return channel->provider == TSCT_PROVIDER_MODULE &&
		channel->header.flags & TSCT_CHANNEL_KERNEL;
}

int tsct_reader_watermark(struct tsct_reader *reader, uint64_t bytes)
{
	struct tsct_watermark arg = { .bytes = bytes };
	int err = 0;

	if (wakes_readers(reader->channel))
		err = tsct_channel_request(reader->channel, TSCT_IOC_WATERMARK,
					   &arg);
	if (!err)
		reader->watermark = bytes;
	return err;
}

/*
 * Returns true if a ring has an event and the watermark is reached. Also returns true if
 * there is no memory for a peek: the caller's read then fails.
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
		bytes = unread_bytes(reader, cpu);
		if (bytes >= half)
			return true;
		sum += bytes;
	}
	return sum >= reader->watermark;
}

/*
 * Returns true if the module's poll() can wait for events. poll() compares head and tail,
 * so it would return at once while events that were read are not released yet.
 * Block headers, which are not events, are released here for the same reason.
 */
static bool can_poll(struct tsct_reader *reader)
{
	unsigned int cpu;

	if (!wakes_readers(reader->channel) || tsct_reader_overwrites(reader))
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
		/* If poll() reported data but this reader finds no event (a ring with
		 * false counts), does not poll next time, to prevent a busy loop. */
		may_poll = nr == 0 || !by_kernel;
	}
	return 1;
}
