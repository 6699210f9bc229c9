/* SPDX-License-Identifier: MIT */
/*
 * Kernel events: BPF programs that write into a channel of the module.
 */
#ifndef TSCT_TOOLS_KERNEL_SOURCE_H
#define TSCT_TOOLS_KERNEL_SOURCE_H

#include <stdio.h>
#include <sys/types.h>

#include <tsctrace/tsctrace.h>

struct kernel_source;		/* loaded and attached programs */

/* Is this a kernel event, or a group of them ("sched", "syscalls")? */
int kernel_source_known(const char *event);

/* Prints names and what they mean, one per line. */
void kernel_source_list(FILE *to);

/*
 * kernel_source_ready - could kernel events be recorded here?
 *
 * Returns 0, or a negative errno and in @why a sentence with the fix. Says
 * nothing about the caller's rights, and loads nothing.
 */
int kernel_source_ready(char *why, size_t why_size);

/*
 * kernel_source_open - record kernel events
 * @channel: made with TSCT_CHANNEL_KERNEL; outlives the source
 * @events: names or groups
 * @root: this process and its descendants; 0: the whole system
 *
 * Events flow when it returns. Returns 0, or a negative errno and in @why a
 * sentence with the fix. One thread at a time: libbpf's log is process-wide.
 */
int kernel_source_open(struct tsct_channel *channel, const char *const *events,
		       unsigned int nr, pid_t root, struct kernel_source **ret,
		       char *why, size_t why_size);

/* Processes that were not followed, there being too many of them at once. */
unsigned long kernel_source_untracked(const struct kernel_source *source);

/*
 * How often, at most, there was something and it was not written: the kernel runs
 * no BPF program on a CPU where the same one runs already, and was interrupted.
 */
unsigned long kernel_source_missed(const struct kernel_source *source);

/* Detaches and unloads. NULL is fine. */
void kernel_source_close(struct kernel_source *source);

/*
 * What libbpf and the kernel's verifier last said, newest lines, for -v.
 * "" if they said nothing. Valid until the next kernel_source_open().
 */
const char *kernel_source_log(void);

#endif /* TSCT_TOOLS_KERNEL_SOURCE_H */
