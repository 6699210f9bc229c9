/* SPDX-License-Identifier: MIT */
/* Threads and processes of a recording, from its statedump */
#ifndef TSCT_IDENTITY_H
#define TSCT_IDENTITY_H

#include "statedump.h"

/* State of a thread from a tick on, until the thread's next state */
struct tsct_identity_thread {
	__u32 node;
	__u32 location;		/* location of the recorder, see state.selected */
	__u64 tick;
	/* 1 for the first thread with this tid, 2 for the next one: a tid is used again
	 * after its thread has ended */
	__u32 generation;
	/* the thread began at tick `from`; after tick `until`, another thread may have its tid */
	__u64 from, until;
	/* tick at which the thread ended; UINT64_MAX: unknown. A state may have a later
	 * tick, if it was read from /proc before the ended thread was reaped. */
	__u64 end;
	struct tsct_statedump_thread state;
	char name[17];		/* state.name with a NUL */
};

struct tsct_identity_cgroup {
	__u32 node;
	__u64 id;
	char *path;
};

/* The thread ID that the kernel had given last at a tick */
struct tsct_identity_last_pid {
	__u32 node;
	__u64 tick;
	__u64 boottime_ns;	/* CLOCK_BOOTTIME at the tick */
	__u64 position;		/* thread ID + 2^22 * restarts of IDs, tsct_pid_position() */
};

/* End of the thread `tid` */
struct tsct_identity_end {
	__u32 node, tid;
	__u64 tick;
};

/* All zero: nothing is known */
struct tsct_identity {
	struct tsct_identity_thread *threads;	/* sorted by node, tid, tick */
	size_t nr_threads;
	struct tsct_identity_last_pid *last_pids;	/* sorted by node, tick */
	size_t nr_last_pids;
	struct tsct_identity_end *ends;	/* sorted by tick */
	size_t nr_ends;
	struct tsct_identity_cgroup *cgroups;
	size_t nr_cgroups;
};

/*
 * tsct_identity_read - read the statedump of a recording
 * @dir: directory of the recording, which may still be growing
 *
 * Skips invalid events. Returns 0, even if there is no statedump, or -errno.
 */
int tsct_identity_read(const char *dir, struct tsct_identity *ret);
void tsct_identity_free(struct tsct_identity *identity);

/* Returns the state of the thread that has @tid at @tick, or its first state if all are
 * later. NULL: the thread is unknown, or another thread may have @tid at @tick. */
const struct tsct_identity_thread *
tsct_identity_find(const struct tsct_identity *identity, __u32 node, __u32 tid, __u64 tick);

#endif /* TSCT_IDENTITY_H */
