/* SPDX-License-Identifier: MIT */
/*
 * Random number generator of all simulations: SplitMix64, and distributions derived
 * from it. Results depend on the seed only.
 */
#ifndef TESTS_WORLD_RANDOM_H
#define TESTS_WORLD_RANDOM_H

#include <math.h>

#include "lib/core/port.h"

struct random {
	uint64_t state;
};

static inline uint64_t splitmix64(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* Returns random stream number @stream of a seed; the streams are independent. */
static inline struct random random_stream(uint64_t seed, uint64_t stream)
{
	return (struct random) {
		.state = splitmix64(seed * 0x9e3779b97f4a7c15ULL +
				    splitmix64(stream + 1)),
	};
}

static inline uint64_t random_u64(struct random *random)
{
	return splitmix64(random->state += 0x9e3779b97f4a7c15ULL);
}

/* ---- integers ------------------------------------------------------------ */

/* Random integer in [0, below); 0 if @below is 0 */
static inline uint64_t random_below(struct random *random, uint64_t below)
{
	return below ? (uint64_t)((tsct_u128)random_u64(random) * below >> 64) :
		0;
}

/* Random integer in [low, high] */
static inline int64_t random_between(struct random *random, int64_t low,
				     int64_t high)
{
	return low + (int64_t)random_below(random, (uint64_t)(high - low) + 1);
}

static inline bool random_bool(struct random *random)
{
	return random_u64(random) & 1;
}

/* Returns true with probability 1 / @n; false if @n is 0. */
static inline bool random_one_in(struct random *random, unsigned int n)
{
	return n && !random_below(random, n);
}

/* ---- real numbers -------------------------------------------------------- */

/* Random number in (0, 1) */
static inline double random_unit(struct random *random)
{
	return ((double)(random_u64(random) >> 12) + 0.5) * 0x1p-52;
}

static inline double random_uniform(struct random *random, double low,
				    double high)
{
	return low + (high - low) * random_unit(random);
}

/* Random number whose logarithm is uniform: as likely between 1 and 10 as between 10
 * and 100 */
static inline double random_log_uniform(struct random *random, double low,
					double high)
{
	double part = (double)(random_u64(random) >> 11) * 0x1p-53;

	return low * pow(high / low, part);
}

/* Returns true with the given probability. If it is 0, no random number is used up. */
static inline bool random_chance(struct random *random, double chance)
{
	return chance > 0 && random_unit(random) < chance;
}

/* Exponentially distributed number, mean 1 */
static inline double random_exp(struct random *random)
{
	return -log(random_unit(random));
}

/* Normally distributed number, mean 0 and standard deviation 1 */
static inline double random_gauss(struct random *random)
{
	double r = sqrt(2 * random_exp(random));

	return r * cos(2 * M_PI * random_unit(random));
}

/* Pareto distributed number of scale 1, as excess over the scale: at least 0 */
static inline double random_pareto(struct random *random, double alpha)
{
	return pow(random_unit(random), -1 / alpha) - 1;
}

#endif /* TESTS_WORLD_RANDOM_H */
