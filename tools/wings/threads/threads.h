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
	__u64 until;		/* last tick at which `tid` certainly is the ID of this thread */
	__u64 switched;		/* number of recorded switches to the thread */
	bool some_switches;	/* flag: other switches may be lost, or hidden by a filter */
	bool untimed;		/* flag: begin and end of the current call cannot be matched */
	struct tally tally;
	char comm[17];
	/* ID and name of the thread's process, and path of the thread's cgroup; 0, ""
	 * and NULL: unknown */
	__u32 tgid;
	char process[17];
	const char *cgroup;
};

struct call {
	__s64 number;		/* including TSCT_SYSCALL_COMPAT for a 32-bit call */
	__u64 count;		/* number of calls that have ended */
	__u64 timed;		/* number of calls with a recorded begin and end */
	__u64 errors;		/* number of calls that returned an error */
	__u64 total, max;	/* sum and maximum of the calls' durations, ticks */
};

struct threads {
	const struct tsct_identity *identity;
	struct tsct_known known;
	struct tsct_threads ids;
	/* threads, each at its index in `ids` until stat_threads_finish() sorts the table */
	struct thread *table;
	__u32 nr;
	/* by location: index of the thread of the location's last event */
	__u32 *recent;
	struct tsct_spans in_call;	/* open system calls, by index of the thread */
	struct thread rest;	/* sum of the threads that are not in `table`, because memory was
				 * short */
	/* system calls, each at its index in `call_index` until stat_threads_finish() sorts them */
	struct call *calls;
	__u32 nr_calls;
	struct tsct_index call_index;	/* finds a call's index by its number */
	/* number of threads whose last recorded system call has no end event */
	__u64 unfinished;
};

/* Meaning of an event definition */
struct stat_meaning {
	enum tsct_kernel_event kernel;
	/* number of the system call that the event records; its tsct_syscall_pair(); -1: none */
	__s64 call, pair;
};

struct stat_threads {
	struct threads all;
	struct tsct_identity identity;	/* threads, as in the recording's statedump */
	struct stat_meaning **meaning;	/* [stream][event id - TSCT_ID_FIRST] */
	__u32 nr_streams;
	struct tsct_stacks *stacks;	/* NULL: the statedump is missing or unreadable */
	struct tsct_stack_counts counts;
};

/* Callback of a column in tables of threads: appends a thread's name; its process, unless
 * the thread is the process's first one; and its cgroup, unless this is the root cgroup. */
void stat_put_thread(const json_t *row, struct tsct_text *cell);

#endif /* STAT_THREADS_H */
