/* SPDX-License-Identifier: MIT */
/* struct tsct_cluster, shared by cluster.c and select.c */
#ifndef TSCT_SYNC_CLUSTER_PRIVATE_H
#define TSCT_SYNC_CLUSTER_PRIVATE_H

#include "source.h"

struct tsct_cluster {
	struct tsct_cluster_options options;
	struct tsct_sync_source *sources;	/* array of nr entries; owned */
	unsigned int nr;
	int used;			/* selected source; -1: none */
	double extra_ns;		/* added to the bound of that source */
	__u64 now;			/* t4 of the newest exchange */

	__u64 master;			/* node that defines the timeline */
	__u32 timeline;			/* epoch number of that node */
	bool at_timeline;		/* master and timeline are valid */
	bool is_master;			/* this node is the master */
	struct tsct_remote_params master_params;	/* valid if is_master */
	__u16 depth;			/* hops to the master */

	__u32 epoch;			/* epoch number of this node */
	bool disrupted;			/* nothing published since a disruption */
	struct tsct_clock_params params;	/* in force; mult 0: none */
	struct tsct_clock_prev_params prev_params;
};

struct tsct_cluster_selection {
	__u64 master;
	__u32 timeline;			/* epoch number of the master */
	int used;			/* selected source; -1: none */
	double extra_ns;		/* to add to the bound of that source */
};

/* Selects timeline and source. Also sets `falseticker` of the sources. */
struct tsct_cluster_selection tsct_cluster_select(struct tsct_cluster *cluster);

#endif /* TSCT_SYNC_CLUSTER_PRIVATE_H */
