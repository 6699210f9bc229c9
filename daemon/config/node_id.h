/* SPDX-License-Identifier: MIT */
/* Who we are, for other nodes. */
#ifndef TSCTRACED_NODE_ID_H
#define TSCTRACED_NODE_ID_H

#include <linux/types.h>

#define NODE_ID_FILE	"node"

/* Random, and kept in @state_dir over restarts as far as that can be; never 0 */
__u64 node_id(const char *state_dir);

/* The same for all who share this kernel's counter; never 0 */
__u64 node_host_id(void);

#endif /* TSCTRACED_NODE_ID_H */
