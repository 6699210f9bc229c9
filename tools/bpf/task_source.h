/* SPDX-License-Identifier: MIT */
/*
 * BPF programs that find the selected processes, and report threads, programs and cgroups
 * for the statedump
 */
#ifndef TSCT_TOOLS_TASK_SOURCE_H
#define TSCT_TOOLS_TASK_SOURCE_H

#include <stddef.h>

#include <sys/types.h>

#include <linux/types.h>

struct bpf_shared;
struct tasks_bpf;	/* programs that are loaded and attached; NULL: none */

/*
 * Finds this process's number in the initial pid namespace, which BPF programs compare.
 * Returns 0 or -errno.
 */
int task_source_find_self(const struct bpf_shared *shared, __u32 *ret_tgid);

/*
 * Tracks the processes @roots and their descendants, and reports the threads that there are,
 * and later changes, for the statedump. Returns 0, or -errno with the reason in @why; close
 * @ret_tasks in both cases.
 */
int task_source_open(const struct bpf_shared *shared, const pid_t *roots,
		     unsigned int nr_roots, struct tasks_bpf **ret_tasks, char *why,
		     size_t size);
void task_source_stop(struct tasks_bpf *tasks);
void task_source_close(struct tasks_bpf *tasks);

#endif /* TSCT_TOOLS_TASK_SOURCE_H */
