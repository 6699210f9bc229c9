/* SPDX-License-Identifier: MIT */
/*
 * Simulated networks: delays and losses of one direction, errors of packet time stamps,
 * and two counters that exchange packets.
 */
#ifndef TESTS_WORLD_NETWORK_H
#define TESTS_WORLD_NETWORK_H

#include "crystal.h"
#include "lib/ntp/exchange.h"

/*
 * One direction of a path. Delays are in us; points in time are in s of true time. All
 * delays that are not 0 are added up.
 */
struct network_path {
	double floor;
	double exp;			/* mean of an exponentially distributed delay */
	double gauss;			/* standard deviation of a normal delay; the
					 * total delay is never below 0 */
	double pareto, alpha;		/* scale and shape of a Pareto delay, as
					 * excess over the scale */
	double spike, spike_max;	/* probability and maximum of a uniform delay */
	double congestion, congestion_exp; /* congestion: constant delay, and mean of
					    * an exponential one */
	double congestion_from_s, congestion_to_s;
	double shift, shift_at_s;	/* change of delay by another route, and its
					 * time */
	double outage_from_s, outage_to_s;	/* begin and end of an outage: all
						 * packets are lost */
	double loss;			/* probability that a packet is lost */
	double duplicate;		/* probability that a packet arrives twice */
	double late, late_by;		/* probability and size of an extra delay */
	double warm, warm_s;		/* extra delay of packets that follow within
					 * warm_s of the previous one */
	double sent_s;			/* state: send time of the previous packet */
};

#define NETWORK_COPIES_MAX	2

/*
 * network_send - send a packet at time @s
 * @ret_us: delay of each copy
 * Returns the number of copies that arrive; 0: the packet is lost.
 */
unsigned int network_send(struct network_path *path, struct random *random,
			  double s, double ret_us[NETWORK_COPIES_MAX]);

/* Errors of packet time stamps, in addition to the counter's resolution */
struct timestamping {
	double noise;			/* received packets: standard deviation of
					 * normal noise, us */
	double noise_sent;		/* sent packets: standard deviation of normal
					 * noise, us */
	double early, early_by;		/* received packets: probability and size in
					 * us of a time stamp that is too early */
	double error;			/* error bound that is reported, us */
	bool by_program;		/* time stamps are taken by the program, not
					 * the kernel */
};

/* Error of one time stamp, us */
double timestamp_error_us(const struct timestamping *timestamping,
			  struct random *random, bool received);

/* Two counters, and the network between them */
struct network_link {
	struct crystal local, remote;
	struct network_path request, answer;
	struct timestamping timestamping;
	struct random random;
};

/* True value of the remote counter when the local counter reached @local */
struct network_truth {
	uint64_t local;
	uint64_t remote;
	double frac;		/* fraction of the remote count, about 0 to 1 */
	double hz;		/* frequency of the remote counter, Hz */
};

/*
 * network_exchange - send a request at @ps, and receive its answer
 * @ret_end_ps: arrival of the answer, or of the last packet that arrived
 * Returns false if a packet was lost.
 */
bool network_exchange(struct network_link *link, int64_t ps,
		      struct tsct_exchange *ret_x, int64_t *ret_end_ps);
/* Advances both counters to true time @ps. Returns the true values there. */
struct network_truth network_truth(struct network_link *link, int64_t ps);

#endif /* TESTS_WORLD_NETWORK_H */
