/* SPDX-License-Identifier: MIT */
/* Internals of struct tsct_cluster, shared by cluster*.c and select.c */
#ifndef TSCT_SYNC_CLUSTER_PRIVATE_H
#define TSCT_SYNC_CLUSTER_PRIVATE_H

#include "source.h"

struct tsct_cluster {
	struct tsct_cluster_options options;
	struct tsct_sync_source *sources;	/* array of nr entries; owned */
	unsigned int nr;
	int used;			/* selected source; -1: none */
	double extra_ns;		/* added to its bound by the selection */
	__u64 now;			/* t4 of the newest exchange */

	__u64 master;			/* of the timeline, ... */
	__u32 timeline;			/* ... the master's epoch number, ... */
	bool at_timeline;		/* ... and whether both are valid */
	bool is_master;			/* this node is the master; its
					 * timeline: */
	struct tsct_remote_params master_params;
	__u16 depth;			/* hops to the master */

	__u32 epoch;			/* our own number */
	bool disrupted;			/* nothing published since a disruption */
	struct tsct_clock_params params;	/* in force; mult 0: none */
	struct tsct_clock_prev_params prev_params;
};

/* select.c: timeline and source */
struct tsct_cluster_selection {
	__u64 master;
	__u32 timeline;			/* the master's epoch number */
	int used;			/* -1: none */
	double extra_ns;
};

/* Also sets `falseticker` of the sources. */
struct tsct_cluster_selection tsct_cluster_select(struct tsct_cluster *cluster);

/* The selected source's estimate, extra_ns included; false: there is none. */
bool tsct_cluster_estimate(const struct tsct_cluster *cluster,
			   struct tsct_source_params *ret_est);

#endif /* TSCT_SYNC_CLUSTER_PRIVATE_H */
