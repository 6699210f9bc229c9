/* SPDX-License-Identifier: MIT */
/*
 * Spans of a recording, reported when they end: slices of threads, system
 * calls, and the thread that ran on a CPU. Memory grows with open spans.
 */
#ifndef REPORT_SPANS_H
#define REPORT_SPANS_H

#include "lib/export/export.h"

#define EDGE_KEPT	256	/* bytes of an event's payload that the page
				 * keeps */

/* The event at an end of a span */
struct edge {
	__s64 ns;
	__u32 cpu, def, len;
	__u8 payload[EDGE_KEPT];
};

void edge_make(struct edge *edge, const struct tsct_export_event *ev);

enum span_type { SPAN_SLICE, SPAN_CALL, SPAN_RUN };

struct span {
	enum span_type type;
	__u32 row;		/* index of the thread; for a CPU's span, of the
				 * CPU */
	__u32 depth;		/* nesting depth, from 0 */
	__s64 name;		/* number of its event, of the system call, or
				 * of the thread */
	__s64 from_ns, to_ns;
	const struct edge *begin;	/* NULL: before the first event */
	const struct edge *end;		/* NULL: not seen; CPU spans have none */
	bool no_end;
	__u32 events;		/* number of events that it stands for */
};

/* Events of the kernel that make spans */
enum special { SPECIAL_NONE, SPECIAL_ENTER, SPECIAL_EXIT, SPECIAL_SWITCH };

struct spans;

typedef int span_done(void *arg, const struct span *span);

/* @special: by definition. NULL: out of memory */
struct spans *spans_new(const struct tsct_export *x, const __u8 *special,
			span_done *done, void *arg);

/*
 * spans_note - process an event
 * @thread_of: finds a thread by its id; @cpu: index of the CPU; @origin_ns:
 *	time of the first event. *ret_taken: true if the event is part of a
 *	span
 * Returns 0, the result of done(), or -ENOMEM.
 */
int spans_note(struct spans *spans, struct tsct_threads *threads, __u32 cpu,
	       __s64 origin_ns, const struct tsct_export_event *ev, bool *ret_taken);

/* Ends all open spans at @end_ns, without an end event. */
int spans_finish(struct spans *spans, __s64 end_ns);
void spans_free(struct spans *spans);

/*
 * Finds sys_enter, sys_exit and sched_switch of the kernel's channels, by
 * definition.
 */
void spans_find_special(const struct tsct_export *x, __u8 *special);

#endif /* REPORT_SPANS_H */
