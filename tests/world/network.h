/* SPDX-License-Identifier: MIT */
/*
 * Networks: delays and losses of one direction, errors of packet time stamps,
 * and two counters that exchange packets.
 */
#ifndef TESTS_WORLD_NETWORK_H
#define TESTS_WORLD_NETWORK_H

#include "crystal.h"
#include "lib/ntp/exchange.h"

/*
 * One direction. Delays are in us, points in time in s of true time; all delays
 * that are not 0 add up.
 */
struct network_path {
	double floor;
	double exp;			/* exponential: mean */
	double gauss;			/* normal: standard deviation; the sum is
					 * never below 0 */
	double pareto, alpha;		/* Pareto: scale and shape of the excess */
	double spike, spike_max;	/* with this chance, uniform from 0 to this */
	double jam, jam_exp;		/* congestion: constant, mean of exponential */
	double jam_from_s, jam_to_s;
	double shift, shift_at_s;	/* another route from then on */
	double gone_from_s, gone_to_s;	/* no packet arrives */
	double loss;			/* chance */
	double duplicate;		/* chance of a copy */
	double late, late_by;		/* chance of as much more */
	double warm, warm_s;		/* more, as soon after the packet before */
	double sent_s;			/* state: time of that packet */
};

#define NETWORK_COPIES_MAX	2

/*
 * network_send - send a packet at @s
 * @ret_us: delay of each copy
 * Returns the number of copies that arrive; 0: it is lost.
 */
unsigned int network_send(struct network_path *path, struct random *random,
			  double s, double ret_us[NETWORK_COPIES_MAX]);

/* Errors of packet time stamps, beside the counter's resolution */
struct timestamping {
	double noise;			/* normal, us: of received packets */
	double noise_sent;		/* and of sent ones */
	double early, early_by;		/* chance that a received packet's is too
					 * early, by us */
	double error;			/* the bound that is reported, us */
	bool by_program;		/* taken by the program, not the kernel */
};

/* Error of one time stamp, us */
double timestamp_error_us(const struct timestamping *timestamping,
			  struct random *random, bool received);

/* Two counters and the network between them */
struct network_link {
	struct crystal local, remote;
	struct network_path request, answer;
	struct timestamping timestamping;
	struct random random;
};

/* The remote counter when the local one reached @local */
struct network_truth {
	uint64_t local;
	uint64_t remote;
	double frac;		/* of the remote count, about 0 to 1 */
	double hz;		/* of the remote counter */
};

/*
 * network_exchange - a request sent at @ps, and its answer
 * @ret_end_ps: arrival of the answer, or of the last packet that arrived
 * Returns false: a packet was lost.
 */
bool network_exchange(struct network_link *link, int64_t ps,
		      struct tsct_exchange *ret_x, int64_t *ret_end_ps);
/* Advances both counters to @ps. */
struct network_truth network_truth(struct network_link *link, int64_t ps);

#endif /* TESTS_WORLD_NETWORK_H */
