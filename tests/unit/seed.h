/* SPDX-License-Identifier: MIT */
/*
 * Random numbers that can be had again: the seed is printed at the start and
 * taken from $SEED where that is set.
 */
#ifndef TESTS_SEED_H
#define TESTS_SEED_H

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

/* Each turn of a loop test has a sequence of its own. */
static inline void seed_with(unsigned int turn)
{
	seed = first_seed + turn * 7919;
}

static inline unsigned int any(unsigned int below)
{
	return rand_r(&seed) % below;
}

#endif /* TESTS_SEED_H */
