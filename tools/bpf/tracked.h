/* SPDX-License-Identifier: MIT */
/* Processes whose kernel events are recorded: the map `tracked` of kernel.h */
#ifndef TSCT_TOOLS_TRACKED_H
#define TSCT_TOOLS_TRACKED_H

#include <stddef.h>
#include <sys/types.h>

/*
 * tracked_add - add processes and their present descendants to the map
 * @map: descriptor of the map. The BPF programs that follow forks are attached already, so
 *	no descendant is missed.
 *
 * Returns 0 or -errno with the reason in @why; -ESRCH: there is no such process.
 */
int tracked_add(int map, const pid_t *roots, unsigned int nr, char *why, size_t size);

#endif /* TSCT_TOOLS_TRACKED_H */
