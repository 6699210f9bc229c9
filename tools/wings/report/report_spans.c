// SPDX-License-Identifier: MIT
/*
 * The spans of the page: slices, system calls, and times in which threads ran on CPUs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clockpage/clock_params.h"
#include "lib/query/value_text.h"
#include "report_trace.h"

/* A time in which a thread is known to run on a CPU */
struct drawn_run {
	__u32 thread;
	__u32 cpu;		/* index of the CPU's row */
	bool switched;		/* flag: `begin` is the event sched_switch to the thread */
	struct tsct_trace_event begin;
	__u8 payload[EDGE_KEPT];
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
		/* Truncates long strings, because only EDGE_KEPT bytes are shown. */
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

__u32 report_payload(const struct report *r, __u32 def, const struct tsct_trace_event *e,
		     __u8 payload[EDGE_KEPT])
{
	const struct tsct_syscall *call = r->x.defs[def].call;

	if (call)
		return copy_texts(payload, call, e);
	memcpy(payload, e->payload, e->len < EDGE_KEPT ? e->len : EDGE_KEPT);
	return e->len;
}

static __s64 time_of(const struct report *r, __u64 tick)
{
	return tsct_clock_params_ns(&r->x.rec->real, tick);
}

/* ---- slices and system calls ------------------------------------------------- */

int report_span_closed(struct tsct_export *x, const struct tsct_closed_span *closed)
{
	struct report *r = (struct report *)x;
	const struct tsct_trace_event *begin = closed->begin_event, *end = closed->end_event;
	struct span span = {
		.type = SPAN_SLICE, .row = closed->thread->index, .depth = closed->depth,
		.from_ns = closed->begin_ns, .to_ns = closed->end_ns, .begin = begin, .end = end,
		.no_end = !end, .events = end ? 2 : 1,
	};
	int err = r->looking ? span_figures_add(&r->figures, closed) : 0;

	if (err || closed->alone)
		return err;
	span.name = tsct_export_def_of(x, begin);
	if (x->defs[span.name].kernel == TSCT_KERNEL_ENTER) {
		span.type = SPAN_CALL;
		span.name = tsct_value_integer_of(begin, "id");
	}
	/* Only the second pass knows the end of the page's time range. */
	if (!r->looking && span.to_ns > r->end_ns)
		span.to_ns = r->end_ns;
	return r->span_done(r, &span);
}

/* ---- CPUs ------------------------------------------------------------------- */

/* Passes the time in which a thread is known to have run on a CPU to r->span_done().
 * @away: at the end of this time, the CPU switched to another thread */
static int report_run(struct report *r, struct drawn_run *run, __s64 to_ns, bool away)
{
	const __s64 from_ns = time_of(r, run->begin.tick);

	run->begin.payload = run->payload;
	return r->span_done(r, &(struct span) {
		.type = SPAN_RUN, .row = run->cpu, .name = run->thread, .from_ns = from_ns,
		.to_ns = to_ns > from_ns ? to_ns : from_ns,
		.begin = run->switched ? &run->begin : NULL, .no_end = !away,
		.events = run->switched ? 1 : 0,
	});
}

int report_run_change(struct report *r, const struct tsct_export_event *ev, bool *ret_taken)
{
	const struct tsct_known_change *change = &r->x.run;
	struct drawn_run *run = &r->runs[ev->e->location];
	struct tsct_thread *thread;
	int err = 0;

	if (change->ended)
		err = report_run(r, run, time_of(r, change->until), change->away);
	if (err || !change->began)
		return err;
	thread = tsct_export_thread(&r->x, r->threads, ev->e, change->tid, ev->e->cpu);
	if (!thread)
		return -ENOMEM;
	run->thread = thread->index;
	run->cpu = r->cpu_of[ev->e->location];
	run->switched = change->switched;
	run->begin = *ev->e;
	memcpy(run->payload, ev->e->payload, ev->e->len < EDGE_KEPT ? ev->e->len : EDGE_KEPT);
	*ret_taken |= change->switched;
	return 0;
}

int report_runs_finish(struct report *r)
{
	const struct tsct_known *known = &r->x.known;
	__u64 until;
	__u32 i;
	int err = 0;

	for (i = 0; i < known->rec->nr_locations && !err; i++) {
		until = tsct_trace_corrupt_count(r->x.trace) ? known->runs[i].seen :
			tsct_known_run_end(known, i);
		if (known->runs[i].on)
			err = report_run(r, &r->runs[i],
					 until == UINT64_MAX || time_of(r, until) > r->end_ns ?
					 r->end_ns : time_of(r, until), false);
	}
	return err;
}

int report_runs_begin(struct report *r)
{
	free(r->runs);
	r->runs = calloc(r->x.rec->nr_locations + 1, sizeof(*r->runs));
	return r->runs ? 0 : -ENOMEM;
}
