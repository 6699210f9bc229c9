/* SPDX-License-Identifier: MIT */
/* struct tsct_cluster, shared by cluster.c and select.c */
#ifndef TSCT_SYNC_CLUSTER_PRIVATE_H
#define TSCT_SYNC_CLUSTER_PRIVATE_H

#include "source.h"

struct tsct_cluster {
	struct tsct_cluster_options options;
	struct tsct_sync_source *sources;	/* array of nr sources; owned */
	unsigned int nr;
	int used;			/* index of the selected source; -1: none */
	/* the time by all sources that were combined; valid if `used` is not -1 */
	struct tsct_source_params est;
	double sd_ns;			/* standard deviation of that time, with what the
					 * sources inherit, ns */
	__u64 now;			/* t4 of the newest exchange, cycles */
	double skew_ns;			/* see tsct_cluster_set_skew() */
	/* True: another node polled this one, and may follow it until polled_until, in
	 * cycles: see tsct_cluster_set_polled() */
	bool is_polled;
	__u64 polled_until;

	__u64 master;			/* id of the node that defines the timeline */
	__u32 timeline;			/* epoch number of the master */
	bool at_timeline;		/* true: master and timeline are valid */
	bool is_master;			/* this node is the master */
	/* params that define the timeline, if is_master is true */
	struct tsct_remote_params master_params;
	__u16 depth;			/* number of hops to the master */

	__u32 epoch;			/* this node's epoch number */
	bool disrupted;			/* true: nothing published since a disruption */
	struct tsct_clock_params params;	/* params in force; mult 0: no params */
	struct tsct_clock_prev_params prev_params;
};

struct tsct_cluster_selection {
	__u64 master;
	__u32 timeline;			/* epoch number of the master */
	int used;			/* index of the selected source; -1: none */
	struct tsct_source_params est;	/* new value of tsct_cluster.est */
	double sd_ns;			/* new value of tsct_cluster.sd_ns, ns */
};

/* Selects timeline and source of the cluster, and combines the sources on the timeline.
 * Also sets `falseticker` and `weight` of each source. */
struct tsct_cluster_selection tsct_cluster_select(struct tsct_cluster *cluster);

#endif /* TSCT_SYNC_CLUSTER_PRIVATE_H */
