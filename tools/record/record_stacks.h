/* SPDX-License-Identifier: MIT */
/*
 * Stacks of kernel events: finds the function of each frame in the kernel, and the file of
 * each frame in a program, while these exist, and writes both into the statedump.
 */
#ifndef RECORD_STACKS_H
#define RECORD_STACKS_H

#include <stddef.h>

#include <tsctrace/tsctrace.h>

struct record_session;
struct record_stacks;

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

#endif /* RECORD_STACKS_H */
