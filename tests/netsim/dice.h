/* SPDX-License-Identifier: MIT */
/* Random numbers that depend on nothing but the seed */
#ifndef TESTS_NETSIM_DICE_H
#define TESTS_NETSIM_DICE_H

#include "lib/core/port.h"

struct dice {
	uint64_t state;
};

/* One of many that have nothing to do with each other */
struct dice dice_of(uint64_t seed, uint64_t which);
uint64_t roll64(struct dice *dice);
/* In (0, 1) */
double roll_unit(struct dice *dice);
double roll_between(struct dice *dice, double low, double high);
bool roll_chance(struct dice *dice, double chance);
/* Mean 1; mean 0 and standard deviation 1 */
double roll_exp(struct dice *dice);
double roll_gauss(struct dice *dice);
/* At least 0, in excess of the scale, which is 1 */
double roll_pareto(struct dice *dice, double alpha);

#endif /* TESTS_NETSIM_DICE_H */
