/* SPDX-License-Identifier: MIT */
/* One stream file, packet by packet. */
#ifndef TSCT_TRACE_STREAM_H
#define TSCT_TRACE_STREAM_H

#include "recording/ctf.h"
#include "recording/trace.h"

struct tsct_stream {
	char name[TSCT_FILE_NAME_MAX];
	__u32 stream, location;
	const __s32 *sizes;	/* of payloads by id - FIRST; -1: varies */
	__u8 *packet;
	size_t room;
	size_t len, at;		/* of the packet: bytes there, bytes read */
	bool cut;		/* the packet ends before it should */
	struct tsct_packet head;
	__u64 pos, next;	/* in the file: this packet, the next */
	__u64 packets;		/* begun so far */
	__u64 events;		/* given out so far */
	__u64 last;		/* stamp */
	__u64 discarded;	/* as the last good packet says */
	struct tsct_trace_event event;
};

struct tsct_stream_dir {
	int dirfd;
	struct tsct_recording *rec;
	tsct_trace_report *report;
	void *arg;
	__u64 damage;
};

/* Goes to the next event. 1, 0: no more, -ENOMEM. */
int tsct_stream_next(struct tsct_stream_dir *file, struct tsct_stream *s);

/* Size of every event that is defined, into an array of nr_defs; -1: varies */
void tsct_stream_sizes(const struct tsct_stream_class *c, __s32 *sizes);

#endif /* TSCT_TRACE_STREAM_H */
