// SPDX-License-Identifier: MIT
#include <math.h>

#include "dice.h"

static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

struct dice dice_of(uint64_t seed, uint64_t which)
{
	return (struct dice) {
		.state = mix(seed * 0x9e3779b97f4a7c15ULL + mix(which + 1)),
	};
}

uint64_t roll64(struct dice *dice)
{
	return mix(dice->state += 0x9e3779b97f4a7c15ULL);
}

double roll_unit(struct dice *dice)
{
	return ((double)(roll64(dice) >> 12) + 0.5) * 0x1p-52;
}

double roll_between(struct dice *dice, double low, double high)
{
	return low + (high - low) * roll_unit(dice);
}

bool roll_chance(struct dice *dice, double chance)
{
	return chance > 0 && roll_unit(dice) < chance;
}

double roll_exp(struct dice *dice)
{
	return -log(roll_unit(dice));
}

double roll_gauss(struct dice *dice)
{
	double r = sqrt(2 * roll_exp(dice));

	return r * cos(2 * M_PI * roll_unit(dice));
}

double roll_pareto(struct dice *dice, double alpha)
{
	return pow(roll_unit(dice), -1 / alpha) - 1;
}
