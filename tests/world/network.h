/* SPDX-License-Identifier: MIT */
/*
 * Simulated networks: delays and losses of one direction, errors of packet time stamps,
 * and two counters that exchange packets. The benchmark's relay (tests/bench/sync) delays
 * the packets of real daemons by the same model.
 */
#ifndef TESTS_WORLD_NETWORK_H
#define TESTS_WORLD_NETWORK_H

#include "crystal.h"
#include "lib/ntp/exchange.h"

/*
 * Queue of one direction: a server that handles one packet at a time, in the order of
 * arrival. Cross traffic arrives at random (Poisson) with exponential service times, so
 * without bursts the queue is an M/M/1 queue.
 */
struct network_queue {
	double at_s;		/* time up to which cross traffic was simulated */
	double backlog_us;	/* service time of all packets in the queue then, us */
	double phase_end_s;	/* end of the present burst, or of the present time
				 * between two bursts, s */
	bool bursts;		/* true: the present phase is a burst */
};

/*
 * One direction of a path. Delays are in us; points in time are in s of true time. All
 * delays that are not 0 are added up.
 */
struct network_path {
	double floor;
	double exp;			/* mean of an exponential delay, us */
	/* standard deviation of a normally distributed delay, us; the sum of delays is
	 * never below 0 */
	double gauss;
	double pareto, alpha;		/* Pareto distributed delay, as excess over
					 * the scale: scale in us, shape */
	double spike, spike_max;	/* uniformly distributed delay: probability,
					 * maximum in us */
	double congestion, congestion_exp; /* delay during congestion: constant part,
					    * and mean of an exponential part, us */
	double congestion_from_s, congestion_to_s;
	double shift, shift_at_s;	/* another route: change of the delay in us,
					 * time of the change */
	double shift_every_s;	/* time after which the route changes again, back and
				 * forth, s; 0: the route changes once */
	double outage_from_s, outage_to_s;	/* begin and end of an outage, in
						 * which all packets are lost */
	double loss;			/* probability that a packet is lost */
	double duplicate;		/* probability that a packet arrives twice */
	double late, late_by;		/* extra delay of single packets:
					 * probability, size in us */
	double service;			/* service time of a packet in the queue, us */
	double cold, pause_s;		/* extra service time of a packet that is sent
					 * more than pause_s after the previous one, us;
					 * negative: less service time */
	double load, cross;		/* cross traffic: share of the time in which it
					 * occupies the queue, below 1; mean service
					 * time of its packets, us */
	double burst_load;		/* `load` in bursts of cross traffic */
	double burst_s, quiet_s;	/* mean length of a burst, and of the time
					 * between two bursts, s; 0: no bursts */
	double sent_s;			/* state: send time of the previous packet, s */
	struct network_queue queue;	/* state of the queue */
};

#define NETWORK_COPIES_MAX	2

/* Simulates the cross traffic in the path's queue until time @s. network_send() does this,
 * too; a program with little time at a packet's arrival does it before. */
void network_advance(struct network_path *path, struct random *random, double s);

/*
 * network_send - send a packet at time @s
 * @ret_us: delay of each copy
 * Returns the number of copies that arrive; 0: the packet is lost.
 */
unsigned int network_send(struct network_path *path, struct random *random,
			  double s, double ret_us[NETWORK_COPIES_MAX]);

/* Errors of packet time stamps, in addition to the counter's resolution */
struct timestamping {
	double noise;			/* time stamps of received packets: standard
					 * deviation of normal noise, us */
	double noise_sent;		/* time stamps of sent packets: standard
					 * deviation of normal noise, us */
	double early, early_by;		/* time stamps of received packets that are
					 * too early: probability, size in us */
	double error;			/* error bound of a packet time stamp, as each
					 * node reports it, us */
	bool by_program;		/* true: the program takes time stamps;
					 * false: the kernel */
};

/* Returns the error of one packet time stamp, us. */
double timestamp_error_us(const struct timestamping *timestamping,
			  struct random *random, bool received);

/* Two counters, and the network between them */
struct network_link {
	struct crystal local, remote;
	struct network_path request, answer;
	struct timestamping timestamping;
	struct random random;
};

/* True value of the remote counter, remote + frac, when the local counter reaches
 * @local */
struct network_truth {
	uint64_t local;
	uint64_t remote;
	double frac;		/* true value of the remote counter less
				 * `remote`, counts; may be negative */
	double hz;		/* frequency of the remote counter, Hz */
};

/*
 * network_exchange - send a request at @ps, and receive its answer
 * @ret_end_ps: arrival of the answer, or of the last packet that arrived
 * Returns false if a packet was lost.
 */
bool network_exchange(struct network_link *link, int64_t ps,
		      struct tsct_exchange *ret_x, int64_t *ret_end_ps);
/* Advances both counters to true time @ps. Returns the true relation of the counters at
 * that time. */
struct network_truth network_truth(struct network_link *link, int64_t ps);

#endif /* TESTS_WORLD_NETWORK_H */
