// SPDX-License-Identifier: MIT
/*
 * Generates recordings for tests of merge:
 *
 * world DIR SEED [FIT [KIND]]: recordings DIR/a, DIR/b and DIR/c of one simulated
 *	world. FIT is the fit that their metadata names for merge; KIND: plain, twins or
 *	forged, see enum world_kind. DIR/truth has a line per event: index, node, CPU,
 *	event id, number, cycles, and the master's cycles with a fraction in 2^-64
 * world DIR exact FIT: recordings for world_exact.py, which calculates merged times
 * world DIR big EVENTS [messages]: two recordings of EVENTS events, for benchmarks
 */
#include "helper.h"
#include "world.h"

/* names in the order of enum world_kind */
static enum world_kind kind_of(const char *name)
{
	return !strcmp(name, "twins") ? WORLD_TWINS :
		!strcmp(name, "forged") ? WORLD_FORGED : WORLD_PLAIN;
}

int main(int argc, char **argv)
{
	struct world world;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[2], "exact")) {
		world_exact(argv[1], argc > 3 ? argv[3] : "linear");
	} else if (!strcmp(argv[2], "big")) {
		world_big(argv[1], argc > 3 ? strtoull(argv[3], NULL, 10) :
			  10000000, argc > 4);
	} else {
		world_make(&world, strtoull(argv[2], NULL, 10),
			   kind_of(argc > 4 ? argv[4] : "plain"));
		world_write(&world, argv[1], argc > 3 ? argv[3] : "auto");
		world_free(&world);
	}
	return 0;
}
