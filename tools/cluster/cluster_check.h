/* SPDX-License-Identifier: MIT */
/* Checks of nodes before a recording, without I/O: they add problems, with the fix */
#ifndef TSCT_TOOLS_CLUSTER_CHECK_H
#define TSCT_TOOLS_CLUSTER_CHECK_H

#include "cluster.h"

/* least free space for a node's recording, bytes */
#define CLUSTER_SPACE_MIN	(16ULL << 20)

/* Compares the version of a node's trace-ctl with this one. */
void cluster_check_version(struct cluster_node *n, const char *version);

/* Checks what the node reports about itself, n->facts. */
void cluster_check_facts(struct cluster_node *n, const struct cluster_settings *o);

/*
 * Checks that no node is given twice by different names, and that the nodes' times can be
 * compared: they run on one boot of one machine, or all are synchronized on one timeline, or
 * all have bounds to UTC and no cluster time. Problems of times are not fatal: a recording by
 * each node's own clock is possible.
 */
void cluster_check_timelines(struct cluster *c);

/*
 * Returns the time in which the nodes' events are compared while they are recorded:
 * "cluster": that of their common master; "clock": CLOCK_REALTIME of one
 * machine; "utc": the nodes' own, each with its bound to UTC; "none": the nodes' own,
 * which cannot be compared. All nodes that take part are checked, and not started.
 */
const char *cluster_check_time(const struct cluster *c);

#endif /* TSCT_TOOLS_CLUSTER_CHECK_H */
