/* SPDX-License-Identifier: MIT */
/* Identity of this node and of its host */
#ifndef TSCTRACED_NODE_ID_H
#define TSCTRACED_NODE_ID_H

#include <linux/types.h>

#define NODE_ID_FILE	"node"

/* Returns the node's id: random, never 0, saved in @state_dir over restarts if
 * possible */
__u64 node_id(const char *state_dir);

/* Returns the host's id: never 0, and the same for all daemons on this boot of the
 * kernel, which share a counter */
__u64 node_host_id(void);

#endif /* TSCTRACED_NODE_ID_H */
