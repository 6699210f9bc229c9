// SPDX-License-Identifier: MIT
/* Simulated clusters with falsetickers and attackers */
#include <stdio.h>

#include "attackers.h"

#define CHILD		1
#define MEMORY_MAX	8000000	/* largest allowed memory of two nodes after a flood,
				 * bytes */

/* ---- falsetickers -------------------------------------------------------- */

#define SERVERS	4
#define CHILD_OF_FOUR	5

static unsigned int falseticker_of(const struct run *run)
{
	return run->scenario->falseticker ? run->scenario->falseticker : SERVERS;
}

/*
 * Builds a master, four servers of which one is a falseticker, and a child that polls
 * all four.
 */
static void build_falseticker(struct run *run)
{
	build_nodes(run, 6);
	build_master(run, NULL);
	for (unsigned int i = 1; i <= SERVERS; i++) {
		build_child(run, i, 1, true, NULL);
		build_source(run, i, 0, 0, 0, 0);
	}
	build_child(run, CHILD_OF_FOUR, 4, false, NULL);
	for (unsigned int i = 1; i <= SERVERS; i++)
		build_source(run, CHILD_OF_FOUR, i - 1, i, 0, 0);
	run->world.nodes[falseticker_of(run)].fault = run->scenario->fault;
	run->world.nodes[falseticker_of(run)].fault.at_s = run_part_s(run, 0.4);
	run->world.tally_from_s = run_part_s(run, 0.2);
	reading_every(&run->world, CHILD_OF_FOUR, 1, run_poll_s(run));
}

static void expect_identified(struct run *run)
{
	struct node *node = &run->world.nodes[CHILD_OF_FOUR];
	struct tsct_source_state state;

	for (unsigned int i = 1; i <= SERVERS; i++) {
		tsct_cluster_source(node->cluster, i - 1,
				    node_count(&run->world, node), &state);
		if (i != falseticker_of(run)) {
			expect(run, !state.falseticker && !state.reason[0],
			       "no correct server is marked as falseticker");
			continue;
		}
		expect(run, !state.used && state.reason[0],
		       "the falseticker is marked as such");
		snprintf(run->note, sizeof(run->note), "%s", state.reason);
	}
}

void play_falseticker(struct run *run)
{
	build_falseticker(run);
	world_run(&run->world, run_part_s(run, 0.8));
	expect_identified(run);
	run_to_end(run, CHILD_OF_FOUR, 1);
}

/* In this scenario the falseticker's answers name it as the master of a new timeline,
 * as after a reboot. */
void play_falseticker_restarts(struct run *run)
{
	struct node *child;

	build_falseticker(run);
	world_run(&run->world, run_part_s(run, 0.4));
	node_make_master(&run->world, falseticker_of(run), 12345);
	run_to_end(run, CHILD_OF_FOUR, 1);
	child = &run->world.nodes[CHILD_OF_FOUR];
	expect(run, run->world.timelines[child->published[0].timeline].node == 0,
	       "the child follows the master's timeline");
}

/* ---- attackers --------------------------------------------------------- */

static const char key_text[] = "7 AES128 HEX:000102030405060708090a0b0c0d0e0f\n";
static const char other_key[] = "7 AES128 HEX:100102030405060708090a0b0c0d0e0f\n";

void play_attack(struct run *run)
{
	struct tsct_keys *keys = run->scenario->with_key ? build_keys(key_text) : NULL;
	struct adversary adversary = run->scenario->adversary;

	adversary.victim = CHILD;
	build_nodes(run, 2);
	run->ratelimit_us = 50000;
	build_master(run, keys);
	build_child(run, CHILD, 1, false, keys);
	build_source(run, CHILD, 0, 0, keys ? 7 : 0, 0);
	run->world.tally_from_s = run_part_s(run, 0.2);
	reading_every(&run->world, CHILD, 1, run_poll_s(run));
	if (adversary.flood_s > 0) {
		adversary.flood_s *= run->quick ? 10 : 1;
		adversary.flood_from_s = run_part_s(run, 0.5);
		adversary.flood_to_s = adversary.flood_from_s + (run->quick ? 20 : 60);
	}
	attack_begin(&run->world, &adversary);
	run_to_end(run, CHILD, 1);
	expect(run, !adversary.accepted, "no forged answer was accepted");
	snprintf(run->note, sizeof(run->note),
		 "%llu replayed, %llu forged, %llu corrupted, %llu flooded",
		 (unsigned long long)adversary.replayed,
		 (unsigned long long)adversary.spoofed,
		 (unsigned long long)adversary.corrupted,
		 (unsigned long long)adversary.flooded);
	run->world.adversary = NULL;
	tsct_keys_free(keys);
	expect(run, memory_used() < MEMORY_MAX,
	       "memory does not grow with the number of clients");
}

void play_wrong_key(struct run *run)
{
	struct tsct_keys *right = build_keys(key_text);
	struct tsct_keys *wrong = build_keys(other_key);

	build_nodes(run, 2);
	build_master(run, right);
	build_child(run, CHILD, 1, false, wrong);
	build_source(run, CHILD, 0, 0, 7, 0);
	reading_every(&run->world, CHILD, 1, run_poll_s(run));
	world_run(&run->world, 100 * run_poll_s(run));
	expect(run, !has_time(run, CHILD), "a child with a wrong key has no time");
	expect(run, !run->world.exchanges,
	       "a child with a wrong key has no exchange");
	tsct_keys_free(right);
	tsct_keys_free(wrong);
}
