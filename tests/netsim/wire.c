// SPDX-License-Identifier: MIT
/*
 * Packets: asked, sent, arrived, answered. A server's program takes some us from
 * a packet's arrival to its answer, and some more until the kernel sends that.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

#define WAKE_US		3.7	/* from a packet's arrival to its reader */
#define SEND_US		2.8	/* from who sends to the network */

static void later(struct world *world, double us, const struct event *event)
{
	struct event new = *event;

	new.at_ps = world->now_ps + llrint(us * PS_PER_US);
	queue_add(&world->queue, &new);
}

static double about(struct world *world, double us)
{
	return us * (0.7 + 0.3 * roll_exp(&world->dice));
}

void wire_send(struct world *world, struct path *path,
	       const struct packet *packet)
{
	double us[PATH_COPIES];
	unsigned int copies, i;

	world->sent++;
	copies = path_send(path, &world->dice, world_s(world), us);
	for (i = 0; i < copies; i++) {
		struct event event = { .happen = wire_arrive };

		event.packet = malloc(sizeof(*event.packet));
		if (!event.packet)
			abort();
		*event.packet = *packet;
		attack_path(world, event.packet);
		later(world, us[i], &event);
	}
}

/* What a server says to all */
static void fill(struct world *world, struct node *node,
		 struct tsct_timeline *timeline)
{
	uint64_t now = node_count(world, node);

	*timeline = (struct tsct_timeline) {
		.node = node->id, .host = node->host,
		.stratum = 10, .precision = -25,
	};

	if (node->is_ntp) {	/* it says how far it may be off */
		timeline->stratum = 1;
		timeline->root_dispersion =
			tsct_ntp_short((__u64)(fabs(node->real_off_us) * 1e3));
		return;
	}
	timeline->status = tsct_cluster_timeline(node->cluster, now,
						 &timeline->master,
						 &timeline->epoch,
						 &timeline->depth,
						 &timeline->line);
	timeline->has_line = tsct_status_has_time(timeline->status);
	if (timeline->has_line && world_s(world) >= node->lie.at_s)
		timeline->line.base_ns += llrint(node->lie.line_s * 1e9);
}

/* ---- asking --------------------------------------------------------------- */

#define PATIENCE_US	100000	/* in a session, until it is asked again */

/* The kernel sends what the program gave it, and says when that was. */
static void go(struct world *world, struct event *event)
{
	struct packet *packet = event->packet;
	struct node *node = &world->nodes[event->node];
	struct source *asked = &node->sources[event->source];

	if (!node->stamping.by_program)
		tsct_client_sent(&asked->client, event->ticket,
				 node_stamp(world, node, false));
	wire_send(world, &asked->go, packet);
	free(packet);
}

static void ask(struct world *world, uint32_t index, unsigned int source)
{
	struct node *node = &world->nodes[index];
	struct source *asked = &node->sources[source];
	struct event event = { .happen = go, .node = index, .source = source };
	struct tsct_extension ext = {
		.flags = asked->session ? TSCT_EXT_JOIN : 0,
		.session = asked->session,
	};
	__u64 random[2] = { roll64(&world->dice), roll64(&world->dice) };
	struct packet *packet = calloc(1, sizeof(*packet));
	struct tsct_packet_time before;

	if (!packet)
		abort();
	if (asked->waits && asked->barrier) {
		ext.flags |= TSCT_EXT_ARRIVED;
		ext.barrier = asked->barrier;
	}
	packet->from = index;
	packet->to = asked->server;
	packet->source = source;
	packet->asker = node->address;
	packet->len = tsct_client_request(&asked->client, node->keys, random,
					  &ext, packet->bytes);
	if (!packet->len) {
		free(packet);
		return;
	}
	before = node_stamp(world, node, false);
	before.kernel = false;
	event.ticket = (__u32)asked->client.sent;
	tsct_client_sent(&asked->client, event.ticket, before);
	event.packet = packet;
	later(world, about(world, SEND_US), &event);
}

/* Nothing came back: in a session it is asked again before the next poll. */
static void give_up(struct world *world, struct event *event)
{
	struct node *node = &world->nodes[event->node];
	struct source *source = &node->sources[event->source];

	if (!source->session || source->client.sent != event->ticks)
		return;
	ask(world, event->node, event->source);
	event->ticks = source->client.sent;
	later(world, PATIENCE_US, event);
}

static void take_turn(struct world *world, struct event *event)
{
	struct source *source = &world->nodes[event->node].sources[event->source];

	if (!source->session)
		return;
	ask(world, event->node, event->source);
	event->happen = give_up;
	event->ticks = source->client.sent;
	later(world, PATIENCE_US, event);
}

void wire_poll(struct world *world, struct event *event)
{
	struct node *node = &world->nodes[event->node];
	struct source *source = &node->sources[event->source];
	double s = source->poll_s * roll_between(&world->dice, 0.98, 1.02);

	if (event->life != node->life)
		return;
	if (node->alive && !source->session)
		ask(world, event->node, event->source);
	later(world, s * 1e6, event);
}

/* ---- barriers ------------------------------------------------------------- */

static void ask_again(struct world *world, struct event *event)
{
	struct source *source = &world->nodes[event->node].sources[0];

	if (!source->waits)
		return;
	if (!source->session)
		ask(world, event->node, 0);
	later(world, PATIENCE_US, event);
}

void wire_wait(struct world *world, uint32_t index)
{
	struct event event = { .happen = ask_again, .node = index };

	world->nodes[index].sources[0].waits = true;
	ask_again(world, &event);
}

/* A number that is not the one we said is that of another life of the master's. */
static void follow_barrier(struct source *source)
{
	const struct tsct_remote *remote = &source->client.remote;

	if (remote->flags & TSCT_EXT_RELEASED && source->waits &&
	    remote->barrier == source->barrier) {
		source->waits = false;
		source->released++;
	} else {
		source->barrier = remote->barrier;
	}
}

/* Of a session, as the answer has it */
static void follow(struct world *world, uint32_t index, unsigned int source)
{
	struct source *asked = &world->nodes[index].sources[source];
	const struct tsct_remote *remote = &asked->client.remote;
	struct event event = {
		.happen = take_turn, .node = index, .source = source,
	};

	follow_barrier(asked);
	asked->exchanges += asked->session != 0;
	if (remote->flags & TSCT_EXT_SESSION_OPEN) {
		asked->session = remote->session;
		later(world, remote->turn_us, &event);
	} else if (remote->flags & TSCT_EXT_SESSION_OVER) {
		asked->session = 0;
	}
}

void wire_hint(struct world *world, uint32_t from, uint32_t to)
{
	struct node *node = &world->nodes[from];
	struct packet packet = { .from = from, .to = to, .reply = true };
	struct tsct_timeline timeline;

	fill(world, node, &timeline);
	packet.len = tsct_responder_request_poll(&timeline, node->keys,
					 world->nodes[to].sources[0].key_id,
					 packet.bytes);
	wire_send(world, &world->nodes[to].sources[0].back, &packet);
}

/* Who shares our counter need not be measured: its stamps are ours. */
static struct tsct_exchange identified(const struct source *source,
				       const struct tsct_exchange *x)
{
	struct tsct_exchange same = *x;

	if (!source->synced_host || !source->client.remote.shared)
		return same;
	same.t1 = same.t2;
	same.t4 = same.t3;
	same.local_error = 0;
	same.remote_error = 0;
	return same;
}

static void learn(struct world *world, struct node *node, unsigned int source,
		  const struct tsct_exchange *x, unsigned int nr)
{
	struct tsct_exchange one;
	const struct tsct_remote *remote = &node->sources[source].client.remote;
	bool news = false;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		one = identified(&node->sources[source], &x[i]);
		news |= tsct_cluster_feed(node->cluster, source, &one,
					  remote) != TSCT_CLUSTER_OK;
		world->exchanges++;
	}
	if (news)
		node_publish(world, node);
}

static void hear(struct world *world, const struct packet *packet)
{
	struct node *node = &world->nodes[packet->to];
	struct source *source = &node->sources[packet->source];
	struct tsct_exchange x[2];
	unsigned int nr = 0;
	int64_t near_ns = NODE_REAL_NS + world->now_ps / 1000;
	const __u64 now_us = (__u64)(world->now_ps / PS_PER_US);
	enum tsct_client_result result;
	__u64 at_us;

	result = tsct_client_reply(&source->client, node->keys, packet->bytes,
				   packet->len, node_stamp(world, node, true),
				   near_ns);
	if (result != TSCT_CLIENT_OK && !source->session &&
	    tsct_client_poll_requested(&source->client, node->keys, packet->bytes,
			       packet->len, now_us, &at_us) && at_us == now_us)
		ask(world, packet->to, packet->source);
	attack_saw(world, packet, result == TSCT_CLIENT_OK);
	if (result != TSCT_CLIENT_OK)
		return;
	while (nr < 2 && tsct_client_next(&source->client, &x[nr]))
		nr++;
	learn(world, node, packet->source, x, nr);
	follow(world, packet->to, packet->source);
}

static void hear_later(struct world *world, struct event *event)
{
	hear(world, event->packet);
	free(event->packet);
}

/* ---- answering ------------------------------------------------------------ */

static void leave(struct world *world, struct event *event)
{
	struct packet *packet = event->packet;
	struct node *node = &world->nodes[event->node];
	struct node *asker;

	if (node->alive && node->life == event->life) {
		if (!node->stamping.by_program)
			tsct_responder_sent(node->responder, event->ticket,
					    node_stamp_told(world, node,
							    false));
		if (packet->to != NOBODY) {
			asker = &world->nodes[packet->to];
			wire_send(world, &asker->sources[packet->source].back,
				  packet);
		}
	}
	free(packet);
}

static void answer(struct world *world, struct event *event)
{
	struct packet *packet = event->packet, reply = { .reply = true };
	struct node *node = &world->nodes[event->node];
	struct tsct_packet_time rx = {
		.cycles = event->ticks, .error = event->ticket, .kernel = true,
	};
	struct tsct_timeline timeline;

	if (node->stamping.by_program)
		rx = node_stamp_told(world, node, true);
	if (node->alive && node->life == event->life) {
		fill(world, node, &timeline);
		tsct_responder_answer(node->responder, &timeline,
				      &packet->asker, packet->bytes,
				      packet->len, rx, reply.bytes, &reply.len,
				      &event->ticket);
	}
	reply.from = event->node;
	reply.to = packet->from;
	reply.source = packet->source;
	reply.asker = packet->asker;
	*packet = reply;
	event->happen = leave;
	if (reply.len)
		later(world, about(world, SEND_US), event);
	else
		free(packet);
}

void wire_arrive(struct world *world, struct event *event)
{
	struct packet *packet = event->packet;
	struct node *node = &world->nodes[packet->to];
	struct tsct_packet_time rx;

	world->delivered++;
	if (!node->alive || (!packet->reply && !node->responder)) {
		free(packet);
		return;
	}
	if (packet->reply) {
		event->happen = hear_later;
		if (node->stamping.by_program) {
			later(world, about(world, WAKE_US), event);
			return;
		}
		hear_later(world, event);
		return;
	}
	rx = node_stamp_told(world, node, true);
	event->happen = answer;
	event->node = packet->to;
	event->ticks = rx.cycles;
	event->ticket = rx.error;
	event->life = node->life;
	later(world, about(world, WAKE_US), event);
}
