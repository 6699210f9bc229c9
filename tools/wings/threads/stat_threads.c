// SPDX-License-Identifier: MIT
/* Counts events by thread, and system calls */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/core/event_def.h"
#include "lib/query/value_text.h"
#include "lib/syscalls/syscalls.h"
#include "threads.h"

/* Counts a system call that has ended. Returns its counts; NULL: out of memory */
static struct call *count_call(struct threads *all, __s64 number,
			       const struct tsct_trace_event *e)
{
	const __u32 at = tsct_index_add(&all->call_index, (__u64)number, 0);
	struct call *c;
	__s64 ret;

	if (at == TSCT_INDEX_NONE)
		return NULL;
	if (at == all->nr_calls) {
		if (!tsct_array_next(&all->calls, at, sizeof(*c)))
			return NULL;
		all->calls[all->nr_calls++] = (struct call) { .number = number };
	}
	c = &all->calls[at];
	c->count++;
	c->errors += tsct_value_find_integer(e, "ret", &ret) &&
		tsct_syscall_error(tsct_syscall_by_number((__u64)number), ret);
	return c;
}

/* An open system call; span.name is tsct_syscall_pair() of its number */
struct counted_call {
	struct tsct_span span;
	__s64 number;
};

/* Callback of tsct_spans: counts a system call that has ended. */
static int call_closed(void *arg, __u32 thread, struct tsct_span *span,
		       enum tsct_span_why why, const struct tsct_trace_event *e)
{
	struct threads *all = arg;
	struct call *c;

	all->table[thread].untimed |= why == TSCT_SPAN_REPLACED;
	all->unfinished += why == TSCT_SPAN_OPEN;
	if (why != TSCT_SPAN_ENDED)
		return 0;
	c = count_call(all, ((struct counted_call *)span)->number, e);
	if (!c)
		return 0;
	c->timed++;
	c->total += e->tick - span->begin;
	if (e->tick - span->begin > c->max)
		c->max = e->tick - span->begin;
	return 0;
}

/* Initializes @all. @identity and @trace must exist until stat_threads_free(). @filter: NULL: no
 * filter. Returns 0 or -ENOMEM. */
static int threads_init(struct threads *all, const struct tsct_identity *identity,
			const struct tsct_trace *trace, const struct tsct_filter *filter)
{
	const struct tsct_recording *rec = tsct_trace_recording(trace);
	bool has_calls = false;
	__u32 i;

	for (i = 0; i < rec->nr_streams; i++)
		has_calls |= rec->streams[i].kernel;
	all->identity = identity;
	all->known.rec = rec;
	all->known.identity = identity;
	all->known.filter = filter;
	all->in_call = (struct tsct_spans) {
		.size = sizeof(struct counted_call), .closed = call_closed, .arg = all,
	};
	all->recent = calloc(rec->nr_locations + 1, sizeof(*all->recent));
	/* Without calls and switches, the times of losses need not be read from all packets. */
	return all->recent ? tsct_known_init(&all->known, has_calls ? trace : NULL) : -ENOMEM;
}

/* Returns the index of a thread; all->nr: out of memory. @generation: distinguishes threads
 * with the same ID */
static __u32 find_or_add(struct threads *all, __u32 node, __u32 tid, __u32 generation)
{
	const struct tsct_thread *id = tsct_threads_get_generation(&all->ids, node, tid, 0,
								   generation);

	if (!id || id->index < all->nr)
		return id ? id->index : all->nr;
	if (!tsct_array_next(&all->table, all->nr, sizeof(*all->table)))
		return all->nr;
	all->table[all->nr] = (struct thread) { .node = node, .tid = tid };
	return all->nr++;
}

/* Returns the index of the thread with ID @tid at the time of event @e; all->nr: out of
 * memory. All idle threads of a node, ID 0, count as one thread. */
static __u32 find_thread(struct threads *all, const struct tsct_trace_event *e, __u32 tid)
{
	const struct tsct_identity_thread *who = tid ?
		tsct_identity_find(all->identity, e->node, tid, e->tick) : NULL;
	const __u32 at = find_or_add(all, e->node, tid, who ? who->generation : 0);

	if (at < all->nr) {
		all->table[at].who = who;
		all->table[at].until = tid ?
			tsct_identity_until(all->identity, who, e->tick) : UINT64_MAX;
	}
	return at;
}

static struct thread *thread_at(struct threads *all, __u32 at)
{
	return at < all->nr ? &all->table[at] : &all->rest;
}

/* Finds the thread whose ID is in field @tid_name of an event, and sets the thread's name
 * from field @comm_name. Returns NULL for the idle thread. */
static struct thread *named_thread(struct threads *all, const struct tsct_trace_event *e,
				   const char *tid_name, const char *comm_name)
{
	struct tsct_value comm;
	struct thread *t;
	__s64 tid;

	if (!tsct_value_find_integer(e, tid_name, &tid) || tid <= 0 || tid > UINT32_MAX)
		return NULL;
	t = thread_at(all, find_thread(all, e, tid));
	if (t == &all->rest)
		return t;
	if (tsct_value_find(e, comm_name, &comm) &&
	    comm.field->type == TSCT_TYPE_CHARS) {
		memset(t->comm, 0, sizeof(t->comm));
		memcpy(t->comm, comm.at, comm.size < 16 ? comm.size : 16);
	}
	return t;
}

/* Counts an event for its thread. @bytes: size of the event in its file */
static void threads_note(struct threads *all, const struct tsct_trace_event *e,
		  __u64 bytes, const struct stat_meaning *meaning)
{
	__u32 *recent = &all->recent[e->location], at = *recent;
	struct thread *t = &all->table[at];
	__s64 call = meaning->call, pair = meaning->pair, id;
	struct counted_call *open;
	bool known;

	tsct_known_calls(&all->known, &all->in_call, &all->ids, e,
			 meaning->kernel == TSCT_KERNEL_SWITCH);
	/* The thread of the location's previous event is usually this event's thread, too. */
	if (at >= all->nr || t->tid != e->tid || t->node != e->node || e->tick > t->until) {
		at = find_thread(all, e, e->tid);
		if (at < all->nr)
			*recent = at;
		t = thread_at(all, at);
	}
	tally_event(&t->tally, e, bytes);
	if (meaning->kernel == TSCT_KERNEL_SWITCH) {
		named_thread(all, e, "prev_tid", "prev_comm");
		t = named_thread(all, e, "next_tid", "next_comm");
		if (t)
			t->switched++;
		return;
	}
	if (t == &all->rest)
		return;
	if (call < 0) {
		if (meaning->kernel == TSCT_KERNEL_OTHER || !tsct_value_find_integer(e, "id", &id))
			return;
		call = pair = (__s64)tsct_syscall_event_number((__u64)id);
	} else if (e->def->kind == TSCT_KIND_INSTANT) {	/* one event for the whole call */
		count_call(all, call, e);
		return;
	}
	known = tsct_known_end(&all->known, e);
	if (!known)
		tsct_spans_leave(&all->in_call, at, TSCT_SPAN_REPLACED, e);
	/* If an end has no recorded begin, the call began before the recording, or the begin
	 * was lost or hidden. Count the call only if its begin was lost or hidden. */
	if (e->def->kind == TSCT_KIND_END || meaning->kernel == TSCT_KERNEL_EXIT) {
		if (tsct_spans_end(&all->in_call, at, pair, e) <= 0 && (!known || t->untimed))
			count_call(all, call, e);
		t->untimed = false;
		return;
	}
	if (known && !tsct_spans_begin(&all->in_call, at, pair, e)) {
		open = tsct_span_last(&all->in_call, at);
		open->number = call;
	}
	t->untimed = !known;
}

static int by_total(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return tsct_compare(y->total, x->total) ?: tsct_compare(y->count, x->count) ?:
		tsct_compare(x->number, y->number);
}

static int by_events(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return tsct_compare(y->tally.events, x->tally.events) ?:
		tsct_compare(y->switched, x->switched) ?: tsct_compare(x->node, y->node) ?:
		tsct_compare(x->tid, y->tid);
}

/* Sets the name, process and cgroup that a thread had at its last event, from the statedump. */
static void identify_thread(struct thread *t, const struct tsct_identity *identity)
{
	const struct tsct_identity_thread *who = t->who;

	if (!who)
		return;
	memcpy(t->comm, who->name, sizeof(t->comm));
	t->tgid = who->state.tgid;
	t->cgroup = tsct_identity_cgroup(identity, t->node, who->state.cgroup);
	who = tsct_identity_find(identity, t->node, t->tgid,
				 t->tally.events ? t->tally.last : who->tick);
	/* As in exports, a process whose first thread is unknown gets the name of this thread. */
	if (t->tgid)
		memcpy(t->process, who && *who->name ? who->name : t->comm, sizeof(t->process));
}

void stat_threads_finish(struct stat_figures *s)
{
	struct threads *all = &s->threads->all;
	__u32 i;

	tsct_spans_finish(&all->in_call);
	for (i = 0; i < all->nr; i++) {
		identify_thread(&all->table[i], all->identity);
		/* The number of switches to idle threads is not shown. */
		all->table[i].some_switches = !all->table[i].tid ||
			!tsct_known_switches(&all->known, all->table[i].node, all->table[i].who);
	}
	if (all->nr_calls)
		qsort(all->calls, all->nr_calls, sizeof(*all->calls), by_total);
	if (all->nr)
		qsort(all->table, all->nr, sizeof(*all->table), by_events);
}

/* ---- for cmd_stat.c -------------------------------------------------------- */

/* Finds the meanings of the events of a stream. Returns 0 or -ENOMEM. */
static int init_stream(struct stat_threads *t, const struct tsct_recording *rec, __u32 stream)
{
	const struct tsct_stream_class *c = &rec->streams[stream];
	const struct tsct_syscall *call;
	__u32 i;

	t->meaning[stream] = calloc(c->nr_defs + 1, sizeof(**t->meaning));
	if (!t->meaning[stream])
		return -ENOMEM;
	for (i = 0; i < c->nr_defs; i++) {
		if (!c->defs[i])
			continue;
		call = tsct_syscall_of(rec, stream, c->defs[i]);
		t->meaning[stream][i] = (struct stat_meaning) {
			.kernel = tsct_kernel_event(rec, stream, c->defs[i]),
			/* exit() is not counted: it never returns, so it has no end. */
			.call = call && call->result != TSCT_RESULT_NONE ?
				(__s64)tsct_syscall_number(call) : -1,
			.pair = call ? (__s64)tsct_syscall_pair(call) : -1,
		};
	}
	return 0;
}

int stat_threads_open(struct stat_figures *s)
{
	struct stat_threads *t = calloc(1, sizeof(*t));
	__u32 i;

	s->threads = t;
	if (!t)
		return -ENOMEM;
	t->nr_streams = s->rec->nr_streams;
	t->meaning = calloc(t->nr_streams + 1, sizeof(*t->meaning));
	if (!t->meaning)
		return -ENOMEM;
	for (i = 0; i < t->nr_streams; i++)
		if (init_stream(t, s->rec, i))
			return -ENOMEM;
	tsct_identity_read(s->dir, &t->identity);
	if (s->rec->statedump && tsct_stacks_read(s->dir, s->trace, &t->stacks) == -ENOMEM)
		return -ENOMEM;
	return threads_init(&t->all, &t->identity, s->trace, s->filtered ? &s->filter : NULL);
}

void stat_threads_free(struct stat_figures *s)
{
	struct stat_threads *t = s->threads;
	__u32 i;

	for (i = 0; t->meaning && i < t->nr_streams; i++)
		free(t->meaning[i]);
	free(t->meaning);
	tsct_threads_free(&t->all.ids);
	tsct_known_free(&t->all.known);
	free(t->all.table);
	free(t->all.calls);
	tsct_index_free(&t->all.call_index);
	free(t->all.recent);
	tsct_spans_free(&t->all.in_call);
	tsct_identity_free(&t->identity);
	tsct_stacks_free(t->stacks);
	free(t);
	s->threads = NULL;
}

void stat_threads_note(struct stat_figures *s, const struct tsct_trace_event *e, __u64 bytes)
{
	struct stat_threads *t = s->threads;

	threads_note(&t->all, e, bytes,
		     &t->meaning[e->stream][tsct_event_def_id(e->def) - TSCT_ID_FIRST]);
	if (t->stacks && tsct_stacks_has(s->rec, e))
		tsct_stack_counts_add(&t->counts, tsct_stacks_of(t->stacks, s->rec, e), 1);
}
