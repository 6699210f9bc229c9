/* SPDX-License-Identifier: MIT */
/* The statedump of a recording, and the stacks in it. Functions lock what they need. */
#ifndef RECORD_STATEDUMP_H
#define RECORD_STATEDUMP_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/statedump/statedump.h"

struct record_session;

/* Returns 0; or -ENOMEM, with the error printed. */
int record_statedump_open(struct record_session *s);
void record_statedump_close(struct record_session *s);

/* Begins to note the threads of the events that are written. */
void record_statedump_begin(struct record_session *s);

/* Adds an event, which the main thread writes when there are files. */
void record_statedump_add(struct record_session *s, __u32 id, __u64 cycles,
			  const void *payload, __u32 len);

/* Adds the state of a thread that a BPF program reported. */
void record_statedump_thread(struct record_session *s, __u64 cycles,
			     const struct tsct_statedump_thread *state);

/* Adds the path of a cgroup; of all that there are */
void record_statedump_cgroup(struct record_session *s, __u64 cycles, __u64 id,
			     const char *path);
void record_statedump_cgroups(struct record_session *s);

/* Reads about a thread that waits for the embedded server. In the server's thread. */
void record_statedump_on_thread(void *session, __u32 tid);

/*
 * record_statedump_start_pass - begin a pass over what is new
 * record_statedump_finish_pass - read about threads that have written events, and write
 * @is_last: nothing comes afterwards
 * @until: returned by the first; what is added between the two is of this time, in cycles,
 *	or later
 * @idle: there is time to read about all these threads
 * @more: records of BPF programs wait
 */
__u64 record_statedump_start_pass(struct record_session *s, bool is_last);
void record_statedump_finish_pass(struct record_session *s, __u64 until, bool idle, bool more);

/* ---- stacks of kernel events: record_stacks.c --------------------------- */

/* Prepares for stacks, after the BPF programs were loaded. Prints a warning if the
 * kernel's functions cannot be named. Returns 0 or -ENOMEM. */
int record_stacks_open(struct record_session *s);

/* Takes a stack from a BPF program: struct stack_head with frames. */
void record_stacks_take(struct record_session *s, __u64 cycles, const void *payload,
			size_t size);

/* Notes the file of a program that a process executes: the process may end before its
 * stacks are taken. */
void record_stacks_exec(struct record_stacks *stacks, const char *filename);

void record_stacks_free(struct record_stacks *stacks);

#endif /* RECORD_STATEDUMP_H */
