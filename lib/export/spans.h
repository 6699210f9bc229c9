/* SPDX-License-Identifier: MIT */
/*
 * Spans between a begin and an end event, in rows: a row has the slices or calls of a thread,
 * or the threads that run on a CPU. The caller passes begin and end events in the order of
 * time; the callback closed() gets each span that closes, with the reason. There is no I/O;
 * memory grows with the number of rows and of open spans.
 */
#ifndef TSCT_SPANS_H
#define TSCT_SPANS_H

#include <string.h>

#include "lib/ctf/trace_reader.h"

#define TSCT_SPANS_OPEN_MAX	4096	/* largest number of open spans of a row */

/* Reason why a span closes */
enum tsct_span_why {
	TSCT_SPAN_ENDED,	/* the span's own end event */
	/* another span began or ended in the row, which has at most one open span: threads
	 * were switched, or the closed span's end event is not in the recording */
	TSCT_SPAN_REPLACED,
	TSCT_SPAN_OPEN,		/* the recording or the thread ended before the span's end event */
	/* The next reasons are only in the stream of closed spans, export.h: */
	/* the span may have ended: its end event may be lost or hidden; or the span is nested too
	 * deeply */
	TSCT_SPAN_UNKNOWN,
	/* the end event may belong to another span: its fields match no open span of the name, or
	 * several open spans have its key, now or at an earlier end event */
	TSCT_SPAN_AMBIGUOUS,
	TSCT_SPAN_NOT_BEGUN,	/* the span's begin event is not in the recording */
	TSCT_SPAN_WHYS
};

/* An open span. It is the first member of a struct of the caller */
struct tsct_span {
	__s64 name;		/* number that identifies a name, a thread or a system call */
	__u64 begin;		/* tick of the begin event */
	__u32 location;		/* location of the begin event */
	__u64 key;		/* for tsct_spans_find(), set by the caller */
	bool hidden;		/* set by the caller: a filter leaves out the begin event */
	/* with --pair BEGIN:END:KEY: an earlier end event may be the end of this span */
	bool doubtful;
};

struct tsct_span_row {
	__u8 *open;		/* structs of open spans, in the order of their begin events */
	__u32 nr;
	size_t room;
};

struct tsct_spans {
	/* Set by the caller: */
	size_t size;		/* size of the caller's struct, bytes */
	/* flag: a row may have several open spans; else a begin event closes the open span */
	bool several;
	/* Callback for a span that closes. @e: event that closes the span; NULL: end of the
	 * recording. Returns 0 or an error. */
	int (*closed)(void *arg, __u32 row, struct tsct_span *span, enum tsct_span_why why,
		      const struct tsct_trace_event *e);
	void *arg;

	struct tsct_span_row *rows;
	size_t nr_rows;
};

/* Returns the number of open spans of a row. */
static inline __u32 tsct_spans_open(const struct tsct_spans *s, __u32 row)
{
	return row < s->nr_rows ? s->rows[row].nr : 0;
}

/* Returns open span number @at of a row; @at is less than tsct_spans_open(). */
static inline void *tsct_span_at(const struct tsct_spans *s, __u32 row, __u32 at)
{
	return s->rows[row].open + at * s->size;
}

/* Returns the span of a row that began last; NULL: none is open. */
static inline void *tsct_span_last(const struct tsct_spans *s, __u32 row)
{
	const __u32 nr = tsct_spans_open(s, row);

	return nr ? tsct_span_at(s, row, nr - 1) : NULL;
}

/* Closes all spans of a row, for the reason @why. */
int tsct_spans_leave(struct tsct_spans *s, __u32 row, enum tsct_span_why why,
		     const struct tsct_trace_event *e);

int tsct_spans_reserve_(struct tsct_spans *s, __u32 row);

/*
 * tsct_spans_begin - open a span; the caller sets all further members of its struct.
 * Returns 0, -ENOSPC (TSCT_SPANS_OPEN_MAX are open), -ENOMEM or the error of closed().
 */
static inline int tsct_spans_begin(struct tsct_spans *s, __u32 row, __s64 name,
				   const struct tsct_trace_event *e)
{
	int err = s->several ? 0 : tsct_spans_leave(s, row, TSCT_SPAN_REPLACED, e);

	if (!err && unlikely(row >= s->nr_rows || s->rows[row].nr == s->rows[row].room))
		err = tsct_spans_reserve_(s, row);
	if (!err)
		*(struct tsct_span *)tsct_span_at(s, row, s->rows[row].nr++) = (struct tsct_span) {
			.name = name, .begin = e->tick, .location = e->location,
		};
	return err;
}

__s64 tsct_spans_find_(struct tsct_spans *s, __u32 row, __s64 name, __u64 key, __u64 *ambiguous);

/*
 * tsct_spans_find - find the open span that an end event ends
 * @key: the newest open span with @name and @key is chosen; if there is none, the newest
 *	with @name
 * @ambiguous: incremented if open spans have @name, but none of them has @key
 *
 * Returns the index of the span; -1: no span has the name.
 */
static inline __s64 tsct_spans_find(struct tsct_spans *s, __u32 row, __s64 name, __u64 key,
				    __u64 *ambiguous)
{
	const struct tsct_span *last = tsct_span_last(s, row);

	return likely(last && last->name == name && last->key == key) ?
		(__s64)s->rows[row].nr - 1 : tsct_spans_find_(s, row, name, key, ambiguous);
}

/* Removes open span number @at of a row without calling closed(). Later spans stay open. */
static inline void tsct_spans_remove(struct tsct_spans *s, __u32 row, __u32 at)
{
	struct tsct_span_row *r = &s->rows[row];

	if (--r->nr > at)
		memmove(r->open + at * s->size, r->open + (at + 1) * s->size,
			(r->nr - at) * s->size);
}

/* Closes open span number @at of a row, for the reason @why; later spans stay open. */
static inline int tsct_spans_close(struct tsct_spans *s, __u32 row, __u32 at,
				   enum tsct_span_why why, const struct tsct_trace_event *e)
{
	int err = s->closed ? s->closed(s->arg, row, tsct_span_at(s, row, at), why, e) : 0;

	tsct_spans_remove(s, row, at);
	return err;
}

/*
 * tsct_spans_end - close the open span of a row that has at most one. Returns 1 if the span is
 * named @name; 0 if it has another name, or no span was open; or the error of closed().
 */
int tsct_spans_end(struct tsct_spans *s, __u32 row, __s64 name,
		   const struct tsct_trace_event *e);

/* Closes all spans, at the end of the recording. */
int tsct_spans_finish(struct tsct_spans *s);
void tsct_spans_free(struct tsct_spans *s);

#endif /* TSCT_SPANS_H */
