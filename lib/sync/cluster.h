/* SPDX-License-Identifier: MIT */
/*
 * The cluster's timeline, as one node knows it: exchanges with its sources in,
 * struct tsct_clock_params out. Pure: time is an argument, in ticks of our counter.
 *
 * The timeline is the master's counter, at a rate and an offset to
 * CLOCK_REALTIME that it chose when the timeline's epoch began, and that do not
 * change in it: no steering of CLOCK_REALTIME bends it. A child fits its counter
 * to its source's (fit.h) and puts that source's line on top; bounds add up.
 *
 * A new line goes on where the one in force is, and slews; time never jumps or
 * runs backwards within an epoch. Another master, or another epoch of his, or an
 * offset that slewing would take too long for, begins an epoch here too.
 *
 * Epochs are of two kinds. The timeline is named by its master and by his number
 * of it (struct tsct_remote.epoch; whom we serve is told that one, see
 * tsct_cluster_timeline()). Our own number goes up with it, and whenever else time
 * may jump here: it is what our clock page says, and what tsct_cluster_epoch()
 * returns.
 *
 * Sources that are at one timeline check each other. Of n of them it is believed
 * that no more than (n - 1) / 2 lie: with three or more, who is outvoted by a
 * majority is a liar, and the bound covers whatever is left possible.
 */
#ifndef TSCT_SYNC_CLUSTER_H
#define TSCT_SYNC_CLUSTER_H

#include "lib/ntp/client.h"
#include "fit.h"

#define TSCT_SOURCES_MAX	16
#define TSCT_WINDOW_MAX		1024	/* exchanges remembered of each source */

/*
 * An offset that slewing does not mend within this begins an epoch; six times that
 * where it is within the bounds that were told.
 */
#define TSCT_CLUSTER_SLEW_PPB	500000
#define TSCT_CLUSTER_SLEW_MAX_NS	10000000000LL

/* Further from the master than that: sources go round in circles. */
#define TSCT_CLUSTER_DEPTH_MAX	15

struct tsct_cluster_options {
	struct tsct_fit_options fit;	/* hz is set from the one below */
	double hz;		/* of our counter, against MONOTONIC_RAW */
	__u32 epoch;		/* the first one; 0: 1. See tsct_cluster_resume_epoch() */
	double window_s;	/* 0: as long as is best, up to 1000 s */
	double hold_s;		/* without an exchange for as long: holdover; 0: 8
				 * times what lies between them */
	double void_s;		/* ... and for as long: nothing is known; 0: 3600 */
};

/* How one source does. All but name by cluster.c. */
struct tsct_source_state {
	bool used;		/* the line is made with it */
	bool liar;		/* outvoted by the others, and was so why[] */
	bool known;		/* offset and bound below are something */
	double offset_ns;	/* our line in force minus what it says, now */
	double error_ns;	/* bound of that */
	double rtt_min_ns, rtt_median_ns;
	double drift_ppm;	/* our counter's rate against cluster time, off hz */
	unsigned int kept, dropped;
	char why[160];
};

struct tsct_cluster;

struct tsct_cluster *tsct_cluster_new(const struct tsct_cluster_options *options,
				      unsigned int nr_sources);
void tsct_cluster_free(struct tsct_cluster *cluster);

enum tsct_cluster_event {
	TSCT_CLUSTER_OK,
	TSCT_CLUSTER_NEW,	/* another line may be composed */
	TSCT_CLUSTER_EPOCH,	/* a new epoch: master, his epoch, or a step */
};

/*
 * tsct_cluster_feed - an exchange with a source, oldest first
 * tsct_cluster_master - we are the master: this line is the timeline, @epoch our
 * number of it. From then on sources are only watched.
 * tsct_cluster_disrupt - our counter was disrupted: forget all, begin an epoch
 * tsct_cluster_reset_source - what one source said: it was set up anew
 * tsct_cluster_resume_epoch - somebody (the module, or who was here before us) has
 * published this epoch: go on with a later one
 */
enum tsct_cluster_event
tsct_cluster_feed(struct tsct_cluster *cluster, unsigned int source,
		  const struct tsct_exchange *x,
		  const struct tsct_remote *remote);
void tsct_cluster_master(struct tsct_cluster *cluster, __u64 node,
			 const struct tsct_remote_params *line, __u32 epoch);
void tsct_cluster_disrupt(struct tsct_cluster *cluster);
void tsct_cluster_reset_source(struct tsct_cluster *cluster, unsigned int source);
void tsct_cluster_resume_epoch(struct tsct_cluster *cluster, __u32 epoch);

/*
 * tsct_cluster_compose - what to publish now
 * @begin_cycles: where a new line would begin: later than now. Not before the line
 * in force has begun: then publish that one again.
 * @ret_pair: mult 0: the time is not known
 * Returns TSCT_STATUS_*. Changes nothing.
 * tsct_cluster_published - that is in force now
 *
 * tsct_cluster_fill - the same as the former, with all that a state says of the
 * cluster; source and flags of *state are looked at.
 */
__u32 tsct_cluster_compose(const struct tsct_cluster *cluster, __u64 begin_cycles,
			   struct tsct_clock_params *ret_pair);
void tsct_cluster_fill(const struct tsct_cluster *cluster, __u64 begin_cycles,
		       struct tsct_clock_state *state);
void tsct_cluster_published(struct tsct_cluster *cluster,
			    const struct tsct_clock_params *pair);

/* Our own number of the epoch. */
__u32 tsct_cluster_epoch(const struct tsct_cluster *cluster);

/*
 * tsct_cluster_timeline - what we tell our children: whose timeline it is, his
 * number of it, hops to him, and our line. That is not the one in force, but the
 * one that it is slewed to, so that nobody follows our detours.
 * Returns TSCT_STATUS_*; unless that claims to know the time, there is no line.
 */
__u32 tsct_cluster_timeline(const struct tsct_cluster *cluster, __u64 now,
			    __u64 *ret_master, __u32 *ret_epoch,
			    __u16 *ret_depth,
			    struct tsct_remote_params *ret_line);

/* @now: our counter */
void tsct_cluster_source(const struct tsct_cluster *cluster,
			 unsigned int source, __u64 now,
			 struct tsct_source_state *ret);
/* The exchanges that are remembered, oldest first; for reports. Returns how many */
unsigned int tsct_cluster_window(const struct tsct_cluster *cluster,
				 unsigned int source,
				 const struct tsct_exchange **ret_x,
				 const bool **ret_kept,
				 const struct tsct_fit **ret_fit);

#endif /* TSCT_SYNC_CLUSTER_H */
