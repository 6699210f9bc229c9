/* SPDX-License-Identifier: MIT */
/*
 * The statedump of a recording (lib/statedump): what the recorder finds out about threads,
 * processes and cgroups while it records. BPF programs report it if there are kernel
 * events; otherwise, it is read from /proc.
 */
#ifndef RECORD_STATEDUMP_H
#define RECORD_STATEDUMP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <tsctrace/tsctrace.h>

#include "lib/base/index.h"

struct known_thread;
struct record_stacks;

struct record_statedump {
	/*
	 * The thread of the embedded server calls record_statedump_on_thread(), so all below
	 * is protected by the mutex.
	 */
	pthread_mutex_t lock;
	__u64 last_cycles;	/* of the last event written */
	__u64 end;		/* of the recording, cycles; 0: it has not ended */
	/* events that are not written yet, as there are no files: for each a struct
	 * tsct_record, and the payload, aligned to 8 */
	char *held;
	size_t used, room;
	struct record_stacks *stacks;	/* NULL: no stacks are recorded */
	unsigned long lost;	/* number of events that are missing */
	unsigned long unseen;	/* number of threads that ended before they were read about */
	/* flag: threads of kernel events have other numbers than in this process's /proc */
	bool other_numbers;
	/* descriptor of /proc/loadavg, which has the thread ID that the kernel gave last;
	 * -1: BPF programs report all threads, or have other numbers */
	int loadavg;
	__u64 pid_position;	/* of that ID, see tsct_pid_position() */
	__u32 written_pid;	/* ID of the last event last_pid */
	__s64 last_pid_ns, written_pid_ns;	/* CLOCK_MONOTONIC of reading and event */
	struct known_thread *threads;	/* threads whose state was written */
	struct tsct_index thread_index;	/* of these, by ID */
	struct tsct_index cgroups;	/* IDs of the cgroups whose path was written */
	struct tsct_tid_notes *notes;	/* threads of the events that were written */
};

struct record_session;

void record_statedump_init(struct record_session *s);

/* Begins to note the threads of the events that are written. */
void record_statedump_begin(struct record_session *s);

/* Writes the paths of the cgroups that there are. */
void record_statedump_cgroups(struct record_session *s);

/*
 * record_statedump_poll - take what is new
 * @idle: there is time to read about all threads that have written events
 * @is_last: nothing comes afterwards
 *
 * Called after each pass over the rings, and, until it returns false, between
 * kernel_source_stop() and kernel_source_close(). Returns true if there is more: a call
 * reads records of BPF programs for 5 ms only.
 */
bool record_statedump_poll(struct record_session *s, bool idle, bool is_last);

/* Reads about a thread that waits for the embedded server. In the server's thread. */
void record_statedump_on_thread(void *session, __u32 tid);

/* Adds an event, which is written when there are files, and by the main thread. Called with
 * the mutex locked. */
void record_statedump_add(struct record_session *s, __u32 id, __u64 cycles,
			  const void *payload, __u32 len);

void record_statedump_close(struct record_session *s);

/* ---- stacks of kernel events: record_stacks.c --------------------------- */

/* Prepares for stacks, after the BPF programs were loaded. Prints a warning if the
 * kernel's functions cannot be named. Returns 0 or -ENOMEM. */
int record_stacks_open(struct record_session *s);

/* Takes a stack from a BPF program: struct stack_head with frames. */
void record_stacks_take(struct record_session *s, __u64 cycles, const void *payload,
			size_t size);

/* Notes the file of a program that a process executes: the process may end before its
 * stacks are taken. */
void record_stacks_exec(struct record_session *s, const char *filename);

void record_stacks_free(struct record_stacks *stacks);

#endif /* RECORD_STATEDUMP_H */
