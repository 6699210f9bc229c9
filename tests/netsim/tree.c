// SPDX-License-Identifier: MIT
/* Simulated trees of very many nodes */
#include <stdio.h>
#include <stdlib.h>

#include "scenario.h"

#define FANOUT		10
#define DEPTH_MAX	8

static unsigned int depth_of(uint32_t index)
{
	unsigned int depth = 0;

	for (; index; index = (index - 1) / FANOUT)
		depth++;
	return depth;
}

static void build_tree(struct run *run, unsigned int nr)
{
	unsigned int i, inner = (nr + FANOUT - 2) / FANOUT;

	build_nodes(run, nr);
	run->world.node_tally = calloc(nr, sizeof(struct tally));
	if (!run->world.node_tally)
		abort();
	build_master(run, NULL);
	for (i = 1; i < nr; i++) {
		build_child(run, i, 1, i < inner, NULL);
		build_source(run, i, 0, (i - 1) / FANOUT, 0, 0);
	}
	run->world.tally_from_s = run_length_s(run) / 2;
	reading_every(&run->world, 1, nr - 1, run_poll_s(run));
}

static void note_levels(struct run *run)
{
	struct tally levels[DEPTH_MAX] = { 0 };
	unsigned int i, at = 0;

	for (i = 1; i < run->world.nr_nodes; i++)
		tally_add(&levels[depth_of(i) % DEPTH_MAX],
			  &run->world.node_tally[i]);
	for (i = 1; i < DEPTH_MAX && levels[i].readings; i++)
		at += (unsigned int)snprintf(run->note + at,
			sizeof(run->note) - at, "depth %u: %.2f/%.0f us, ", i,
			tally_rms(&levels[i]), levels[i].bounds /
			(double)levels[i].readings);
}

static unsigned int count_synchronized(struct run *run)
{
	unsigned int i, know = 0;

	for (i = 1; i < run->world.nr_nodes; i++)
		know += has_time(run, i);
	return know;
}

static void play_tree(struct run *run, unsigned int nr)
{
	unsigned long before = memory_kib(), kib;
	size_t at;

	build_tree(run, nr);
	world_run(&run->world, run_length_s(run));
	expect(run, count_synchronized(run) == nr - 1, "all nodes have the time");
	note_levels(run);
	kib = memory_kib() - before;
	at = strlen(run->note);
	snprintf(run->note + at, sizeof(run->note) - at, "%lu KiB a node",
		 kib / nr);
}

static void play_large(struct run *run)
{
	play_tree(run, run->quick ? 200 : 10000);
}

/* A scenario: the master disappears and returns with another timeline; then a branch of
 * the tree is cut off. */
static void play_broken(struct run *run)
{
	unsigned int nr = run->quick ? 60 : 1111;
	double poll_s = run_poll_s(run), length_s = run_length_s(run);
	struct network_path *go;

	build_tree(run, nr);
	go = &run->world.nodes[3].sources[0].request;
	go->outage_from_s = length_s * 0.3;
	go->outage_to_s = length_s * 0.8;
	world_run(&run->world, length_s * 0.4);
	expect(run, count_synchronized(run) == nr - 1, "all nodes have the time");
	node_kill(&run->world, 0);
	world_run(&run->world, length_s * 0.5);
	expect(run, count_synchronized(run) == nr - 1,
	       "all nodes still have the time");
	node_make_master(&run->world, 0, 4711);
	world_run(&run->world, length_s * 0.8 + 8 * DEPTH_MAX * poll_s);
	expect(run, count_synchronized(run) == nr - 1,
	       "all nodes have the time of the new timeline");
	note_levels(run);
}

const struct scenario tree_scenarios[] = {
	{ .name = "10000 nodes", .play = play_large, .poll_s = 16,
	  .polls = 100, .polls_quick = 40 },
	{ .name = "1111 nodes, master gone, branch cut off",
	  .play = play_broken, .poll_s = 4, .polls = 250,
	  .polls_quick = 200 },
};

const unsigned int nr_tree = sizeof(tree_scenarios) / sizeof(tree_scenarios[0]);
