// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "threads.h"

#define THREADS_MAX	(1U << 22) /* largest number of threads that Linux can have */

struct tsct_thread *tsct_threads_get_generation(struct tsct_threads *t, __u32 node,
						__u32 tid, __u32 cpu, __u32 generation)
{
	const __u64 of_node = (__u64)node << 32 | tid;
	const __u64 of_tid = (__u64)(tid ? 0 : cpu) << 32 | generation;
	struct tsct_thread **recent = &t->recent[tid % 64], *thread = *recent;
	__u32 at;

	/* Usually, the previous event was of this thread. (Idle threads are never in *recent.) */
	if (thread && thread->tid == tid && thread->node == node &&
	    thread->generation == generation)
		return thread;
	at = tsct_index_find(&t->index, of_node, of_tid);
	if (at != TSCT_INDEX_NONE)
		return tid ? *recent = t->all[at] : t->all[at];
	if (t->nr == THREADS_MAX || !tsct_array_next(&t->all, t->nr, sizeof(thread)))
		return NULL;
	thread = calloc(1, sizeof(*thread));
	if (!thread || tsct_index_add(&t->index, of_node, of_tid) == TSCT_INDEX_NONE) {
		free(thread);
		return NULL;
	}
	thread->node = node;
	thread->tid = tid;
	thread->cpu = tid ? 0 : cpu;
	thread->generation = generation;
	thread->index = t->nr;
	t->all[t->nr++] = thread;
	return thread;
}

void tsct_threads_free(struct tsct_threads *t)
{
	__u32 i;

	for (i = 0; i < t->nr; i++)
		free(t->all[i]);
	free(t->all);
	tsct_index_free(&t->index);
	memset(t, 0, sizeof(*t));
}

/* ---- names ------------------------------------------------------------- */

void tsct_thread_title(const struct tsct_thread *thread,
		       char title[TSCT_THREAD_TITLE_MAX])
{
	if (!thread->tid)
		snprintf(title, TSCT_THREAD_TITLE_MAX, "swapper/%u",
			 thread->cpu);
	else if (*thread->name)
		snprintf(title, TSCT_THREAD_TITLE_MAX, "%s", thread->name);
	else
		snprintf(title, TSCT_THREAD_TITLE_MAX, "thread %u",
			 thread->tid);
}

void tsct_thread_label(const struct tsct_thread *thread,
		       char label[TSCT_THREAD_LABEL_MAX])
{
	char title[TSCT_THREAD_TITLE_MAX];

	tsct_thread_title(thread, title);
	if (thread->rank)
		snprintf(label, TSCT_THREAD_LABEL_MAX, "rank %u: %s", thread->rank - 1,
			 title);
	else
		snprintf(label, TSCT_THREAD_LABEL_MAX, "%s", title);
}

void tsct_thread_set_rank(struct tsct_thread *thread, __u32 rank)
{
	thread->rank = rank + 1;
	thread->renamed = true;
}

void tsct_thread_rename(struct tsct_thread *thread, const char *name,
			size_t len)
{
	if (len >= sizeof(thread->name))
		len = sizeof(thread->name) - 1;
	if (!len || (!strncmp(thread->name, name, len) && !thread->name[len]))
		return;
	memcpy(thread->name, name, len);
	thread->name[len] = '\0';
	thread->renamed = true;
}

/* ---- states of threads ---------------------------------------------------- */

__u64 tsct_identity_until(const struct tsct_identity *identity,
			  const struct tsct_identity_thread *found, __u64 tick)
{
	const struct tsct_identity_thread *next = found + 1;

	if (!found)
		return identity->nr_threads ? tick : UINT64_MAX;
	if (tick < found->tick)	/* @found is the first state of its thread */
		return found->tick;
	if (next == identity->threads + identity->nr_threads || next->node != found->node ||
	    next->state.tid != found->state.tid)
		return found->until;
	if (next->generation == found->generation)
		return next->tick;
	return next->from - 1 < found->until ? next->from - 1 : found->until;
}

const char *tsct_identity_cgroup(const struct tsct_identity *identity, __u32 node, __u64 id)
{
	size_t i;

	for (i = identity->nr_cgroups; i--;)
		if (identity->cgroups[i].node == node && identity->cgroups[i].id == id)
			return identity->cgroups[i].path;
	return NULL;
}
