/* SPDX-License-Identifier: MIT */
/* Layouts of the events of system calls, which the BPF programs have in the map `calls` */
#ifndef TSCT_TOOLS_CALL_LAYOUTS_H
#define TSCT_TOOLS_CALL_LAYOUTS_H

#include <stddef.h>

#include "where.h"

/*
 * Sets the layouts of all system calls, with the conditions of @where, NULL: none.
 * @stacks: as in struct kernel_select. Returns 0, or -errno with the reason in @why.
 */
int call_layouts_set(int map, struct where_list *where, const char *stacks, char *why,
		     size_t size);

/* Calls a function for each event of a system call that the rate limit dropped. */
void call_layouts_limited(int map, take_dropped *take, void *context);

#endif /* TSCT_TOOLS_CALL_LAYOUTS_H */
