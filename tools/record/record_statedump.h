/* SPDX-License-Identifier: MIT */
/* The statedump of a recording, and the stacks in it. The functions do their own locking. */
#ifndef RECORD_STATEDUMP_H
#define RECORD_STATEDUMP_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/wing.h"
#include "lib/statedump/statedump.h"

struct record_session;

/* Creates the statedump of a session. Prints errors. Returns 0 or -ENOMEM. */
int record_statedump_open(struct record_session *s);
void record_statedump_close(struct record_session *s);

/* Starts to note the threads whose events are written, to read their states in later passes. */
void record_statedump_begin(struct record_session *s);

/* Adds an event. record_statedump_pass() writes the event. */
void record_statedump_add(struct record_session *s, __u32 id, __u64 cycles,
			  const void *payload, __u32 len);

/* Adds the state of a thread that a BPF program reported. */
void record_statedump_thread(struct record_session *s, __u64 cycles,
			     const struct tsct_statedump_thread *state);

/* Adds the path of one cgroup. */
void record_statedump_cgroup(struct record_session *s, __u64 cycles, __u64 id,
			     const char *path);

/* Adds the state of a thread that the embedded server is about to serve. Called by the
 * server's thread. */
void record_statedump_on_thread(void *session, __u32 tid);

/*
 * record_statedump_pass - add new data on threads, processes and cgroups, from BPF programs
 *	or /proc
 * @idle: there is time to read the state of every thread that has written events
 * @is_last: this call is the last one
 *
 * Called after each pass over the rings, and repeatedly, until the result is false, between
 * record_kernel_stop() and record_kernel_flush(). Returns true if records of BPF programs
 * are left.
 */
bool record_statedump_pass(struct record_session *s, bool idle, bool is_last);

/* ---- stacks of kernel events: the wing `stacks` --------------------------- */

/* Prepares the recording of stacks. Call it when the BPF programs are loaded. Prints a
 * warning if the kernel's functions have no names. Returns 0 or -ENOMEM. */
TSCT_WING int record_stacks_open(struct record_session *s);

/* Adds a stack that a BPF program sent. @payload: struct stack_head with frames */
TSCT_WING void record_stacks_take(struct record_session *s, __u64 cycles, const void *payload,
			size_t size);

/* Stores the name of a file that a process executes, because the process may end before
 * its stacks are resolved. */
TSCT_WING void record_stacks_exec(struct record_stacks *stacks, const char *filename);

TSCT_WING void record_stacks_free(struct record_stacks *stacks);

#endif /* RECORD_STATEDUMP_H */
