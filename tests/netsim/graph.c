// SPDX-License-Identifier: MIT
/*
 * Simulated random graphs of nodes: each node has its neighbours as sources, and is a
 * source of all of them. Packet times have errors of 10 ns, as by hardware.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "scenario.h"

#define CYCLES		5	/* number of random cycles through all nodes, of which a
				 * graph consists: 10 neighbours of each node */
#define FLOOR_MIN_US	1.0	/* range of the delays of links, one way */
#define FLOOR_MAX_US	5.0
/* Largest mean bound of nodes: some three times the half round trips of the four hops to
 * the farthest of 1000 nodes */
#define BOUND_MAX_US	60

static bool are_linked(const struct run *run, uint32_t a, uint32_t b)
{
	const struct node *node = &run->world.nodes[a ? a : b];
	uint32_t other = a ? b : a;

	for (unsigned int i = 0; i < node->nr_sources; i++)
		if (node->sources[i].server == other)
			return true;
	return false;
}

/* Adds @server to the sources of a node, over a link with these delays. */
static void add_neighbour(struct run *run, uint32_t index, uint32_t server,
			  double request_us, double answer_us)
{
	struct node *node = &run->world.nodes[index];
	unsigned int at = node->nr_sources;
	struct source *source = &node->sources[at];

	if (node->master)
		return;
	node->nr_sources++;
	build_source(run, index, at, server, 0, 0);
	source->request.floor = request_us;
	source->answer.floor = answer_us;
}

/* Kinds of graphs */
struct graph {
	unsigned int nr, nr_quick;	/* numbers of nodes, in a full and a quick run */
	double uneven_us;	/* standard deviation of the difference between the two
				 * delays of a link */
	bool one_way;		/* of two linked nodes, only one polls the other */
};

static void add_link(struct run *run, uint32_t a, uint32_t b, const struct graph *graph)
{
	struct random *random = &run->world.random;
	double there_us = random_uniform(random, FLOOR_MIN_US, FLOOR_MAX_US);
	double back_us = there_us + graph->uneven_us * random_gauss(random);

	if (are_linked(run, a, b))
		return;
	add_neighbour(run, a, b, there_us, back_us);
	if (!graph->one_way)
		add_neighbour(run, b, a, back_us, there_us);
}

/* Adds a cycle through all nodes in random order. */
static void add_cycle(struct run *run, const struct graph *graph)
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
		add_link(run, order[i], order[(i + 1) % nr], graph);
	free(order);
}

static void build_graph(struct run *run, const struct graph *graph)
{
	unsigned int nr = run->quick ? graph->nr_quick : graph->nr, i;

	build_nodes(run, nr);
	build_master(run, NULL);
	for (i = 1; i < nr; i++) {
		build_child(run, i, 2 * CYCLES, true, NULL);
		run->world.nodes[i].nr_sources = 0;
	}
	for (i = 0; i < CYCLES; i++)
		add_cycle(run, graph);
	run->world.tally_from_s = run_length_s(run) / 2;
	reading_every(&run->world, 1, nr - 1, 1);
}

/* Returns the node's source that is the master, or NULL. */
static struct source *master_source(struct world *world, uint32_t index)
{
	struct node *node = &world->nodes[index];

	for (unsigned int i = 0; i < node->nr_sources; i++)
		if (!node->sources[i].server)
			return &node->sources[i];
	return NULL;
}

/* Returns the number of nodes whose time is that of the timeline with this number. */
static unsigned int count_on_timeline(struct run *run, int timeline)
{
	unsigned int i, count = 0;

	for (i = 1; i < run->world.nr_nodes; i++)
		count += has_time(run, i) &&
			run->world.nodes[i].published[0].timeline == timeline;
	return count;
}

/* Notes the standard deviation that nodes state, and by which they weigh each other. */
static void note_stated_sd(struct run *run)
{
	struct world *world = &run->world;
	struct tsct_timeline timeline;
	double squares = 0, ns;

	for (unsigned int i = 1; i < world->nr_nodes; i++) {
		tsct_cluster_timeline(world->nodes[i].cluster,
				      node_count(world, &world->nodes[i]), &timeline);
		ns = timeline.sd_ps * 1e-3;
		squares += ns * ns / (world->nr_nodes - 1);
	}
	snprintf(run->note, sizeof(run->note), "stated standard deviation: %.2f ns",
		 sqrt(squares));
}

static void play(struct run *run, const struct graph *graph)
{
	const struct tally *tally = &run->world.tally;

	build_graph(run, graph);
	world_run(&run->world, run_length_s(run));
	expect(run, count_on_timeline(run, 0) == run->world.nr_nodes - 1,
	       "all nodes have the time");
	expect(run, tally->bounds < BOUND_MAX_US * (double)tally->readings,
	       "bounds do not feed on each other");
	note_stated_sd(run);
}

static void play_graph(struct run *run)
{
	static const struct graph graph = { .nr = 1000, .nr_quick = 60 };

	play(run, &graph);
}

/* A scenario: the delays of each link differ by 20 ns RMS, so what a node measures of a
 * neighbour is off by 10 ns RMS for good. */
static void play_uneven(struct run *run)
{
	static const struct graph graph = {
		.nr = 200, .nr_quick = 40, .uneven_us = 0.02,
	};

	play(run, &graph);
}

static void play_one_way(struct run *run)
{
	static const struct graph graph = { .nr = 200, .nr_quick = 40, .one_way = true };

	play(run, &graph);
}

/* A scenario: the master's neighbours lose it, one after the other, but for one of them;
 * then the master disappears, and returns with another timeline. */
static void play_graph_broken(struct run *run)
{
	static const struct graph graph = { .nr = 200, .nr_quick = 40 };
	double length_s = run_length_s(run);
	struct world *world = &run->world;
	unsigned int nr, i, cut = 0;

	build_graph(run, &graph);
	nr = world->nr_nodes;
	for (i = 1; i < nr; i++) {
		struct source *source = master_source(world, i);

		if (!source || ++cut == 1)
			continue;
		source->request.outage_from_s = length_s * (0.2 + 0.02 * cut);
		source->request.outage_to_s = length_s * 0.6;
	}
	world_run(world, length_s * 0.5);
	expect(run, count_on_timeline(run, 0) == nr - 1,
	       "all nodes have the time by way of the last neighbour");
	node_kill(world, 0);
	world_run(world, length_s * 0.6);
	expect(run, count_on_timeline(run, 0) == nr - 1,
	       "all nodes still have the time");
	node_make_master(world, 0, 4711);
	world_run(world, length_s);
	expect(run, count_on_timeline(run, 1) == nr - 1,
	       "all nodes have the time of the new timeline");
}

#define STAMPS_10NS	{ .noise = 0.01, .noise_sent = 0.01, .error = 0.06 }

const struct scenario graph_scenarios[] = {
	{ .name = "1000 nodes in a random graph", .play = play_graph,
	  .poll_s = 0.25, .polls = 240, .polls_quick = 240,
	  .request = { .floor = 1 }, .answer = { .floor = 1 },
	  .timestamping = STAMPS_10NS, .limit_us = 0.01 },
	{ .name = "200 nodes in a graph of uneven links", .play = play_uneven,
	  .poll_s = 0.25, .polls = 240, .polls_quick = 160,
	  .request = { .floor = 1 }, .answer = { .floor = 1 },
	  .timestamping = STAMPS_10NS, .limit_us = 0.015 },
	{ .name = "200 nodes in a graph of one-way sources", .play = play_one_way,
	  .poll_s = 0.25, .polls = 240, .polls_quick = 160,
	  .request = { .floor = 1 }, .answer = { .floor = 1 },
	  .timestamping = STAMPS_10NS, .limit_us = 0.012 },
	{ .name = "graph of 200 nodes, master's links cut, master gone",
	  .play = play_graph_broken, .poll_s = 1, .polls = 200, .polls_quick = 200,
	  .request = { .floor = 1 }, .answer = { .floor = 1 },
	  .timestamping = STAMPS_10NS },
};

const unsigned int nr_graph = sizeof(graph_scenarios) / sizeof(graph_scenarios[0]);
