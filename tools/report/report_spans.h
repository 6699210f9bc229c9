/* SPDX-License-Identifier: MIT */
/*
 * Finds the spans of a recording, and reports each span when it ends: slices of
 * threads, system calls, and times in which a thread ran on a CPU. Memory grows with
 * the number of open spans.
 */
#ifndef REPORT_SPANS_H
#define REPORT_SPANS_H

#include "lib/export/export.h"

#define EDGE_KEPT	256	/* bytes of a payload that are shown on the page */

/* The event that begins or ends a span */
struct edge {
	__s64 ns;
	__u32 cpu, def, len;
	__u8 payload[EDGE_KEPT];
};

/* Copies an event. The fields of a system call are copied as texts, each with its NUL. */
void edge_make(struct edge *edge, const struct tsct_export *x,
	       const struct tsct_export_event *ev);

enum span_type { SPAN_SLICE, SPAN_CALL, SPAN_RUN };

struct span {
	enum span_type type;
	__u32 row;		/* index of the thread or, for SPAN_RUN, of the CPU */
	__u32 depth;		/* nesting depth; the outermost span has 0 */
	/* index of definition or thread, or system call number */
	__s64 name;
	__s64 from_ns, to_ns;
	/* event that begins the span; NULL: the span began before the recording */
	const struct edge *begin;
	/* event that ends the span; NULL: end not recorded, or `type` is SPAN_RUN */
	const struct edge *end;
	bool no_end;		/* end not recorded: to_ns is not the span's end */
	__u32 events;		/* number of events that begin or end the span */
};

/* An open span; also the elements of x->slices */
struct open_span {
	struct tsct_span span;
	__u32 depth;
	struct edge begin;
};

struct spans;

typedef int span_done(void *arg, const struct span *span);

/* Creates a search for spans. NULL: out of memory */
struct spans *spans_new(struct tsct_export *x, span_done *done, void *arg);

/*
 * spans_note - process an event
 * @threads: table of threads, found by their ids
 * @cpu: index of the event's CPU
 * @origin_ns: time at which the page begins
 * @ret_taken: true if the event begins or ends a span
 *
 * Returns 0, the result of the callback done(), or -ENOMEM.
 */
int spans_note(struct spans *spans, struct tsct_threads *threads, __u32 cpu,
	       __s64 origin_ns, const struct tsct_export_event *ev, bool *ret_taken);

/* Ends all spans that are still open, at @end_ns and without an end event. */
int spans_finish(struct spans *spans, __s64 end_ns);
void spans_free(struct spans *spans);

#endif /* REPORT_SPANS_H */
