/* SPDX-License-Identifier: MIT */
/* The history that the daemon keeps of this node's clocks (lib/history), as commands find it */
#ifndef TSCT_TOOLS_NODE_HISTORY_H
#define TSCT_TOOLS_NODE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/history/history.h"

#define HISTORY_STATE_DIR	"/var/lib/tsctrace"
#define HISTORY_BOOT_ID		"/proc/sys/kernel/random/boot_id"

/* Writes the path of the history in a state directory; @dir: NULL: this node's */
void history_default_dir(const char *dir, char *text, size_t size);

/* Parses a boot id with or without hyphens. */
bool history_parse_boot(const char *text, __u8 ret[16]);

/* Adds what the daemon publishes now: what it has recorded is some seconds old. Returns 0, also
 * without a daemon, or -ENOMEM. */
int history_add_present(struct tsct_history *history);

#endif /* TSCT_TOOLS_NODE_HISTORY_H */
