/* SPDX-License-Identifier: MIT */
/*
 * Reader of one stream file of a recording, event by event. The contents of the file are
 * untrusted; see Documentation/trace-format.rst. Readers are independent: each may run in
 * its own thread, with its own struct tsct_stream_reader_dir.
 */
#ifndef TSCT_STREAM_READER_H
#define TSCT_STREAM_READER_H

#include "lib/core/delta.h"
#include "recording.h"
#include "trace_reader.h"

/* An event class, by its id - TSCT_ID_FIRST */
struct tsct_stream_reader_kind {
	const struct tsct_event_def *def;	/* NULL: undefined */
	__s32 size;				/* of the payload; -1: varies */
};

struct tsct_stream_reader {
	/* Public, valid after tsct_stream_reader_next() returned 1 */
	struct tsct_trace_event event;
	__u32 id;			/* event.def's */

	struct tsct_delta delta;
	const __u8 *packet;		/* followed by TSCT_DELTA_ROOM zeros */
	size_t at, len;			/* bytes of it: decoded, and in all */
	__u64 latest;			/* latest valid tick in it */
	const struct tsct_stream_reader_kind *kinds;
	__u32 nr_kinds;
	__u32 up, down;			/* event.tick is the tick << up >> down */
	/*
	 * Size of an event by its first byte, where that determines it; else 0. One load
	 * instead of a chain of dependent ones before the next event.
	 */
	__u16 whole[256];

	char name[TSCT_FILE_NAME_MAX];
	__u32 class, location;
	__u8 *buffer;
	size_t room;
	bool cut;			/* the file ends within the packet */
	bool spoiled;			/* other damage than an early end was found */
	struct tsct_packet head;
	__u64 pos, next;		/* file offsets of this packet and the next */
	__u64 packets;			/* begun so far */
	__u64 events;			/* returned from earlier packets */
	__u64 last;			/* tick that the previous packet lasts to */
	__u64 discarded;		/* by the last valid packet header */
};

/* Limit of a live recording; later packets are not read */
struct tsct_stream_reader_live {
	__u64 until;			/* tick before which all events are in the files */
};

/* Directory of the files, and the receiver of damage reports */
struct tsct_stream_reader_dir {
	int dirfd;
	const struct tsct_recording *rec;
	tsct_trace_report *report;	/* may be NULL */
	void *arg;
	__u64 damage;			/* damaged places so far */
	const struct tsct_stream_reader_live *live;	/* NULL: not live */
};

/* The event class of a definition, or of NULL */
struct tsct_stream_reader_kind tsct_stream_reader_kind_of(const struct tsct_event_def *def);

/*
 * tsct_stream_reader_kinds - the event classes of a stream class
 * malloc'ed, to be freed with free(); points into @class. NULL: no memory
 */
struct tsct_stream_reader_kind *tsct_stream_reader_kinds(const struct tsct_stream_class *class);

/*
 * tsct_stream_reader_init - begin to read the file of a class and a location; opens nothing
 * @kinds: of that class; outlives the reader
 */
void tsct_stream_reader_init(struct tsct_stream_reader *s, const struct tsct_recording *rec,
		      const struct tsct_stream_reader_kind *kinds, __u32 class,
		      __u32 location);
void tsct_stream_reader_free(struct tsct_stream_reader *s);

/* tsct_stream_reader_update - replace @kinds after definitions were added */
void tsct_stream_reader_update(struct tsct_stream_reader *s, const struct tsct_recording *rec,
		       const struct tsct_stream_reader_kind *kinds);

/* The slow path of tsct_stream_reader_next(): a new packet, a string, damage */
int tsct_stream_reader_next_slow(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s);

static inline void tsct_stream_reader_give_(struct tsct_stream_reader *s, const __u8 *from,
				     size_t head, size_t size,
				     const struct tsct_event_def *def, __u32 id)
{
	s->id = id + TSCT_ID_FIRST;
	s->event.file_tick = s->delta.tick;
	s->event.tick = s->delta.tick << s->up >> s->down;
	s->event.tid = (__u32)s->delta.tid;
	s->event.offset = s->pos + s->at;
	s->event.len = (__u32)size;
	s->event.def = def;
	s->event.payload = from + head;
	s->at += head + size;
}

/* An event with a thread ID, or with an ID that is not compact */
static inline int tsct_stream_reader_next_wide_(struct tsct_stream_reader_dir *dir,
					 struct tsct_stream_reader *s)
{
	const __u8 *from = s->packet + s->at;
	struct tsct_delta delta = s->delta;
	const struct tsct_stream_reader_kind *kind;
	__u32 id;
	int head;

	/* Zeros behind the end decode to an event that ends beyond it. */
	head = tsct_delta_get(&delta, from, TSCT_DELTA_ROOM, &id);
	if (unlikely(head < 0 || id >= s->nr_kinds))
		return tsct_stream_reader_next_slow(dir, s);
	kind = &s->kinds[id];
	if (unlikely(kind->size < 0 || delta.tick > s->latest ||
		     s->at + (size_t)head + (size_t)kind->size > s->len))
		return tsct_stream_reader_next_slow(dir, s);
	s->delta = delta;
	tsct_stream_reader_give_(s, from, (size_t)head, (size_t)kind->size, kind->def,
			  id);
	return 1;
}

/*
 * tsct_stream_reader_next - read the next event to s->event, valid until the next call
 * 1; 0: no more; -ENOMEM
 */
static inline int tsct_stream_reader_next(struct tsct_stream_reader_dir *dir,
				   struct tsct_stream_reader *s)
{
	const __u8 *from = s->packet + s->at;
	const __u32 first = *from, form = first & 3;
	const size_t whole = s->whole[first], head = 1 + (1U << form);
	__u64 low, step;

	if (!whole)
		return tsct_stream_reader_next_wide_(dir, s);
	memcpy(&low, from + 1, sizeof(low));
	step = (low - s->delta.tick) & ~0ULL >> (64 - (8U << form));
	/* Not a packet's first event, which has a thread ID and no compact size */
	if (unlikely(s->at + whole > s->len ||
		     step > s->latest - s->delta.tick))
		return tsct_stream_reader_next_slow(dir, s);
	s->delta.tick += step;
	s->delta.events++;
	tsct_stream_reader_give_(s, from, head, whole - head,
			  s->kinds[first >> 3].def, first >> 3);
	return 1;
}

/* Packets of our writer are smaller, so one begins in the last bytes of a file. */
#define TSCT_TAIL_BYTES	(4U * TSCT_PACKET_FULL)

/*
 * tsct_stream_reader_last_tick - event.tick that the last packet of a file lasts to
 * @tail: a buffer. For incomplete files, read from their end, as they may be large.
 * 0: there is no packet.
 */
__u64 tsct_stream_reader_last_tick(const struct tsct_stream_reader_dir *dir,
				   const struct tsct_stream_reader *s,
				   __u8 tail[TSCT_TAIL_BYTES]);

/* tsct_stream_reader_events - number of events returned so far */
static inline __u64 tsct_stream_reader_events(const struct tsct_stream_reader *s)
{
	return s->events + s->delta.events;
}

#endif /* TSCT_STREAM_READER_H */
