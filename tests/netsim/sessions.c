// SPDX-License-Identifier: MIT
/* Many exchanges within a moment, and what they are to those now and then. */
#include <math.h>
#include <stdio.h>

#include "sessions.h"

#define MEMBERS		20
#define MESSAGES	100

static void give_sessions(struct run *run)
{
	struct tsct_schedule_options options = {
		.max_messages = MESSAGES, .max_duration_us = 5000000,
	};

	run->world.nodes[0].round = tsct_schedule_new(&options);
}

static void expect_session(struct run *run, unsigned int members)
{
	unsigned int i, all = 0;

	for (i = 1; i <= members; i++) {
		struct source *source = &run->world.nodes[i].sources[0];

		all += !source->session && source->exchanges >= MESSAGES;
		source->exchanges = 0;
	}
	expect(run, all == members, "each had its exchanges, and it is over");
}

/* Three of them, and a poll now and then */
void play_sessions(struct run *run)
{
	unsigned int i;

	build_nodes(run, MEMBERS + 1);
	build_master(run, NULL);
	give_sessions(run);
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
		expect_session(run, MEMBERS);
	}
	world_run(&run->world, 800);
}

/* ---- what comes after --------------------------------------------------- */

#define BESIDE		20	/* polls before a session, and after it */
#define APART		120	/* from one to the next */
#define AGAIN		8	/* of them; the first is not looked at */
#define NO_WORSE	1.2	/* RMS of a few hundred readings */
#define NOT_SWAMPED	2	/* 2.7, if each of its exchanges counts in full */

static struct tally since(struct run *run, double until_s)
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
	unsigned int i;

	build_nodes(run, 2);
	build_master(run, NULL);
	give_sessions(run);
	build_child(run, 1, 1, false, NULL);
	build_source(run, 1, 0, 0, 0, 0);
	read_often(&run->world, 1, 1, poll_s / 5);
	for (i = 1; i <= AGAIN; i++) {
		at_s = i * APART * poll_s;
		world_run(&run->world, at_s - BESIDE * poll_s);
		of = since(run, at_s);
		tally_add(&before, &of);
		node_session(&run->world, 0);
		of = since(run, at_s + BESIDE * poll_s);
		tally_add(&after, &of);
		expect_session(run, 1);
		if (i == 1)
			before = after = (struct tally) { .readings = 0 };
	}
	run->world.tally = after;
	snprintf(run->note, sizeof(run->note), "RMS %.3f us before, %.3f us "
		 "after", tally_rms(&before), tally_rms(&after));
	expect(run, tally_rms(&after) <= no_worse * tally_rms(&before),
	       "it is no worse than before");
}

/* What is said right after a session is as good as what was said before it. */
void play_after_session(struct run *run)
{
	play_after(run, NO_WORSE);
}

/* A path that is another one as long as a session lasts: it is not swamped by it. */
void play_uneven_session(struct run *run)
{
	play_after(run, NOT_SWAMPED);
}
