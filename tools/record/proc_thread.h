/* SPDX-License-Identifier: MIT */
/* Reads the state of a thread in /proc */
#ifndef PROC_THREAD_H
#define PROC_THREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/statedump/statedump.h"

#define CGROUPS	"/sys/fs/cgroup"	/* the hierarchy of cgroups of version 2 */

/*
 * proc_thread_read - read the state of a thread
 * @path: receives the path of the thread's cgroup of version 2; "": unknown
 *
 * Fields that this user may not read are 0. Returns false if there is no such thread.
 */
bool proc_thread_read(__u32 tid, struct tsct_statedump_thread *ret, char *path,
		      size_t path_size);

#endif /* PROC_THREAD_H */
