// SPDX-License-Identifier: MIT
/*
 * Faults in clusters with one or a few children. In all scenarios no reading may be
 * outside its bound, and no step may happen within an epoch. Most scenarios have
 * further expectations.
 */
#include <math.h>
#include <stdio.h>

#include "attackers.h"
#include "sessions.h"

#define CHILD	1

static uint32_t epoch_of(struct run *run, uint32_t index)
{
	return tsct_cluster_epoch(run->world.nodes[index].cluster);
}

static void play_no_faults(struct run *run)
{
	build_master_and_child(run);
	run_to_end(run, CHILD, 1);
}

/* ---- faults of the master ------------------------------------------------ */

static void master_gone(struct run *run, uint64_t count)
{
	uint32_t epoch;

	build_master_and_child(run);
	world_run(&run->world, run_part_s(run, 0.3));
	epoch = epoch_of(run, CHILD);
	node_kill(&run->world, 0);
	world_run(&run->world, run_part_s(run, 0.6));
	expect(run, has_time(run, CHILD),
	       "the child still has the time without master");
	expect(run, epoch_of(run, CHILD) == epoch,
	       "the child's epoch continues without master");
	node_make_master(&run->world, 0, count);
	world_run(&run->world, run_part_s(run, 0.6) + 10 * run_poll_s(run));
	expect(run, has_time(run, CHILD), "the child has the time again");
	expect(run, epoch_of(run, CHILD) != epoch, "the child began an epoch");
	world_run(&run->world, run_length_s(run));
	expect(run, has_time(run, CHILD), "the child has the time at the end");
}

static void play_master_restarts(struct run *run)
{
	master_gone(run, 0);
}

static void play_master_reboots(struct run *run)
{
	master_gone(run, 1000000);
}

/* The master dies, and another node becomes the master of a new timeline. */
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
	reading_every(&run->world, CHILD, 2, run_poll_s(run));
	world_run(&run->world, run_part_s(run, 0.4));
	epoch = epoch_of(run, CHILD);
	node_kill(&run->world, 0);
	world_run(&run->world, run_part_s(run, 0.5));
	node_make_master(&run->world, 2, 0);
	run_to_end(run, CHILD, 1);
	expect(run, epoch_of(run, CHILD) != epoch, "the child began an epoch");
}

/* ---- faults of the child ------------------------------------------------- */

static void play_child_sleeps(struct run *run)
{
	uint32_t epoch;

	build_master_and_child(run);
	world_run(&run->world, run_part_s(run, 0.5));
	epoch = epoch_of(run, CHILD);
	node_suspended(&run->world, CHILD, 1ULL << 62);
	expect(run, !has_time(run, CHILD), "the child has no time after a suspend");
	world_run(&run->world, run_part_s(run, 0.5) + 10 * run_poll_s(run));
	expect(run, has_time(run, CHILD), "the child has the time again");
	expect(run, epoch_of(run, CHILD) != epoch, "the child began an epoch");
	world_run(&run->world, run_length_s(run));
}

/* ---- faults of the network ----------------------------------------------- */

static void play_outage(struct run *run)
{
	struct network_path *go;
	double from_s;

	build_master_and_child(run);
	from_s = run_part_s(run, 0.5);
	go = &run->world.nodes[CHILD].sources[0].request;
	go->outage_from_s = from_s;
	go->outage_to_s = from_s + 3600;
	world_run(&run->world, from_s + 3590);
	snprintf(run->note, sizeof(run->note), "bound after the hour %.0f us",
		 run->world.tally.bound_max);
	world_run(&run->world, from_s + 3600 + run_part_s(run, 0.5));
	expect(run, has_time(run, CHILD), "the child has the time");
}

static void play_route(struct run *run)
{
	struct network_path *go;

	build_master_and_child(run);
	go = &run->world.nodes[CHILD].sources[0].request;
	go->shift = 200;
	go->shift_at_s = run_part_s(run, 0.5);
	run_to_end(run, CHILD, 1);
}

/* The answers take another route from some time on, which is 200 us shorter. */
static void play_route_back(struct run *run)
{
	struct network_path *back;

	build_master_and_child(run);
	back = &run->world.nodes[CHILD].sources[0].answer;
	back->floor += 200;
	back->shift = -200;
	back->shift_at_s = run_part_s(run, 0.5);
	run_to_end(run, CHILD, 1);
}

static void play_congestion(struct run *run)
{
	struct network_path *go;

	build_master_and_child(run);
	go = &run->world.nodes[CHILD].sources[0].request;
	go->congestion = 300;
	go->congestion_exp = 100;
	go->congestion_from_s = run_part_s(run, 0.5);
	go->congestion_to_s = run_part_s(run, 0.7);
	run_to_end(run, CHILD, 1);
}

/* ---- children of children ------------------------------------------------ */

static void play_chain(struct run *run)
{
	unsigned int nr = 7, i;

	build_nodes(run, nr);
	build_master(run, NULL);
	for (i = 1; i < nr; i++) {
		build_child(run, i, 1, true, NULL);
		build_source(run, i, 0, i - 1, 0, 0);
	}
	run->world.tally_from_s = run_part_s(run, 0.2);
	reading_every(&run->world, 1, nr - 1, run_poll_s(run));
	run_to_end(run, 1, nr - 1);
}

/* ---- NTP servers and other clocks ---------------------------------------- */

static void play_ntp(struct run *run, unsigned int nr, __u32 flags)
{
	build_nodes(run, nr + 1);
	for (unsigned int i = 0; i < nr; i++)
		build_ntp(run, i, i * 7.0 - 5);
	build_child(run, nr, nr, false, NULL);
	for (unsigned int i = 0; i < nr; i++)
		build_source(run, nr, i, i, 0, TSCT_CLIENT_NTP_ONLY | flags);
	run->world.tally_from_s = run_part_s(run, 0.2);
	reading_every(&run->world, nr, 1, run_poll_s(run));
}

static void play_ntp_basic(struct run *run)
{
	play_ntp(run, 1, 0);
	run_to_end(run, 1, 1);
}

static void play_ntp_interleaved(struct run *run)
{
	play_ntp(run, 1, TSCT_CLIENT_INTERLEAVED);
	run_to_end(run, 1, 1);
}

static void play_ntp_false(struct run *run)
{
	struct tsct_source_state state;
	struct node *node;

	play_ntp(run, 4, 0);
	run->world.nodes[2].fault = (struct server_fault) {
		.at_s = run_part_s(run, 0.4), .step_s = 0.02,
	};
	world_run(&run->world, run_length_s(run));
	node = &run->world.nodes[4];
	tsct_cluster_source(node->cluster, 2, node_count(&run->world, node),
			    &state);
	expect(run, !state.used && state.reason[0],
	       "the falseticker is marked as such");
	expect(run, has_time(run, 4), "the child has the time");
	snprintf(run->note, sizeof(run->note), "%s", state.reason);
}

#define SCENARIO(title, function, ...) \
	{ .name = title, .play = function, ##__VA_ARGS__ }

#define BAD_PATHS BOTH(.floor = 50, .exp = 20, .loss = 0.2, .duplicate = 0.1, .late = 0.1, \
	.late_by = 1.2e6)

/* Numbers of polls in a full and a quick run of scenarios with many nodes */
#define FEW	.polls = 1000, .polls_quick = 300
/* One scenario for each position of the falseticker among the sources, because
 * selection must not depend on their order */
#define FALSETICKER(title, function, which, ...) \
	SCENARIO(title, function, .polls = 1000, .polls_quick = 150, \
		 .falseticker = which, .fault = { __VA_ARGS__ })
#define FALSETICKERS(name, which) \
	FALSETICKER(name " of four is a falseticker: steps", \
		    play_falseticker, which, .step_s = 0.01), \
	FALSETICKER(name " of four is a falseticker: 1 % fast", \
		    play_falseticker, which, .fast = 0.01), \
	FALSETICKER(name " of four is a falseticker: answers from the past", \
		    play_falseticker, which, .step_s = -10), \
	FALSETICKER(name " of four is a falseticker: wrong parameters", \
		    play_falseticker, which, .params_s = 2e-3), \
	FALSETICKER(name " of four is a falseticker: begins an epoch", \
		    play_falseticker_restarts, which, 0)
#define ATTACK(title, ...) SCENARIO(title, play_attack, .adversary = { __VA_ARGS__ })
#define ATTACK_KEY(title, ...) \
	SCENARIO(title, play_attack, .adversary = { __VA_ARGS__ }, .with_key = true)

const struct scenario fault_scenarios[] = {
	SCENARIO("no faults", play_no_faults),
	SCENARIO("master restarts", play_master_restarts),
	SCENARIO("master reboots", play_master_reboots),
	SCENARIO("master changes", play_master_changes),
	SCENARIO("child sleeps", play_child_sleeps),
	SCENARIO("network gone for an hour", play_outage),
	SCENARIO("another route, 200 us longer", play_route),
	SCENARIO("another route, 200 us shorter", play_route_back),
	SCENARIO("one way congested", play_congestion),
	SCENARIO("lost, duplicated, out of order", play_no_faults, BAD_PATHS),
	SCENARIO("all delay in requests", play_no_faults,
	      .request = { .floor = 100, .exp = 1 }, .answer = { .exp = 1 }),
	SCENARIO("all delay in answers", play_no_faults,
	      .request = { .exp = 1 }, .answer = { .floor = 100, .exp = 1 }),
	SCENARIO("requests 90 us, answers 50 us, configured", play_no_faults,
	      .request = { .floor = 90, .exp = 5 },
	      .answer = { .floor = 50, .exp = 5 },
	      .asymmetry_us = 40, .limit_us = 0.5),
	SCENARIO("asymmetry 40 us, wrongly configured", play_no_faults,
	      .request = { .floor = 90, .exp = 5 },
	      .answer = { .floor = 50, .exp = 5 },
	      .asymmetry_us = -300),
	SCENARIO("noise of time stamps, 1 us", play_no_faults,
	      .timestamping = { .noise = 1, .noise_sent = 1, .error = 6 }),
	SCENARIO("1 % of time stamps 60 us too early", play_no_faults,
	      .timestamping = { .early = 0.01, .early_by = 60 }),
	SCENARIO("temperature sine of 400 s", play_no_faults, .temp = 3e-7,
		 .temp_s = 400),
	SCENARIO("chain of seven", play_chain, FEW),
	SCENARIO("chain of seven, all delay in requests", play_chain, FEW,
	      .request = { .floor = 100, .exp = 1 }, .answer = { .exp = 1 }),
	SCENARIO("an NTP server", play_ntp_basic),
	SCENARIO("an NTP server, interleaved", play_ntp_interleaved),
	SCENARIO("four NTP servers, one a falseticker", play_ntp_false,
	      FEW),
	SCENARIO("three sessions of 20", play_sessions, .poll_s = 32,
	      .limit_us = 12),
	SCENARIO("five nodes of one host", play_synced_host, .limit_us = 0.7),
	SCENARIO("barriers of 20, packets lost, duplicated, late", play_barriers,
	      BAD_PATHS, .poll_s = 4),
	SCENARIO("a member of a barrier is missing", play_barrier_missing,
	      BAD_PATHS, .poll_s = 4),
	SCENARIO("the master restarts in a barrier", play_barrier_restart,
	      BAD_PATHS, .poll_s = 4),
	SCENARIO("after a session", play_after_session, .limit_us = 0.7),
	SCENARIO("after a session, poll 16 s", play_after_session, .poll_s = 16),
	SCENARIO("after a session that is 400 ns uneven", play_uneven_session,
	      .request = { .floor = 5, .exp = 0.5, .gauss = 0.1, .service = 0.4,
		      .cold = -0.4, .pause_s = 0.05 },
	      .answer = { .floor = 5, .exp = 0.5, .gauss = 0.1 }),
	SCENARIO("uneven session, noise of time stamps", play_uneven_session,
	      .request = { .floor = 5, .gauss = 0.2, .service = 0.4, .cold = -0.4,
		      .pause_s = 0.05 },
	      .answer = { .floor = 5, .gauss = 0.2 }),
	SCENARIO("no kernel time stamps", play_no_faults,
	      .timestamping = { .by_program = true }),
	FALSETICKERS("the first", 1),
	FALSETICKERS("the second", 2),
	FALSETICKERS("the third", 3),
	FALSETICKERS("the last", 4),
	ATTACK_KEY("answers replayed", .replay = 1),
	ATTACK("answers replayed, no key", .replay = 0.3),
	ATTACK_KEY("answers forged", .spoof_s = 0.01),
	ATTACK("answers forged, no key", .spoof_s = 0.01),
	ATTACK_KEY("packets corrupted", .corrupt = 0.5),
	ATTACK_KEY("flood of requests", .flood_s = 1e-5),
	SCENARIO("a wrong key", play_wrong_key),
};

const unsigned int nr_faults =
	sizeof(fault_scenarios) / sizeof(fault_scenarios[0]);
