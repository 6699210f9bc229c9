/* SPDX-License-Identifier: MIT */
/*
 * Threads, as viewers draw them: each a row, with what is open on it. The idle
 * threads of all CPUs have the id 0; they are told apart by CPU.
 */
#ifndef TSCT_EXPORT_THREADS_H
#define TSCT_EXPORT_THREADS_H

#include "lib/core/port.h"

#define TSCT_THREAD_NAME_MAX	16	/* of a task, with the NUL */
#define TSCT_OPEN_MAX		4096	/* slices, on one thread */

struct tsct_thread {
	__u32 node, tid, cpu;		/* cpu: where tid is 0 */
	__u32 index;			/* in the order of appearance */
	char name[TSCT_THREAD_NAME_MAX];	/* "": nobody said it */
	bool renamed;			/* since the format looked */
	__u64 events;			/* exported */
	__u32 *open;			/* slices, the innermost last */
	__u32 nr_open, room;
	__u64 own;			/* the format's */
};

struct tsct_threads {
	struct tsct_thread **all;	/* by index */
	__u32 nr, room;
	__u32 *hash;			/* index + 1 */
	__u32 nr_hash;
	__u64 seed;			/* random: numbers come from files */
};

/* Finds or makes it. NULL: no memory, or more than Linux can have. */
struct tsct_thread *tsct_threads_get(struct tsct_threads *threads, __u32 node,
				     __u32 tid, __u32 cpu);

void tsct_threads_free(struct tsct_threads *threads);

/* Its name, or "thread 17"; "swapper/3" for idle ones */
#define TSCT_THREAD_TITLE_MAX	24
void tsct_thread_title(const struct tsct_thread *thread,
		       char title[TSCT_THREAD_TITLE_MAX]);

/* Takes note of a name. */
void tsct_thread_rename(struct tsct_thread *thread, const char *name,
			size_t len);

/* A slice begins. 0, -ENOSPC: there are too many, or -ENOMEM. */
int tsct_thread_open(struct tsct_thread *thread, __u32 slice);

/* Which one does an end of @slice mean? -1: none is open. */
__s64 tsct_thread_find(const struct tsct_thread *thread, __u32 slice);

/* Takes it out, whatever is above. */
void tsct_thread_close(struct tsct_thread *thread, __u32 frame);

#endif /* TSCT_EXPORT_THREADS_H */
