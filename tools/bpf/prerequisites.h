/* SPDX-License-Identifier: MIT */
/* Checks whether the kernel, the module and the user's rights permit kernel events */
#ifndef TSCT_TOOLS_PREREQUISITES_H
#define TSCT_TOOLS_PREREQUISITES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Checks that the kernel supports kernel events, and that the caller may use BPF. Returns
 * 0, or -errno with the reason and the fix in @why.
 */
int prerequisites_check(char *why, size_t size);

/* Checks that the BPF programs of the events can call the module. Returns 0, or -errno
 * with the reason and the fix in @why. */
int prerequisites_check_module(const char *const *events, unsigned int nr, char *why,
			       size_t size);

/* Returns true if this version, or a later one, of the kernel runs. */
bool prerequisites_kernel(unsigned int major, unsigned int minor);

#endif /* TSCT_TOOLS_PREREQUISITES_H */
