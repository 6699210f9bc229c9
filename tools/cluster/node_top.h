/* SPDX-License-Identifier: MIT */
/* Samples that a node sends to trace-ctl cluster top */
#ifndef TSCT_TOOLS_NODE_TOP_H
#define TSCT_TOOLS_NODE_TOP_H

#include "tools/live/top.h"

#define NODE_TOP_NS	1000000000LL	/* time between samples, ns */

/*
 * Reads the counters of all channels, the clock and the link to the source of cluster
 * time. @last: the sample before, or zeroed; becomes this one. Returns the message
 * "sample", or NULL: out of memory.
 */
json_t *node_top_sample(struct top_sample *last);

#endif /* TSCT_TOOLS_NODE_TOP_H */
