/* SPDX-License-Identifier: MIT */
/* What a network does to packets one way, and what takes their stamps */
#ifndef TESTS_NETSIM_PATH_H
#define TESTS_NETSIM_PATH_H

#include "dice.h"

/* us, and s where it says so; what is 0 is not. They add up. */
struct path {
	double floor;
	double exp;			/* mean */
	double gauss;			/* standard deviation; never below 0 */
	double pareto, alpha;		/* scale and shape of what is in excess */
	double spike, spike_max;	/* chance; 0 to this, all as likely */
	double jam, jam_exp;			/* so much more, meanwhile: */
	double jam_from_s, jam_to_s;
	double shift, shift_at_s;	/* another route from then on */
	double gone_from_s, gone_to_s;	/* nothing comes through */
	double loss, twice, late;	/* chances; twice: a copy, late: by late_by */
	double late_by;
	double warm, warm_s;		/* so much more as soon after the one before */
	double sent_s;			/* that one */
};

#define PATH_COPIES	2

/*
 * path_send - when what is sent at @s arrives
 * @ret_us: delay of each copy
 * Returns how many copies there are: 0: it is lost.
 */
unsigned int path_send(struct path *path, struct dice *dice, double s,
		       double ret_us[PATH_COPIES]);

/* Beside the counter's own grain */
struct stamping {
	double noise;			/* Gaussian, us: of a packet that came */
	double noise_sent;		/* and of one that went */
	double early, early_by;		/* chance that one of a packet that
					 * came is too early, us */
	double error;			/* what is said: known to this, us */
	bool by_program;		/* no kernel does it */
};

/* How far a stamp is off, us */
double stamp_off(const struct stamping *stamping, struct dice *dice,
		 bool received);

#endif /* TESTS_NETSIM_PATH_H */
