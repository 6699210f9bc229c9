// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "identity.h"

/* Start times differ by less than this if they are of one thread: /proc rounds them. */
#define SAME_START_NS	10000000ULL

/* Makes room for one more element behind @nr. Returns 0 or -ENOMEM. */
static int grow(void *array, size_t nr, size_t size)
{
	void **all = array, *more;

	if (nr & (nr - 1))
		return 0;
	more = realloc(*all, (nr ? 2 * nr : 1) * size);
	if (!more)
		return -ENOMEM;
	*all = more;
	return 0;
}

static int add_thread(struct tsct_identity *identity, const struct tsct_trace_event *e)
{
	struct tsct_identity_thread *t;
	struct tsct_value name;

	if (grow(&identity->threads, identity->nr_threads, sizeof(*t)))
		return -ENOMEM;
	t = &identity->threads[identity->nr_threads++];
	*t = (struct tsct_identity_thread) { .node = e->node, .tick = e->tick };
	t->state.tid = (__u32)tsct_statedump_integer(e, "tid");
	t->state.tgid = (__u32)tsct_statedump_integer(e, "tgid");
	t->state.start_ns = tsct_statedump_integer(e, "start_ns");
	t->state.ns_tid = (__u32)tsct_statedump_integer(e, "ns_tid");
	t->state.ns_tgid = (__u32)tsct_statedump_integer(e, "ns_tgid");
	t->state.pid_ns = (__u32)tsct_statedump_integer(e, "pid_ns");
	t->state.cgroup = tsct_statedump_integer(e, "cgroup");
	if (tsct_value_find(e, "name", &name) && tsct_value_is_text(&name))
		memcpy(t->state.name, name.at, name.size < 16 ? name.size : 16);
	memcpy(t->name, t->state.name, 16);
	return 0;
}

static int add_cgroup(struct tsct_identity *identity, const struct tsct_trace_event *e)
{
	struct tsct_identity_cgroup *c;
	struct tsct_value path;

	if (!tsct_value_find(e, "path", &path) || !tsct_value_is_text(&path))
		return 0;
	if (grow(&identity->cgroups, identity->nr_cgroups, sizeof(*c)))
		return -ENOMEM;
	c = &identity->cgroups[identity->nr_cgroups];
	*c = (struct tsct_identity_cgroup) { .node = e->node, .id = tsct_statedump_integer(e, "cgroup") };
	c->path = strndup((const char *)path.at, tsct_value_text_len(&path));
	identity->nr_cgroups += !!c->path;
	return c->path ? 0 : -ENOMEM;
}

static int by_thread(const void *a, const void *b)
{
	const struct tsct_identity_thread *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->state.tid != y->state.tid)
		return x->state.tid < y->state.tid ? -1 : 1;
	return (x->tick > y->tick) - (x->tick < y->tick);
}

/* Distinguishes threads that had the same tid one after the other. */
static void number_lives(struct tsct_identity *identity)
{
	struct tsct_identity_thread *t = identity->threads;
	__u64 later, earlier;
	size_t i;

	for (i = 1; i < identity->nr_threads; i++) {
		if (t[i].node != t[i - 1].node || t[i].state.tid != t[i - 1].state.tid)
			continue;
		later = t[i].state.start_ns;
		earlier = t[i - 1].state.start_ns;
		t[i].life = t[i - 1].life + ((later > earlier ? later - earlier :
					      earlier - later) > SAME_START_NS);
	}
}

static int take(void *identity, const struct tsct_trace_event *e)
{
	return !strcmp(e->def->name, "thread") ? add_thread(identity, e) :
		!strcmp(e->def->name, "cgroup") ? add_cgroup(identity, e) : 0;
}

int tsct_identity_read(const char *dir, struct tsct_identity *ret)
{
	int err;

	*ret = (struct tsct_identity) { .nr_threads = 0 };
	err = tsct_statedump_read(dir, take, ret);
	if (err)
		tsct_identity_free(ret);
	else if (ret->nr_threads)
		qsort(ret->threads, ret->nr_threads, sizeof(*ret->threads), by_thread);
	number_lives(ret);
	return err;
}

void tsct_identity_free(struct tsct_identity *identity)
{
	size_t i;

	for (i = 0; i < identity->nr_cgroups; i++)
		free(identity->cgroups[i].path);
	free(identity->cgroups);
	free(identity->threads);
	memset(identity, 0, sizeof(*identity));
}

const struct tsct_identity_thread *
tsct_identity_find(const struct tsct_identity *identity, __u32 node, __u32 tid, __u64 tick)
{
	const struct tsct_identity_thread wanted = {
		.node = node, .tick = tick, .state.tid = tid,
	};
	const struct tsct_identity_thread *all = identity->threads;
	size_t from = 0, to = identity->nr_threads, middle;

	/* Finds the first state that is later. */
	while (from < to) {
		middle = from + (to - from) / 2;
		if (by_thread(&all[middle], &wanted) <= 0)
			from = middle + 1;
		else
			to = middle;
	}
	if (from && all[from - 1].node == node && all[from - 1].state.tid == tid)
		return &all[from - 1];
	if (from < identity->nr_threads && all[from].node == node &&
	    all[from].state.tid == tid)
		return &all[from];
	return NULL;
}

const char *tsct_identity_cgroup(const struct tsct_identity *identity, __u32 node, __u64 id)
{
	size_t i;

	for (i = identity->nr_cgroups; i--;)
		if (identity->cgroups[i].node == node && identity->cgroups[i].id == id)
			return identity->cgroups[i].path;
	return NULL;
}
