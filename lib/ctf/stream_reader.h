/* SPDX-License-Identifier: MIT */
/*
 * One stream file of a recording, being read, event by event. What it says is only
 * a claim: see Documentation/trace-format.rst. Usable by itself: each may be in a
 * thread of its own, with a struct tsct_stream_reader_dir of its own.
 */
#ifndef TSCT_TRACE_STREAM_H
#define TSCT_TRACE_STREAM_H

#include "lib/core/delta.h"
#include "recording.h"
#include "trace_reader.h"

/* What is known of an event, by its id - TSCT_ID_FIRST */
struct tsct_stream_reader_kind {
	const struct tsct_event_def *def;	/* NULL: nobody defined it */
	__s32 size;				/* of payloads; -1: varies */
};

struct tsct_stream_reader {
	/* To read after tsct_stream_reader_next() */
	struct tsct_trace_event event;
	__u32 id;			/* event.def's */

	struct tsct_delta delta;
	const __u8 *packet;		/* TSCT_DELTA_ROOM zeros are behind it */
	size_t at, len;			/* bytes of it that were read, and are */
	__u64 latest;			/* no tick in it may be later */
	const struct tsct_stream_reader_kind *kinds;
	__u32 nr_kinds;
	__u32 up, down;			/* bits: from ticks to event.tick */
	/*
	 * By an event's first byte: how long it is, where that says it all; else
	 * 0. One load instead of a chain of them, which the next event waits for.
	 */
	__u16 whole[256];

	char name[TSCT_FILE_NAME_MAX];
	__u32 class, location;
	__u8 *buffer;
	size_t room;
	bool cut;			/* the packet ends before it should */
	bool spoiled;			/* there is damage that is not its early end */
	struct tsct_packet head;
	__u64 pos, next;		/* in the file: this packet, the next */
	__u64 packets;			/* begun so far */
	__u64 events;			/* given out in packets before */
	__u64 last;			/* tick that the packet before lasts to */
	__u64 discarded;		/* as the last good packet says */
};

/* Of a recording that is being made: later packets are left alone */
struct tsct_stream_reader_live {
	__u64 until;			/* the tick up to which all is there */
};

/* Where it is, and who is told of damage */
struct tsct_stream_reader_dir {
	int dirfd;
	const struct tsct_recording *rec;
	tsct_trace_report *report;	/* may be NULL */
	void *arg;
	__u64 damage;			/* places so far */
	const struct tsct_stream_reader_live *live;	/* NULL: no more comes */
};

/* Of one definition, or of none */
struct tsct_stream_reader_kind tsct_stream_reader_kind_of(const struct tsct_event_def *def);

/*
 * tsct_stream_reader_kinds - what the streams of a class have in common
 * malloc'ed, for free(); points into @class. NULL: no memory.
 */
struct tsct_stream_reader_kind *tsct_stream_reader_kinds(const struct tsct_stream_class *class);

/*
 * tsct_stream_reader_init - the file of a class and a location; nothing is opened yet
 * @kinds: of that class; outlives it
 */
void tsct_stream_reader_init(struct tsct_stream_reader *s, const struct tsct_recording *rec,
		      const struct tsct_stream_reader_kind *kinds, __u32 class,
		      __u32 location);
void tsct_stream_reader_free(struct tsct_stream_reader *s);

/* tsct_stream_reader_learn - there are more definitions now, and so other @kinds */
void tsct_stream_reader_learn(struct tsct_stream_reader *s, const struct tsct_recording *rec,
		       const struct tsct_stream_reader_kind *kinds);

/* tsct_stream_reader_next() where it is not simple: another packet, a string, damage */
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

/* With a thread, or an id that is not compact */
static inline int tsct_stream_reader_next_wide_(struct tsct_stream_reader_dir *dir,
					 struct tsct_stream_reader *s)
{
	const __u8 *from = s->packet + s->at;
	struct tsct_delta delta = s->delta;
	const struct tsct_stream_reader_kind *kind;
	__u32 id;
	int head;

	/* Behind the end there are zeros: what they make is beyond it. */
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
 * tsct_stream_reader_next - s->event becomes the next one, that is there until the one
 * after it
 * Returns 1, 0: no more, -ENOMEM.
 */
static inline int tsct_stream_reader_next(struct tsct_stream_reader_dir *dir,
				   struct tsct_stream_reader *s)
{
	const __u8 *from = s->packet + s->at;
	const __u32 first = *from, form = first & 3;
	const size_t whole = s->whole[first], head = 1 + (1U << form);
	__u64 stamp, step;

	if (!whole)
		return tsct_stream_reader_next_wide_(dir, s);
	memcpy(&stamp, from + 1, sizeof(stamp));
	step = (stamp - s->delta.tick) & ~0ULL >> (64 - (8U << form));
	/* A packet's first event was not for us: it has a thread. */
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

/* tsct_stream_reader_events - given out so far */
static inline __u64 tsct_stream_reader_events(const struct tsct_stream_reader *s)
{
	return s->events + s->delta.events;
}

#endif /* TSCT_TRACE_STREAM_H */
