/* SPDX-License-Identifier: MIT */
/* Checks whether the kernel, the module and the user's rights permit kernel events. The wing
 * `kernel` defines both functions. */
#ifndef TSCT_TOOLS_PREREQUISITES_H
#define TSCT_TOOLS_PREREQUISITES_H

#include <stddef.h>

#include "lib/base/wing.h"

/*
 * Checks that the kernel supports kernel events, and that the caller may use BPF. Returns
 * 0, or -errno with the reason and the fix in @why.
 */
TSCT_WING int prerequisites_check(char *why, size_t size);

/* Checks that the BPF programs of the events can call the module. Returns 0, or -errno
 * with the reason and the fix in @why. */
TSCT_WING int prerequisites_check_module(const char *const *events, unsigned int nr, char *why,
					 size_t size);

#endif /* TSCT_TOOLS_PREREQUISITES_H */
