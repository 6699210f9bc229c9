/* SPDX-License-Identifier: MIT */
/* Figures of the threads, system calls and stacks of a recording, for trace-ctl stat */
#ifndef STAT_THREADS_H
#define STAT_THREADS_H

#include "lib/export/known.h"
#include "lib/export/spans.h"
#include "lib/export/stacks.h"
#include "lib/export/threads.h"
#include "lib/syscalls/syscall_value.h"
#include "tools/read/stat.h"

struct thread {
	__u32 node, tid;
	const struct tsct_identity_thread *who;	/* last known state; NULL: unknown */
	__u64 until;		/* last tick at which the tid is certainly this thread's */
	__u64 switched;		/* number of recorded switches to the thread */
	bool some_switches;	/* flag: other switches may have been lost, or hidden by a filter */
	bool untimed;		/* flag: in a call whose begin is recorded, but not all of it */
	struct tally tally;
	char comm[17];
	/* id and name of the thread's process; path of the thread's cgroup; 0 and empty:
	 * unknown */
	__u32 tgid;
	char process[17];
	const char *cgroup;
};

struct call {
	__s64 number;		/* with TSCT_SYSCALL_COMPAT for a 32-bit call */
	__u64 count;		/* number of calls that have ended */
	__u64 timed;		/* number of those whose begin was recorded, too */
	__u64 errors;		/* number of calls that returned an error */
	__u64 total, max;	/* sum and maximum of the calls' durations, ticks */
};

struct threads {
	const struct tsct_identity *identity;
	struct tsct_known known;
	struct tsct_threads ids;
	/* threads; at the same index as in `ids`, until stat_threads_finish() sorts them */
	struct thread *table;
	__u32 nr;
	/* for each location: index of the thread of the location's last event */
	__u32 *recent;
	struct tsct_spans in_call;	/* open system calls, by index of the thread */
	struct thread rest;	/* sum of all threads for which there was no memory for an entry in
				 * `table` */
	/* system calls; at the same index as in `call_index`, until stat_threads_finish() sorts */
	struct call *calls;
	__u32 nr_calls;
	struct tsct_index call_index;	/* finds a call by its number */
	/* number of threads whose last system call has no return event */
	__u64 unfinished;
};

/* Meaning of an event definition */
struct stat_meaning {
	enum tsct_kernel_event kernel;
	/* number of the system call that the event records, and tsct_syscall_pair(); -1: none */
	__s64 call, pair;
};

struct stat_threads {
	struct threads all;
	struct tsct_identity identity;	/* threads, as the recording's statedump describes them */
	struct stat_meaning **meaning;	/* meanings of events: [stream][event id - TSCT_ID_FIRST] */
	__u32 nr_streams;
	struct tsct_stacks *stacks;	/* NULL: no statedump, or it cannot be read */
	struct tsct_stack_counts counts;
};

/* For columns of tables of threads: appends a thread's name, its process if it is not the
 * process's first thread, and its cgroup if that is not the root cgroup. */
void stat_put_thread(const json_t *row, struct tsct_text *cell);

#endif /* STAT_THREADS_H */
