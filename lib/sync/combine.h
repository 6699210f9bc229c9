/* SPDX-License-Identifier: MIT */
/*
 * Combination of several peers' estimates of one time: the weighted mean with the least
 * variance, where peers also differ for reasons that no peer can measure, such as the
 * asymmetry of its path. Pure.
 *
 * The model is that of random effects (DerSimonian and Laird, 1986). Peer k's estimate is
 * off by an error of the variance v[k] = sd[k]^2 + inherited[k]^2 that the peer's own
 * measurements explain, and by an error of the variance spread^2 that is the same for all
 * peers and unknown. With w[k] = 1 / v[k] and the weighted mean m, the moment estimate is
 *	Q = sum of w[k] (offset[k] - m)^2
 *	spread^2 = max(0, (Q - (n - 1)) / (sum w - sum w^2 / sum w))
 * and the weights are 1 / (v[k] + spread^2). So peers that agree as well as they should are
 * weighted by their variances, and peers that do not are weighted more equally.
 *
 * Peers may have got their time from the same nodes. The part of their errors that they
 * inherit is taken to be common to all of them, so it does not average out:
 *	sd^2 = sum of W[k]^2 (sd[k]^2 + spread^2) + (sum of W[k] inherited[k])^2
 * with W[k] the weights, the sum of which is 1.
 */
#ifndef TSCT_SYNC_COMBINE_H
#define TSCT_SYNC_COMBINE_H

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

#endif /* TSCT_SYNC_COMBINE_H */
