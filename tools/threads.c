// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "threads.h"
#include "recording/value.h"

#define ROOM_FIRST	256
#define ROOM_MAX	(1U << 22)	/* as many threads as Linux can have */

int threads_init(struct threads *all)
{
	memset(all, 0, sizeof(*all));
	all->room = ROOM_FIRST;
	all->table = calloc(all->room, sizeof(*all->table));
	all->calls = calloc(THREADS_CALLS, sizeof(*all->calls));
	if (all->table && all->calls)
		return 0;
	threads_free(all);
	return -ENOMEM;
}

void threads_free(struct threads *all)
{
	free(all->table);
	free(all->calls);
}

static struct thread *slot(struct thread *table, __u32 room, __u32 tid)
{
	__u32 at = (tid * 2654435769U) & (room - 1);

	while (table[at].used && table[at].tid != tid)
		at = (at + 1) & (room - 1);
	return &table[at];
}

static int grow(struct threads *all)
{
	struct thread *table;
	__u32 i;

	if (all->room == ROOM_MAX)
		return -ENOSPC;
	table = calloc(2 * all->room, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (i = 0; i < all->room; i++)
		if (all->table[i].used)
			*slot(table, 2 * all->room, all->table[i].tid) =
				all->table[i];
	free(all->table);
	all->table = table;
	all->room *= 2;
	return 0;
}

/* NULL: there is no room for more. */
static struct thread *find(struct threads *all, __u32 tid)
{
	struct thread *t = slot(all->table, all->room, tid);

	if (t->used)
		return t;
	if (2 * all->nr >= all->room) {
		if (grow(all))
			return NULL;
		t = slot(all->table, all->room, tid);
	}
	t->used = true;
	t->tid = tid;
	all->nr++;
	return t;
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

static int note_enter(struct threads *all, const struct tsct_trace_event *e)
{
	struct thread *t;
	__s64 id;

	if (!get_integer(e, "id", &id) || id < 0 || id >= THREADS_CALLS)
		return 0;
	t = find(all, e->tid);
	if (!t)
		return -ENOMEM;
	t->in_call = true;
	t->call = id;
	t->since = e->stamp;
	return 0;
}

/* An exit without its enter was under way when the recording began. */
static int note_exit(struct threads *all, const struct tsct_trace_event *e)
{
	struct thread *t;
	struct call *c;
	__s64 id;

	if (!get_integer(e, "id", &id))
		return 0;
	t = find(all, e->tid);
	if (!t)
		return -ENOMEM;
	if (t->in_call && t->call == id) {
		c = &all->calls[id];
		c->count++;
		c->total += e->stamp - t->since;
		if (e->stamp - t->since > c->max)
			c->max = e->stamp - t->since;
	}
	t->in_call = false;
	return 0;
}

static int note_switch(struct threads *all, const struct tsct_trace_event *e)
{
	struct tsct_value f;
	struct thread *t;
	__s64 tid;

	/* 0 is the idle thread of every CPU */
	if (!get_integer(e, "next_tid", &tid) || tid <= 0 || tid > UINT32_MAX)
		return 0;
	t = find(all, tid);
	if (!t)
		return -ENOMEM;
	t->switched++;
	if (tsct_value_find(e, "next_comm", &f) && f.field->type == TSCT_TYPE_CHARS) {
		memset(t->comm, 0, sizeof(t->comm));
		memcpy(t->comm, f.at, f.size < 16 ? f.size : 16);
	}
	return 0;
}

int threads_note(struct threads *all, const struct tsct_trace_event *e)
{
	if (!strcmp(e->def->name, "sys_enter"))
		return note_enter(all, e);
	if (!strcmp(e->def->name, "sys_exit"))
		return note_exit(all, e);
	if (!strcmp(e->def->name, "sched_switch"))
		return note_switch(all, e);
	return 0;
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

static int by_switched(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	if (x->switched != y->switched)
		return x->switched < y->switched ? 1 : -1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

void threads_finish(struct threads *all)
{
	__u32 i;

	for (i = 0; i < all->room; i++)
		all->unfinished += all->table[i].used && all->table[i].in_call;
	for (i = 0; i < THREADS_CALLS; i++)
		all->calls[i].number = i;
	qsort(all->calls, THREADS_CALLS, sizeof(*all->calls), by_total);
	qsort(all->table, all->room, sizeof(*all->table), by_switched);
}
