/* SPDX-License-Identifier: MIT */
/* Checks whether the kernel, the module and the user's rights permit kernel events. The wing
 * `kernel` defines both functions. */
#ifndef TSCT_TOOLS_PREREQUISITES_H
#define TSCT_TOOLS_PREREQUISITES_H

#include "lib/base/wing.h"

/* Checks that the kernel supports kernel events, and that the caller may use BPF. Returns NULL
 * if so; else the reason and the fix, valid until the next call. */
TSCT_WING const char *prerequisites_check(void);

/* Checks, after prerequisites_check(), that BPF programs of @events can call the module. Returns
 * as prerequisites_check() does. */
TSCT_WING const char *prerequisites_check_module(const char *const *events, unsigned int nr);

#endif /* TSCT_TOOLS_PREREQUISITES_H */
