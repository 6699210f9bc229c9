// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/query/value_text.h"
#include "lib/syscalls/syscalls.h"
#include "stat.h"

#define ROOM_FIRST	256

void tally_add(struct tally *sum, const struct tally *t)
{
	if (!t->events)
		return;
	if (!sum->events || t->first < sum->first)
		sum->first = t->first;
	if (t->last > sum->last)
		sum->last = t->last;
	sum->events += t->events;
	sum->payload += t->payload;
	sum->bytes += t->bytes;
}

int threads_init(struct threads *all, __u32 nr_locations)
{
	memset(all, 0, sizeof(*all));
	all->room = ROOM_FIRST;
	all->table = calloc(all->room, sizeof(*all->table));
	all->calls = calloc(THREADS_CALLS, sizeof(*all->calls));
	all->recent = calloc(nr_locations + 1, sizeof(*all->recent));
	return all->table && all->calls && all->recent ? 0 : -ENOMEM;
}

void threads_free(struct threads *all)
{
	tsct_threads_free(&all->ids);
	free(all->table);
	free(all->calls);
	free(all->recent);
}

/* Returns a thread's index; all->nr: out of memory. A node has one idle thread. */
static __u32 find(struct threads *all, __u32 node, __u32 tid)
{
	const struct tsct_thread *id = tsct_threads_get(&all->ids, node, tid, 0);
	struct thread *table;

	if (!id || id->index < all->nr)
		return id ? id->index : all->nr;
	if (all->nr == all->room) {
		table = realloc(all->table, 2 * (size_t)all->room * sizeof(*table));
		if (!table)
			return all->nr;
		all->table = table;
		all->room *= 2;
	}
	all->table[all->nr] = (struct thread) { .node = node, .tid = tid };
	return all->nr++;
}

static struct thread *thread_at(struct threads *all, __u32 at)
{
	return at < all->nr ? &all->table[at] : &all->rest;
}

static bool get_integer(const struct tsct_trace_event *e, const char *name,
			__s64 *ret_value)
{
	struct tsct_value f;

	if (!tsct_value_find(e, name, &f) || !tsct_value_is_integer(&f))
		return false;
	*ret_value = tsct_value_integer(&f);
	return true;
}

/*
 * Finds the thread whose id is in one field of an event, and sets the thread's name
 * from another field. Returns NULL for the idle thread.
 */
static struct thread *named(struct threads *all, const struct tsct_trace_event *e,
			    const char *tid_name, const char *comm_name)
{
	struct tsct_value comm;
	struct thread *t;
	__s64 tid;

	if (!get_integer(e, tid_name, &tid) || tid <= 0 || tid > UINT32_MAX)
		return NULL;
	t = thread_at(all, find(all, e->node, tid));
	if (t == &all->rest)
		return t;
	if (tsct_value_find(e, comm_name, &comm) &&
	    comm.field->type == TSCT_TYPE_CHARS) {
		memset(t->comm, 0, sizeof(t->comm));
		memcpy(t->comm, comm.at, comm.size < 16 ? comm.size : 16);
	}
	return t;
}

/* Returns the number of the system call of an event sys_NAME, or -1. */
static int call_of(struct threads *all, const struct tsct_event_def *def)
{
	struct call_of_def *known = &all->known[(uintptr_t)def / 16 % THREADS_DEFS];

	if (known->def != def) {
		known->def = def;
		known->number = def->kind == TSCT_KIND_BEGIN || def->kind == TSCT_KIND_END ?
			tsct_syscall_number(tsct_syscall_by_event(def->name)) : -1;
	}
	return known->number;
}

static void enter_call(struct thread *t, __s64 id, __u64 tick)
{
	if (id < 0 || id >= THREADS_CALLS)
		return;
	t->in_call = true;
	t->call = id;
	t->since = tick;
}

/* A system call without its enter event began before the recording. */
static void exit_call(struct threads *all, struct thread *t, __s64 id, __u64 tick)
{
	struct call *c;

	if (t->in_call && t->call == id) {
		c = &all->calls[id];
		c->count++;
		c->total += tick - t->since;
		if (tick - t->since > c->max)
			c->max = tick - t->since;
	}
	t->in_call = false;
}

void threads_note(struct threads *all, const struct tsct_trace_event *e,
		  __u64 bytes, bool kernel)
{
	__u32 *recent = &all->recent[e->location], at;
	struct thread *t = &all->table[*recent];
	__s64 id;

	/* Try the thread of the CPU's previous event first: usually it is the same. */
	if (*recent >= all->nr || t->tid != e->tid || t->node != e->node) {
		at = find(all, e->node, e->tid);
		if (at < all->nr)
			*recent = at;
		t = thread_at(all, at);
	}
	tally_event(&t->tally, e, bytes);
	if (!kernel || *e->def->name != 's')
		return;
	if (!strcmp(e->def->name, "sched_switch")) {
		named(all, e, "prev_tid", "prev_comm");
		t = named(all, e, "next_tid", "next_comm");
		if (t)
			t->switched++;
		return;
	}
	if (t == &all->rest)
		return;
	id = call_of(all, e->def);
	if (id >= 0) {
		if (e->def->kind == TSCT_KIND_BEGIN)
			enter_call(t, id, e->tick);
		else
			exit_call(all, t, id, e->tick);
	} else if (get_integer(e, "id", &id)) {
		if (!strcmp(e->def->name, "sys_enter"))
			enter_call(t, id, e->tick);
		else if (!strcmp(e->def->name, "sys_exit"))
			exit_call(all, t, id, e->tick);
	}
}

static int by_total(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int by_events(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	if (x->tally.events != y->tally.events)
		return x->tally.events < y->tally.events ? 1 : -1;
	if (x->switched != y->switched)
		return x->switched < y->switched ? 1 : -1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

void threads_finish(struct threads *all)
{
	__u32 i;

	for (i = 0; i < all->nr; i++)
		all->unfinished += all->table[i].in_call;
	for (i = 0; i < THREADS_CALLS; i++)
		all->calls[i].number = i;
	qsort(all->calls, THREADS_CALLS, sizeof(*all->calls), by_total);
	qsort(all->table, all->nr, sizeof(*all->table), by_events);
}
