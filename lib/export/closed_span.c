// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

const char *const tsct_span_why_names[TSCT_SPAN_WHYS] = {
	[TSCT_SPAN_ENDED] = "ended", [TSCT_SPAN_REPLACED] = "unknown", [TSCT_SPAN_OPEN] = "open",
	[TSCT_SPAN_UNKNOWN] = "unknown", [TSCT_SPAN_AMBIGUOUS] = "ambiguous",
	[TSCT_SPAN_NOT_BEGUN] = "not begun",
};

/* Returns the number by which begin and end of a system call are matched. *ret: the call or NULL */
static __s64 call_number(const struct tsct_trace_event *e, const struct tsct_syscall **ret)
{
	const __u64 number = tsct_syscall_event_number((__u64)tsct_value_integer_of(e, "id"));

	*ret = tsct_syscall_by_number(number);
	return (__s64)(*ret ? tsct_syscall_pair(*ret) : number);
}

/* Sets members of @span from its begin event @ev or, if that is not recorded, its end event. */
static inline __attribute__((always_inline)) void
begin_span(const struct tsct_export *x, struct tsct_closed_span *span,
	   const struct tsct_export_event *ev)
{
	const struct tsct_export_def *def = &x->defs[ev->def];

	span->name = def->span_name;
	span->call = def->span_call;
	span->is_call = def->is_call;
	if (unlikely(def->is_call && !def->span_call)) {
		call_number(ev->e, &span->call);
		span->name = span->call ? span->call->name : NULL;
	}
	span->node = ev->e->node;
	span->thread = ev->thread;
	span->begin = ev->e->tick;
	span->begin_ns = ev->ns;
}

/* Passes a span to x->closed(). @end: the end event, or NULL. @hidden: the filter leaves out the
 * end event. @until: tick of the span's end */
static inline __attribute__((always_inline)) int
pass_span(struct tsct_export *x, struct tsct_closed_span *span, const struct tsct_trace_event *end,
	  bool hidden, __u64 until, enum tsct_span_why why)
{
	const struct tsct_trace_event *e = end ?: span->begin_event;
	char number[32];

	span->why = why == TSCT_SPAN_REPLACED ? TSCT_SPAN_UNKNOWN : why;
	span->end = until;
	span->end_ns = likely(until == x->now_tick) ? x->now_ns : tsct_export_time(x, until);
	span->end_node = e->node;
	span->end_tid = e->tid;
	span->end_event = hidden ? NULL : end;
	if (unlikely(!span->name)) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)
			 call_number(span->begin_event ?: end, &span->call));
		span->name = number;
	}
	return x->closed(x, span);
}

/* Returns the nesting depth of a thread's newest span: one more than the largest depth of the
 * thread's other open spans. Among slices, the newest has the largest depth. */
static inline __attribute__((always_inline)) __u32
next_depth(const struct tsct_export *x, __u32 thread, bool is_call)
{
	const struct tsct_export_slice *slice = is_call ? NULL :
		tsct_span_last(&x->calls, thread);
	const __u32 depth = slice ? slice->closed.depth + 1 : 0;
	__u32 nr = tsct_spans_open(&x->slices, thread) - !is_call;

	while (nr--) {
		slice = tsct_span_at(&x->slices, thread, nr);
		if (!slice->span.hidden)
			return max(depth, slice->closed.depth + 1);
	}
	return depth;
}

int tsct_closed_span_open(struct tsct_export *x, struct tsct_export_slice *slice,
			  const struct tsct_export_event *ev, bool is_call)
{
	slice->payload = NULL;
	if (slice->span.hidden)
		return 0;
	slice->def = ev->def;
	slice->ambiguous = slice->end_hidden = slice->closed.alone = false;
	begin_span(x, &slice->closed, ev);
	slice->closed.depth = x->closed ? next_depth(x, ev->thread->index, is_call) : 0;
	slice->begin = *ev->e;
	if (ev->e->len > sizeof(slice->kept)) {
		slice->payload = malloc(ev->e->len);
		if (!slice->payload)
			return -ENOMEM;
	}
	if (ev->e->len == 8)	/* the usual length: copied without a call of memcpy() */
		memcpy(slice->kept, ev->e->payload, 8);
	else
		memcpy(slice->payload ?: slice->kept, ev->e->payload, ev->e->len);
	return 0;
}

int tsct_closed_span_alone(struct tsct_export *x, const struct tsct_export_event *ev,
			   enum tsct_span_why why)
{
	const bool is_end = why == TSCT_SPAN_NOT_BEGUN;
	struct tsct_closed_span span = {
		.alone = true, .begin_event = is_end ? NULL : ev->e,
		.depth = is_end || !x->closed ? 0 : next_depth(x, ev->thread->index, true),
	};

	if (!x->closed)
		return 0;
	begin_span(x, &span, ev);
	return pass_span(x, &span, is_end ? ev->e : NULL, false, ev->e->tick, why);
}

static inline __attribute__((always_inline)) int
close_slice(struct tsct_export *x, struct tsct_export_slice *slice, enum tsct_span_why why,
	    const struct tsct_trace_event *e)
{
	const bool ended = why == TSCT_SPAN_ENDED;
	int err = 0;

	if (slice->span.hidden)
		return 0;
	/* With a key, the end event may be in a thread whose kernel events were not recorded. */
	if (why == TSCT_SPAN_OPEN && x->defs[slice->def].pair && x->defs[slice->def].pair->key &&
	    x->rec->streams[slice->begin.stream].kernel &&
	    tsct_known_filtered(x->rec, slice->begin.node))
		why = TSCT_SPAN_UNKNOWN;
	slice->closed.begin_event = tsct_export_begin_of(slice);
	/* A call that another call replaced may have ended at any time since its begin. */
	if (x->closed)
		err = pass_span(x, &slice->closed, ended ? e : NULL, slice->end_hidden,
				why == TSCT_SPAN_REPLACED ? slice->span.begin :
				e ? e->tick : x->until_tick,
				ended && slice->ambiguous ? TSCT_SPAN_AMBIGUOUS : why);
	if (unlikely(slice->payload))
		free(slice->payload);
	return err;
}

/* Callback of x->slices, x->calls and x->keyed */
static int span_closed(void *arg, __u32, struct tsct_span *span, enum tsct_span_why why,
		       const struct tsct_trace_event *e)
{
	return close_slice(arg, (struct tsct_export_slice *)span, why, e);
}

int tsct_closed_span_end(struct tsct_export *x, const struct tsct_export_event *ev)
{
	const __u32 row = ev->thread->index;
	int err = x->slices.closed ? close_slice(x, tsct_span_at(&x->slices, row, ev->frame),
						 TSCT_SPAN_ENDED, ev->e) : 0;

	tsct_spans_remove(&x->slices, row, ev->frame);
	return err;
}

void tsct_closed_span_init(struct tsct_export *x)
{
	const struct tsct_spans spans = {
		.size = sizeof(struct tsct_export_slice), .several = true, .closed = span_closed,
		.arg = x,
	};

	x->slices = x->calls = x->keyed = spans;
	x->calls.several = false;
}

/* Opens a call. Closes the thread's open call, if any: its end is not in the recording. */
static int enter_call(struct tsct_export *x, struct tsct_export_event *ev)
{
	const struct tsct_syscall *call;
	const __s64 number = call_number(ev->e, &call);
	const __u32 thread = ev->thread->index;
	int err;

	if (!tsct_known_end(&x->known, ev->e))
		return tsct_spans_leave(&x->calls, thread, TSCT_SPAN_REPLACED, ev->e) ?:
			tsct_closed_span_alone(x, ev, TSCT_SPAN_UNKNOWN);
	ev->in_span = true;
	err = tsct_spans_begin(&x->calls, thread, number, ev->e);
	return err ?: tsct_closed_span_open(x, tsct_span_last(&x->calls, thread), ev, true);
}

int tsct_closed_span_call(struct tsct_export *x, struct tsct_export_event *ev)
{
	const struct tsct_syscall *call;
	int ret;

	if (x->defs[ev->def].kernel == TSCT_KERNEL_ENTER)
		return enter_call(x, ev);
	ret = tsct_spans_end(&x->calls, ev->thread->index, call_number(ev->e, &call), ev->e);
	if (ret < 0)
		return ret;
	ev->in_span = ret;
	return ret ? 0 : tsct_closed_span_alone(x, ev, TSCT_SPAN_NOT_BEGUN);
}
