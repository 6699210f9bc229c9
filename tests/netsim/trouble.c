// SPDX-License-Identifier: MIT
/*
 * What may go wrong, with one child or a few. In all of it: no reading outside
 * its bound, no step within an epoch; and what each says that it expects.
 */
#include <math.h>
#include <stdio.h>

#include "foes.h"
#include "sessions.h"

#define CHILD	1

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

/* ---- the master -------------------------------------------------------- */

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

/* ---- the child --------------------------------------------------------- */

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

/* ---- the network ------------------------------------------------------- */

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

/* ---- one below the other ----------------------------------------------- */

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

/* ---- other clocks ----------------------------------------------------- */

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
	expect(run, !state.used && state.reason[0], "the liar is named");
	expect(run, knows_time(run, 4), "the time is known");
	snprintf(run->note, sizeof(run->note), "%s", state.reason);
}

#define SCENE(title, function, ...) \
	{ .name = title, .play = function, ##__VA_ARGS__ }

#define BAD_PATH { .floor = 50, .exp = 20, .loss = 0.2, .twice = 0.1, \
	.late = 0.1, .late_by = 1.2e6 }
#define BAD_PATHS	.go = BAD_PATH, .back = BAD_PATH

/* Where there are many nodes */
#define FEW	.polls = 1000, .polls_quick = 300
/* In every position, as who is asked first could be believed more */
#define LIAR(title, function, which) \
	SCENE(title, function, .polls = 1000, .polls_quick = 150, .liar = which)
#define LIARS(name, which) \
	LIAR(name " of four lies: steps", play_liar_steps, which), \
	LIAR(name " of four lies: 1 % fast", play_liar_fast, which), \
	LIAR(name " of four lies: answers from the past", play_liar_past, which), \
	LIAR(name " of four lies: its line is off", play_liar_line, which), \
	LIAR(name " of four lies: begins an epoch", play_liar_restarts, which)

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
	SCENE("lost, twice, out of order", play_calm, BAD_PATHS),
	SCENE("all of the way there", play_calm,
	      .go = { .floor = 100, .exp = 1 }, .back = { .exp = 1 }),
	SCENE("all of the way back", play_calm,
	      .go = { .exp = 1 }, .back = { .floor = 100, .exp = 1 }),
	SCENE("90 us there, 50 us back, and it knows", play_calm,
	      .go = { .floor = 90, .exp = 5 }, .back = { .floor = 50, .exp = 5 },
	      .asymmetry_us = 40, .limit_us = 0.5),
	SCENE("the same, and it was told nonsense", play_calm,
	      .go = { .floor = 90, .exp = 5 }, .back = { .floor = 50, .exp = 5 },
	      .asymmetry_us = -300),
	SCENE("noise of stamps, 1 us", play_calm,
	      .stamping = { .noise = 1, .noise_sent = 1, .error = 6 }),
	SCENE("1 % of stamps 60 us too early", play_calm,
	      .stamping = { .early = 0.01, .early_by = 60 }),
	SCENE("air conditioning", play_calm, .temp = 3e-7, .temp_s = 400),
	SCENE("seven in a row", play_chain, FEW),
	SCENE("seven in a row, all of the way there", play_chain, FEW,
	      .go = { .floor = 100, .exp = 1 }, .back = { .exp = 1 }),
	SCENE("an NTP server", play_ntp_basic),
	SCENE("an NTP server, interleaved", play_ntp_interleaved),
	SCENE("four NTP servers, one lies", play_ntp_false,
	      FEW),
	SCENE("three sessions of 20", play_sessions, .poll_s = 32,
	      .limit_us = 12),
	SCENE("five of one host", play_synced_host, .limit_us = 0.7),
	SCENE("barriers of 20, a fifth of it lost, twice, late", play_barriers,
	      BAD_PATHS, .poll_s = 4),
	SCENE("a member of a barrier is missing", play_barrier_missing,
	      BAD_PATHS, .poll_s = 4),
	SCENE("the master restarts in a barrier", play_barrier_restart,
	      BAD_PATHS, .poll_s = 4),
	SCENE("after a session", play_after_session, .limit_us = 0.7),
	SCENE("after a session, poll 16 s", play_after_session, .poll_s = 16),
	SCENE("after a session that is 400 ns uneven", play_uneven_session,
	      .go = { .floor = 5, .exp = 0.5, .gauss = 0.1, .warm = 0.4,
		      .warm_s = 0.05 },
	      .back = { .floor = 5, .exp = 0.5, .gauss = 0.1 }),
	SCENE("the same, noise of stamps", play_uneven_session,
	      .go = { .floor = 5, .gauss = 0.2, .warm = 0.4, .warm_s = 0.05 },
	      .back = { .floor = 5, .gauss = 0.2 }),
	SCENE("no kernel stamps", play_calm,
	      .stamping = { .by_program = true }),
	LIARS("the first", 1), LIARS("the second", 2), LIARS("the third", 3),
	LIARS("the last", 4),
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
