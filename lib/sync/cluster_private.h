/* SPDX-License-Identifier: MIT */
#ifndef TSCT_SYNC_CLUSTER_PRIVATE_H
#define TSCT_SYNC_CLUSTER_PRIVATE_H

#include "source.h"

struct tsct_cluster {
	struct tsct_cluster_options options;
	struct tsct_sync_source *sources;
	unsigned int nr;
	int used;			/* of paths; -1: none */
	double extra_ns;		/* bound of it, more by what a vote leaves open */
	__u64 now;			/* of the last exchange */

	__u64 master;			/* whose timeline it is, ... */
	__u32 timeline;			/* ... his number of it */
	bool at_timeline;		/* the two are something */
	bool is_master;			/* it is ours: */
	struct tsct_remote_params line;
	__u16 depth;			/* hops to the master */

	__u32 epoch;
	bool disrupted;			/* since there was a line */
	struct tsct_clock_params params;		/* in force; mult 0: none */
	struct tsct_clock_prev_params prev_params;
};

/* cluster_line.c; @est NULL: nothing new is known */
void tsct_cluster_servo_compose(const struct tsct_cluster *cluster,
		       const struct tsct_source_params *est, __u64 begin_cycles,
		       struct tsct_clock_params *ret_pair);

/* cluster_vote.c: which timeline, and which of its sources */
struct tsct_cluster_selection {
	__u64 master;
	__u32 timeline;
	int used;			/* -1: none */
	double extra_ns;
};

struct tsct_cluster_selection tsct_cluster_select(struct tsct_cluster *cluster);

/* The used source's estimate, as much wider as has to be; false: there is none */
bool tsct_cluster_estimate(const struct tsct_cluster *cluster,
			   struct tsct_source_params *ret_est);

#endif /* TSCT_SYNC_CLUSTER_PRIVATE_H */
