/* SPDX-License-Identifier: MIT */
/*
 * The stream of closed spans of a recording: slices and system calls. tsct_export_walk() passes
 * each span to the callback tsct_export.closed when it closes, in the order in which spans close. A span whose end, or begin, is not known is passed,
 * too, with the reason: only a span with the reason TSCT_SPAN_ENDED has a length.
 */
#ifndef TSCT_CLOSED_SPAN_H
#define TSCT_CLOSED_SPAN_H

#include "spans.h"

struct tsct_export;
struct tsct_export_event;
struct tsct_export_slice;
struct tsct_syscall;
struct tsct_thread;

/* A slice or system call. It and all that it points to are valid during the callback. */
struct tsct_closed_span {
	const char *name;		/* name of the events; of a system call: of the call */
	const struct tsct_syscall *call;	/* the system call; NULL: a slice, or a call that
						 * the table of system calls lacks */
	bool is_call;
	enum tsct_span_why why;
	__u32 depth;		/* number of spans of the thread around it; 0: the outermost */
	__u32 node;		/* node of the begin event, or of the end event if that is all */
	struct tsct_thread *thread;	/* thread of that event */
	/* ticks and times, ns since the epoch. Of a span without a begin event, `begin` is that of
	 * the end; of one without an end event, `end` is the last at which it is known to be open */
	__u64 begin, end;
	__s64 begin_ns, end_ns;
	/* events; NULL: none is recorded. Of an open span's begin, it is a copy. */
	const struct tsct_trace_event *begin_event, *end_event;
};

typedef int tsct_span_closed(struct tsct_export *x, const struct tsct_closed_span *span);

/* Texts of the reasons, in the order of enum tsct_span_why */
extern const char *const tsct_span_why_names[TSCT_SPAN_WHYS];

/* ---- for export.c ------------------------------------------------------ */

/* Makes x->slices and x->calls keep the begin events of open spans. */
void tsct_closed_span_init(struct tsct_export *x);

/* Keeps the begin event of a span that is the last in its row. @is_call: in x->calls. Returns 0
 * or -ENOMEM. */
int tsct_closed_span_open(struct tsct_export *x, struct tsct_export_slice *slice,
			  const struct tsct_export_event *ev, bool is_call);

/* Passes a span of which @ev is all. @why: TSCT_SPAN_NOT_BEGUN: @ev is its end; else its begin */
int tsct_closed_span_alone(struct tsct_export *x, const struct tsct_export_event *ev,
			   enum tsct_span_why why);

/* Processes an event sys_enter or sys_exit. */
int tsct_closed_span_call(struct tsct_export *x, struct tsct_export_event *ev);

#endif /* TSCT_CLOSED_SPAN_H */
