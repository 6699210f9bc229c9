// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/core/remap.h"
#include "threads.h"

/* initial size of the table; the hash has twice as many slots */
#define THREADS_FIRST	128
#define THREADS_MAX	(1U << 22) /* largest number of threads that Linux can have */

static __u32 *slot(const struct tsct_threads *t, __u32 *hash, __u32 nr,
		   __u32 node, __u32 tid, __u32 cpu, __u32 generation)
{
	const __u32 key[] = { node, tid, cpu, generation };
	__u32 at = (__u32)tsct_hash(t->seed, key, sizeof(key)) & (nr - 1);
	const struct tsct_thread *thread;

	for (; hash[at]; at = (at + 1) & (nr - 1)) {
		thread = t->all[hash[at] - 1];
		if (thread->tid == tid && thread->node == node &&
		    thread->cpu == cpu && thread->generation == generation)
			break;
	}
	return &hash[at];
}

static int grow(struct tsct_threads *t)
{
	const __u32 room = t->room ? 2 * t->room : THREADS_FIRST;
	const struct tsct_thread *thread;
	struct tsct_thread **all;
	__u32 *hash, i;

	if (t->nr == THREADS_MAX)
		return -ENOSPC;
	if (!t->room && getrandom(&t->seed, sizeof(t->seed), 0) < 0)
		return -errno;
	all = realloc(t->all, room * sizeof(*all));
	if (!all)
		return -ENOMEM;
	t->all = all;
	hash = calloc(2 * room, sizeof(*hash));
	if (!hash)
		return -ENOMEM;
	for (i = 0; i < t->nr; i++) {
		thread = t->all[i];
		*slot(t, hash, 2 * room, thread->node, thread->tid, thread->cpu,
		      thread->generation) = i + 1;
	}
	free(t->hash);
	t->hash = hash;
	t->room = room;
	return 0;
}

struct tsct_thread *tsct_threads_get_generation(struct tsct_threads *t, __u32 node,
						__u32 tid, __u32 cpu, __u32 generation)
{
	struct tsct_thread *thread;
	__u32 *at = NULL;

	if (tid)
		cpu = 0;
	if (t->room)
		at = slot(t, t->hash, 2 * t->room, node, tid, cpu, generation);
	if (at && *at)
		return t->all[*at - 1];
	if (t->nr == t->room) {
		if (grow(t))
			return NULL;
		at = slot(t, t->hash, 2 * t->room, node, tid, cpu, generation);
	}
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->node = node;
	thread->tid = tid;
	thread->cpu = cpu;
	thread->generation = generation;
	thread->index = t->nr;
	t->all[t->nr++] = thread;
	*at = t->nr;
	return thread;
}

void tsct_threads_free(struct tsct_threads *t)
{
	__u32 i;

	for (i = 0; i < t->nr; i++) {
		free(t->all[i]->open);
		free(t->all[i]);
	}
	free(t->all);
	free(t->hash);
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

/* ---- slices ------------------------------------------------------------ */

int tsct_thread_open(struct tsct_thread *thread, __u32 slice)
{
	__u32 room = thread->room ? 2 * thread->room : 8, *open;

	if (thread->nr_open == TSCT_OPEN_MAX)
		return -ENOSPC;
	if (thread->nr_open == thread->room) {
		open = realloc(thread->open, room * sizeof(*open));
		if (!open)
			return -ENOMEM;
		thread->open = open;
		thread->room = room;
	}
	thread->open[thread->nr_open++] = slice;
	return 0;
}

__s64 tsct_thread_find(const struct tsct_thread *thread, __u32 slice)
{
	__s64 i;

	for (i = (__s64)thread->nr_open - 1; i >= 0; i--)
		if (thread->open[i] == slice)
			break;
	return i;
}

void tsct_thread_close(struct tsct_thread *thread, __u32 frame)
{
	thread->nr_open--;
	memmove(thread->open + frame, thread->open + frame + 1,
		(thread->nr_open - frame) * sizeof(*thread->open));
}
