// SPDX-License-Identifier: MIT
/*
 * Finds the spans of a recording: slices of threads, system calls, and times in which a
 * thread ran on a CPU. Reports each span when it ends. Memory grows with the number of open
 * spans.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clockpage/clock_params.h"
#include "lib/query/value_text.h"
#include "report_trace.h"

/* A time in which a thread is known to run on a CPU */
struct drawn_run {
	struct open_span open;
	bool switched;		/* flag: open.begin is the switch to the thread */
	__u32 cpu;		/* index of the CPU's row */
};

struct spans {
	struct tsct_export *x;
	span_done *done;
	void *arg;
	const struct tsct_export_event *ev;	/* event being processed */
	struct tsct_threads *threads;
	__s64 end_ns;
	struct tsct_spans calls;	/* open system calls (struct open_span), by thread */
	struct drawn_run *runs;		/* threads that are known to run, by location */
};

/* Writes the fields of a system call event as texts, each with its NUL, into @payload.
 * Returns the length of all texts, which may exceed EDGE_KEPT. */
static __u32 copy_texts(__u8 payload[EDGE_KEPT], const struct tsct_syscall *call,
			const struct tsct_trace_event *e)
{
	char text[TSCT_SYSCALL_TEXT_MAX + TSCT_TEXT_ESCAPED(EDGE_KEPT) + 1];
	size_t pos = 0, len, kept, all = 0;
	unsigned int nr = 0;
	struct tsct_value v;

	while (tsct_value_next(e, &nr, &pos, &v)) {
		/* Cuts off long strings: only EDGE_KEPT bytes are shown. */
		if (v.size > EDGE_KEPT)
			v.size = EDGE_KEPT;
		len = tsct_syscall_format(text, call, e, &v) - text;
		text[len++] = '\0';
		kept = all < EDGE_KEPT ? EDGE_KEPT - all : 0;
		if (kept)
			memcpy(payload + all, text, len < kept ? len : kept);
		all += len;
	}
	return all;
}

void edge_make(struct edge *edge, const struct tsct_export *x,
	       const struct tsct_export_event *ev)
{
	const struct tsct_syscall *call = x->defs[ev->def].call;
	const struct tsct_trace_event *e = ev->e;

	edge->ns = ev->ns;
	edge->cpu = e->cpu;
	edge->def = ev->def;
	if (call) {
		edge->len = copy_texts(edge->payload, call, e);
		return;
	}
	edge->len = e->len;
	memcpy(edge->payload, e->payload, e->len < EDGE_KEPT ? e->len : EDGE_KEPT);
}

/* ---- open spans ----------------------------------------------------------- */

/* Returns the nesting depth of a new slice or system call: one more than the largest depth
 * of the thread's first @nr open slices and of the open @call (NULL: none). All slices are
 * compared because they may end in any order. */
static __u32 next_depth(const struct spans *s, __u32 thread, __u32 nr,
			const struct open_span *call)
{
	__u32 depth = call ? call->depth + 1 : 0, i;
	const struct open_span *slice;

	for (i = 0; i < nr; i++) {
		slice = tsct_span_at(&s->x->slices, thread, i);
		if (!slice->span.hidden && slice->depth >= depth)
			depth = slice->depth + 1;
	}
	return depth;
}

static __s64 time_of(const struct spans *s, __u64 tick)
{
	return tsct_clock_params_ns(&s->x->rec->real, tick);
}

/* Reports the slice or call of a thread at its end. @end: the event that ends the span; NULL:
 * not recorded. @e: event at whose time the span ends; NULL: the end of the page */
static int report_span(const struct spans *s, enum span_type type, __u32 row,
		       const struct open_span *open, const struct edge *end,
		       const struct tsct_trace_event *e)
{
	return s->done(s->arg, &(struct span) {
		.type = type, .row = row, .depth = open->depth,
		.name = type == SPAN_SLICE ? open->begin.def : open->span.name,
		.from_ns = open->begin.ns,
		.to_ns = e ? time_of(s, e->tick) : s->end_ns,
		.begin = &open->begin, .end = end, .no_end = !end,
		.events = end ? 2 : 1,
	});
}

static int call_closed(void *arg, __u32 row, struct tsct_span *span, enum tsct_span_why why,
		       const struct tsct_trace_event *e)
{
	const struct spans *s = arg;
	const struct open_span *open = (struct open_span *)span;
	/* The end of a call whose thread is in another call by now is not recorded. */
	const struct tsct_trace_event began = { .tick = span->begin };
	struct edge end;

	if (why == TSCT_SPAN_ENDED)
		edge_make(&end, s->x, s->ev);
	return report_span(s, SPAN_CALL, row, open, why == TSCT_SPAN_ENDED ? &end : NULL,
			   why == TSCT_SPAN_REPLACED ? &began : e);
}

struct spans *spans_new(struct tsct_export *x, span_done *done, void *arg)
{
	struct spans *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct spans) {
		.x = x, .done = done, .arg = arg,
		.calls = { sizeof(struct open_span), false, call_closed, s },
		.runs = calloc(x->rec->nr_locations + 1, sizeof(*s->runs)),
	};
	if (s->runs)
		return s;
	free(s);
	return NULL;
}

void spans_free(struct spans *s)
{
	if (!s)
		return;
	tsct_spans_free(&s->calls);
	free(s->runs);
	free(s);
}

/* ---- slices --------------------------------------------------------------- */

/* Processes a begin or end of a slice. The export has opened it in x->slices and closes it. */
static int note_slice(const struct spans *s, const struct tsct_export_event *ev)
{
	const __u32 thread = ev->thread->index;
	struct open_span *open;
	struct edge end;

	if (ev->act == TSCT_ACT_OPEN) {
		open = tsct_span_last(&s->x->slices, thread);
		open->depth = next_depth(s, thread,
					 tsct_spans_open(&s->x->slices, thread) - 1,
					 tsct_span_last(&s->calls, thread));
		edge_make(&open->begin, s->x, ev);
		return 0;
	}
	edge_make(&end, s->x, ev);
	return report_span(s, SPAN_SLICE, thread,
			   tsct_span_at(&s->x->slices, thread, ev->frame), &end, ev->e);
}

/* ---- system calls ----------------------------------------------------------- */

static bool call_number(const struct tsct_export_event *ev, __s64 *ret)
{
	return tsct_value_find_integer(ev->e, "id", ret) && *ret >= 0 && *ret <= INT32_MAX;
}

static int note_enter(struct spans *s, const struct tsct_export_event *ev, bool *taken)
{
	const __u32 thread = ev->thread->index;
	struct open_span *open;
	__s64 number;
	int err;

	if (!call_number(ev, &number))
		return 0;
	if (!tsct_known_end(&s->x->known, ev->e))
		return tsct_spans_leave(&s->calls, thread, TSCT_SPAN_REPLACED, ev->e);
	*taken = true;
	/* Also ends a previous call that is still open because its exit event was lost. */
	err = tsct_spans_begin(&s->calls, thread, number, ev->e);
	if (err)
		return err;
	open = tsct_span_last(&s->calls, thread);
	edge_make(&open->begin, s->x, ev);
	open->depth = next_depth(s, thread, tsct_spans_open(&s->x->slices, thread), NULL);
	return 0;
}

/* Ends a system call whose begin was recorded, too. */
static int note_exit(struct spans *s, const struct tsct_export_event *ev, bool *taken)
{
	const __u32 thread = ev->thread->index;
	const struct tsct_span *open = tsct_span_last(&s->calls, thread);
	__s64 number;

	*taken = open && call_number(ev, &number) && number == open->name;
	return *taken ? tsct_spans_close(&s->calls, thread, 0, ev->e) : 0;
}

/* ---- CPUs ------------------------------------------------------------------- */

/* Reports the time in which a thread is known to have run on a CPU. @away: it was switched away
 * at its end */
static int report_run(struct spans *s, const struct drawn_run *run, __s64 to_ns, bool away)
{
	const struct open_span *open = &run->open;

	return s->done(s->arg, &(struct span) {
		.type = SPAN_RUN, .row = run->cpu, .name = open->span.name,
		.from_ns = open->begin.ns, .to_ns = to_ns > open->begin.ns ? to_ns : open->begin.ns,
		.begin = run->switched ? &open->begin : NULL, .no_end = !away,
		.events = run->switched ? 1 : 0,
	});
}

static int note_cpu(struct spans *s, __u32 cpu, const struct tsct_export_event *ev,
		    bool *taken)
{
	const struct tsct_known_change *change = &s->x->run;
	struct drawn_run *run = &s->runs[ev->e->location];
	struct tsct_thread *thread;
	int err = 0;

	if (change->ended)
		err = report_run(s, run, time_of(s, change->until), change->away);
	if (err || !change->began)
		return err;
	thread = tsct_export_thread(s->x, s->threads, ev->e, change->tid, ev->e->cpu);
	if (!thread)
		return -ENOMEM;
	*run = (struct drawn_run) { .switched = change->switched, .cpu = cpu };
	run->open.span.name = thread->index;
	edge_make(&run->open.begin, s->x, ev);
	*taken |= change->switched;
	return 0;
}

/* ---- all events ---------------------------------------------------------- */

int spans_note(struct spans *s, struct tsct_threads *threads, __u32 cpu,
	       const struct tsct_export_event *ev, bool *ret_taken)
{
	const enum tsct_kernel_event kernel = s->x->defs[ev->def].kernel;
	int err;

	s->threads = threads;
	s->ev = ev;
	*ret_taken = ev->act == TSCT_ACT_OPEN || ev->act == TSCT_ACT_CLOSE;
	err = note_cpu(s, cpu, ev, ret_taken);
	if (err || kernel == TSCT_KERNEL_SWITCH)
		return err;
	if (ev->act == TSCT_ACT_OPEN || ev->act == TSCT_ACT_CLOSE)
		return note_slice(s, ev);
	if (kernel == TSCT_KERNEL_OTHER)
		return 0;
	return kernel == TSCT_KERNEL_ENTER ? note_enter(s, ev, ret_taken) :
		note_exit(s, ev, ret_taken);
}

int spans_end_slice(struct spans *s, __u32 thread, __u32 at, const struct tsct_trace_event *e)
{
	const struct open_span *slice = tsct_span_at(&s->x->slices, thread, at);

	return slice->span.hidden ? 0 : report_span(s, SPAN_SLICE, thread, slice, NULL, e);
}

int spans_end_thread(struct spans *s, __u32 thread, const struct tsct_trace_event *e)
{
	__u32 at;
	int err = 0;

	for (at = 0; at < tsct_spans_open(&s->x->slices, thread) && !err; at++)
		err = spans_end_slice(s, thread, at, e);
	return err ?: tsct_spans_leave(&s->calls, thread, TSCT_SPAN_OPEN, e);
}

int spans_finish(struct spans *s, __s64 end_ns)
{
	const struct tsct_spans *slices = &s->x->slices;
	const struct tsct_known *known = &s->x->known;
	const size_t nr = slices->nr_rows > s->calls.nr_rows ? slices->nr_rows :
		s->calls.nr_rows;
	__u64 until;
	__u32 i;
	int err = 0;

	s->end_ns = end_ns;
	for (i = 0; i < nr && !err; i++)
		err = spans_end_thread(s, i, NULL);
	for (i = 0; i < known->rec->nr_locations && !err; i++) {
		until = tsct_trace_corrupt_count(s->x->trace) ? known->runs[i].seen :
			tsct_known_run_end(known, i);
		if (known->runs[i].on)
			err = report_run(s, &s->runs[i], until == UINT64_MAX || time_of(s, until) > end_ns ?
					 end_ns : time_of(s, until), false);
	}
	return err;
}
