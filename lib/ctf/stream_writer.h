/* SPDX-License-Identifier: MIT */
/*
 * Writer of one stream file of a recording: collects events into packets in memory and
 * appends whole packets to the file. A packet that cannot be written completely is
 * truncated again. Recorder and merge have one writer per stream class and location.
 *
 * Writers are independent: each may run in its own thread.
 */
#ifndef TSCT_STREAM_WRITER_H
#define TSCT_STREAM_WRITER_H

#include "lib/core/delta.h"
#include "recording.h"

struct tsct_stream_writer_options {
	__u64 every;		/* most events in a packet; 0: no limit */
	__u32 fsync;		/* enum tsct_fsync */
};

/* The file, and the contents of all its packet headers. Texts are not copied. */
struct tsct_stream_writer_file {
	int dirfd;
	const char *name;
	const __u8 *uuid;	/* 16 bytes */
	__u32 stream_id;
	__u32 cpu, node;
};

/* Callers may read the fields marked public. */
struct tsct_stream_writer {
	struct tsct_delta delta;	/* of the open packet */
	__u8 *buffer;			/* NULL: not started */
	__u32 used;			/* bytes of it */
	__u32 packet;			/* begin of the open packet in it */
	__u32 full;			/* end at which that packet is full */
	__u64 every;
	__u64 run_length;		/* events since the tick last changed */
	__u64 max_per_tick;	/* public: longest run of events on one tick, less 1 */
	__u64 begin;			/* tick of the packet's first event */
	__u64 end;			/* tick that it lasts to at least */
	__u64 first;		/* public: tick of the file's first event */
	__u64 packed_events;		/* in completed packets */
	__u64 written_events;		/* of those, in the file */
	__u64 packets;		/* public: completed packets; number of the open one */
	__u64 written_packets;
	__u64 discarded;		/* in the last packet's header */
	__u64 size;		/* public: bytes in the file */
	__u32 fsync;			/* enum tsct_fsync */
	int error;			/* first -errno of writing */
	struct tsct_stream_writer_file file;
};

/*
 * tsct_stream_writer_init - initialize; allocates nothing and creates no file
 * @file, @options: copied, but not the texts
 */
void tsct_stream_writer_init(struct tsct_stream_writer *w, const struct tsct_stream_writer_file *file,
		   const struct tsct_stream_writer_options *options);

/*
 * tsct_stream_writer_start - begin the file at tick @begin, once, before the first event
 * The first packet is empty: CTF readers count losses between packets, so this makes
 * those before the first event count. 0 or -ENOMEM
 */
int tsct_stream_writer_start(struct tsct_stream_writer *w, __u64 begin);

/* tsct_stream_writer_start() succeeded. */
static inline bool tsct_stream_writer_started(const struct tsct_stream_writer *w)
{
	return w->buffer;
}

/* Last tick of the file; no event may be earlier. */
static inline __u64 tsct_stream_writer_last(const struct tsct_stream_writer *w)
{
	return w->end > w->delta.tick ? w->end : w->delta.tick;
}

/* Number of events so far, in the file and in memory */
static inline __u64 tsct_stream_writer_events(const struct tsct_stream_writer *w)
{
	return w->packed_events + w->delta.events;
}

/* Number of these that are not in the file yet */
static inline __u64 tsct_stream_writer_unwritten(const struct tsct_stream_writer *w)
{
	return tsct_stream_writer_events(w) - w->written_events;
}

/*
 * tsct_stream_writer_extend - extend the open packet to @tick
 * For recordings whose events have no time but that of their packet.
 */
static inline void tsct_stream_writer_extend(struct tsct_stream_writer *w, __u64 tick)
{
	if (tick > w->end)
		w->end = tick;
}

/* Inline, as most payloads are 8 bytes and a call would cost more than all the rest */
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

/* tsct_stream_writer_put() of a packet's first event */
int tsct_stream_writer_put_first_(struct tsct_stream_writer *w, __u32 id, __u64 tick, __u32 tid,
			const void *payload, __u32 len);

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
	__u8 *at = w->buffer + w->used;
	const __u64 last = w->delta.tick;
	int head;

	if (unlikely(!w->delta.events))
		return tsct_stream_writer_put_first_(w, id, tick, tid, payload, len);
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
 * tsct_stream_writer_end_packet - complete the open packet and begin another one
 * @discarded: events lost at this location so far
 *
 * Small packets are written together. 0, or the -errno of writing, also of all later
 * calls. The file then has whole packets only, of w->size bytes and w->written_events
 * events.
 */
int tsct_stream_writer_end_packet(struct tsct_stream_writer *w, __u64 discarded);

/* Writes everything to the file, also a loss after the last event. 0 or -errno */
int tsct_stream_writer_flush(struct tsct_stream_writer *w, __u64 discarded);

/* Flushes at the end of the recording, with fsync() unless TSCT_FSYNC_NEVER. 0 or -errno */
int tsct_stream_writer_finish(struct tsct_stream_writer *w, __u64 discarded);

/* Discards what is not in the file; tsct_stream_writer_events() counts the rest. */
void tsct_stream_writer_drop(struct tsct_stream_writer *w);

void tsct_stream_writer_free(struct tsct_stream_writer *w);

/* fsync() that succeeds on files that have nothing to sync. 0 or -errno */
int tsct_fsync(int fd);

#endif /* TSCT_STREAM_WRITER_H */
