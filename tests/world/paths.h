/* SPDX-License-Identifier: MIT */
/*
 * Paths on which synchronization is judged: the simulator (tests/netsim) and the relay of
 * the benchmark (tests/bench/sync) have the same table.
 */
#ifndef TESTS_WORLD_PATHS_H
#define TESTS_WORLD_PATHS_H

#include "network.h"

enum path_number {
	PATH_IDEAL,
	PATH_EXP,
	PATH_PARETO,
	PATH_LOADED,
	PATH_BOTH,
	PATH_BURSTS,
	PATH_LOSS,
	PATH_WAN,
	PATH_COLD,
	PATH_ROUTE,
	PATH_NR
};

/* All paths, for tables: X(title, number) for each, separated by commas */
#define FOR_EACH_PATH(X) \
	X("ideal", PATH_IDEAL), \
	X("50 us + exp 20 us", PATH_EXP), \
	X("Pareto, alpha 1.5, 20 us", PATH_PARETO), \
	X("one way loaded", PATH_LOADED), \
	X("both ways loaded", PATH_BOTH), \
	X("bursts one way", PATH_BURSTS), \
	X("5 % lost", PATH_LOSS), \
	X("200 us + exp 2 ms", PATH_WAN), \
	X("cold requests", PATH_COLD), \
	X("routes change", PATH_ROUTE)

/* The same delays of requests and answers */
#define BOTH(...)	.request = { __VA_ARGS__ }, .answer = { __VA_ARGS__ }

struct named_path {
	const char *name;	/* name on command lines */
	const char *title;	/* description for tables */
	struct network_path request, answer;
};

extern const struct named_path named_paths[PATH_NR];

/* Returns the path with this name; NULL: there is none. */
const struct named_path *paths_find(const char *name);
/*
 * paths_parse - set members of a direction from text, as "floor=50,exp=20"
 * Returns NULL, or the part of @text that is wrong.
 */
const char *paths_parse(const char *text, struct network_path *path);
/* Returns a list of all names for paths_parse(), separated by spaces. */
const char *paths_members(void);

#endif /* TESTS_WORLD_PATHS_H */
