/* SPDX-License-Identifier: MIT */
/*
 * Shared by cluster.c, select.c and source_fit.c: the cluster, and its time sources.
 *
 * A time source of this node: the window of recent exchanges with it, the fit through
 * them (fit.h), and the estimate of the cluster's time that results from the fit and
 * the clock params of the source. Not thread safe; time is an argument.
 */
#ifndef TSCT_SYNC_CLUSTER_PRIVATE_H
#define TSCT_SYNC_CLUSTER_PRIVATE_H

#include "cluster.h"
#include "lib/estimate/servo.h"

/* ---- source_fit.c: a time source ----------------------------------------- */

/* Limit of the growth of an error bound without new exchanges, ppb: PHI of RFC 5905, the
 * frequency tolerance of two crystals */
#define TSCT_SYNC_SOURCE_PHI_PPB	15000

/* Largest plausible frequency error of a source, relative to options->hz, ppb */
#define TSCT_SYNC_SOURCE_RATE_PPB	1000000

/* Frequency error that most sources do not exceed, relative to options->hz, ppb */
#define TSCT_SYNC_SOURCE_USUAL_PPB	200000

/* Largest change of the rate of an NTP server's disciplined clock against a crystal, ppb
 * per second; the default of fit.wander_ppb for NTP servers */
#define TSCT_SYNC_SOURCE_STEERED_PPB	100

/*
 * Estimate of the cluster's time: a linear function of the local counter through a
 * point, time.point, with an error bound. The bound is time.point.half_ns at the point,
 * and
 *	time.point.half_ns + growth * d + min(wander * d, phi) * d	ns
 * at d cycles from the point; growth, wander and phi are the fields below.
 */
struct tsct_source_params {
	struct tsct_servo_estimate time;
	double sd_ns;		/* standard deviation of the estimated time at
				 * time.point, ns */
	double growth;		/* linear growth of the error bound, ns per cycle */
	double wander;		/* quadratic growth of the error bound, ns per cycle
				 * squared, from `wander` of struct tsct_fit */
	double phi;		/* limit of the growth due to wander: the error bound
				 * uses min(wander * d, phi) * d at d cycles from
				 * time.point; ns per cycle */
};

/* Returns the error bound of the estimate @est at @cycles, in ns. */
double tsct_source_params_bound_ns(const struct tsct_source_params *est,
				   __u64 cycles);

struct tsct_sync_source {
	struct tsct_exchange *x;	/* exchanges in the window, oldest first;
					 * freed by tsct_sync_source_free() */
	bool *keep;		/* flag per exchange: true if the fit uses the exchange;
				 * freed by tsct_sync_source_free() */
	unsigned int nr;	/* number of exchanges in the window */
	bool has_est;		/* true: `est` is valid */
	struct tsct_source_params est;
	bool has_fit;		/* true: `fit` and the array `keep` are valid */
	struct tsct_fit fit;		/* freed by tsct_sync_source_free() */
	bool has_remote;	/* true: `remote` is valid */
	struct tsct_remote remote;	/* state of the source, as its last answer states it */
	__u64 last_poll;	/* t1 of the exchange that began the last poll */
	__u64 last_interval;	/* interval between the last two polls, cycles */
	__u64 max_interval;	/* recent maximum of last_interval, cycles; decays */
	unsigned int contradictions;	/* number of consecutive exchanges outside the
					 * fit's bound */
	int unexplained;	/* number of consecutive offsets that no delay explains,
				 * with the sign of these offsets */
	double extra_error_ns;	/* part added to the estimate's error bound while
				 * `contradictions` or `unexplained` is not 0, ns */
	char reason[160];	/* reason why there is no estimate; or "" */
	bool falseticker;	/* true: tsct_cluster_select() rejects the source */
	char falseticker_reason[160];	/* reason for falseticker, as text */
	double weight;		/* share in the cluster's time, 0 to 1, set by
				 * tsct_cluster_select() */
};

enum tsct_sync_source_event {
	TSCT_SYNC_SOURCE_SAME,		/* the added exchange did not change the
					 * estimate of the source's time */
	TSCT_SYNC_SOURCE_NEW,		/* the added exchange led to a new estimate of
					 * the source's time */
	TSCT_SYNC_SOURCE_LOST,		/* the added exchange made the estimate of the
					 * source's time invalid */
};

/* Adds an exchange, and the state that the source sent with the exchange. Ignores
 * an exchange that is impossible or out of order, or if memory is lacking. */
enum tsct_sync_source_event
tsct_sync_source_add(struct tsct_sync_source *source,
		     const struct tsct_cluster_options *options,
		     const struct tsct_exchange *x,
		     const struct tsct_remote *remote);

/* Empties the window of exchanges. @reason: text for reports, or NULL */
void tsct_sync_source_forget(struct tsct_sync_source *source,
			     const char *reason);
void tsct_sync_source_free(struct tsct_sync_source *source);

/* Returns the time without a new exchange after which the clock is in holdover,
 * cycles. */
__u64 tsct_sync_source_holdover_cycles(const struct tsct_sync_source *source,
				       const struct tsct_cluster_options *options);

/* ---- cluster.c: the cluster ---------------------------------------------- */

struct tsct_cluster {
	struct tsct_cluster_options options;
	struct tsct_sync_source *sources;	/* array of nr sources; owned */
	unsigned int nr;
	int used;			/* index of the selected source; -1: none */
	/* estimate of the cluster's time from all combined sources; valid if `used` is not -1 */
	struct tsct_source_params est;
	/* standard deviation of the estimated time, including the part that the sources
	 * inherit from their own sources, ns */
	double sd_ns;
	__u64 now;			/* t4 of the newest exchange, cycles */
	double skew_ns;	/* bound of the distance between two CPUs' counters, ns */
	/* True: another node polled this node, and may follow this node until
	 * the counter value polled_until: see tsct_cluster_set_polled() */
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
	struct tsct_clock_params params;	/* params in force; mult is 0 if none */
	struct tsct_clock_prev_params prev_params;
};

/* ---- select.c: the algorithms, which are pure, and the selection --------- */

struct tsct_correctness_interval {
	double middle, bound;	/* correctness interval: middle +- bound, any unit */
	bool falseticker;	/* true: a majority of the intervals has a point in
				 * common, and this interval is not in that majority */
};

struct tsct_intersection_result {
	unsigned int agree;	/* largest number of intervals that have a point
				 * in common */
	bool majority;		/* true: more than half of all intervals have a
				 * point in common */
	/*
	 * Range of the true time if at most (nr - 1) / 2 intervals are wrong: the
	 * hull of all points that are in at least nr - (nr - 1) / 2 intervals.
	 * Empty (lo > hi) without a majority.
	 */
	double lo, hi;
};

/*
 * Sets `falseticker` of each of @nr intervals. If a majority of them overlap, a
 * falseticker is an interval outside every largest group. Without a majority there is
 * no falseticker: which of two contradicting sources is wrong is unknown. Cubic in @nr.
 */
struct tsct_intersection_result
tsct_intersection(struct tsct_correctness_interval *intervals, unsigned int nr);

/* Resolution of the times in packets, ns. Each peer gets at least the standard deviation of
 * this resolution, so that no peer has an infinite weight. */
#define TSCT_COMBINE_RESOLUTION_NS	1.0

/* One peer's estimate of the time, at a counter value that is the same for all peers */
struct tsct_combine_peer {
	double offset_ns;	/* this peer's time minus a zero common to all peers, ns */
	double sd_ns;		/* standard deviation of this node's measurement of the
				 * peer, ns */
	double inherited_ns;	/* standard deviation of the peer's own time, ns */
	double rate;		/* rate of this peer's time, ns per cycle */
	double weight;		/* set by tsct_combine(): share in the mean, 0 to 1 */
};

struct tsct_combined {
	double offset_ns, rate;	/* weighted means */
	double sd_ns;		/* standard deviation of offset_ns, ns */
	/* part of sd_ns due to this node's measurements, which make offset_ns
	 * vary between exchanges, ns */
	double noise_ns;
	double spread_ns;	/* standard deviation of the errors that no peer's own
				 * measurements explain, ns */
};

/* Combines the estimates of @nr peers, at least one, and sets their weights. */
struct tsct_combined tsct_combine(struct tsct_combine_peer *peers, unsigned int nr);

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
