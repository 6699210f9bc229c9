// SPDX-License-Identifier: MIT
/* Programs of one host that share an exchange partner, and barriers. */
#include <stdio.h>
#include <stdlib.h>

#include "sessions.h"

/* ---- one host ----------------------------------------------------------- */

#define PARTNER		1
#define PROGRAMS	5	/* behind it */
#define AS_GOOD		1.1	/* the others know what it knows, ... */
#define LATER_US	0.05	/* ... but for what they hear of it later */

/* Only the partner exchanges with the master; the others take what it has. */
void play_synced_host(struct run *run)
{
	struct world *world = &run->world;
	struct tally others = { 0 };
	double own;
	unsigned int i;

	build_nodes(run, PARTNER + 1 + PROGRAMS);
	world->node_tally = calloc(world->nr_nodes, sizeof(struct tally));
	if (!world->node_tally)
		abort();
	build_master(run, NULL);
	build_child(run, PARTNER, 1, true, NULL);
	build_source(run, PARTNER, 0, 0, 0, 0);
	for (i = PARTNER + 1; i < world->nr_nodes; i++) {
		build_beside(run, i, PARTNER);
		build_source(run, i, 0, PARTNER, 0, 0);
		world->nodes[i].sources[0].synced_host = true;
	}
	world->tally_from_s = run_length_s(run) / 5;
	read_often(world, PARTNER, 1 + PROGRAMS, run_poll_s(run) / 2);
	world_run(world, run_length_s(run));
	own = tally_rms(&world->node_tally[PARTNER]);
	for (i = PARTNER; i < world->nr_nodes; i++) {
		expect(run, knows_time(run, i), "all know the time");
		if (i != PARTNER)
			tally_add(&others, &world->node_tally[i]);
	}
	expect(run, tally_rms(&others) < AS_GOOD * own + LATER_US,
	       "the others are as good as their partner");
	snprintf(run->note, sizeof(run->note), "RMS %.3f us of the partner, "
		 "%.3f us of the others", own, tally_rms(&others));
}

/* ---- barriers ------------------------------------------------------------ */

#define MEMBERS		20
#define BARRIERS	10
#define SOON_S		20

static __u64 now_us(const struct run *run)
{
	return (__u64)(run->world.now_ps / PS_PER_US);
}

static void give_round(struct run *run, __u32 first)
{
	struct tsct_schedule_options options = { .first = first };
	struct node *master = &run->world.nodes[0];

	tsct_schedule_free(master->round);
	master->round = tsct_schedule_new(&options);
}

/* All have asked once, and are members. */
static void gather(struct run *run)
{
	unsigned int i;

	build_nodes(run, MEMBERS + 1);
	build_master(run, NULL);
	give_round(run, 1000);
	for (i = 1; i <= MEMBERS; i++) {
		build_child(run, i, 1, false, NULL);
		build_source(run, i, 0, 0, 0, 0);
	}
	run->world.tally_from_s = 20 * run_poll_s(run);
	read_often(&run->world, 1, MEMBERS, run_poll_s(run));
	world_run(&run->world, 20 * run_poll_s(run));
}

static unsigned int how_many_released(struct run *run)
{
	unsigned int i, sum = 0;

	for (i = 1; i <= MEMBERS; i++)
		sum += run->world.nodes[i].sources[0].released;
	return sum;
}

static void go_on(struct run *run, double s)
{
	world_run(&run->world, world_s(&run->world) + s);
}

/* Members [from, to) arrive, one after another; nobody is let go. */
static void arrive(struct run *run, unsigned int from, unsigned int to)
{
	unsigned int before = how_many_released(run), i;

	for (i = from; i < to; i++) {
		wire_wait(&run->world, i);
		go_on(run, roll_between(&run->world.dice, 0, 0.3));
	}
	expect(run, how_many_released(run) == before,
	       "nobody is released while one is missing");
}

static void master_arrives(struct run *run)
{
	struct tsct_schedule *round = run->world.nodes[0].round;

	tsct_schedule_arrive(round, tsct_schedule_barrier(round), now_us(run));
}

static void expect_released(struct run *run, unsigned int all)
{
	go_on(run, SOON_S);
	expect(run, how_many_released(run) == all,
	       "all are released, once each");
}

/* Now the master is the last to arrive, now a member */
void play_barriers(struct run *run)
{
	unsigned int k;

	gather(run);
	for (k = 1; k <= BARRIERS; k++) {
		if (k & 1)
			master_arrives(run);
		arrive(run, 1, MEMBERS);
		go_on(run, 2);
		arrive(run, 1, 1);
		wire_wait(&run->world, MEMBERS);
		if (!(k & 1)) {
			go_on(run, 2);
			arrive(run, 1, 1);
			master_arrives(run);
		}
		expect_released(run, k * MEMBERS);
	}
}

/* It is named, alone, as long as it does not come. */
void play_barrier_missing(struct run *run)
{
	struct tsct_schedule *round;
	char names[200], name[32];

	gather(run);
	round = run->world.nodes[0].round;
	master_arrives(run);
	arrive(run, 1, MEMBERS);
	go_on(run, 5);
	arrive(run, 1, 1);
	snprintf(name, sizeof(name), "%016llx",
		 (unsigned long long)run->world.nodes[MEMBERS].id);
	expect(run, tsct_schedule_missing(round, tsct_schedule_barrier(round), names,
				       sizeof(names)) == 1,
	       "one is missing");
	expect(run, !strcmp(names, name), "it is named");
	wire_wait(&run->world, MEMBERS);
	expect_released(run, MEMBERS);
}

/* Another life of the master knows nothing of who had arrived: they tell it. */
void play_barrier_restart(struct run *run)
{
	gather(run);
	master_arrives(run);
	arrive(run, 1, MEMBERS / 2);
	node_kill(&run->world, 0);
	go_on(run, 2);
	give_round(run, 77000);
	node_be_master(&run->world, 0, 0);
	go_on(run, 3 * run_poll_s(run));
	arrive(run, MEMBERS / 2, MEMBERS);
	go_on(run, 5);
	arrive(run, 1, 1);
	wire_wait(&run->world, MEMBERS);
	master_arrives(run);
	expect_released(run, MEMBERS);
}
