/* SPDX-License-Identifier: MIT */
/*
 * The cluster's time on one node: exchanges with its sources in, struct
 * tsct_clock_params out. Pure: time is an argument, in cycles of our counter.
 * Not thread safe.
 *
 * The cluster's timeline is the master's counter, at a rate and an offset to
 * CLOCK_REALTIME that the master chose when the timeline's epoch began. Both
 * are constant within an epoch, so steering CLOCK_REALTIME does not affect it.
 * A child fits its counter to its source's counter (fit.h) and applies the
 * parameters that the source sent; error bounds add up.
 *
 * New parameters continue from the time by those in force, and slew: within an
 * epoch time never jumps and never runs backwards. Another master, another
 * epoch of the master, or an offset that takes too long to slew begins an epoch
 * here too.
 *
 * There are two epoch numbers. A timeline is identified by its master and the
 * master's number (struct tsct_remote.epoch), which our children get from
 * tsct_cluster_timeline(). Our own number increases with that one, and whenever
 * else time may jump on this node; it is what our clock page shows, and what
 * tsct_cluster_epoch() returns.
 *
 * Sources on one timeline check each other. Of n sources at most (n - 1) / 2
 * are assumed to be wrong: with three or more, one outside the majority's
 * intersection is a falseticker, and the bound covers whatever remains
 * possible.
 */
#ifndef TSCT_SYNC_CLUSTER_H
#define TSCT_SYNC_CLUSTER_H

#include "lib/ntp/client.h"
#include "fit.h"

#define TSCT_SOURCES_MAX	16
#define TSCT_WINDOW_MAX		1024	/* exchanges kept per source */

/*
 * Fastest slew, and the longest: an offset that takes longer begins an epoch.
 * If the published bounds allowed for the offset, it may take six times as
 * long.
 */
#define TSCT_CLUSTER_SLEW_PPB	500000
#define TSCT_CLUSTER_SLEW_MAX_NS	10000000000LL

/* Most hops to the master; more means a loop of sources. */
#define TSCT_CLUSTER_DEPTH_MAX	15

struct tsct_cluster_options {
	struct tsct_fit_options fit;	/* its hz is set from the one below */
	double hz;		/* of our counter, against MONOTONIC_RAW; 0: 1e9 */
	__u32 epoch;		/* our first epoch number; 0: 1. See also
				 * tsct_cluster_resume_epoch() */
	double window_s;	/* age of the oldest exchange that is kept; 0: 1000 */
	double hold_s;		/* without an exchange for as long: holdover; 0: 8
				 * poll intervals, at least 5 s */
	double void_s;		/* holdover for as long: unknown; 0: 3600 */
};

/* State of one source, for reports */
struct tsct_source_state {
	bool used;		/* selected: the published time is from it */
	bool falseticker;	/* outvoted; reason[] has the details */
	bool known;		/* offset and bound below are valid */
	double offset_ns;	/* the published time minus the source's, now */
	double error_ns;	/* bound of the source's time, now */
	double rtt_min_ns, rtt_median_ns;
	double drift_ppm;	/* rate of our counter against the cluster's time,
				 * relative to hz */
	unsigned int kept, dropped;	/* exchanges in the window */
	char reason[160];	/* text: why it is not used; or "" */
};

struct tsct_cluster;

/* At most TSCT_SOURCES_MAX sources. NULL: no memory */
struct tsct_cluster *tsct_cluster_new(const struct tsct_cluster_options *options,
				      unsigned int nr_sources);
void tsct_cluster_free(struct tsct_cluster *cluster);

enum tsct_cluster_event {
	TSCT_CLUSTER_OK,	/* nothing to publish */
	TSCT_CLUSTER_NEW,	/* new parameters may be composed */
	TSCT_CLUSTER_EPOCH,	/* a new epoch: another master, epoch, or a step */
};

/*
 * tsct_cluster_feed - add an exchange with a source, oldest first
 * tsct_cluster_master - this node is the master: @params define the timeline, @epoch
 *	our number of it. Sources are only observed from then on.
 * tsct_cluster_disrupt - our counter was disrupted: forget all, begin an epoch
 * tsct_cluster_reset_source - forget the exchanges with a reconfigured source
 * tsct_cluster_resume_epoch - the module, or an earlier daemon, has published
 *	this epoch number: continue with a later one
 */
enum tsct_cluster_event
tsct_cluster_feed(struct tsct_cluster *cluster, unsigned int source,
		  const struct tsct_exchange *x,
		  const struct tsct_remote *remote);
void tsct_cluster_master(struct tsct_cluster *cluster, __u64 node,
			 const struct tsct_remote_params *params, __u32 epoch);
void tsct_cluster_disrupt(struct tsct_cluster *cluster);
void tsct_cluster_reset_source(struct tsct_cluster *cluster,
			       unsigned int source);
void tsct_cluster_resume_epoch(struct tsct_cluster *cluster, __u32 epoch);

/*
 * tsct_cluster_compose - the parameters to publish now
 * @begin_cycles: where new parameters would begin: later than now. Before the
 *	base of those in force, the result is those again.
 * @ret_params: mult 0: the time is unknown
 * Returns TSCT_STATUS_*. Changes nothing.
 *
 * tsct_cluster_fill - the same, into the cluster's part of a clock state; reads
 *	@state's source and flags.
 *
 * tsct_cluster_published - these parameters are in force now
 */
__u32 tsct_cluster_compose(const struct tsct_cluster *cluster,
			   __u64 begin_cycles,
			   struct tsct_clock_params *ret_params);
void tsct_cluster_fill(const struct tsct_cluster *cluster, __u64 begin_cycles,
		       struct tsct_clock_state *state);
void tsct_cluster_published(struct tsct_cluster *cluster,
			    const struct tsct_clock_params *params);

/* Our own epoch number */
__u32 tsct_cluster_epoch(const struct tsct_cluster *cluster);

/*
 * tsct_cluster_timeline - what our children get: master, its epoch number, hops
 *	to
 * it, and our parameters. These are not the ones in force, but those that the
 * time is slewed to, so that children do not follow our slews. Returns
 * TSCT_STATUS_*; without TSCT_STATUS_SYNCHRONIZED, CALIBRATING or HOLDOVER
 * (tsct_status_has_time()), *ret_params is all 0.
 */
__u32 tsct_cluster_timeline(const struct tsct_cluster *cluster, __u64 now,
			    __u64 *ret_master, __u32 *ret_epoch,
			    __u16 *ret_depth,
			    struct tsct_remote_params *ret_params);

/* State of a source at @now, cycles of our counter; all 0: no such source */
void tsct_cluster_source(const struct tsct_cluster *cluster,
			 unsigned int source, __u64 now,
			 struct tsct_source_state *ret);
/*
 * The exchanges in a source's window, oldest first, for reports: how many; 0:
 * there is no fit. The pointers are valid until the cluster changes.
 */
unsigned int tsct_cluster_window(const struct tsct_cluster *cluster,
				 unsigned int source,
				 const struct tsct_exchange **ret_x,
				 const bool **ret_kept,
				 const struct tsct_fit **ret_fit);

#endif /* TSCT_SYNC_CLUSTER_H */
