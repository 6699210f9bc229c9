/* SPDX-License-Identifier: MIT */
/*
 * Table of the threads of all nodes. The idle threads of all CPUs have ID 0 and are
 * distinguished by CPU.
 */
#ifndef TSCT_THREADS_H
#define TSCT_THREADS_H

#include "lib/base/index.h"
#include "lib/statedump/identity.h"

/* size of a name with the NUL, TASK_COMM_LEN of the kernel */
#define TSCT_THREAD_NAME_MAX	16

struct tsct_thread {
	__u32 node, tid, cpu; /* cpu is 0 unless the thread is an idle thread (tid 0) */
	/* 1 for the first thread that had this tid, 2 for the second ...; 0: unknown */
	__u32 generation;
	__u32 tgid;			/* process of the thread; 0: unknown */
	struct tsct_thread *process;	/* last result of tsct_export_process(), or NULL */
	__u32 index;			/* index in the table, from 0 */
	/* at ticks from <= tick < until, the statedump has the same state of the thread */
	__u64 from, until;
	char name[TSCT_THREAD_NAME_MAX];	/* name of the thread; "": unknown */
	bool renamed;	/* flag: tsct_thread_rename() changed the name; the exporter
			 * clears it after writing the name */
	__u32 rank;			/* rank in MPI_COMM_WORLD, plus 1; 0: none */
	__u64 events;			/* number of the thread's exported events */
	__u64 own;			/* value for the caller's own use */
};

/* Table of threads. A table of all zeros is empty */
struct tsct_threads {
	struct tsct_thread **all;	/* pointers to the threads, by index */
	__u32 nr;
	struct tsct_index index;
	/* by tid % 64: the thread that was found last; no idle threads */
	struct tsct_thread *recent[64];
};

/*
 * tsct_threads_get - find a thread, or add it
 * tsct_threads_get_generation - the same; @generation distinguishes threads that had the
 *	same tid one after the other
 *
 * Return NULL if out of memory, or if there are more threads than Linux can have.
 */
struct tsct_thread *tsct_threads_get_generation(struct tsct_threads *threads, __u32 node,
						__u32 tid, __u32 cpu, __u32 generation);

/* Returns the thread (no idle thread) with an ID and generation; NULL: not in the table */
static inline struct tsct_thread *tsct_threads_find(const struct tsct_threads *threads,
						    __u32 node, __u32 tid, __u32 generation)
{
	const __u32 at = tsct_index_find(&threads->index, (__u64)node << 32 | tid, generation);

	return at == TSCT_INDEX_NONE ? NULL : threads->all[at];
}

static inline struct tsct_thread *tsct_threads_get(struct tsct_threads *threads, __u32 node,
						   __u32 tid, __u32 cpu)
{
	return tsct_threads_get_generation(threads, node, tid, cpu, 0);
}

void tsct_threads_free(struct tsct_threads *threads);

/* Writes a thread's name; "swapper/3" for an idle thread, "thread 17" if unknown. */
#define TSCT_THREAD_TITLE_MAX	24
void tsct_thread_title(const struct tsct_thread *thread,
		       char title[TSCT_THREAD_TITLE_MAX]);

/* Writes the name of a thread's track: its title, or "rank 3: a.out" with MPI. */
#define TSCT_THREAD_LABEL_MAX	(TSCT_THREAD_TITLE_MAX + 24)
void tsct_thread_label(const struct tsct_thread *thread,
		       char label[TSCT_THREAD_LABEL_MAX]);

/* Sets a thread's name, cut to TSCT_THREAD_NAME_MAX - 1 bytes; ignores empty names. */
void tsct_thread_rename(struct tsct_thread *thread, const char *name,
			size_t len);

/* Sets the rank of a thread or process in MPI_COMM_WORLD. */
void tsct_thread_set_rank(struct tsct_thread *thread, __u32 rank);

/* ---- threads of a recording: how long a state lasts, and cgroups ------------- */

/* Returns a tick before which tsct_identity_find() finds state @found, or at least its
 * thread. @found: the result of tsct_identity_find() for @tick */
__u64 tsct_identity_until(const struct tsct_identity *identity,
			  const struct tsct_identity_thread *found, __u64 tick);

/* Returns the path of a cgroup, or NULL. */
const char *tsct_identity_cgroup(const struct tsct_identity *identity, __u32 node, __u64 id);

#endif /* TSCT_THREADS_H */
