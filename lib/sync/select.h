/* SPDX-License-Identifier: MIT */
/* The algorithms of clock selection: intersection and combination. Pure. */
#ifndef TSCT_SYNC_SELECT_H
#define TSCT_SYNC_SELECT_H

#include "lib/core/port.h"

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
 * no falseticker: which of two contradicting sources is wrong is unknown. Pure; cubic
 * in
 * @nr.
 */
struct tsct_intersection_result
tsct_intersection(struct tsct_correctness_interval *intervals, unsigned int nr);

/* Resolution of the times in packets, ns. Its standard deviation is the least of any
 * peer, so that no peer has an infinite weight. */
#define TSCT_COMBINE_RESOLUTION_NS	1.0

/* One peer's estimate of the time at the point in common */
struct tsct_combine_peer {
	double offset_ns;	/* the time by this peer, after a zero in common, ns */
	double sd_ns;		/* standard deviation of this node's measurement of the
				 * peer, ns */
	double inherited_ns;	/* standard deviation of the peer's own time, ns */
	double rate;		/* rate of the time by this peer, ns per cycle */
	double weight;		/* set by tsct_combine(): share in the mean, 0 to 1 */
};

struct tsct_combined {
	double offset_ns, rate;	/* weighted means */
	double sd_ns;		/* standard deviation of offset_ns, ns */
	double noise_ns;	/* the part of it due to this node's measurements, by which
				 * offset_ns varies from one exchange to the next, ns */
	double spread_ns;	/* standard deviation of the errors that no peer's own
				 * measurements explain, ns */
};

/* Combines the estimates of @nr peers, at least one, and sets their weights. */
struct tsct_combined tsct_combine(struct tsct_combine_peer *peers, unsigned int nr);

#endif /* TSCT_SYNC_SELECT_H */
