/* SPDX-License-Identifier: MIT */
/*
 * One stream file of a recording, being written: events become packets (ctf.h) in
 * memory, and whole packets are appended to the file. What the disk does not take
 * is cut off again. The recorder has one for each class and location, merge too.
 *
 * A pen knows nothing of other pens: each may be in a thread of its own.
 */
#ifndef TSCT_PEN_H
#define TSCT_PEN_H

#include "lib/core/delta.h"
#include "recording.h"

struct tsct_stream_writer_options {
	__u64 every;		/* events in a packet at most; 0: as fit in */
	__u32 fsync;		/* enum tsct_fsync */
};

/* Who it is: what stands in all of its packets. The caller keeps the texts. */
struct tsct_stream_writer_file {
	int dirfd;
	const char *name;
	const __u8 *uuid;	/* 16 bytes */
	__u32 stream_id;
	__u32 cpu, node;
};

/* To read: what is said to be. All else is its own. */
struct tsct_stream_writer {
	struct tsct_delta delta;	/* of the packet that is being filled */
	__u8 *buffer;			/* NULL: nothing was begun yet */
	__u32 used;			/* of it */
	__u32 packet;			/* where the packet begins in it, */
	__u32 full;			/* and where it has to end */
	__u64 every;
	__u64 run_length;		/* events since the tick last changed */
	__u64 max_per_tick;	/* public: longest run of events on one tick, less 1 */
	__u64 begin;			/* ticks of the packet: its first event, */
	__u64 end;			/* and what it lasts to, at least */
	__u64 first;	/* to read: tick of the file's first event */
	__u64 packed_events;		/* in completed packets */
	__u64 written_events;		/* of those, in the file */
	__u64 packets;			/* whole ones; also the next one's number */
	__u64 written_packets;
	__u64 discarded;		/* as the last packet said */
	__u64 size;	/* to read: bytes in the file */
	__u32 fsync;
	int error;			/* the first that the disk gave */
	struct tsct_stream_writer_file file;
};

/*
 * tsct_stream_writer_init - nothing is made or allocated before there is something to write
 * @file, @options: copied, but for the texts
 */
void tsct_stream_writer_init(struct tsct_stream_writer *pen, const struct tsct_stream_writer_file *file,
		   const struct tsct_stream_writer_options *options);

/*
 * tsct_stream_writer_start - begin the file, at @begin
 * With an empty packet: readers count losses between packets, so that those before
 * the first event count. Once, before the first event. 0 or -ENOMEM.
 */
int tsct_stream_writer_start(struct tsct_stream_writer *pen, __u64 begin);

/* Was it? */
static inline bool tsct_stream_writer_started(const struct tsct_stream_writer *pen)
{
	return pen->buffer;
}

/* The last tick of the file: no event may be before it. */
static inline __u64 tsct_stream_writer_last(const struct tsct_stream_writer *pen)
{
	return pen->end > pen->delta.tick ? pen->end : pen->delta.tick;
}

/* Events so far: those in the file, and those that are still to be written */
static inline __u64 tsct_stream_writer_events(const struct tsct_stream_writer *pen)
{
	return pen->packed_events + pen->delta.events;
}

/* Of them, those that are not in the file yet */
static inline __u64 tsct_stream_writer_unwritten(const struct tsct_stream_writer *pen)
{
	return tsct_stream_writer_events(pen) - pen->written_events;
}

/*
 * tsct_stream_writer_lasts - the packet's time goes on to @tick, though no event has it
 * For recordings whose events have no time but their packet's.
 */
static inline void tsct_stream_writer_lasts(struct tsct_stream_writer *pen, __u64 tick)
{
	if (tick > pen->end)
		pen->end = tick;
}

/* Most are 8 bytes: a call would cost more than all the rest. */
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

/* The packet's first */
int tsct_stream_writer_put_first_(struct tsct_stream_writer *pen, __u32 id, __u64 tick, __u32 tid,
			const void *payload, __u32 len);

/*
 * tsct_stream_writer_put - one event; the file was started
 * @id: from TSCT_ID_FIRST on
 * @tick: not before tsct_stream_writer_last()
 *
 * Returns 0, or 1: the packet is full, call tsct_stream_writer_end_packet() before the next one.
 * -EINVAL: the tick is before the last one, or the id or the length is none;
 * nothing was written.
 */
static inline int tsct_stream_writer_put(struct tsct_stream_writer *pen, __u32 id, __u64 tick,
			       __u32 tid, const void *payload, __u32 len)
{
	__u8 *at = pen->buffer + pen->used;
	const __u64 last = pen->delta.tick;
	int head;

	if (unlikely(!pen->delta.events))
		return tsct_stream_writer_put_first_(pen, id, tick, tid, payload, len);
	if (unlikely(len > TSCT_CTF_PAYLOAD_MAX))
		return -EINVAL;
	head = tsct_delta_put(&pen->delta, at, id - TSCT_ID_FIRST, tick, tid);
	if (unlikely(head < 0))
		return head;
	tsct_stream_writer_copy_(at + head, payload, len);
	pen->used += (__u32)head + len;
	pen->run_length = tick == last ? pen->run_length + 1 : 0;
	if (unlikely(pen->run_length > pen->max_per_tick))
		pen->max_per_tick = pen->run_length;
	return pen->used >= pen->full || pen->delta.events >= pen->every;
}

/*
 * tsct_stream_writer_end_packet - the packet ends, another one begins
 * @discarded: events that were lost at this place so far
 *
 * Small ones are written together. 0, or the -errno of the disk: then and from then
 * on. The file has whole packets up to there, pen->size bytes and pen->written_events events.
 */
int tsct_stream_writer_end_packet(struct tsct_stream_writer *pen, __u64 discarded);

/* All that there is goes to the file; also a loss that no event followed. */
int tsct_stream_writer_flush(struct tsct_stream_writer *pen, __u64 discarded);

/* No more comes: flush, and have it on the disk where that was asked for. */
int tsct_stream_writer_finish(struct tsct_stream_writer *pen, __u64 discarded);

/* What is not in the file is forgotten: tsct_stream_writer_events() is what it has. */
void tsct_stream_writer_drop(struct tsct_stream_writer *pen);

void tsct_stream_writer_free(struct tsct_stream_writer *pen);

/* fsync() of what was opened; 0 or -errno. Some files have nothing to sync. */
int tsct_fsync(int fd);

#endif /* TSCT_PEN_H */
