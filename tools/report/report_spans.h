/* SPDX-License-Identifier: MIT */
/*
 * What has a length in a recording, as it ends: slices of threads, system calls,
 * and who ran on a CPU. Memory grows with what is open.
 */
#ifndef REPORT_SPANS_H
#define REPORT_SPANS_H

#include "lib/export/export.h"

#define EDGE_KEPT	256	/* bytes of an event's payload that a page has */

/* An event that begins or ends something */
struct edge {
	__s64 ns;
	__u32 cpu, def, len;
	__u8 payload[EDGE_KEPT];
};

void edge_make(struct edge *edge, const struct tsct_export_event *ev);

enum span_type { SPAN_SLICE, SPAN_CALL, SPAN_RUN };

struct span {
	enum span_type type;
	__u32 row;		/* index of the thread; of a run: of the CPU */
	__u32 lane;		/* how deep it is, from 0 */
	__s64 name;		/* its event's number, the call's, the thread's */
	__s64 from_ns, to_ns;
	const struct edge *begin;	/* NULL: before the first moment */
	const struct edge *end;		/* NULL: not seen; runs have none */
	bool no_end;
	__u32 events;		/* that are told by it */
};

/* What the kernel's events are to us */
enum special { SPECIAL_NONE, SPECIAL_ENTER, SPECIAL_EXIT, SPECIAL_SWITCH };

struct spans;

typedef int span_done(void *arg, const struct span *span);

/* @special: by definition. NULL: no memory */
struct spans *spans_new(const struct tsct_export *x, const __u8 *special,
			span_done *done, void *arg);

/*
 * spans_note - look at an event
 * @thread_of: the running thread's, by its id; @cpu: index of the CPU; @origin_ns: the
 * first moment. *ret_taken: it is part of a span. 0, or what done() returned, or -ENOMEM.
 */
int spans_note(struct spans *spans, struct tsct_threads *threads, __u32 cpu,
	       __s64 origin_ns, const struct tsct_export_event *ev, bool *ret_taken);

/* What is still open ends there, without an end. */
int spans_finish(struct spans *spans, __s64 end_ns);
void spans_free(struct spans *spans);

/* sys_enter, sys_exit and sched_switch of the kernel's channels, by definition */
void spans_find_special(const struct tsct_export *x, __u8 *special);

#endif /* REPORT_SPANS_H */
