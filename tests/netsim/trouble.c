// SPDX-License-Identifier: MIT
/*
 * What may go wrong, with one child or a few. In all of it: no reading outside
 * its bound, no step within an epoch; and what each says that it expects.
 */
#include <math.h>
#include <stdio.h>

#include "scene.h"

#define CHILD		1
#define MEMORY_MOST	8000000	/* bytes, of two nodes after a flood */

static double length_s(struct run *run, double part)
{
	return run_length_s(run) * part;
}

static uint32_t epoch_of(struct run *run, uint32_t index)
{
	return tsct_cluster_epoch(run->world.nodes[index].cluster);
}

static void play_calm(struct run *run)
{
	build_pair(run);
	world_run(&run->world, run_length_s(run));
	expect(run, knows_time(run, CHILD), "the child knows the time");
}

/* ---- the master -------------------------------------------------------------- */

static void master_gone(struct run *run, uint64_t count)
{
	uint32_t epoch;

	build_pair(run);
	world_run(&run->world, length_s(run, 0.3));
	epoch = epoch_of(run, CHILD);
	node_kill(&run->world, 0);
	world_run(&run->world, length_s(run, 0.6));
	expect(run, knows_time(run, CHILD), "the time is known without master");
	expect(run, epoch_of(run, CHILD) == epoch, "in the same epoch");
	node_be_master(&run->world, 0, count);
	world_run(&run->world, length_s(run, 0.6) + 10 * run_poll_s(run));
	expect(run, knows_time(run, CHILD), "the time is known again");
	expect(run, epoch_of(run, CHILD) != epoch, "an epoch began");
	world_run(&run->world, run_length_s(run));
	expect(run, knows_time(run, CHILD), "and still is");
}

static void play_master_restarts(struct run *run)
{
	master_gone(run, 0);
}

static void play_master_reboots(struct run *run)
{
	master_gone(run, 1000000);
}

/* Another one takes over, with another timeline. */
static void play_master_changes(struct run *run)
{
	uint32_t epoch;

	build_nodes(run, 3);
	build_master(run, NULL);
	build_child(run, CHILD, 2, false, NULL);
	build_child(run, 2, 1, true, NULL);
	build_source(run, 2, 0, 0, 0, 0);
	build_source(run, CHILD, 0, 0, 0, 0);
	build_source(run, CHILD, 1, 2, 0, 0);
	read_often(&run->world, CHILD, 2, run_poll_s(run));
	world_run(&run->world, length_s(run, 0.4));
	epoch = epoch_of(run, CHILD);
	node_kill(&run->world, 0);
	world_run(&run->world, length_s(run, 0.5));
	node_be_master(&run->world, 2, 0);
	world_run(&run->world, run_length_s(run));
	expect(run, knows_time(run, CHILD), "the child knows the time");
	expect(run, epoch_of(run, CHILD) != epoch, "an epoch began");
}

/* ---- the child ---------------------------------------------------------------- */

static void play_child_sleeps(struct run *run)
{
	uint32_t epoch;

	build_pair(run);
	world_run(&run->world, length_s(run, 0.5));
	epoch = epoch_of(run, CHILD);
	node_slept(&run->world, CHILD, 1ULL << 62);
	expect(run, !knows_time(run, CHILD), "it does not know the time");
	world_run(&run->world, length_s(run, 0.5) + 10 * run_poll_s(run));
	expect(run, knows_time(run, CHILD), "the time is known again");
	expect(run, epoch_of(run, CHILD) != epoch, "an epoch began");
	world_run(&run->world, run_length_s(run));
}

/* ---- the network --------------------------------------------------------------- */

static void play_gone(struct run *run)
{
	struct path *go;
	double from_s;

	build_pair(run);
	from_s = length_s(run, 0.5);
	go = &run->world.nodes[CHILD].sources[0].go;
	go->gone_from_s = from_s;
	go->gone_to_s = from_s + 3600;
	world_run(&run->world, from_s + 3590);
	snprintf(run->note, sizeof(run->note), "bound after the hour %.0f us",
		 run->world.tally.bound_max);
	world_run(&run->world, from_s + 3600 + length_s(run, 0.5));
	expect(run, knows_time(run, CHILD), "the child knows the time");
}

static void play_route(struct run *run)
{
	struct path *go;

	build_pair(run);
	go = &run->world.nodes[CHILD].sources[0].go;
	go->shift = 200;
	go->shift_at_s = length_s(run, 0.5);
	world_run(&run->world, run_length_s(run));
	expect(run, knows_time(run, CHILD), "the child knows the time");
}

/* And back to the shorter one */
static void play_route_back(struct run *run)
{
	struct path *back;

	build_pair(run);
	back = &run->world.nodes[CHILD].sources[0].back;
	back->floor += 200;
	back->shift = -200;
	back->shift_at_s = length_s(run, 0.5);
	world_run(&run->world, run_length_s(run));
	expect(run, knows_time(run, CHILD), "the child knows the time");
}

static void play_jam(struct run *run)
{
	struct path *go;

	build_pair(run);
	go = &run->world.nodes[CHILD].sources[0].go;
	go->jam = 300;
	go->jam_exp = 100;
	go->jam_from_s = length_s(run, 0.5);
	go->jam_to_s = length_s(run, 0.7);
	world_run(&run->world, run_length_s(run));
	expect(run, knows_time(run, CHILD), "the child knows the time");
}

/* ---- one below the other ----------------------------------------------------------- */

static void play_chain(struct run *run)
{
	unsigned int nr = 7, i;

	build_nodes(run, nr);
	build_master(run, NULL);
	for (i = 1; i < nr; i++) {
		build_child(run, i, 1, true, NULL);
		build_source(run, i, 0, i - 1, 0, 0);
	}
	run->world.tally_from_s = length_s(run, 0.2);
	read_often(&run->world, 1, nr - 1, run_poll_s(run));
	world_run(&run->world, run_length_s(run));
	for (i = 1; i < nr; i++)
		expect(run, knows_time(run, i), "all know the time");
}

/* ---- other clocks, sessions --------------------------------------------------- */

static void play_ntp(struct run *run, unsigned int nr, __u32 flags)
{
	unsigned int i;

	build_nodes(run, nr + 1);
	for (i = 0; i < nr; i++)
		build_ntp(run, i, i * 7.0 - 5);
	build_child(run, nr, nr, false, NULL);
	for (i = 0; i < nr; i++)
		build_source(run, nr, i, i, 0, TSCT_CLIENT_PLAIN | flags);
	run->world.tally_from_s = length_s(run, 0.2);
	read_often(&run->world, nr, 1, run_poll_s(run));
}

static void play_ntp_basic(struct run *run)
{
	play_ntp(run, 1, 0);
	world_run(&run->world, run_length_s(run));
	expect(run, knows_time(run, 1), "the time is known");
}

static void play_ntp_interleaved(struct run *run)
{
	play_ntp(run, 1, TSCT_CLIENT_INTERLEAVED);
	world_run(&run->world, run_length_s(run));
	expect(run, knows_time(run, 1), "the time is known");
}

static void play_ntp_false(struct run *run)
{
	struct tsct_source_state state;
	struct node *node;

	play_ntp(run, 4, 0);
	run->world.nodes[2].lie = (struct lie) {
		.at_s = length_s(run, 0.4), .step_s = 0.02,
	};
	world_run(&run->world, run_length_s(run));
	node = &run->world.nodes[4];
	tsct_cluster_source(node->cluster, 2, node_count(&run->world, node),
			    &state);
	expect(run, !state.used && state.why[0], "the liar is named");
	expect(run, knows_time(run, 4), "the time is known");
	snprintf(run->note, sizeof(run->note), "%s", state.why);
}

#define MEMBERS		20
#define MESSAGES	100

static void expect_session(struct run *run)
{
	unsigned int i, all = 0;

	for (i = 1; i <= MEMBERS; i++) {
		struct source *source = &run->world.nodes[i].sources[0];

		all += !source->session && source->exchanges >= MESSAGES;
		source->exchanges = 0;
	}
	expect(run, all == MEMBERS, "each had its exchanges, and it is over");
}

/* Three of them, and a poll now and then */
static void play_sessions(struct run *run)
{
	struct tsct_round_options options = {
		.max_messages = MESSAGES, .max_duration_us = 5000000,
	};
	unsigned int i;

	build_nodes(run, MEMBERS + 1);
	build_master(run, NULL);
	run->world.nodes[0].round = tsct_round_new(&options);
	for (i = 1; i <= MEMBERS; i++) {
		build_child(run, i, 1, false, NULL);
		build_source(run, i, 0, 0, 0, 0);
	}
	run->world.tally_from_s = 210;	/* after the first one */
	read_often(&run->world, 1, MEMBERS, run_poll_s(run) / 10);
	for (i = 1; i <= 3; i++) {
		world_run(&run->world, 200 * i);
		node_session(&run->world, 0);
		world_run(&run->world, 200 * i + 5);
		expect_session(run);
	}
	world_run(&run->world, 800);
}

/* ---- liars --------------------------------------------------------------------------- */

#define LIAR	4
#define JUDGE	5

/* The master, three that are honest, one that is not, and who asks all four */
static void build_liar(struct run *run, const struct lie *lie)
{
	unsigned int i;

	build_nodes(run, 6);
	build_master(run, NULL);
	for (i = 1; i <= LIAR; i++) {
		build_child(run, i, 1, true, NULL);
		build_source(run, i, 0, 0, 0, 0);
	}
	build_child(run, JUDGE, 4, false, NULL);
	for (i = 1; i <= LIAR; i++)
		build_source(run, JUDGE, i - 1, i, 0, 0);
	run->world.nodes[LIAR].lie = *lie;
	run->world.nodes[LIAR].lie.at_s = length_s(run, 0.4);
	run->world.tally_from_s = length_s(run, 0.2);
	read_often(&run->world, JUDGE, 1, run_poll_s(run));
}

static void expect_named(struct run *run)
{
	struct node *node = &run->world.nodes[JUDGE];
	struct tsct_source_state state;
	unsigned int i;

	for (i = 0; i < LIAR; i++) {
		tsct_cluster_source(node->cluster, i,
				    node_count(&run->world, node), &state);
		if (i + 1 < LIAR)
			expect(run, !state.liar && !state.why[0],
			       "an honest one is no liar");
		else
			expect(run, !state.used && state.why[0],
			       "the liar is named");
	}
	snprintf(run->note, sizeof(run->note), "%s", state.why);
}

static void play_liar(struct run *run, const struct lie *lie)
{
	build_liar(run, lie);
	world_run(&run->world, length_s(run, 0.8));
	expect_named(run);
	world_run(&run->world, run_length_s(run));
	expect(run, knows_time(run, JUDGE), "the time is known");
}

static void play_liar_steps(struct run *run)
{
	play_liar(run, &(struct lie) { .step_s = 0.01 });
}

static void play_liar_fast(struct run *run)
{
	play_liar(run, &(struct lie) { .fast = 0.01 });
}

static void play_liar_past(struct run *run)
{
	play_liar(run, &(struct lie) { .step_s = -10 });
}

static void play_liar_line(struct run *run)
{
	play_liar(run, &(struct lie) { .line_s = 2e-3 });
}

/* It claims to be another master, rebooted. */
static void play_liar_restarts(struct run *run)
{
	build_liar(run, &(struct lie) { 0 });
	world_run(&run->world, length_s(run, 0.4));
	node_be_master(&run->world, LIAR, 12345);
	world_run(&run->world, run_length_s(run));
	expect(run, knows_time(run, JUDGE), "the time is known");
}

/* ---- attackers -------------------------------------------------------------------------- */

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

static void play_replay(struct run *run)
{
	struct adversary adversary = { .victim = CHILD, .replay = 1 };

	attacked(run, &adversary, key_text);
}

static void play_replay_open(struct run *run)
{
	struct adversary adversary = { .victim = CHILD, .replay = 0.3 };

	attacked(run, &adversary, NULL);
}

static void play_spoof(struct run *run)
{
	struct adversary adversary = { .victim = CHILD, .spoof_s = 0.01 };

	attacked(run, &adversary, key_text);
}

static void play_spoof_open(struct run *run)
{
	struct adversary adversary = { .victim = CHILD, .spoof_s = 0.01 };

	attacked(run, &adversary, NULL);
}

static void play_corrupt(struct run *run)
{
	struct adversary adversary = { .victim = CHILD, .corrupt = 0.5 };

	attacked(run, &adversary, key_text);
}

/* 100000 requests a second for a minute; a part of that in a quick run */
static void play_flood(struct run *run)
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

static void play_wrong_key(struct run *run)
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

#define SCENE(title, function, ...) \
	{ .name = title, .play = function, ##__VA_ARGS__ }

const struct scene trouble_scenes[] = {
	SCENE("calm", play_calm),
	SCENE("master restarts", play_master_restarts),
	SCENE("master reboots", play_master_reboots),
	SCENE("master changes", play_master_changes),
	SCENE("child sleeps", play_child_sleeps),
	SCENE("network gone for an hour", play_gone),
	SCENE("another route, 200 us longer", play_route),
	SCENE("another route, 200 us shorter", play_route_back),
	SCENE("one way jammed", play_jam),
	SCENE("lost, twice, out of order", play_calm,
	      .go = { .floor = 50, .exp = 20, .loss = 0.2, .twice = 0.1,
		      .late = 0.1, .late_by = 1.2e6 },
	      .back = { .floor = 50, .exp = 20, .loss = 0.2, .twice = 0.1,
			.late = 0.1, .late_by = 1.2e6 }),
	SCENE("all of the way there", play_calm,
	      .go = { .floor = 100, .exp = 1 }, .back = { .exp = 1 }),
	SCENE("all of the way back", play_calm,
	      .go = { .exp = 1 }, .back = { .floor = 100, .exp = 1 }),
	SCENE("noise of stamps, 1 us", play_calm,
	      .stamping = { .noise = 1, .noise_sent = 1, .error = 6 }),
	SCENE("1 % of stamps 60 us too early", play_calm,
	      .stamping = { .early = 0.01, .early_by = 60 }),
	SCENE("air conditioning", play_calm, .temp = 3e-7, .temp_s = 400),
	SCENE("seven in a row", play_chain, .polls = 1000, .polls_quick = 300),
	SCENE("seven in a row, all of the way there", play_chain, .polls = 1000, .polls_quick = 300,
	      .go = { .floor = 100, .exp = 1 }, .back = { .exp = 1 }),
	SCENE("an NTP server", play_ntp_basic),
	SCENE("an NTP server, interleaved", play_ntp_interleaved),
	SCENE("four NTP servers, one lies", play_ntp_false,
	      .polls = 1000, .polls_quick = 300),
	SCENE("three sessions of 20", play_sessions, .poll_s = 32),
	SCENE("no kernel stamps", play_calm,
	      .stamping = { .by_program = true }),
	SCENE("a liar steps", play_liar_steps, .polls = 1000, .polls_quick = 300),
	SCENE("a liar is 1 % fast", play_liar_fast, .polls = 1000, .polls_quick = 300),
	SCENE("a liar answers from the past", play_liar_past, .polls = 1000, .polls_quick = 300),
	SCENE("a liar's line is off", play_liar_line, .polls = 1000, .polls_quick = 300),
	SCENE("a liar begins an epoch", play_liar_restarts, .polls = 1000, .polls_quick = 300),
	SCENE("answers replayed", play_replay),
	SCENE("answers replayed, no key", play_replay_open),
	SCENE("answers forged", play_spoof),
	SCENE("answers forged, no key", play_spoof_open),
	SCENE("packets changed on their way", play_corrupt),
	SCENE("strangers ask", play_flood),
	SCENE("a wrong key", play_wrong_key),
};

const unsigned int nr_trouble =
	sizeof(trouble_scenes) / sizeof(trouble_scenes[0]);
