// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>

#include "world.h"

#define LEAD_S		1e-3	/* time from publishing params to their begin, s */

uint64_t node_count(struct world *world, struct node *node)
{
	crystal_advance(&node->crystal, world->now_ps);
	return crystal_count(&node->crystal);
}

struct tsct_packet_time node_packet_time(struct world *world, struct node *node,
					 bool received)
{
	double hz = node->crystal.params.hz;
	double us = timestamp_error_us(&node->timestamping, &world->random, received);

	return (struct tsct_packet_time) {
		.cycles = node_count(world, node) +
			(uint64_t)llrint(us * 1e-6 * hz),
		.error = (uint32_t)ceil(node->timestamping.error * 1e-6 * hz) + 1,
		.kernel = !node->timestamping.by_program,
	};
}

/* ---- the node as a server ------------------------------------------------ */

struct served {
	struct world *world;
	struct node *node;
};

static double fault_s(const struct world *world, const struct node *node)
{
	double s = world_s(world) - node->fault.at_s;

	return s < 0 ? 0 : node->fault.step_s + node->fault.fast * s;
}

static uint64_t served_count(const struct world *world, const struct node *node,
			     uint64_t count)
{
	return count + (uint64_t)llrint(fault_s(world, node) *
					node->crystal.params.hz);
}

static __u64 served_now(void *ctx)
{
	struct served *served = ctx;

	return served_count(served->world, served->node,
		    node_count(served->world, served->node));
}

struct tsct_packet_time node_served_time(struct world *world, struct node *node,
					 bool received)
{
	struct tsct_packet_time time = node_packet_time(world, node, received);

	time.cycles = served_count(world, node, time.cycles);
	return time;
}

/* CLOCK_REALTIME of a server when its counter was at @ticks, with the server's
 * simulated fault added */
static __s64 served_real(void *ctx, __u64 ticks)
{
	struct served *served = ctx;
	struct node *node = served->node;
	uint64_t now = served_count(served->world, node,
			    node_count(served->world, node));
	double ago_s = (double)(int64_t)(now - ticks) / crystal_hz(&node->crystal);
	double wrong_s = fault_s(served->world, node);

	return NODE_REAL_NS + served->world->now_ps / 1000 +
		llrint((wrong_s - ago_s) * 1e9 + node->real_off_us * 1e3);
}

static __u64 served_us(void *ctx)
{
	struct served *served = ctx;

	return (__u64)(served->world->now_ps / PS_PER_US);
}

static void served_request(void *ctx, const struct tsct_responder_request *req)
{
	struct served *served = ctx;
	struct tsct_schedule *schedule = served->node->schedule;

	if (req->proven)
		tsct_cluster_set_polled(served->node->cluster,
					node_count(served->world, served->node), req->poll);
	if (!schedule)
		return;
	tsct_schedule_member(schedule, req->request.node, NULL, 0, served_us(ctx));
	tsct_schedule_request(schedule, &req->request, req->reply, served_us(ctx));
}

uint32_t node_session(struct world *world, uint32_t index)
{
	struct node *node = &world->nodes[index];
	uint32_t session = tsct_schedule_begin(node->schedule,
					    (__u64)(world->now_ps / PS_PER_US));

	for (uint32_t i = 0; i < world->nr_nodes; i++)
		if (world->nodes[i].nr_sources &&
		    world->nodes[i].sources[0].server == index)
			wire_request_poll(world, index, i);
	return session;
}

static void serve(struct world *world, struct node *node,
		  const struct node_options *options)
{
	struct served *served = calloc(1, sizeof(*served));
	struct tsct_responder_ops ops = {
		.ctx = served, .now = served_now, .real_ns = served_real,
		.now_us = served_us, .member_request = served_request,
	};
	struct tsct_ratelimit_options ratelimit = {
		.interval_us = options->limit_us, .burst = 8, .leak = 4,
	};

	if (!served)
		abort();
	*served = (struct served) { .world = world, .node = node };
	node->served = served;
	node->responder = tsct_responder_new(&ops);
	node->ratelimit = tsct_ratelimit_new(&ratelimit, random_u64(&world->random));
	if (!node->responder || !node->ratelimit)
		abort();
	tsct_ratelimit_rule(node->ratelimit, "all", true);
	tsct_responder_use(node->responder, options->keys, node->ratelimit);
}


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
	for (unsigned int i = 0; i < PUBLISHED_MAX; i++)
		node->published[i] = (struct published) { .timeline = -1 };
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
		.node = random_u64(&world->random),
	};

	*node = (struct node) {
		.id = cluster.node,
		.timestamping = options->timestamping,
		.address = address_of(index),
		.keys = options->keys,
		.nr_sources = options->nr_sources,
		.alive = true,
	};
	node->host = options->same_host ? options->same_host->host : node->id ^ 1;
	forget(node);
	crystal_init(&node->crystal, &options->crystal, random_u64(&world->random) >> 8,
		 random_stream(world->seed, 10000 + index));
	if (options->same_host)
		node->crystal = options->same_host->crystal;
	crystal_advance(&node->crystal, world->now_ps);
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
	tsct_ratelimit_free(node->ratelimit);
	tsct_schedule_free(node->schedule);
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
		.mult = (__u64)ldexp(1e9 / node->crystal.params.hz,
				     TSCT_CLOCK_SHIFT),
	};
	struct event event = {
		.handle = wire_poll, .node = index, .source = source,
	};

	node->sources[source] = *what;
	tsct_client_init(&node->sources[source].client, &options);
	world_at(world, world_s(world) + what->poll_s *
		 random_unit(&world->random), &event);
}

void node_kill(struct world *world, uint32_t index)
{
	world->nodes[index].alive = false;
	world->nodes[index].restarts++;
}

/* ---- timelines ----------------------------------------------------------- */

/* Sets the node's counter. Its timelines continue as if the counter had not jumped. */
static void jump(struct world *world, uint32_t index, uint64_t count)
{
	struct node *node = &world->nodes[index];
	tsct_u128 before;

	crystal_advance(&node->crystal, world->now_ps);
	before = node->crystal.osc.phase;
	crystal_jump(&node->crystal, count);
	if (node->responder)
		tsct_responder_disrupt(node->responder);
	for (unsigned int i = 0; i < node->nr_sources; i++)
		tsct_client_disrupt(&node->sources[i].client);
	for (unsigned int i = 0; i < world->nr_timelines; i++)
		if (world->timelines[i].node == index)
			world->timelines[i].shift += before - node->crystal.osc.phase;
}

void node_make_master(struct world *world, uint32_t index, uint64_t count)
{
	struct node *node = &world->nodes[index];
	struct timeline *timeline = &world->timelines[world->nr_timelines];
	double wrong = 1 + random_uniform(&world->random, -1e-6, 1e-6);

	if (world->nr_timelines++ == TIMELINES_MAX)
		abort();
	if (count)
		jump(world, index, count);
	*timeline = (struct timeline) {
		.node = index,
		.epoch = (uint32_t)random_u64(&world->random) >> 1 | 1,
	};
	timeline->params.base = node_count(world, node);
	timeline->params.as_of = timeline->params.base;
	timeline->params.base_ns = NODE_REAL_NS + world->now_ps / 1000 +
		(int64_t)(random_uniform(&world->random, -1, 1) * 1e9);
	timeline->params.mult = (uint64_t)ldexp(1e9 / node->crystal.params.hz * wrong,
					      TSCT_CLOCK_SHIFT);
	node->master = node->alive = true;
	tsct_cluster_master(node->cluster, node->id, &timeline->params,
			    timeline->epoch);
	node_publish(world, node);
}

void node_make_ntp(struct world *world, uint32_t index, double off_us)
{
	struct node *node = &world->nodes[index];
	struct timeline *timeline = &world->timelines[world->nr_timelines];

	node->is_ntp = true;
	node->real_off_us = off_us;
	if (world->nr_timelines && world->timelines[0].is_real)
		return;
	if (world->nr_timelines++ == TIMELINES_MAX)
		abort();
	*timeline = (struct timeline) {
		.node = index, .is_real = true,
		.params = { .base = node_count(world, node),
			  .base_ns = NODE_REAL_NS + world->now_ps / 1000,
			  .mult = TSCT_NS_MULT },
	};
}

void node_suspended(struct world *world, uint32_t index, uint64_t count)
{
	struct node *node = &world->nodes[index];

	jump(world, index, count);
	tsct_cluster_disrupt(node->cluster);
	forget(node);
	node_publish(world, node);
}

/* ---- published clock params ---------------------------------------------- */

static bool is_valid(const struct published *published)
{
	return published->params.mult && tsct_status_has_time(published->status);
}

const struct published *node_published(const struct node *node, uint64_t time)
{
	const struct published *published = node->published;

	for (unsigned int i = 0; i < PUBLISHED_MAX && is_valid(published); i++, published++) {
		if ((int64_t)(time - published->params.base_cycles) < 0)
			continue;
		if ((int64_t)(time - published->params.void_after_cycles) > 0)
			return NULL;
		return published;
	}
	return NULL;
}

/* Within an epoch, new clock params must continue the old ones without a step. */
static void check_step(struct world *world, const struct node *node,
		       const struct published *old, const struct published *new)
{
	uint64_t at = new->params.base_cycles;
	int64_t step;

	if (!is_valid(old) || !is_valid(new) || old->epoch != new->epoch)
		return;
	if (old->timeline != new->timeline)
		world_violation(world, node, "the timeline changed within epoch %u",
			       new->epoch);
	step = new->params.base_ns - tsct_clock_params_ns(&old->params, at);
	if (step >= -1 && step <= 1)
		return;
	world_violation(world, node, "time stepped by %lld ns within epoch %u",
		       (long long)step, new->epoch);
}

/* New clock params may begin in the past only if the node had none before. */
static void check_params(struct world *world, const struct node *node,
			 const struct published *old,
			 const struct published *new, uint64_t now)
{
	if (tsct_clock_params_check(&new->params, TSCT_SOURCE_TSC)) {
		world_violation(world, node, "invalid clock params");
	}
	if (is_valid(old) && is_valid(new) && old->epoch == new->epoch &&
	    (int64_t)(new->params.base_cycles - now) < 0) {
		world_violation(world, node,
				"clock params that began %lld cycles in the past",
			       (long long)(now - new->params.base_cycles));
	}
}

/* Index of the timeline whose master and epoch the node reports; -1: none has them */
static int timeline_of(struct world *world, const struct node *node,
		       uint64_t at)
{
	struct tsct_timeline stated;

	tsct_cluster_timeline(node->cluster, at, &stated);
	if (!stated.has_params)
		return -1;
	for (unsigned int i = 0; i < world->nr_timelines; i++) {
		const struct timeline *timeline = &world->timelines[i];

		if (timeline->is_real ? !stated.master :
		    world->nodes[timeline->node].id == stated.master &&
		    timeline->epoch == stated.epoch)
			return (int)i;
	}
	world_violation(world, node, "published the time of an unknown timeline");
	return -1;
}

/* True if both params map cycles to the same time; bounds and status may differ */
static bool is_same_function(const struct published *published,
			     const struct published *new)
{
	const struct tsct_clock_params *a = &published->params, *b = &new->params;

	return published->epoch == new->epoch && is_valid(published) == is_valid(new) &&
		a->base_cycles == b->base_cycles && a->base_ns == b->base_ns &&
		a->mult == b->mult && a->slew_mult == b->slew_mult &&
		a->slew_cycles == b->slew_cycles;
}

/* Publishes every second, as a daemon does, because published clock params expire. */
static void publish_again(struct world *world, struct event *event)
{
	struct node *node = &world->nodes[event->node];

	if (node->alive)
		node_publish(world, node);
	world_at(world, world_s(world) + 1, event);
}

void node_publish_often(struct world *world, uint32_t index)
{
	struct event event = { .handle = publish_again, .node = index };

	world_at(world, world_s(world) + random_unit(&world->random), &event);
}

void node_publish(struct world *world, struct node *node)
{
	uint64_t now = node_count(world, node);
	uint64_t begin = now + (uint64_t)(LEAD_S * node->crystal.params.hz);
	struct published new = { .timeline = -1 }, *published = node->published;
	struct tsct_clock_state state = { .source = TSCT_SOURCE_TSC };

	tsct_cluster_compose(node->cluster, begin, &state);
	new.params = state.cluster;
	new.status = state.cluster_status;
	tsct_cluster_published(node->cluster, &new.params);
	new.epoch = tsct_cluster_epoch(node->cluster);
	if (is_same_function(published, &new)) {
		new.timeline = published->timeline;
		*published = new;
		return;
	}
	if (is_valid(&new))
		new.timeline = timeline_of(world, node, begin);
	check_params(world, node, published, &new, now);
	check_step(world, node, published, &new);
	memmove(published + 1, published, (PUBLISHED_MAX - 1) * sizeof(*published));
	*published = new;
}
