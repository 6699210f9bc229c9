// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

#define LEAD_S		1e-3	/* from publishing to where a line begins */

uint64_t node_count(struct world *world, struct node *node)
{
	osc_go_on(&node->osc, world->now_ps);
	return osc_count(&node->osc);
}

struct tsct_packet_time node_stamp(struct world *world, struct node *node,
			     bool received)
{
	double hz = node->osc.crystal.hz;
	double us = stamp_off(&node->stamping, &world->dice, received);

	return (struct tsct_packet_time) {
		.ticks = node_count(world, node) +
			(uint64_t)llrint(us * 1e-6 * hz),
		.error = (uint32_t)ceil(node->stamping.error * 1e-6 * hz) + 1,
		.kernel = !node->stamping.by_program,
	};
}

/* ---- serving -------------------------------------------------------------- */

struct served {
	struct world *world;
	struct node *node;
};

static double told_s(const struct world *world, const struct node *node)
{
	double s = world_s(world) - node->lie.at_s;

	return s < 0 ? 0 : node->lie.step_s + node->lie.fast * s;
}

static uint64_t told(const struct world *world, const struct node *node,
		     uint64_t count)
{
	return count + (uint64_t)llrint(told_s(world, node) *
					node->osc.crystal.hz);
}

static __u64 served_now(void *ctx)
{
	struct served *served = ctx;

	return told(served->world, served->node,
		    node_count(served->world, served->node));
}

struct tsct_packet_time node_stamp_told(struct world *world, struct node *node,
				  bool received)
{
	struct tsct_packet_time stamp = node_stamp(world, node, received);

	stamp.ticks = told(world, node, stamp.ticks);
	return stamp;
}

/* True time when its counter was there; as it tells it */
static __s64 served_real(void *ctx, __u64 ticks)
{
	struct served *served = ctx;
	struct node *node = served->node;
	uint64_t now = told(served->world, node,
			    node_count(served->world, node));
	double ago_s = (double)(int64_t)(now - ticks) / osc_hz(&node->osc);
	double lie_s = told_s(served->world, node);

	return NODE_REAL_NS + served->world->now_ps / 1000 +
		llrint((lie_s - ago_s) * 1e9 + node->real_off_us * 1e3);
}

static __u64 served_us(void *ctx)
{
	struct served *served = ctx;

	return (__u64)(served->world->now_ps / PS_PER_US);
}

static void served_asked(void *ctx, const struct tsct_responder_request *ask)
{
	struct served *served = ctx;
	struct tsct_schedule *round = served->node->round;

	if (!round)
		return;
	tsct_schedule_member(round, ask->request.node, NULL, served_us(ctx));
	tsct_schedule_request(round, &ask->request, ask->reply, served_us(ctx));
}

uint32_t node_session(struct world *world, uint32_t index)
{
	struct node *node = &world->nodes[index];
	uint32_t session = tsct_schedule_begin(node->round,
					    (__u64)(world->now_ps / PS_PER_US));
	uint32_t i;

	for (i = 0; i < world->nr_nodes; i++)
		if (world->nodes[i].nr_sources &&
		    world->nodes[i].sources[0].server == index)
			wire_hint(world, index, i);
	return session;
}

static void serve(struct world *world, struct node *node,
		  const struct node_options *options)
{
	struct served *served = calloc(1, sizeof(*served));
	struct tsct_responder_ops ops = {
		.ctx = served, .now = served_now, .real_ns = served_real,
		.now_us = served_us, .asked = served_asked,
	};
	struct tsct_ratelimit_options guard = {
		.interval_us = options->limit_us, .burst = 8, .leak = 4,
	};

	if (!served)
		abort();
	*served = (struct served) { .world = world, .node = node };
	node->served = served;
	node->responder = tsct_responder_new(&ops);
	node->guard = tsct_ratelimit_new(&guard, roll64(&world->dice));
	if (!node->responder || !node->guard)
		abort();
	tsct_ratelimit_rule(node->guard, "all", true);
	tsct_responder_use(node->responder, options->keys, node->guard);
}

/* ---- what it is ------------------------------------------------------------ */

static struct tsct_address address_of(uint32_t index)
{
	return (struct tsct_address) {
		.ip = { [10] = 0xff, [11] = 0xff, [12] = 10,
			[13] = (uint8_t)(index >> 16),
			[14] = (uint8_t)(index >> 8), [15] = (uint8_t)index },
		.port = (uint16_t)(1024 + index % 50000),
	};
}

static void forget(struct node *node)
{
	unsigned int i;

	for (i = 0; i < SHOWN_MAX; i++)
		node->shown[i] = (struct shown) { .timeline = -1 };
}

void node_init(struct world *world, uint32_t index,
	       const struct node_options *options)
{
	struct node *node = &world->nodes[index];
	struct tsct_cluster_options cluster = {
		.fit = { .kind = options->fit, .hz = options->crystal.hz,
			 .wander_ppb = options->wander_ppb,
			 .asymmetry = options->asymmetry_us * 1e-6 *
				options->crystal.hz },
		.hz = options->crystal.hz,
	};

	*node = (struct node) {
		.id = roll64(&world->dice),
		.stamping = options->stamping,
		.address = address_of(index),
		.keys = options->keys,
		.nr_sources = options->nr_sources,
		.alive = true,
	};
	node->host = options->beside ? options->beside->host : node->id ^ 1;
	forget(node);
	osc_init(&node->osc, &options->crystal, roll64(&world->dice) >> 8,
		 dice_of(world->seed, 10000 + index));
	if (options->beside)
		node->osc = options->beside->osc;
	osc_go_on(&node->osc, world->now_ps);
	node->cluster = tsct_cluster_new(&cluster, options->nr_sources);
	node->sources = calloc(options->nr_sources + 1, sizeof(*node->sources));
	if (!node->cluster || !node->sources)
		abort();
	if (options->serves)
		serve(world, node, options);
}

void node_free(struct node *node)
{
	tsct_cluster_free(node->cluster);
	tsct_responder_free(node->responder);
	tsct_ratelimit_free(node->guard);
	tsct_schedule_free(node->round);
	free(node->served);
	free(node->sources);
}

void node_source(struct world *world, uint32_t index, unsigned int source,
		 const struct source *what)
{
	struct node *node = &world->nodes[index];
	struct tsct_client_options options = {
		.key_id = what->key_id, .flags = what->flags,
		.node = node->id, .host = node->host,
		.mult = (__u64)ldexp(1e9 / node->osc.crystal.hz,
				     TSCT_CLOCK_SHIFT),
	};
	struct event event = {
		.happen = wire_poll, .node = index, .source = source,
	};

	node->sources[source] = *what;
	tsct_client_init(&node->sources[source].client, &options);
	world_at(world, world_s(world) + what->poll_s *
		 roll_unit(&world->dice), &event);
}

void node_kill(struct world *world, uint32_t index)
{
	world->nodes[index].alive = false;
	world->nodes[index].life++;
}

/* ---- timelines --------------------------------------------------------------- */

/* Timelines of a counter that jumps go on as if it had not. */
static void jump(struct world *world, uint32_t index, uint64_t count)
{
	struct node *node = &world->nodes[index];
	tsct_u128 before;
	unsigned int i;

	osc_go_on(&node->osc, world->now_ps);
	before = node->osc.phase;
	osc_jump(&node->osc, count);
	if (node->responder)
		tsct_responder_disrupt(node->responder);
	for (i = 0; i < node->nr_sources; i++)
		tsct_client_disrupt(&node->sources[i].client);
	for (i = 0; i < world->nr_timelines; i++)
		if (world->timelines[i].node == index)
			world->timelines[i].shift += before - node->osc.phase;
}

void node_be_master(struct world *world, uint32_t index, uint64_t count)
{
	struct node *node = &world->nodes[index];
	struct timeline *timeline = &world->timelines[world->nr_timelines];
	double wrong = 1 + roll_between(&world->dice, -1e-6, 1e-6);

	if (world->nr_timelines++ == LIVES_MAX)
		abort();
	if (count)
		jump(world, index, count);
	*timeline = (struct timeline) {
		.node = index,
		.epoch = (uint32_t)roll64(&world->dice) >> 1 | 1,
	};
	timeline->line.base = node_count(world, node);
	timeline->line.as_of = timeline->line.base;
	timeline->line.base_ns = NODE_REAL_NS + world->now_ps / 1000 +
		(int64_t)(roll_between(&world->dice, -1, 1) * 1e9);
	timeline->line.mult = (uint64_t)ldexp(1e9 / node->osc.crystal.hz * wrong,
					      TSCT_CLOCK_SHIFT);
	node->master = node->alive = true;
	tsct_cluster_master(node->cluster, node->id, &timeline->line,
			    timeline->epoch);
	node_publish(world, node);
}

void node_be_ntp(struct world *world, uint32_t index, double off_us)
{
	struct node *node = &world->nodes[index];
	struct timeline *timeline = &world->timelines[world->nr_timelines];

	node->is_ntp = true;
	node->real_off_us = off_us;
	if (world->nr_timelines && world->timelines[0].is_real)
		return;
	if (world->nr_timelines++ == LIVES_MAX)
		abort();
	*timeline = (struct timeline) {
		.node = index, .is_real = true,
		.line = { .base = node_count(world, node),
			  .base_ns = NODE_REAL_NS + world->now_ps / 1000,
			  .mult = TSCT_NS_MULT },
	};
}

void node_slept(struct world *world, uint32_t index, uint64_t count)
{
	struct node *node = &world->nodes[index];

	jump(world, index, count);
	tsct_cluster_disrupt(node->cluster);
	forget(node);
	node_publish(world, node);
}

/* ---- what it shows ------------------------------------------------------------ */

static bool claims(const struct shown *shown)
{
	return shown->pair.mult && tsct_status_has_time(shown->status);
}

const struct shown *node_shown(const struct node *node, uint64_t stamp)
{
	const struct shown *shown = node->shown;
	unsigned int i;

	for (i = 0; i < SHOWN_MAX && claims(shown); i++, shown++) {
		if ((int64_t)(stamp - shown->pair.base_cycles) < 0)
			continue;
		if ((int64_t)(stamp - shown->pair.void_after_cycles) > 0)
			return NULL;
		return shown;
	}
	return NULL;
}

/* Within an epoch time goes on where it was. */
static void check_step(struct world *world, const struct node *node,
		       const struct shown *old, const struct shown *new)
{
	uint64_t at = new->pair.base_cycles;
	int64_t step;

	if (!claims(old) || !claims(new) || old->epoch != new->epoch)
		return;
	if (old->timeline != new->timeline)
		world_complain(world, node, "another timeline in epoch %u",
			       new->epoch);
	step = new->pair.base_ns - tsct_clock_params_ns(&old->pair, at);
	if (step >= -1 && step <= 1)
		return;
	world->steps++;
	world_complain(world, node, "a step of %lld ns within epoch %u",
		       (long long)step, new->epoch);
}

/* Only where nobody could have read another time may a line begin before now. */
static void check_pair(struct world *world, const struct node *node,
		       const struct shown *old, const struct shown *new,
		       uint64_t now)
{
	if (tsct_clock_params_check(&new->pair, TSCT_SOURCE_TSC)) {
		world->bad_pairs++;
		world_complain(world, node, "a line that cannot be");
	}
	if (claims(old) && claims(new) && old->epoch == new->epoch &&
	    (int64_t)(new->pair.base_cycles - now) < 0) {
		world->bad_pairs++;
		world_complain(world, node, "a line that began %lld ticks ago",
			       (long long)(now - new->pair.base_cycles));
	}
}

/* Which one it says that it is about */
static int timeline_of(struct world *world, const struct node *node, uint64_t at)
{
	struct tsct_remote_params line;
	__u64 master;
	__u32 epoch;
	__u16 depth;
	unsigned int i;

	if (!tsct_status_has_time(tsct_cluster_timeline(node->cluster, at,
						      &master, &epoch, &depth,
						      &line)))
		return -1;
	for (i = 0; i < world->nr_timelines; i++) {
		const struct timeline *timeline = &world->timelines[i];

		if (timeline->is_real ? !master :
		    world->nodes[timeline->node].id == master &&
		    timeline->epoch == epoch)
			return (int)i;
	}
	world_complain(world, node, "time of nobody's");
	return -1;
}

/* The line that is there already; what is known of it may be more. */
static bool is_line(const struct shown *shown, const struct shown *new)
{
	const struct tsct_clock_params *a = &shown->pair, *b = &new->pair;

	return shown->epoch == new->epoch && claims(shown) == claims(new) &&
		a->base_cycles == b->base_cycles && a->base_ns == b->base_ns &&
		a->mult == b->mult && a->slew_mult == b->slew_mult &&
		a->slew_cycles == b->slew_cycles;
}

/* As a daemon does anyway: a line that had to stay for a while may not serve. */
static void publish_again(struct world *world, struct event *event)
{
	struct node *node = &world->nodes[event->node];

	if (node->alive)
		node_publish(world, node);
	world_at(world, world_s(world) + 1, event);
}

void node_publish_often(struct world *world, uint32_t index)
{
	struct event event = { .happen = publish_again, .node = index };

	world_at(world, world_s(world) + roll_unit(&world->dice), &event);
}

void node_publish(struct world *world, struct node *node)
{
	uint64_t now = node_count(world, node);
	uint64_t begin = now + (uint64_t)(LEAD_S * node->osc.crystal.hz);
	struct shown new = { .timeline = -1 }, *shown = node->shown;

	new.status = tsct_cluster_compose(node->cluster, begin, &new.pair);
	tsct_cluster_published(node->cluster, &new.pair);
	new.epoch = tsct_cluster_epoch(node->cluster);
	world->published++;
	if (is_line(shown, &new)) {
		new.timeline = shown->timeline;
		*shown = new;
		return;
	}
	if (claims(&new))
		new.timeline = timeline_of(world, node, begin);
	check_pair(world, node, shown, &new, now);
	check_step(world, node, shown, &new);
	world->epochs += shown->epoch != new.epoch;
	memmove(shown + 1, shown, (SHOWN_MAX - 1) * sizeof(*shown));
	*shown = new;
}
