// SPDX-License-Identifier: MIT
/* Who is not to be believed: sources that lie, and who is no source at all */
#include <stdio.h>

#include "foes.h"

#define CHILD		1
#define MEMORY_MOST	8000000	/* bytes, of two nodes after a flood */

static double length_s(struct run *run, double part)
{
	return run_length_s(run) * part;
}

/* ---- liars ------------------------------------------------------------- */

#define HELPERS	4
#define JUDGE	5

static unsigned int liar_of(const struct run *run)
{
	return run->scene->liar ? run->scene->liar : HELPERS;
}

/* The master, three that are honest, one that is not, and who asks all four */
static void build_liar(struct run *run, const struct lie *lie)
{
	unsigned int i;

	build_nodes(run, 6);
	build_master(run, NULL);
	for (i = 1; i <= HELPERS; i++) {
		build_child(run, i, 1, true, NULL);
		build_source(run, i, 0, 0, 0, 0);
	}
	build_child(run, JUDGE, 4, false, NULL);
	for (i = 1; i <= HELPERS; i++)
		build_source(run, JUDGE, i - 1, i, 0, 0);
	run->world.nodes[liar_of(run)].lie = *lie;
	run->world.nodes[liar_of(run)].lie.at_s = length_s(run, 0.4);
	run->world.tally_from_s = length_s(run, 0.2);
	read_often(&run->world, JUDGE, 1, run_poll_s(run));
}

static void expect_named(struct run *run)
{
	struct node *node = &run->world.nodes[JUDGE];
	struct tsct_source_state state;
	unsigned int i;

	for (i = 1; i <= HELPERS; i++) {
		tsct_cluster_source(node->cluster, i - 1,
				    node_count(&run->world, node), &state);
		if (i != liar_of(run)) {
			expect(run, !state.falseticker && !state.reason[0],
			       "an honest one is no liar");
			continue;
		}
		expect(run, !state.used && state.reason[0], "the liar is named");
		snprintf(run->note, sizeof(run->note), "%s", state.reason);
	}
}

static void play_liar(struct run *run, const struct lie *lie)
{
	build_liar(run, lie);
	world_run(&run->world, length_s(run, 0.8));
	expect_named(run);
	world_run(&run->world, run_length_s(run));
	expect(run, knows_time(run, JUDGE), "the time is known");
}

void play_liar_steps(struct run *run)
{
	play_liar(run, &(struct lie) { .step_s = 0.01 });
}

void play_liar_fast(struct run *run)
{
	play_liar(run, &(struct lie) { .fast = 0.01 });
}

void play_liar_past(struct run *run)
{
	play_liar(run, &(struct lie) { .step_s = -10 });
}

void play_liar_line(struct run *run)
{
	play_liar(run, &(struct lie) { .line_s = 2e-3 });
}

/* It claims to be another master, rebooted. */
void play_liar_restarts(struct run *run)
{
	struct node *judge;

	build_liar(run, &(struct lie) { 0 });
	world_run(&run->world, length_s(run, 0.4));
	node_be_master(&run->world, liar_of(run), 12345);
	world_run(&run->world, run_length_s(run));
	expect(run, knows_time(run, JUDGE), "the time is known");
	judge = &run->world.nodes[JUDGE];
	expect(run, run->world.timelines[judge->shown[0].timeline].node == 0,
	       "it is still the master's");
}

/* ---- attackers --------------------------------------------------------- */

static const char key_text[] = "7 AES128 HEX:000102030405060708090a0b0c0d0e0f\n";
static const char other_key[] = "7 AES128 HEX:100102030405060708090a0b0c0d0e0f\n";

static void attacked(struct run *run, struct adversary *adversary,
		     const char *key)
{
	struct tsct_keys *keys = key ? build_keys(key) : NULL;

	build_nodes(run, 2);
	run->guard_us = 50000;
	build_master(run, keys);
	build_child(run, CHILD, 1, false, keys);
	build_source(run, CHILD, 0, 0, key ? 7 : 0, 0);
	run->world.tally_from_s = length_s(run, 0.2);
	read_often(&run->world, CHILD, 1, run_poll_s(run));
	attack_begin(&run->world, adversary);
	world_run(&run->world, run_length_s(run));
	expect(run, knows_time(run, CHILD), "the child knows the time");
	expect(run, !adversary->believed, "nothing of theirs was believed");
	snprintf(run->note, sizeof(run->note),
		 "%llu replayed, %llu forged, %llu changed, %llu strangers",
		 (unsigned long long)adversary->replayed,
		 (unsigned long long)adversary->spoofed,
		 (unsigned long long)adversary->corrupted,
		 (unsigned long long)adversary->flooded);
	run->world.adversary = NULL;
	tsct_keys_free(keys);
}

void play_replay(struct run *run)
{
	struct adversary adversary = { .victim = CHILD, .replay = 1 };

	attacked(run, &adversary, key_text);
}

void play_replay_open(struct run *run)
{
	struct adversary adversary = { .victim = CHILD, .replay = 0.3 };

	attacked(run, &adversary, NULL);
}

void play_spoof(struct run *run)
{
	struct adversary adversary = { .victim = CHILD, .spoof_s = 0.01 };

	attacked(run, &adversary, key_text);
}

void play_spoof_open(struct run *run)
{
	struct adversary adversary = { .victim = CHILD, .spoof_s = 0.01 };

	attacked(run, &adversary, NULL);
}

void play_corrupt(struct run *run)
{
	struct adversary adversary = { .victim = CHILD, .corrupt = 0.5 };

	attacked(run, &adversary, key_text);
}

/* 100000 requests a second for a minute; a part of that in a quick run */
void play_flood(struct run *run)
{
	struct adversary adversary = {
		.victim = CHILD,
		.flood_s = run->quick ? 1e-4 : 1e-5,
		.flood_from_s = length_s(run, 0.5),
		.flood_to_s = length_s(run, 0.5) + (run->quick ? 20 : 60),
	};
	attacked(run, &adversary, key_text);
	expect(run, memory_used() < MEMORY_MOST,
	       "memory does not grow with strangers");
}

void play_wrong_key(struct run *run)
{
	struct tsct_keys *right = build_keys(key_text);
	struct tsct_keys *wrong = build_keys(other_key);

	build_nodes(run, 2);
	build_master(run, right);
	build_child(run, CHILD, 1, false, wrong);
	build_source(run, CHILD, 0, 0, 7, 0);
	read_often(&run->world, CHILD, 1, run_poll_s(run));
	world_run(&run->world, 100 * run_poll_s(run));
	expect(run, !knows_time(run, CHILD), "a wrong key gets no time");
	expect(run, !run->world.exchanges, "nor an exchange");
	tsct_keys_free(right);
	tsct_keys_free(wrong);
}
