/* SPDX-License-Identifier: MIT */
/* What stat knows of each thread, and of each system call. */
#ifndef THREADS_H
#define THREADS_H

#include "recording/trace.h"

struct thread {
	__u32 tid;
	bool used;
	bool in_call;
	__s64 call;		/* which system call it is in, since when */
	__u64 since;
	__u64 switched;		/* times it was switched in */
	char comm[17];
};

struct call {
	__s64 number;
	__u64 count;
	__u64 total, max;	/* ticks */
};

struct threads {
	struct thread *table;	/* open addressing; a power of two of them */
	__u32 room, nr;
	struct call *calls;	/* by number */
	__u64 unfinished;	/* calls that the recording's end cut */
};

int threads_init(struct threads *all);
void threads_free(struct threads *all);

/* Takes note of one event of the kernel's. 0 or -ENOMEM. */
int threads_note(struct threads *all, const struct tsct_trace_event *event);

/*
 * Sorts: busiest calls first, threads most often switched in first. No notes
 * after it. Calls with count 0 and threads that are not used end the lists.
 */
void threads_finish(struct threads *all);

#define THREADS_CALLS	1024	/* numbers above are not system calls */

#endif /* THREADS_H */
