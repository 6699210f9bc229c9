// SPDX-License-Identifier: MIT
/*
 * Simulated random graphs of nodes: each node has its neighbours as sources, and is a
 * source of all of them. Packet times have errors of 10 ns, as by hardware.
 */
#include <stdio.h>
#include <stdlib.h>

#include "scenario.h"

#define CYCLES		5	/* number of random cycles through all nodes, of which a
				 * graph consists: 10 neighbours of each node */
#define FLOOR_MIN_US	1.0	/* range of the delays of links, one way */
#define FLOOR_MAX_US	5.0

static bool are_linked(const struct run *run, uint32_t a, uint32_t b)
{
	const struct node *node = &run->world.nodes[a ? a : b];
	uint32_t other = a ? b : a;
	unsigned int i;

	for (i = 0; i < node->nr_sources; i++)
		if (node->sources[i].server == other)
			return true;
	return false;
}

/* Adds @server to the sources of a node, over a link with this delay in both directions. */
static void add_neighbour(struct run *run, uint32_t index, uint32_t server,
			  double floor_us)
{
	struct node *node = &run->world.nodes[index];
	unsigned int at = node->nr_sources;
	struct source *source = &node->sources[at];

	if (node->master)
		return;
	node->nr_sources++;
	build_source(run, index, at, server, 0, 0);
	source->request.floor = source->answer.floor = floor_us;
}

static void add_link(struct run *run, uint32_t a, uint32_t b)
{
	double floor_us = random_uniform(&run->world.random, FLOOR_MIN_US, FLOOR_MAX_US);

	if (are_linked(run, a, b))
		return;
	add_neighbour(run, a, b, floor_us);
	add_neighbour(run, b, a, floor_us);
}

/* Adds a cycle through all nodes in random order. */
static void add_cycle(struct run *run)
{
	unsigned int nr = run->world.nr_nodes, i;
	uint32_t *order = calloc(nr, sizeof(*order));

	if (!order)
		abort();
	for (i = 1; i < nr; i++) {
		uint32_t k = (uint32_t)(random_u64(&run->world.random) % (i + 1));

		order[i] = order[k];
		order[k] = i;
	}
	for (i = 0; i < nr; i++)
		add_link(run, order[i], order[(i + 1) % nr]);
	free(order);
}

static void build_graph(struct run *run, unsigned int nr)
{
	unsigned int i;

	build_nodes(run, nr);
	build_master(run, NULL);
	for (i = 1; i < nr; i++) {
		build_child(run, i, 2 * CYCLES, true, NULL);
		run->world.nodes[i].nr_sources = 0;
	}
	for (i = 0; i < CYCLES; i++)
		add_cycle(run);
	run->world.tally_from_s = run_length_s(run) / 2;
	reading_every(&run->world, 1, nr - 1, 1);
}

static void play_graph(struct run *run)
{
	build_graph(run, run->quick ? 60 : getenv("NR") ? atoi(getenv("NR")) : 1000);
	world_run(&run->world, run_length_s(run));
}

#define STAMPS_10NS	{ .noise = 0.01, .noise_sent = 0.01, .error = 0.06 }

const struct scenario graph_scenarios[] = {
	{ .name = "1000 nodes in a random graph", .play = play_graph,
	  .poll_s = 0.25, .polls = 240, .polls_quick = 240,
	  .request = { .floor = 1 }, .answer = { .floor = 1 },
	  .timestamping = STAMPS_10NS, .limit_us = 0.01 },
};

const unsigned int nr_graph = sizeof(graph_scenarios) / sizeof(graph_scenarios[0]);
