/* SPDX-License-Identifier: MIT */
/*
 * Spans of a recording, reported when they end: slices of threads, system calls, and
 * the times in which a thread ran on a CPU. Memory grows with the number of open spans.
 */
#ifndef REPORT_SPANS_H
#define REPORT_SPANS_H

#include "lib/export/export.h"

#define EDGE_KEPT	256	/* bytes of an event's payload that the page has */

/* The event at the begin or the end of a span */
struct edge {
	__s64 ns;
	__u32 cpu, def, len;
	__u8 payload[EDGE_KEPT];
};

void edge_make(struct edge *edge, const struct tsct_export_event *ev);

enum span_type { SPAN_SLICE, SPAN_CALL, SPAN_RUN };

struct span {
	enum span_type type;
	__u32 row;		/* index of the thread; of SPAN_RUN: of the CPU */
	__u32 depth;		/* nesting depth, from 0 */
	__s64 name;		/* number of the event, of the system call, or of the
				 * thread that ran */
	__s64 from_ns, to_ns;
	const struct edge *begin;	/* NULL: began before the recording */
	const struct edge *end;		/* NULL: not recorded, or SPAN_RUN */
	bool no_end;		/* the end is not in the recording */
	__u32 events;		/* number of events that the span represents */
};

/* Kernel events that begin or end spans */
enum special { SPECIAL_NONE, SPECIAL_ENTER, SPECIAL_EXIT, SPECIAL_SWITCH };

struct spans;

typedef int span_done(void *arg, const struct span *span);

/* @special: enum special of each definition. NULL: out of memory */
struct spans *spans_new(const struct tsct_export *x, const __u8 *special,
			span_done *done, void *arg);

/*
 * spans_note - process an event
 * @threads: table in which threads are found by their ids
 * @cpu: index of the CPU
 * @origin_ns: begin of the page
 * @ret_taken: true if the event is part of a span
 * Returns 0, the result of done(), or -ENOMEM.
 */
int spans_note(struct spans *spans, struct tsct_threads *threads, __u32 cpu,
	       __s64 origin_ns, const struct tsct_export_event *ev, bool *ret_taken);

/* Ends all open spans at @end_ns, without an end event. */
int spans_finish(struct spans *spans, __s64 end_ns);
void spans_free(struct spans *spans);

#endif /* REPORT_SPANS_H */
