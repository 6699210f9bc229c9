/* SPDX-License-Identifier: MIT */
/* A trace as its own files see it: trace_open.c, trace_follow.c. */
#ifndef TSCT_TRACE_PRIVATE_H
#define TSCT_TRACE_PRIVATE_H

#include <sys/stat.h>

#include "lib/core/order.h"
#include "stream_reader.h"

/* Of a recording that is being made */
struct tsct_trace_follower {
	struct tsct_stream_reader_live live;
	int notify;			/* inotify */
	struct stat meta;		/* the metadata that was read */
	bool *in_order;			/* by stream: it has an event there */
};

struct tsct_trace {
	struct tsct_stream_reader_dir file;
	struct tsct_recording rec;
	struct tsct_stream_reader_kind **kinds;	/* per stream class */
	struct tsct_stream_reader *streams;	/* class by class, CPU by CPU */
	__u32 nr_streams;
	struct tsct_order order;
	struct tsct_order_cursor *heap;
	unsigned int which;		/* TSCT_TRACE_* */
	bool started;
	bool given;			/* the first stream's event was returned */
	struct tsct_trace_follower *follow;	/* NULL: all is read that there is */
};

/* ---- trace_open.c --------------------------------------------------------- */

/* Reads the metadata into @rec, to be freed in any case. 0 or -errno. */
int tsct_trace_read_metadata_(const struct tsct_trace *t,
			      struct tsct_recording *rec, char *why,
			      size_t why_size);

/* Is that stream to be read? */
bool tsct_trace_wants_(const struct tsct_trace *t, __u32 index);

/* A stream's first event, or the next after it had none. 1, 0: none, -ENOMEM */
int tsct_trace_enter_(struct tsct_trace *t, __u32 index);

/* ---- trace_end.c ---------------------------------------------------------- */

/* Not complete, it ends where its files do. 0 or -ENOMEM */
int tsct_trace_find_end_(struct tsct_trace *t);

/* ---- trace_follow.c: where t->follow is ------------------------------------ */

/* Streams that were at their end. 0 or -ENOMEM */
int tsct_follow_enter_(struct tsct_trace *t);
void tsct_follow_free_(struct tsct_trace *t);

/* May the first event be given, as nothing before it is to come? */
static inline bool tsct_follow_may_give_(const struct tsct_trace *t, __u32 index)
{
	return !t->file.live ||
		t->streams[index].event.file_tick < t->follow->live.until;
}

#endif /* TSCT_TRACE_PRIVATE_H */
