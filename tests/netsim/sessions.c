// SPDX-License-Identifier: MIT
/* Scenarios with sessions, with several programs on one host, and with barriers */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/collective/collective.h"
#include "sessions.h"

#define MEMBERS		20
#define MESSAGES	100

static void enable_sessions(struct run *run)
{
	struct tsct_schedule_options options = {
		.max_messages = MESSAGES, .max_duration_us = 5000000,
	};

	run->world.nodes[0].schedule = tsct_schedule_new(&options);
}

static void expect_session(struct run *run, unsigned int members)
{
	unsigned int i, all = 0;

	for (i = 1; i <= members; i++) {
		struct source *source = &run->world.nodes[i].sources[0];

		all += !source->session && source->exchanges >= MESSAGES;
		source->exchanges = 0;
	}
	expect(run, all == members, "the session ended after all its exchanges");
}

/* A scenario: three sessions of many nodes, which poll at long intervals in between */
void play_sessions(struct run *run)
{
	build_nodes(run, MEMBERS + 1);
	build_master(run, NULL);
	enable_sessions(run);
	for (unsigned int i = 1; i <= MEMBERS; i++) {
		build_child(run, i, 1, false, NULL);
		build_source(run, i, 0, 0, 0, 0);
	}
	run->world.tally_from_s = 210;	/* time from which errors of readings are
					 * tallied, s: after the first session */
	reading_every(&run->world, 1, MEMBERS, run_poll_s(run) / 10);
	for (unsigned int i = 1; i <= 3; i++) {
		world_run(&run->world, 200 * i);
		node_session(&run->world, 0);
		world_run(&run->world, 200 * i + 5);
		expect_session(run, MEMBERS);
	}
	world_run(&run->world, 800);
}

/* ---- readings after a session -------------------------------------------- */

#define POLLS_BESIDE		20	/* number of polls before a session, and
					 * after it, whose readings are compared */
#define POLLS_APART		120	/* number of polls between two sessions */
#define SESSIONS		8	/* number of sessions; readings of the first
					 * one are not compared */
/* largest allowed ratio of two RMS errors of the child's readings: after a session, and
 * before the session; each RMS is taken from some hundred readings */
#define RMS_RATIO_MAX	1.2
/* largest allowed ratio of two RMS errors of the child's readings, after and before a
 * session, if requests have an extra delay during the session only; the ratio would be
 * 2.7 if each exchange of a session had full weight */
#define RMS_RATIO_UNEVEN_MAX	2

static struct tally run_and_tally(struct run *run, double until_s)
{
	struct tally *tally = &run->world.tally, of;

	*tally = (struct tally) { .readings = 0 };
	world_run(&run->world, until_s);
	of = *tally;
	return of;
}

static void play_after(struct run *run, double no_worse)
{
	double poll_s = run_poll_s(run), at_s;
	struct tally before = { 0 }, after = { 0 }, of;

	build_nodes(run, 2);
	build_master(run, NULL);
	enable_sessions(run);
	build_child(run, 1, 1, false, NULL);
	build_source(run, 1, 0, 0, 0, 0);
	reading_every(&run->world, 1, 1, poll_s / 5);
	for (unsigned int i = 1; i <= SESSIONS; i++) {
		at_s = i * POLLS_APART * poll_s;
		world_run(&run->world, at_s - POLLS_BESIDE * poll_s);
		of = run_and_tally(run, at_s);
		tally_add(&before, &of);
		node_session(&run->world, 0);
		of = run_and_tally(run, at_s + POLLS_BESIDE * poll_s);
		tally_add(&after, &of);
		expect_session(run, 1);
		if (i == 1)
			before = after = (struct tally) { .readings = 0 };
	}
	run->world.tally = after;
	snprintf(run->note, sizeof(run->note), "RMS %.3f us before, %.3f us "
		 "after", tally_rms(&before), tally_rms(&after));
	expect(run, tally_rms(&after) <= no_worse * tally_rms(&before),
	       "the RMS after a session is similar to the RMS before");
}

/* Readings after a session must be as good as readings before it. */
void play_after_session(struct run *run)
{
	play_after(run, RMS_RATIO_MAX);
}

/* During a session, requests follow each other closely, and have an extra delay. The
 * session's exchanges must not dominate the fit. */
void play_uneven_session(struct run *run)
{
	play_after(run, RMS_RATIO_UNEVEN_MAX);
}

/* ---- several programs on one host ---------------------------------------- */

#define PARTNER		1	/* index of the program that polls the master */
#define PROGRAMS	5	/* number of programs on the same host that do not
				 * poll the master, but use the clock params of
				 * program PARTNER */
/* Limit of the RMS error of the readings of the programs that use PARTNER's clock
 * params: HOST_RMS_RATIO_MAX times the RMS error of PARTNER, plus HOST_RMS_EXTRA_US.
 * These programs' copies of the clock params are older than PARTNER's own, so they may
 * be less accurate. */
#define HOST_RMS_RATIO_MAX		1.1
#define HOST_RMS_EXTRA_US	0.05	/* constant part of the largest allowed RMS
					 * error of a program that uses PARTNER's
					 * clock params, us */

/* A scenario: of several programs on one host, only program PARTNER exchanges packets
 * with the master. The other programs use the clock params of program PARTNER. */
void play_synced_host(struct run *run)
{
	struct world *world = &run->world;
	struct tally others = { 0 };
	double own;

	build_nodes(run, PARTNER + 1 + PROGRAMS);
	world->node_tally = calloc(world->nr_nodes, sizeof(struct tally));
	if (!world->node_tally)
		abort();
	build_master(run, NULL);
	build_child(run, PARTNER, 1, true, NULL);
	build_source(run, PARTNER, 0, 0, 0, 0);
	for (unsigned int i = PARTNER + 1; i < world->nr_nodes; i++) {
		build_on_host(run, i, PARTNER);
		build_source(run, i, 0, PARTNER, 0, 0);
		world->nodes[i].sources[0].synced_host = true;
	}
	world->tally_from_s = run_length_s(run) / 5;
	reading_every(world, PARTNER, 1 + PROGRAMS, run_poll_s(run) / 2);
	world_run(world, run_length_s(run));
	own = tally_rms(&world->node_tally[PARTNER]);
	for (unsigned int i = PARTNER; i < world->nr_nodes; i++) {
		expect(run, has_time(run, i), "all nodes have the time");
		if (i != PARTNER)
			tally_add(&others, &world->node_tally[i]);
	}
	expect(run, tally_rms(&others) < HOST_RMS_RATIO_MAX * own + HOST_RMS_EXTRA_US,
	       "the host's other programs are as accurate as the partner");
	snprintf(run->note, sizeof(run->note), "RMS %.3f us of the partner, "
		 "%.3f us of the others", own, tally_rms(&others));
}

/* ---- barriers ------------------------------------------------------------ */

#define BARRIERS	10
#define SOON_S		20

static __u64 now_us(const struct run *run)
{
	return (__u64)(run->world.now_ps / PS_PER_US);
}

static void set_schedule(struct run *run, __u32 first)
{
	struct tsct_schedule_options options = { .first = first };
	struct node *master = &run->world.nodes[0];

	tsct_schedule_free(master->schedule);
	master->schedule = tsct_schedule_new(&options);
}

/* Runs until all nodes have sent a request, and so are members of the master. */
static void begin_members(struct run *run)
{
	build_nodes(run, MEMBERS + 1);
	build_master(run, NULL);
	set_schedule(run, 1000);
	for (unsigned int i = 1; i <= MEMBERS; i++) {
		build_child(run, i, 1, false, NULL);
		build_source(run, i, 0, 0, 0, 0);
	}
	run->world.tally_from_s = 20 * run_poll_s(run);
	reading_every(&run->world, 1, MEMBERS, run_poll_s(run));
	world_run(&run->world, 20 * run_poll_s(run));
}

static unsigned int count_released(struct run *run)
{
	unsigned int i, sum = 0;

	for (i = 1; i <= MEMBERS; i++)
		sum += run->world.nodes[i].sources[0].released;
	return sum;
}

static void run_for(struct run *run, double s)
{
	world_run(&run->world, world_s(&run->world) + s);
}

/* Members @from to @to - 1 arrive at the barrier in turn; none may be released. */
static void arrive(struct run *run, unsigned int from, unsigned int to)
{
	unsigned int before = count_released(run), i;

	for (i = from; i < to; i++) {
		wire_enter_barrier(&run->world, i);
		run_for(run, random_uniform(&run->world.random, 0, 0.3));
	}
	expect(run, count_released(run) == before,
	       "no member is released while one is missing");
}

static void master_arrives(struct run *run)
{
	struct tsct_schedule *schedule = run->world.nodes[0].schedule;

	tsct_schedule_arrive(schedule, tsct_schedule_barrier(schedule), now_us(run));
}

static void expect_released(struct run *run, unsigned int all)
{
	run_for(run, SOON_S);
	expect(run, count_released(run) == all,
	       "all members are released, once each");
}

/* Two barriers: the last node to arrive is a member at first, then the master. */
void play_barriers(struct run *run)
{
	begin_members(run);
	for (unsigned int k = 1; k <= BARRIERS; k++) {
		if (k & 1)
			master_arrives(run);
		arrive(run, 1, MEMBERS);
		run_for(run, 2);
		arrive(run, 1, 1);
		wire_enter_barrier(&run->world, MEMBERS);
		if (!(k & 1)) {
			run_for(run, 2);
			arrive(run, 1, 1);
			master_arrives(run);
		}
		expect_released(run, k * MEMBERS);
	}
}

/* The master must list the missing member, and no other, until that member arrives. */
void play_barrier_missing(struct run *run)
{
	struct tsct_schedule *schedule;
	char names[200], name[32];

	begin_members(run);
	schedule = run->world.nodes[0].schedule;
	master_arrives(run);
	arrive(run, 1, MEMBERS);
	run_for(run, 5);
	arrive(run, 1, 1);
	snprintf(name, sizeof(name), "%016llx",
		 (unsigned long long)run->world.nodes[MEMBERS].id);
	expect(run, tsct_schedule_missing(schedule, tsct_schedule_barrier(schedule), names,
				       sizeof(names)) == 1,
	       "exactly one member is missing");
	expect(run, !strcmp(names, name), "the missing member is listed");
	wire_enter_barrier(&run->world, MEMBERS);
	expect_released(run, MEMBERS);
}

/* After a restart of the master, members report their arrival at the barrier again. */
void play_barrier_restart(struct run *run)
{
	begin_members(run);
	master_arrives(run);
	arrive(run, 1, MEMBERS / 2);
	node_kill(&run->world, 0);
	run_for(run, 2);
	set_schedule(run, 77000);
	node_make_master(&run->world, 0, 0);
	run_for(run, 3 * run_poll_s(run));
	arrive(run, MEMBERS / 2, MEMBERS);
	run_for(run, 5);
	arrive(run, 1, 1);
	wire_enter_barrier(&run->world, MEMBERS);
	master_arrives(run);
	expect_released(run, MEMBERS);
}
