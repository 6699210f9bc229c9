/* SPDX-License-Identifier: MIT */
/*
 * Spans of time from a begin to an end, by row: slices and calls of a thread, or the threads
 * that run on a CPU. The caller passes begins and ends in the order of time, and is called for
 * each span that closes, with the reason. Data in, data out; memory grows with the number of
 * rows and of open spans.
 */
#ifndef TSCT_SPANS_H
#define TSCT_SPANS_H

#include "lib/ctf/trace_reader.h"

#define TSCT_SPANS_OPEN_MAX	4096	/* largest number of open spans of a row */

/* Reason for which a span closes */
enum tsct_span_why {
	TSCT_SPAN_ENDED,	/* its own end */
	/* begin or end of another span where only one is open at a time: a switch, or the span's
	 * own end is not in the recording */
	TSCT_SPAN_REPLACED,
	TSCT_SPAN_OPEN,		/* end of the recording: the span has not ended */
};

/* An open span; the first member of the caller's own struct */
struct tsct_span {
	__s64 name;		/* number of a name, a thread or a system call */
	__u64 begin;		/* tick */
};

struct tsct_span_row {
	__u8 *open;		/* in order of their begin */
	__u32 nr;
	size_t room;
};

struct tsct_spans {
	/* Set by the caller: */
	size_t size;		/* of the caller's struct, bytes */
	/* Flag: several spans of a row may be open. Else a begin closes the span before. */
	bool several;
	/* @e: event that closes the span; NULL: end of the recording. Returns 0 or an error. */
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

/* Returns an open span of a row, below tsct_spans_open(). */
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

/*
 * tsct_spans_begin - open a span, with zeros in the caller's part
 * Returns 0, -ENOSPC (TSCT_SPANS_OPEN_MAX are open), -ENOMEM or the error of closed().
 */
int tsct_spans_begin(struct tsct_spans *s, __u32 row, __s64 name,
		     const struct tsct_trace_event *e);

/* Returns the index of the last span of a row that began with @name; -1: none is open. */
__s64 tsct_spans_find(const struct tsct_spans *s, __u32 row, __s64 name);

/* Closes the span at index @at by its own end; those that began later stay open. */
int tsct_spans_close(struct tsct_spans *s, __u32 row, __u32 at,
		     const struct tsct_trace_event *e);

/* Closes all spans of a row. */
int tsct_spans_leave(struct tsct_spans *s, __u32 row, enum tsct_span_why why,
		     const struct tsct_trace_event *e);

/*
 * tsct_spans_end - close the span that began with @name, where one is open at a time
 * Returns 1 if it was open; 0: another one was, and closed, or none; or the error of closed().
 */
int tsct_spans_end(struct tsct_spans *s, __u32 row, __s64 name,
		   const struct tsct_trace_event *e);

/* Closes all spans, at the end of the recording. */
int tsct_spans_finish(struct tsct_spans *s);
void tsct_spans_free(struct tsct_spans *s);

/* Meaning of the events of kernel channels that are no begin or end by their kind */
enum tsct_kernel_event {
	TSCT_KERNEL_OTHER,
	TSCT_KERNEL_ENTER,	/* sys_enter, sys_exit: any system call, by number */
	TSCT_KERNEL_EXIT,
	TSCT_KERNEL_SWITCH,	/* sched_switch */
};

enum tsct_kernel_event tsct_kernel_event(const struct tsct_recording *rec, __u32 stream,
					 const struct tsct_event_def *def);

#endif /* TSCT_SPANS_H */
