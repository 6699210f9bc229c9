// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/query/value_text.h"
#include "report_spans.h"

struct open_slice {
	struct edge begin;
	__u32 depth;
};

struct thread_state {
	/* open slices, at the indices of tsct_thread.open */
	struct open_slice *open;
	__u32 nr;
	size_t room;
	bool in_call;		/* the thread is in a system call */
	bool called;		/* whether the thread had any system call */
	__s64 call;		/* number of the current system call */
	struct open_slice enter;
};

struct cpu_state {
	bool known;		/* whether the field `thread` is valid */
	bool begun;		/* whether the field `begin` is valid */
	__u32 thread;		/* index of the thread that runs on the CPU */
	struct edge begin;
};

struct spans {
	const struct tsct_export *x;
	const __u8 *special;
	span_done *done;
	void *arg;
	__s64 origin_ns;
	struct thread_state *threads;	/* state of each thread, by its index */
	struct cpu_state *cpus;
	size_t nr_threads, nr_cpus;	/* elements that the arrays have room for */
};

/* Writes the fields of a system call as texts. Returns the length of all of them. */
static __u32 copy_texts(__u8 payload[EDGE_KEPT], const struct tsct_syscall *call,
			const struct tsct_trace_event *e)
{
	char text[TSCT_SYSCALL_TEXT_MAX + TSCT_TEXT_ESCAPED(EDGE_KEPT) + 1];
	size_t pos = 0, len, kept, all = 0;
	unsigned int nr = 0;
	struct tsct_value v;

	while (tsct_value_next(e, &nr, &pos, &v)) {
		/* More of a long string than EDGE_KEPT is not shown. */
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

struct spans *spans_new(const struct tsct_export *x, const __u8 *special,
			span_done *done, void *arg)
{
	struct spans *s = calloc(1, sizeof(*s));

	if (s)
		*s = (struct spans) {
			.x = x, .special = special, .done = done, .arg = arg,
		};
	return s;
}

void spans_free(struct spans *s)
{
	__u32 i;

	if (!s)
		return;
	for (i = 0; i < s->nr_threads; i++)
		free(s->threads[i].open);
	free(s->threads);
	free(s->cpus);
	free(s);
}

/* ---- states of threads ---------------------------------------------------- */

/* Returns the nesting depth of a thread's new slice or call: below all open slices, as
 * these may end in any order. */
static __u32 next_depth(const struct thread_state *t)
{
	__u32 depth = t->in_call ? t->enter.depth + 1 : 0, i;

	for (i = 0; i < t->nr; i++)
		if (t->open[i].depth >= depth)
			depth = t->open[i].depth + 1;
	return depth;
}

/* ---- slices --------------------------------------------------------------- */

static int begin_slice(const struct spans *s, struct thread_state *t,
		       const struct tsct_export_event *ev)
{
	const __u32 depth = next_depth(t);
	struct open_slice *open;

	if (tsct_array_reserve(&t->open, &t->room, t->nr + 1, sizeof(*open)))
		return -ENOMEM;
	open = &t->open[t->nr++];
	open->depth = depth;
	edge_make(&open->begin, s->x, ev);
	return 0;
}

static int end_slice(struct spans *s, struct thread_state *t,
		     const struct tsct_export_event *ev)
{
	struct open_slice *f = &t->open[ev->frame];
	struct edge end;
	int err;

	edge_make(&end, s->x, ev);
	err = s->done(s->arg, &(struct span) {
		.type = SPAN_SLICE, .row = ev->thread->index, .depth = f->depth,
		.name = f->begin.def, .from_ns = f->begin.ns, .to_ns = ev->ns,
		.begin = &f->begin, .end = &end, .events = 2,
	});
	memmove(f, f + 1, (--t->nr - ev->frame) * sizeof(*f));
	return err;
}

/* ---- system calls ----------------------------------------------------------- */

static bool call_number(const struct tsct_export_event *ev, __s64 *ret)
{
	struct tsct_value id;

	if (!tsct_value_find(ev->e, "id", &id) || !tsct_value_is_integer(&id))
		return false;
	*ret = tsct_value_integer(&id);
	return *ret >= 0 && *ret <= INT32_MAX;
}

static int end_call(struct spans *s, __u32 thread, __s64 ns, const struct edge *end)
{
	struct thread_state *t = &s->threads[thread];

	t->in_call = false;
	return s->done(s->arg, &(struct span) {
		.type = SPAN_CALL, .row = thread, .depth = t->enter.depth,
		.name = t->call, .from_ns = t->enter.begin.ns, .to_ns = ns,
		.begin = &t->enter.begin, .end = end, .no_end = !end,
		.events = end ? 2 : 1,
	});
}

static int note_enter(struct spans *s, struct thread_state *t,
		      const struct tsct_export_event *ev, bool *taken)
{
	__s64 number;
	int err = 0;

	if (!call_number(ev, &number))
		return 0;
	if (t->in_call)		/* the previous call's exit event was lost */
		err = end_call(s, ev->thread->index, ev->ns, NULL);
	t->enter.depth = next_depth(t);
	edge_make(&t->enter.begin, s->x, ev);
	t->call = number;
	*taken = t->in_call = t->called = true;
	return err;
}

/* Ends a system call. A thread's first call may have begun before the recording. */
static int note_exit(struct spans *s, struct thread_state *t,
		     const struct tsct_export_event *ev, bool *taken)
{
	const bool first = !t->called;
	struct edge end;
	__s64 number;

	t->called = true;
	if (!call_number(ev, &number) || (t->in_call ? number != t->call : !first))
		return 0;
	*taken = true;
	edge_make(&end, s->x, ev);
	if (t->in_call)
		return end_call(s, ev->thread->index, ev->ns, &end);
	return s->done(s->arg, &(struct span) {
		.type = SPAN_CALL, .row = ev->thread->index, .depth = next_depth(t),
		.name = number, .from_ns = s->origin_ns, .to_ns = ev->ns,
		.end = &end, .events = 1,
	});
}

/* ---- CPUs ------------------------------------------------------------------- */

static struct tsct_thread *task(const struct spans *s, struct tsct_threads *threads,
				const struct tsct_export_event *ev, const char *field)
{
	struct tsct_value tid;

	if (!tsct_value_find(ev->e, field, &tid) || !tsct_value_is_integer(&tid))
		return NULL;
	return tsct_export_thread(s->x, threads, ev->e, tsct_value_integer(&tid), ev->e->cpu);
}

static int end_run(struct spans *s, __u32 cpu, __s64 ns, bool seen)
{
	struct cpu_state *c = &s->cpus[cpu];

	return s->done(s->arg, &(struct span) {
		.type = SPAN_RUN, .row = cpu, .name = c->thread,
		.from_ns = c->begun ? c->begin.ns : s->origin_ns, .to_ns = ns,
		.begin = c->begun ? &c->begin : NULL, .no_end = !seen,
		.events = c->begun,
	});
}

static int note_switch(struct spans *s, struct tsct_threads *threads, __u32 cpu,
		       const struct tsct_export_event *ev, bool *taken)
{
	struct tsct_thread *next = task(s, threads, ev, "next_tid"), *prev;
	struct cpu_state *c;
	int err = 0;

	if (tsct_array_extend(&s->cpus, &s->nr_cpus, (size_t)cpu + 1, sizeof(*c)))
		return -ENOMEM;
	c = &s->cpus[cpu];
	if (!next)
		return 0;
	if (!c->known) {
		prev = task(s, threads, ev, "prev_tid");
		c->known = !!prev;
		c->thread = prev ? prev->index : 0;
	}
	if (c->known)
		err = end_run(s, cpu, ev->ns, true);
	*taken = c->known = c->begun = true;
	c->thread = next->index;
	edge_make(&c->begin, s->x, ev);
	return err;
}

/* ---- all events ---------------------------------------------------------- */

int spans_note(struct spans *s, struct tsct_threads *threads, __u32 cpu,
	       __s64 origin_ns, const struct tsct_export_event *ev, bool *ret_taken)
{
	const enum special special = s->special[ev->def];
	struct thread_state *t;

	s->origin_ns = origin_ns;
	*ret_taken = ev->act == TSCT_ACT_OPEN || ev->act == TSCT_ACT_CLOSE;
	if (!*ret_taken && special == SPECIAL_SWITCH)
		return note_switch(s, threads, cpu, ev, ret_taken);
	if (!*ret_taken && special == SPECIAL_NONE)
		return 0;
	if (tsct_array_extend(&s->threads, &s->nr_threads, (size_t)ev->thread->index + 1,
			      sizeof(*t)))
		return -ENOMEM;
	t = &s->threads[ev->thread->index];
	if (ev->act == TSCT_ACT_OPEN)
		return begin_slice(s, t, ev);
	if (ev->act == TSCT_ACT_CLOSE)
		return end_slice(s, t, ev);
	return special == SPECIAL_ENTER ? note_enter(s, t, ev, ret_taken) :
		note_exit(s, t, ev, ret_taken);
}

int spans_finish(struct spans *s, __s64 end_ns)
{
	const struct thread_state *t;
	const struct open_slice *open;
	int err = 0;
	__u32 i;

	for (i = 0; i < s->nr_threads && !err; i++) {
		t = &s->threads[i];
		for (open = t->open; open < t->open + t->nr && !err; open++)
			err = s->done(s->arg, &(struct span) {
				.type = SPAN_SLICE, .row = i, .depth = open->depth,
				.name = open->begin.def, .no_end = true, .events = 1,
				.from_ns = open->begin.ns, .to_ns = end_ns,
				.begin = &open->begin,
			});
		if (!err && t->in_call)
			err = end_call(s, i, end_ns, NULL);
	}
	for (i = 0; i < s->nr_cpus && !err; i++)
		if (s->cpus[i].known)
			err = end_run(s, i, end_ns, false);
	return err;
}
