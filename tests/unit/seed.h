/* SPDX-License-Identifier: MIT */
/*
 * Reproducible random numbers: print_seed() prints the seed at the start of the program,
 * and takes it from $SEED if that is set. main.c calls it for unit tests: each iteration
 * of each of these begins with seed_with(_i), fixtures before it with seed_with(0).
 */
#ifndef TESTS_SEED_H
#define TESTS_SEED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/world/random.h"

/* weak: one for all files of a program */
__attribute__((weak)) unsigned int first_seed;
__attribute__((weak)) struct random seed_random;

static inline void print_seed(void)
{
	const char *text = getenv("SEED");

	first_seed = text ? strtoul(text, NULL, 0) : (unsigned int)time(NULL);
	printf("# seed %u\n", first_seed);
	fflush(stdout);
}

/* Each iteration of a loop test, and each thread, has its own random sequence. */
static inline unsigned int seed_of(unsigned int iteration)
{
	return first_seed + iteration * 7919;
}

static inline void seed_with(unsigned int iteration)
{
	seed_random.state = seed_of(iteration);
}

/* Returns a random number in [0, below). */
static inline unsigned int any(unsigned int below)
{
	return (unsigned int)random_below(&seed_random, below);
}

static inline uint64_t any64(void)
{
	return random_u64(&seed_random);
}

#endif /* TESTS_SEED_H */
