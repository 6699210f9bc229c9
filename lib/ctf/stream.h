/* SPDX-License-Identifier: MIT */
/*
 * One stream file of a recording: event headers, stream writer and stream reader.
 * Documentation/trace-format.rst has the format, recording.h the header of a packet.
 *
 * Writers and readers are independent of each other: each may run in its own thread,
 * a reader with its own struct tsct_stream_reader_dir.
 */
#ifndef TSCT_STREAM_H
#define TSCT_STREAM_H

#include "recording.h"
#include "trace_reader.h"

/* ---- event headers -------------------------------------------------------- */

/*
 * Event headers of stream files, in front of each payload: the event's id, the low bits of the
 * event's tick that changed, and the event's thread if the previous event has another thread.
 *
 *	byte 0, bits 0-2	form: 0-3 compact, 4-7 extended, with low bits of
 *				the tick in 1, 2, 4, 8 bytes each
 *	compact	 bits 3-7	id
 *	extended bits 3-23	id: 16 bits, TSCT_DELTA_TID, and the 4 high bits of the id
 *	next 1-8 bytes		low bits of the tick
 *	next 4 bytes		thread id; only if the id has TSCT_DELTA_TID
 *
 * All numbers are little endian. So an event's header has 2 bytes if the id is below 32, the
 * tick is less than 256 above the previous event's, and the thread is the previous event's.
 *
 * The tick is the lowest tick that has these low bits and is not below the previous
 * event's tick. For the first event of a packet, the packet's first tick, which the
 * packet header has in full, replaces the previous event's tick, and the event header
 * always has the thread. So each packet can be decoded without earlier packets.
 *
 * Ticks never decrease. Options, which follow RISC-V's specification of trace time stamps:
 *
 *	tsc/16, tsc/256	4 or 8 low bits are dropped: struct tsct_tick_resolution
 *	interpolated	source ticks are divided: struct tsct_tick_resolution
 *	system, system/16, system/256, system-interpolated	the same for ns of system time
 *	off		every event has the first tick of its packet
 *	sync-every	a packet ends after a given number of events or bytes, or after
 *			a given time: struct tsct_packet_limits
 */
#define TSCT_DELTA_ID_MAX	0xfffff
#define TSCT_DELTA_ID_LOW	0xffff	/* mask of the id's bits below TSCT_DELTA_TID */
#define TSCT_DELTA_TID		0x10000
#define TSCT_DELTA_COMPACT	32	/* ids below this limit have a compact header */

/* Room for a header, bytes: tsct_delta_put() may write to all of these bytes. */
#define TSCT_DELTA_ROOM		16

#define TSCT_DELTA_NO_TID	(1ULL << 32)

/* Returns the number that stands for an id in an extended header and in the event's declaration. */
static inline __u32 tsct_delta_extended(__u32 id)
{
	return (id & TSCT_DELTA_ID_LOW) | (id & ~TSCT_DELTA_ID_LOW) << 1;
}

/* State of the codec, which is equal in writer and reader after the same event */
struct tsct_delta {
	__u64 tick;	/* tick of the last event */
	/* thread of the last event; TSCT_DELTA_NO_TID: no event in this packet */
	__u64 tid;
	__u64 events;	/* number of events in the current packet */
};

/* tsct_delta_begin - begin a packet, whose header has the tick @begin in full */
static inline void tsct_delta_begin(struct tsct_delta *delta, __u64 begin)
{
	delta->tick = begin;
	delta->tid = TSCT_DELTA_NO_TID;
	delta->events = 0;
}

/*
 * tsct_delta_put - write the header of an event of a packet to memory
 * @to: the memory; TSCT_DELTA_ROOM bytes, as bytes after the header are written, too
 *
 * Returns the header's size, 2 to 15 bytes. -EINVAL, which changes nothing: @tick is
 * before the packet's last event (or before the packet's first tick), or @id is above
 * TSCT_DELTA_ID_MAX.
 */
static inline int tsct_delta_put(struct tsct_delta *delta, __u8 *to, __u32 id,
				 __u64 tick, __u32 tid)
{
	__u64 step = tick - delta->tick;
	__u32 other = tid != delta->tid;
	/* `width` is computed without branches: the CPU cannot predict the number of
	 * ticks between two events. */
	__u32 width = (step > 0xff) + (step > 0xffff) + (step > 0xffffffff);
	__u32 extended = (id >= TSCT_DELTA_COMPACT) | other;
	__u32 head = width | extended << 2 | id << 3 | other << (3 + 16);
	__u32 at = 1 + 2 * extended;

	if (unlikely(tick < delta->tick || id > TSCT_DELTA_ID_LOW)) {
		if (tick < delta->tick || id > TSCT_DELTA_ID_MAX)
			return -EINVAL;
		head = width | extended << 2 | (tsct_delta_extended(id) | other << 16) << 3;
	}
	memcpy(to, &head, sizeof(head));
	memcpy(to + at, &tick, sizeof(tick));
	at += 1U << width;
	memcpy(to + at, &tid, sizeof(tid));
	at += 4 * other;
	delta->tick = tick;
	delta->tid = tid;
	delta->events++;
	return (int)at;
}

/* Sizes of event headers without a thread ID, in bytes: byte N of this number is the
 * size if bits 0-2 of the header (its form) are N. */
#define TSCT_DELTA_SIZES_	0x0b07050409050302ULL

/* Reads an event header; TSCT_DELTA_ROOM bytes must be readable. The header's size is computed
 * without the tick, so the CPU can go on to the next event before it has the tick. */
static inline int tsct_delta_get_room_(struct tsct_delta *delta, const __u8 *from,
				       __u32 *ret_id)
{
	__u32 head, tid = (__u32)delta->tid, form, wide, size;
	__u64 stamp, tick;

	memcpy(&head, from, sizeof(head));
	form = head & 7;
	size = TSCT_DELTA_SIZES_ >> 8 * form & 0xff;
	wide = form >> 2;
	memcpy(&stamp, from + 1 + 2 * wide, sizeof(stamp));
	head = head >> 3 & (0x1f | ((0 - wide) & 0x1fffff));
	tick = delta->tick + ((stamp - delta->tick) &
			      ~0ULL >> (64 - (8U << (form & 3))));
	if (unlikely(head & TSCT_DELTA_TID)) {
		memcpy(&tid, from + size, sizeof(tid));
		size += sizeof(tid);
	} else if (unlikely(delta->tid == TSCT_DELTA_NO_TID)) {
		return -EINVAL;
	}
	if (unlikely(tick < delta->tick))
		return -EINVAL;
	delta->tick = tick;
	delta->tid = tid;
	delta->events++;
	*ret_id = (head & TSCT_DELTA_ID_LOW) | head >> 17 << 16;
	return (int)size;
}

/* tsct_delta_get_end - read the header of an event where fewer than TSCT_DELTA_ROOM
 * bytes may be read, as at the end of a packet. Returns the header's size in bytes,
 * -ENODATA or -EINVAL, see tsct_delta_get(). */
static inline int tsct_delta_get_end(struct tsct_delta *delta, const __u8 *from,
				     size_t len, __u32 *ret_id)
{
	__u8 all[TSCT_DELTA_ROOM] = { 0 };
	__u32 extended, other;

	len = min(len, sizeof(all));
	if (len)
		memcpy(all, from, len);
	extended = all[0] >> 2 & 1;
	other = all[2] >> 3 & extended;
	if (1 + 2 * extended + (1U << (all[0] & 3)) + 4 * other > len)
		return -ENODATA;
	return tsct_delta_get_room_(delta, all, ret_id);
}

/*
 * tsct_delta_get - read the header of an event; sets tick and thread id in *delta
 * @len: number of bytes that may be read, of any content
 *
 * Returns the header's size in bytes. Errors change nothing: -ENODATA: the header does not
 * end within @len; -EINVAL: the tick is beyond 2^64 or before the last event's tick, the id
 * is invalid, or the packet's first event has no thread id.
 */
static inline int tsct_delta_get(struct tsct_delta *delta, const __u8 *from,
				 size_t len, __u32 *ret_id)
{
	if (likely(len >= TSCT_DELTA_ROOM))
		return tsct_delta_get_room_(delta, from, ret_id);
	return tsct_delta_get_end(delta, from, len, ret_id);
}

/* ---- coarser and finer ticks ---------------------------------------------- */

/*
 * Conversion of the source's ticks to coarser or finer file ticks.
 *
 * bits < 0: the lowest -bits bits of a source tick are dropped. bits > 0: a source tick
 * is divided into 2^bits file ticks. Events on the same source tick get successive file
 * ticks, beyond the source tick if there are more than 2^bits events.
 */
struct tsct_tick_resolution {
	__u64 seen;	/* last source tick that was converted to a file tick */
	__u64 next;	/* lowest file tick that the next event may have */
	__s32 bits;
};

#define TSCT_TICK_BITS_MAX	13

/* tsct_tick_resolution_init - begin a conversion at source tick 0. Returns 0; -EINVAL:
 * @bits, log2 of the file ticks per source tick, is beyond +-TSCT_TICK_BITS_MAX */
static inline int tsct_tick_resolution_init(struct tsct_tick_resolution *res, int bits)
{
	if (bits > TSCT_TICK_BITS_MAX || bits < -TSCT_TICK_BITS_MAX)
		return -EINVAL;
	res->seen = 0;
	res->next = 0;
	res->bits = bits;
	return 0;
}

/*
 * tsct_tick_resolution_tick - convert the tick of an event
 * @source: the source's tick of the event
 *
 * Returns 0; -EINVAL: @source is less than the previous event's; -ERANGE: the converted
 * tick exceeds 64 bits.
 */
static inline int tsct_tick_resolution_tick(struct tsct_tick_resolution *res,
					    __u64 source, __u64 *ret_tick)
{
	__u64 tick;

	if (source < res->seen)
		return -EINVAL;
	if (res->bits <= 0) {
		tick = source >> -res->bits;
	} else {
		tick = source << res->bits;
		if (tick >> res->bits != source)
			return -ERANGE;
		tick = max(tick, res->next);
		if (tick == ~0ULL)
			return -ERANGE;
		res->next = tick + 1;
	}
	res->seen = source;
	*ret_tick = tick;
	return 0;
}

/* ---- writing -------------------------------------------------------------- */

/* A stream writer assembles packets and appends them to a file. If packets cannot be
 * written completely, the file is truncated to its size before the failed write.
 * Recorder and merge have one stream writer per stream class and location. */

/* File to be written, and values that all of its packet headers have. Texts are not copied. */
struct tsct_stream_writer_file {
	int dirfd;
	const char *name;
	const __u8 *uuid;	/* UUID of the recording, 16 bytes */
	__u32 stream_id;
	__u32 cpu, node;
	/* limits of a packet; 0: default. The caller applies the limit in ns, because a
	 * stream writer does not know the length of a tick. */
	struct tsct_packet_limits limits;
	__u32 fsync;	/* times at which the file is flushed, enum tsct_fsync */
};

/* State of writing one file. Callers may read the fields marked public. */
struct tsct_stream_writer {
	struct tsct_delta delta;	/* codec of the open packet */
	/* buffer of completed packets and the open packet; NULL: file not started */
	__u8 *buffer;
	__u32 used;			/* bytes used in the buffer */
	__u32 packet;			/* offset of the open packet in the buffer */
	/* offset in the buffer at which the open packet is full */
	__u32 full;
	__u32 packet_bytes;		/* size at which a packet is full, bytes */
	__u64 every;	/* number of events at which a packet is full */
	__u64 run_length;	/* number of events since the tick last changed */
	__u64 max_per_tick; /* public: largest number of events in a row on one tick, minus 1 */
	__u64 begin;			/* tick of the open packet's first event */
	__u64 end;	/* lowest tick at which the open packet may end */
	__u64 first;		/* public: tick of the file's first event */
	__u64 packed_events;		/* number of events in completed packets */
	__u64 written_events;	/* number of events already written to the file */
	__u64 packets;		/* public: number of completed packets */
	__u64 written_packets;
	__u64 discarded;	/* number of lost events in the last packet's header */
	__u64 size;		/* public: size of the file, bytes */
	int error;			/* first -errno of writing; 0: none */
	struct tsct_stream_writer_file file;
};

/*
 * tsct_stream_writer_init - initialize; allocates nothing and creates no file
 * @file: copied, except for the texts, which must outlive the writer
 */
void tsct_stream_writer_init(struct tsct_stream_writer *w,
			     const struct tsct_stream_writer_file *file);

/*
 * tsct_stream_writer_start - begin the file at tick @begin; call it once, before any
 * event. The first packet is empty: CTF readers count losses between packets, so they
 * can also count losses before the first event. Returns 0 or -ENOMEM.
 */
int tsct_stream_writer_start(struct tsct_stream_writer *w, __u64 begin);

/* Returns true if tsct_stream_writer_start() was called. */
static inline bool tsct_stream_writer_started(const struct tsct_stream_writer *w)
{
	return w->buffer;
}

/* Returns the last tick of the file; the next event must not be earlier. */
static inline __u64 tsct_stream_writer_last(const struct tsct_stream_writer *w)
{
	return w->end > w->delta.tick ? w->end : w->delta.tick;
}

/* Returns the number of events so far, in the file and in memory. */
static inline __u64 tsct_stream_writer_events(const struct tsct_stream_writer *w)
{
	return w->packed_events + w->delta.events;
}

/* Returns the number of events that are not in the file yet. */
static inline __u64 tsct_stream_writer_unwritten(const struct tsct_stream_writer *w)
{
	return tsct_stream_writer_events(w) - w->written_events;
}

/*
 * tsct_stream_writer_extend - extend the open packet to @tick.
 * Used for recordings whose events have only the time of their packet.
 */
static inline void tsct_stream_writer_extend(struct tsct_stream_writer *w, __u64 tick)
{
	w->end = max(w->end, tick);
}

/* Copies a payload. Inline, as a call costs more than copying the usual 8 bytes. */
static inline void tsct_stream_writer_copy_(__u8 *to, const void *from, __u32 len)
{
	__u64 first, last;

	if (likely(len == 8)) {
		memcpy(to, from, 8);
	} else if (len > 8 && len <= 16) {
		memcpy(&first, from, 8);
		memcpy(&last, (const __u8 *)from + len - 8, 8);
		memcpy(to, &first, 8);
		memcpy(to + len - 8, &last, 8);
	} else if (len) {
		memcpy(to, from, len);
	}
}

/* Adds the first event of a packet, for tsct_stream_writer_put(). */
int tsct_stream_writer_put_first_(struct tsct_stream_writer *w, __u32 id, __u64 tick, __u32 tid,
			const void *payload, __u32 len);

/* Adds an event that is not the first of its packet, for tsct_stream_writer_put() and for
 * loops over many events: always inline, so that the compiler can keep a copy of the
 * writer's state in registers. */
static inline __attribute__((always_inline)) int
tsct_stream_writer_put_next_(struct tsct_stream_writer *w, __u32 id, __u64 tick, __u32 tid,
			     const void *payload, __u32 len)
{
	__u8 *at = w->buffer + w->used;
	const __u64 last = w->delta.tick;
	int head;

	if (unlikely(len > TSCT_CTF_PAYLOAD_MAX))
		return -EINVAL;
	head = tsct_delta_put(&w->delta, at, id - TSCT_ID_FIRST, tick, tid);
	if (unlikely(head < 0))
		return head;
	tsct_stream_writer_copy_(at + head, payload, len);
	w->used += (__u32)head + len;
	w->run_length = tick == last ? w->run_length + 1 : 0;
	if (unlikely(w->run_length > w->max_per_tick))
		w->max_per_tick = w->run_length;
	return w->used >= w->full || w->delta.events >= w->every;
}

/*
 * tsct_stream_writer_put - add an event, after tsct_stream_writer_start()
 * @id: from TSCT_ID_FIRST on
 * @tick: not before tsct_stream_writer_last()
 *
 * Returns 0; 1: the packet is full, so call tsct_stream_writer_end_packet() before the
 * next event; -EINVAL: the tick, the ID or the length is invalid, nothing was added.
 */
static inline int tsct_stream_writer_put(struct tsct_stream_writer *w, __u32 id, __u64 tick,
			       __u32 tid, const void *payload, __u32 len)
{
	if (unlikely(!w->delta.events))
		return tsct_stream_writer_put_first_(w, id, tick, tid, payload, len);
	return tsct_stream_writer_put_next_(w, id, tick, tid, payload, len);
}

/*
 * tsct_stream_writer_end_packet - complete the open packet and begin the next packet
 * @discarded: number of events lost at this location so far
 *
 * Small packets are written together. Returns 0, or -errno if writing failed; after a
 * failure, all later calls return the same -errno, and the file has only whole packets,
 * w->size bytes with w->written_events events.
 */
int tsct_stream_writer_end_packet(struct tsct_stream_writer *w, __u64 discarded);

/* Writes all packets to the file. The open packet is one of them if it has events, or if
 * @discarded has changed since the last packet. Returns 0 or -errno. */
int tsct_stream_writer_flush(struct tsct_stream_writer *w, __u64 discarded);

/* Flushes at the end of the recording. The file is then on disk, unless its `fsync` is
 * TSCT_FSYNC_NEVER. Returns 0 or -errno. */
int tsct_stream_writer_finish(struct tsct_stream_writer *w, __u64 discarded);

/* Discards the events that are not in the file yet: tsct_stream_writer_events() no
 * longer counts these events. */
void tsct_stream_writer_drop(struct tsct_stream_writer *w);

void tsct_stream_writer_free(struct tsct_stream_writer *w);

/* Calls fsync(). Returns 0, also for a file that cannot be synced, or -errno. */
int tsct_fsync(int fd);

/* ---- reading: the contents of the file are untrusted ---------------------- */

/* Event class, by which the events of one ID are decoded; array index: ID - TSCT_ID_FIRST */
struct tsct_stream_reader_kind {
	const struct tsct_event_def *def; /* definition of the event; NULL: undefined */
	__s32 size;	/* size of the payload, bytes; -1: varies */
	__u32 id;	/* ID of the definition and of its events in the file */
};

struct tsct_stream_reader {
	/* Public fields, valid after tsct_stream_reader_next() returned 1 */
	struct tsct_trace_event event;
	__u32 id;			/* ID of event.def, the event's definition */

	struct tsct_delta delta;
	/* contents of the packet, followed by TSCT_DELTA_ROOM zeros */
	const __u8 *packet;
	size_t at, len;	/* number of bytes decoded so far; size of the packet, bytes */
	__u64 latest;			/* latest valid tick in the packet */
	const struct tsct_stream_reader_kind *kinds;
	__u32 nr_kinds;
	/* shifts from file tick to source tick: tick = file_tick << up >> down */
	__u32 up, down;
	/* Size of an event, bytes, by the event's first byte; 0: that byte does not determine
	 * the size. One load replaces a chain of dependent loads before the next event. */
	__u16 whole[256];

	char name[TSCT_FILE_NAME_MAX];
	__u32 class, location;
	__u8 *buffer;
	size_t room;
	bool cut;			/* flag: the file ends within the packet */
	bool spoiled;	/* flag: damage other than an early end was found */
	struct tsct_packet head;
	__u64 pos, next;	/* file offsets of the current packet and the next */
	__u64 packets;			/* number of packets begun so far */
	__u64 events;	/* number of events returned from earlier packets */
	__u64 last;			/* tick at which the previous packet ends */
	/* number of lost events that the last valid packet header states */
	__u64 discarded;
};

/* Directory of stream files, and the receiver of damage reports */
struct tsct_stream_reader_dir {
	int dirfd;
	const struct tsct_recording *rec;
	tsct_trace_report *report;	/* callback for damage; may be NULL */
	void *arg;
	__u64 damage;			/* number of damaged places found so far */
	/* file tick before which all events of a live recording are in its files;
	 * NULL: the recording is not live */
	const __u64 *live_until;
};

/* Returns the event class of a definition; @def NULL: the class of an undefined ID. */
struct tsct_stream_reader_kind tsct_stream_reader_kind_of(const struct tsct_event_def *def);

/*
 * tsct_stream_reader_kinds - make the event classes of a stream class.
 * The array points into @class. The caller frees it with free(). NULL: out of memory
 */
struct tsct_stream_reader_kind *tsct_stream_reader_kinds(const struct tsct_stream_class *class);

/*
 * tsct_stream_reader_init - prepare to read the stream file of a class and a location
 * @kinds: array that tsct_stream_reader_kinds() made for the stream class @class; the
 *	caller keeps the array until the reader is freed
 */
void tsct_stream_reader_init(struct tsct_stream_reader *s, const struct tsct_recording *rec,
		      const struct tsct_stream_reader_kind *kinds, __u32 class,
		      __u32 location);
void tsct_stream_reader_free(struct tsct_stream_reader *s);

/* tsct_stream_reader_update - replace the event classes after definitions were added */
void tsct_stream_reader_update(struct tsct_stream_reader *s, const struct tsct_recording *rec,
		       const struct tsct_stream_reader_kind *kinds);

/* Reads the header of the next packet into s->head, and passes over the packet's events. Returns
 * false at the end of the file, or if the rest of the file is damaged (s->spoiled). */
bool tsct_stream_reader_skip(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s);

/*
 * tsct_stream_reader_seek - pass over the packets that end before @tick, by a binary search
 *
 * Call it before the first event is read. The next event may still be earlier than @tick. Damage
 * in the skipped packets, and how many events are missing from the file, stays unknown.
 */
void tsct_stream_reader_seek(const struct tsct_stream_reader_dir *dir,
			     struct tsct_stream_reader *s, __u64 tick);

/* Slow path of tsct_stream_reader_next(): a new packet, an event with strings, or damage */
int tsct_stream_reader_next_slow(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s);

/* Sets s->event to the event whose header, of @head bytes, is at @from. */
static inline void tsct_stream_reader_give_(struct tsct_stream_reader *s, const __u8 *from,
					    size_t head, size_t size,
					    const struct tsct_stream_reader_kind *kind)
{
	s->id = kind->id;
	s->event.file_tick = s->delta.tick;
	s->event.tick = s->delta.tick << s->up >> s->down;
	s->event.offset = s->pos + s->at;
	s->event.len = (__u32)size;
	s->event.def = kind->def;
	s->event.payload = from + head;
	s->at += head + size;
}

/* Decodes an event whose header has a thread ID, or an event ID of TSCT_DELTA_COMPACT
 * or above. */
static inline int tsct_stream_reader_next_wide_(struct tsct_stream_reader_dir *dir,
					 struct tsct_stream_reader *s)
{
	const __u8 *from = s->packet + s->at;
	struct tsct_delta delta = s->delta;
	const struct tsct_stream_reader_kind *kind;
	__u32 id;
	int head;

	/* After the packet's contents the buffer has zeros, which decode to an event that
	 * ends beyond the packet. */
	head = tsct_delta_get(&delta, from, TSCT_DELTA_ROOM, &id);
	if (unlikely(head < 0 || id >= s->nr_kinds))
		return tsct_stream_reader_next_slow(dir, s);
	kind = &s->kinds[id];
	if (unlikely(kind->size < 0 || delta.tick > s->latest ||
		     s->at + (size_t)head + (size_t)kind->size > s->len))
		return tsct_stream_reader_next_slow(dir, s);
	s->delta = delta;
	s->event.tid = (__u32)delta.tid;
	tsct_stream_reader_give_(s, from, (size_t)head, (size_t)kind->size, kind);
	return 1;
}

/* Decodes the next event if the event's first byte determines its size; else returns false. */
static inline bool tsct_stream_reader_next_narrow_(struct tsct_stream_reader *s)
{
	static const __u64 masks[] = { 0xff, 0xffff, 0xffffffff, ~0ULL };
	const __u8 *from = s->packet + s->at;
	const struct tsct_stream_reader_kind *kind = &s->kinds[*from >> 3];
	const size_t whole = s->whole[*from];
	__u64 low, step;

	memcpy(&low, from + 1, sizeof(low));
	step = (low - s->delta.tick) & masks[*from & 3];
	/* A packet's first event has a thread ID, and is not decoded here. */
	if (unlikely(!whole || s->at + whole > s->len || step > s->latest - s->delta.tick))
		return false;
	s->delta.tick += step;
	s->delta.events++;
	tsct_stream_reader_give_(s, from, whole - (__u32)kind->size, (__u32)kind->size, kind);
	return true;
}

/*
 * tsct_stream_reader_next - read the next event to s->event, valid until the next call.
 * Returns 1; 0: no more events; or -ENOMEM.
 */
static inline int tsct_stream_reader_next(struct tsct_stream_reader_dir *dir,
					  struct tsct_stream_reader *s)
{
	return tsct_stream_reader_next_narrow_(s) ? 1 : tsct_stream_reader_next_wide_(dir, s);
}

/* Size of the parts in which a stream file is searched, from its end, for the header of the
 * last packet, bytes; exceeds the size of any packet that tsctrace writes */
#define TSCT_TAIL_BYTES	(4U * TSCT_PACKET_FULL)

/*
 * tsct_stream_reader_last_tick - get the source tick at which a file's last packet ends
 * @max: a packet header with a later end is damaged, and ignored
 * @part: scratch buffer. Reads the last part of the file, and earlier parts only if later
 * parts have no packet header. Returns 0 if the file has no packet header, or cannot be read.
 */
__u64 tsct_stream_reader_last_tick(const struct tsct_stream_reader_dir *dir,
				   const struct tsct_stream_reader *s, __u64 max,
				   __u8 part[TSCT_TAIL_BYTES]);

/* tsct_stream_reader_events - get the number of events returned so far */
static inline __u64 tsct_stream_reader_events(const struct tsct_stream_reader *s)
{
	return s->events + s->delta.events;
}

#endif /* TSCT_STREAM_H */
