/* SPDX-License-Identifier: MIT */
/*
 * Random numbers that can be had again: the seed is printed at the start and
 * taken from $SEED where that is set.
 */
#ifndef TESTS_SEED_H
#define TESTS_SEED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned int first_seed, seed;

static inline void print_seed(void)
{
	const char *given = getenv("SEED");

	first_seed = given ? strtoul(given, NULL, 0) : (unsigned int)time(NULL);
	printf("# seed %u\n", first_seed);
	fflush(stdout);
}

/* Each turn of a loop test has a sequence of its own, and so has each thread. */
static inline unsigned int seed_of(unsigned int turn)
{
	return first_seed + turn * 7919;
}

static inline void seed_with(unsigned int turn)
{
	seed = seed_of(turn);
}

static inline unsigned int any(unsigned int below)
{
	return rand_r(&seed) % below;
}

static inline uint64_t any64(void)
{
	return (uint64_t)any(1U << 22) << 44 ^ (uint64_t)any(1U << 22) << 22 ^
		any(1U << 22);
}

#endif /* TESTS_SEED_H */
