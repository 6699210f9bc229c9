/* SPDX-License-Identifier: MIT */
/*
 * The cluster's time on one node: from exchanges with the node's sources to
 * published clock params. Pure: time is an argument, in cycles of the local
 * counter. Not thread safe.
 *
 * The cluster's timeline is the master's counter, at a rate and an offset to
 * CLOCK_REALTIME that the master chose when the timeline's epoch began. Both
 * are constant within an epoch, so steering CLOCK_REALTIME does not affect the timeline.
 * A child fits its own counter to the counter of a source (fit.h) and applies the
 * source's clock params; error bounds add up.
 *
 * New params continue from the time by the params in force, and slew: within an epoch
 * time never jumps and never runs backwards. An epoch begins on this node with
 * another master, with another epoch of the master, and with an offset that takes
 * too long to slew.
 *
 * There are two epoch numbers. A timeline is identified by its master and the
 * master's epoch number (struct tsct_remote.epoch), which children of this node
 * get from tsct_cluster_timeline(). This node's own number increases whenever the
 * timeline changes or time may jump; the clock page has this number, and
 * tsct_cluster_epoch() returns it.
 *
 * Sources on one timeline check each other. Of n sources at most (n - 1) / 2
 * are assumed to be wrong: with three or more, a source outside the majority's
 * intersection is a falseticker, and the bound covers all times that remain
 * possible.
 */
#ifndef TSCT_SYNC_CLUSTER_H
#define TSCT_SYNC_CLUSTER_H

#include "lib/fit/fit.h"
#include "lib/ntp/responder.h"

#define TSCT_SOURCES_MAX	16
#define TSCT_WINDOW_MAX		1024	/* largest number of exchanges kept per source */

/* Fastest slew, ppb, and longest slew, ns. An offset that takes longer to slew begins an epoch;
 * an offset within the published bounds may take six times as long. */
#define TSCT_CLUSTER_SLEW_PPB	500000
#define TSCT_CLUSTER_SLEW_MAX_NS	10000000000LL

#define TSCT_HOLDOVER_POLLS	8	/* number of missed polls until holdover */

/* Largest number of hops to the master; more means a loop of sources. */
#define TSCT_CLUSTER_DEPTH_MAX	15

struct tsct_cluster_options {
	struct tsct_fit_options fit;	/* options of the fits; fit.hz is ignored */
	double hz;		/* frequency of the local counter, measured against
				 * CLOCK_MONOTONIC_RAW, Hz; 0 selects 1e9 Hz */
	__u64 node;		/* id of this node; 0: unknown */
	__u32 epoch;		/* number of this node's first epoch; 0 means number 1.
				 * tsct_cluster_resume_epoch() may raise the number */
	double window_s;	/* age at which exchanges are dropped, s; 0 selects 1000 s */
	double hold_s;		/* time without an exchange until holdover, s; 0
				 * selects 8 poll intervals, at least 5 s */
	double void_s;		/* duration of holdover until the time is
				 * unknown, s; 0 selects 3600 s */
};

/* State of one source, for reports */
struct tsct_source_state {
	bool used;		/* the source is selected, as its error bound is the least */
	double weight;		/* share of the source in the published time, 0 to 1 */
	bool falseticker;	/* source is outvoted; reason[] has the details */
	bool known;		/* true: offset_ns is valid */
	double offset_ns;	/* published time minus the source's time, now, ns */
	double error_ns;	/* error bound of the source's time, now, ns */
	double rtt_min_ns, rtt_median_ns;
	/* frequency of the local counter by the source's time, minus hz, relative to hz, ppm */
	double drift_ppm;
	/* numbers of exchanges in the window that the fit uses, and that it drops */
	unsigned int kept, dropped;
	const char *fit;	/* kind of fit in use; NULL: there is no fit */
	enum tsct_fit_reason fit_reason;	/* reason for this kind of fit */
	unsigned int pairs;	/* number of polls whose first two exchanges were compared */
	enum tsct_fit_place slow_place;	/* slower place in polls, as these comparisons show */
	char reason[160];	/* reason why the source is not used; or "" */
};

struct tsct_cluster;

/* Creates a cluster with up to TSCT_SOURCES_MAX sources, or returns NULL if out of memory. */
struct tsct_cluster *tsct_cluster_new(const struct tsct_cluster_options *options,
				      unsigned int nr_sources);
void tsct_cluster_free(struct tsct_cluster *cluster);

enum tsct_cluster_event {
	TSCT_CLUSTER_OK,	/* the event requires no publication */
	TSCT_CLUSTER_NEW,	/* the estimated time changed: the caller composes and
				 * publishes params */
	TSCT_CLUSTER_EPOCH,	/* an epoch began: the timeline changed, or the
				 * time steps */
};

/*
 * tsct_cluster_feed - add an exchange with a source; exchanges come oldest first
 * tsct_cluster_master - make this node the master: @params define the timeline,
 *	@epoch is the timeline's number. Sources do not affect the time from then on.
 * tsct_cluster_disrupt - drop all state and begin an epoch, after the local
 *	counter was disrupted
 * tsct_cluster_reset_source - drop the exchanges with a reconfigured source
 * tsct_cluster_resume_epoch - continue with a later epoch number than @epoch,
 *	which the module, or an earlier daemon, has published
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
 * Notes that another node polls this node every 2^@poll s, so that sources may follow this
 * node. The note expires after TSCT_HOLDOVER_POLLS polls, or after void_s if that is
 * sooner. @now: present value of the local counter
 */
void tsct_cluster_set_polled(struct tsct_cluster *cluster, __u64 now, int poll);

/*
 * tsct_cluster_set_skew - include in the error bounds of published params that the
 * counters of two CPUs may be @cycles apart; 0: the counters are equal
 *
 * The error bounds of exchanges include that distance already, in the bounds of packet times.
 */
void tsct_cluster_set_skew(struct tsct_cluster *cluster, __u64 cycles);

/*
 * tsct_cluster_compose - set the cluster's fields of @state, the clock state to publish now
 * @begin_cycles: counter value, later than now, at which new params begin. If the last
 *	published params do not begin earlier, a child keeps these params, and only updates
 *	their error bound and validity.
 * @state: `source` and `flags` are read. cluster.mult is set to 0 if the time is unknown.
 *
 * tsct_cluster_published - record that @params were published
 */
void tsct_cluster_compose(const struct tsct_cluster *cluster, __u64 begin_cycles,
			  struct tsct_clock_state *state);
void tsct_cluster_published(struct tsct_cluster *cluster,
			    const struct tsct_clock_params *params);

/* Returns this node's own epoch number of the cluster's time. */
__u32 tsct_cluster_epoch(const struct tsct_cluster *cluster);

/*
 * Sets the members of *ret about the cluster, for answers to children: master, the master's
 * epoch number, status, hops to the master, standard deviation and clock params. These
 * clock params are not in force, but are the params that the time slews to, so that
 * children do not follow slews. If the time is unknown, the clock params are all 0.
 */
void tsct_cluster_timeline(const struct tsct_cluster *cluster, __u64 now,
			   struct tsct_timeline *ret);

/* Reports the state of a source at @now, in local cycles; all 0: no such source */
void tsct_cluster_source(const struct tsct_cluster *cluster,
			 unsigned int source, __u64 now,
			 struct tsct_source_state *ret);
/* Gets the exchanges in a source's window, oldest first, for reports. Returns the number of
 * exchanges, or 0 if there is no fit. The pointers are valid until the cluster changes. */
unsigned int tsct_cluster_window(const struct tsct_cluster *cluster,
				 unsigned int source,
				 const struct tsct_exchange **ret_x,
				 const bool **ret_kept,
				 const struct tsct_fit **ret_fit);

#endif /* TSCT_SYNC_CLUSTER_H */
