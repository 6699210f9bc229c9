// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/query/value_text.h"
#include "lib/syscalls/syscalls.h"
#include "stat.h"

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

int threads_init(struct threads *all, const struct tsct_identity *identity,
		 __u32 nr_locations)
{
	memset(all, 0, sizeof(*all));
	all->identity = identity;
	all->calls = calloc(THREADS_CALLS, sizeof(*all->calls));
	all->recent = calloc(nr_locations + 1, sizeof(*all->recent));
	return all->calls && all->recent ? 0 : -ENOMEM;
}

void threads_free(struct threads *all)
{
	tsct_threads_free(&all->ids);
	free(all->table);
	free(all->calls);
	free(all->recent);
}

/* Returns a thread's index; all->nr: out of memory. */
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

/* Finds the thread that has a number at an event. A node has one idle thread. */
static __u32 find(struct threads *all, const struct tsct_trace_event *e, __u32 tid)
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
	t = thread_at(all, find(all, e, tid));
	if (t == &all->rest)
		return t;
	if (tsct_value_find(e, comm_name, &comm) &&
	    comm.field->type == TSCT_TYPE_CHARS) {
		memset(t->comm, 0, sizeof(t->comm));
		memcpy(t->comm, comm.at, comm.size < 16 ? comm.size : 16);
	}
	return t;
}

static void begin_call(struct thread *t, const struct tsct_trace_event *e, __s64 number)
{
	if (number < 0 || number >= THREADS_CALLS)
		return;
	t->in_call = true;
	t->call = number;
	t->since = e->tick;
}

/* A system call whose begin was not recorded began before the recording. */
static void end_call(struct threads *all, struct thread *t,
		     const struct tsct_trace_event *e, __s64 number)
{
	struct call *c;
	__s64 ret;

	if (t->in_call && t->call == number) {
		c = &all->calls[number];
		c->count++;
		c->errors += get_integer(e, "ret", &ret) &&
			tsct_syscall_error(tsct_syscall_by_number(number), ret);
		c->total += e->tick - t->since;
		if (e->tick - t->since > c->max)
			c->max = e->tick - t->since;
	}
	t->in_call = false;
}

void threads_note(struct threads *all, const struct tsct_trace_event *e,
		  __u64 bytes, bool kernel, int call)
{
	__u32 *recent = &all->recent[e->location], at;
	struct thread *t = &all->table[*recent];
	__s64 id;

	/* Try the thread of the CPU's previous event first: usually it is the same. */
	if (*recent >= all->nr || t->tid != e->tid || t->node != e->node ||
	    e->tick > t->until) {
		at = find(all, e, e->tid);
		if (at < all->nr)
			*recent = at;
		t = thread_at(all, at);
	}
	tally_event(&t->tally, e, bytes);
	if (!kernel || *e->def->name != 's')
		return;
	if (call >= 0 && t != &all->rest && e->def->kind == TSCT_KIND_BEGIN) {
		begin_call(t, e, call);
	} else if (call >= 0 && t != &all->rest) {
		end_call(all, t, e, call);
	} else if (!strcmp(e->def->name, "sched_switch")) {
		named(all, e, "prev_tid", "prev_comm");
		t = named(all, e, "next_tid", "next_comm");
		if (t)
			t->switched++;
	} else if (t == &all->rest || !get_integer(e, "id", &id)) {
		return;
	} else if (!strcmp(e->def->name, "sys_enter")) {
		begin_call(t, e, id);
	} else if (!strcmp(e->def->name, "sys_exit")) {
		end_call(all, t, e, id);
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

/* Takes from the statedump the state of a thread at its last event. */
static void identify(struct thread *t, const struct tsct_identity *identity)
{
	const struct tsct_identity_thread *who = t->who;

	if (!who)
		return;
	memcpy(t->comm, who->name, sizeof(t->comm));
	t->tgid = who->state.tgid;
	t->cgroup = tsct_identity_cgroup(identity, t->node, who->state.cgroup);
	who = tsct_identity_find(identity, t->node, t->tgid,
				 t->tally.events ? t->tally.last : who->tick);
	if (t->tgid && who)
		memcpy(t->process, who->name, sizeof(t->process));
}

void threads_finish(struct threads *all)
{
	__u32 i;

	for (i = 0; i < all->nr; i++) {
		all->unfinished += all->table[i].in_call;
		identify(&all->table[i], all->identity);
	}
	for (i = 0; i < THREADS_CALLS; i++)
		all->calls[i].number = i;
	qsort(all->calls, THREADS_CALLS, sizeof(*all->calls), by_total);
	if (all->nr)
		qsort(all->table, all->nr, sizeof(*all->table), by_events);
}
