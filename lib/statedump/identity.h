/* SPDX-License-Identifier: MIT */
/* Threads and processes of a recording, from its statedump */
#ifndef TSCT_IDENTITY_H
#define TSCT_IDENTITY_H

#include "statedump.h"

/* State of a thread from a tick on, until the thread's next state */
struct tsct_identity_thread {
	__u32 node;
	__u64 tick;
	/* number of threads that have had this tid by then, with this one: threads may have
	 * had it one after the other */
	__u32 generation;
	/* ticks of the thread's events: it began at `from`, and from `until` on, the tid may
	 * be that of another thread */
	__u64 from, until;
	struct tsct_statedump_thread state;
	char name[17];		/* state.name with a NUL */
};

struct tsct_identity_cgroup {
	__u32 node;
	__u64 id;
	char *path;
};

/* The last thread ID that the kernel gave, at a tick */
struct tsct_identity_last_pid {
	__u32 node;
	__u64 tick;
	__u64 boottime_ns;	/* CLOCK_BOOTTIME at the tick */
	__u64 position;		/* see tsct_pid_position() */
};

/* All zero: nothing is known */
struct tsct_identity {
	struct tsct_identity_thread *threads;	/* sorted by node, tid, tick */
	size_t nr_threads;
	struct tsct_identity_last_pid *last_pids;	/* sorted by node, tick */
	size_t nr_last_pids;
	struct tsct_identity_cgroup *cgroups;
	size_t nr_cgroups;
};

/*
 * tsct_identity_read - read the statedump of a recording
 * @dir: directory of the recording, which may be live: then, up to now
 *
 * Events that are invalid are skipped. Returns 0, also if there is no statedump; or -errno.
 */
int tsct_identity_read(const char *dir, struct tsct_identity *ret);
void tsct_identity_free(struct tsct_identity *identity);

/* Returns the state of the thread that has a tid at a tick; if that is unknown, its first
 * state; NULL: the thread is unknown, or it is not certain which of two it is. */
const struct tsct_identity_thread *
tsct_identity_find(const struct tsct_identity *identity, __u32 node, __u32 tid, __u64 tick);

/* Returns the last tick until which tsct_identity_find() has the same result, or one of the
 * same thread. @found: its result for @tick */
__u64 tsct_identity_until(const struct tsct_identity *identity,
			  const struct tsct_identity_thread *found, __u64 tick);

/* Returns the path of a cgroup, or NULL. */
const char *tsct_identity_cgroup(const struct tsct_identity *identity, __u32 node, __u64 id);

#endif /* TSCT_IDENTITY_H */
