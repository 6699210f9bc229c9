// SPDX-License-Identifier: MIT
/*
 * Packets: requests, answers, arrival. A server's program takes some us from a
 * packet's arrival to its answer, and some more until the kernel sends it.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/sync/schedule.h"
#include "world.h"

#define WAKE_US		3.7	/* time from a packet's arrival until the server's
				 * program runs */
#define SEND_US		2.8	/* time from the program's send call until the packet
				 * leaves the host */

static double random_us(struct world *world, double us)
{
	return us * (0.7 + 0.3 * random_exp(&world->random));
}

void wire_send(struct world *world, struct network_path *path,
	       const struct packet *packet)
{
	double us[NETWORK_COPIES_MAX];
	unsigned int copies, i;

	copies = network_send(path, &world->random, world_s(world), us);
	for (i = 0; i < copies; i++) {
		struct event event = { .handle = wire_arrive };

		event.packet = malloc(sizeof(*event.packet));
		if (!event.packet)
			abort();
		*event.packet = *packet;
		attack_packet(world, event.packet);
		world_after_us(world, us[i], &event);
	}
}

/* Fills in the state that a server sends with every answer. */
static void fill_timeline(struct world *world, struct node *node,
			  struct tsct_timeline *timeline)
{
	uint64_t now = node_count(world, node);

	*timeline = (struct tsct_timeline) {
		.node = node->id, .host = node->host,
		.stratum = 10, .precision = -25,
	};

	if (node->is_ntp) {	/* The server's root dispersion has to cover the
				 * error of its clock. */
		timeline->stratum = 1;
		timeline->root_dispersion =
			tsct_ntp_short((__u64)(fabs(node->real_off_us) * 1e3));
		return;
	}
	tsct_cluster_timeline(node->cluster, now, timeline);
	if (timeline->has_params && world_s(world) >= node->fault.at_s)
		timeline->params.base_ns += llrint(node->fault.params_s * 1e9);
}

/* ---- exchanges ----------------------------------------------------------- */

/* Returns an exchange that needs no measurement: a source on the same host shares the
 * counter, so its time stamps are valid on this node. */
static struct tsct_exchange with_shared_counter(const struct source *source,
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

/* Feeds the complete exchanges of a source to the node's cluster. */
static void add_exchanges(struct world *world, uint32_t index,
			  unsigned int source)
{
	struct node *node = &world->nodes[index];
	struct source *s = &node->sources[source];
	struct tsct_exchange x;
	bool changed = false;

	while (tsct_client_next(&s->client, &x)) {
		x = with_shared_counter(s, &x);
		changed |= tsct_cluster_feed(node->cluster, source, &x,
					  &s->client.remote) != TSCT_CLUSTER_OK;
		world->exchanges++;
	}
	if (changed)
		node_publish(world, node);
}

/* ---- requests ------------------------------------------------------------ */

#define RETRY_US	100000	/* time after which an unanswered request of a
				 * session is repeated, us */

/* Sends a packet. Its transmit time stamp is taken now, as by the kernel. */
static void transmit(struct world *world, struct event *event)
{
	struct packet *packet = event->packet;
	struct node *node = &world->nodes[event->node];
	struct source *source = &node->sources[event->source];

	if (!node->timestamping.by_program)
		tsct_client_sent(&source->client, event->ticket,
				 node_packet_time(world, node, false));
	wire_send(world, &source->request, packet);
	free(packet);
}

/* Makes a request now, and sends it SEND_US or so later. */
static void make_request(struct world *world, uint32_t index, unsigned int source,
			 bool is_further)
{
	struct node *node = &world->nodes[index];
	struct source *s = &node->sources[source];
	struct event event = { .handle = transmit, .node = index, .source = source };
	struct tsct_extension ext = {
		.flags = s->session ? TSCT_EXT_JOIN : 0,
		.session = s->session,
	};
	__u64 random[2] = { random_u64(&world->random), random_u64(&world->random) };
	struct packet *packet = calloc(1, sizeof(*packet));
	struct tsct_packet_time before;

	if (!packet)
		abort();
	if (s->waits && s->barrier) {
		ext.flags |= TSCT_EXT_ARRIVED;
		ext.barrier = s->barrier;
	}
	packet->from = index;
	packet->to = s->server;
	packet->source = source;
	packet->client = node->address;
	packet->len = tsct_client_request(&s->client, node->keys, random, &ext,
					  is_further, packet->bytes);
	if (!packet->len) {
		free(packet);
		return;
	}
	before = node_packet_time(world, node, false);
	before.kernel = false;
	event.ticket = (__u32)s->client.sent;
	tsct_client_sent(&s->client, event.ticket, before);
	event.packet = packet;
	world_after_us(world, random_us(world, SEND_US), &event);
}

static void send_request(struct world *world, uint32_t index,
			 unsigned int source)
{
	world->nodes[index].sources[source].further = 0;
	make_request(world, index, source, false);
}

/* Sends the first request of a daemon's poll (daemon/sync/poller.c). */
static void send_poll(struct world *world, uint32_t index, unsigned int source)
{
	struct source *s = &world->nodes[index].sources[source];
	const struct tsct_exchange *x;
	const struct tsct_fit *fit = NULL;
	const bool *kept;

	if (tsct_client_waits(&s->client)) {
		tsct_client_flush(&s->client);
		add_exchanges(world, index, source);
	}
	send_request(world, index, source);
	tsct_cluster_window(world->nodes[index].cluster, source, &x, &kept, &fit);
	s->further = tsct_request_number(fit, llrint(s->poll_s * 1e9), s->nr_single) - 1;
	s->nr_single = s->further ? 0 : s->nr_single + 1;
}

/* Repeats an unanswered request of a session, instead of waiting for the next poll. */
static void repeat_request(struct world *world, struct event *event)
{
	struct node *node = &world->nodes[event->node];
	struct source *source = &node->sources[event->source];

	if (!source->session || source->client.sent != event->ticks)
		return;
	send_request(world, event->node, event->source);
	event->ticks = source->client.sent;
	world_after_us(world, RETRY_US, event);
}

static void take_turn(struct world *world, struct event *event)
{
	struct source *source = &world->nodes[event->node].sources[event->source];

	if (!source->session)
		return;
	send_request(world, event->node, event->source);
	event->handle = repeat_request;
	event->ticks = source->client.sent;
	world_after_us(world, RETRY_US, event);
}

void wire_poll(struct world *world, struct event *event)
{
	struct node *node = &world->nodes[event->node];
	struct source *source = &node->sources[event->source];
	double s = source->poll_s * random_uniform(&world->random, 0.98, 1.02);

	if (event->restarts != node->restarts)
		return;
	if (node->alive && !source->session && source->polls_as_daemon)
		send_poll(world, event->node, event->source);
	else if (node->alive && !source->session)
		send_request(world, event->node, event->source);
	world_after_us(world, s * 1e6, event);
}

/* ---- barriers ------------------------------------------------------------ */

static void poll_barrier(struct world *world, struct event *event)
{
	struct source *source = &world->nodes[event->node].sources[0];

	if (!source->waits)
		return;
	if (!source->session)
		send_request(world, event->node, 0);
	world_after_us(world, RETRY_US, event);
}

void wire_enter_barrier(struct world *world, uint32_t index)
{
	struct event event = { .handle = poll_barrier, .node = index };

	world->nodes[index].sources[0].waits = true;
	poll_barrier(world, &event);
}

/*
 * Updates whether the node waits in the barrier that an answer reports. If the answer's
 * barrier number differs from the saved one, the master was restarted, and the new
 * number is saved. Number 0 reports nothing: the master could not exclude that the request
 * was a replay, as after many lost answers, and did not use its extension field. As in
 * daemon/collective/collective.c, the node then keeps the saved number.
 */
static void follow_barrier(struct source *source)
{
	const struct tsct_remote *remote = &source->client.remote;

	if (remote->flags & TSCT_EXT_RELEASED && source->waits &&
	    remote->barrier == source->barrier) {
		source->waits = false;
		source->released++;
	} else if (remote->barrier) {
		source->barrier = remote->barrier;
	}
}

/* Begins, continues or ends the node's session, as the received answer requests. */
static void follow_session(struct world *world, uint32_t index,
			   unsigned int source)
{
	struct source *s = &world->nodes[index].sources[source];
	const struct tsct_remote *remote = &s->client.remote;
	struct event event = {
		.handle = take_turn, .node = index, .source = source,
	};

	follow_barrier(s);
	s->exchanges += s->session != 0;
	if (remote->flags & TSCT_EXT_SESSION_OPEN) {
		s->session = remote->session;
		world_after_us(world, remote->turn_us, &event);
	} else if (remote->flags & TSCT_EXT_SESSION_OVER) {
		s->session = 0;
	}
}

void wire_request_poll(struct world *world, uint32_t from, uint32_t to)
{
	struct node *node = &world->nodes[from];
	struct packet packet = { .from = from, .to = to, .reply = true };
	struct tsct_timeline timeline;

	fill_timeline(world, node, &timeline);
	packet.len = tsct_responder_request_poll(&timeline, node->keys,
					 world->nodes[to].sources[0].key_id,
					 packet.bytes);
	wire_send(world, &world->nodes[to].sources[0].answer, &packet);
}

static void receive_answer(struct world *world, const struct packet *packet)
{
	struct node *node = &world->nodes[packet->to];
	struct source *source = &node->sources[packet->source];
	int64_t near_ns = NODE_REAL_NS + world->now_ps / 1000;
	const __u64 now_us = (__u64)(world->now_ps / PS_PER_US);
	enum tsct_client_result result;
	__u64 at_us;

	result = tsct_client_reply(&source->client, node->keys, packet->bytes,
				   packet->len, node_packet_time(world, node, true),
				   near_ns);
	if (result != TSCT_CLIENT_OK && !source->session &&
	    tsct_client_poll_requested(&source->client, node->keys, packet->bytes,
			       packet->len, now_us, &at_us) && at_us == now_us)
		send_request(world, packet->to, packet->source);
	attack_answer_checked(world, packet, result == TSCT_CLIENT_OK);
	if (result != TSCT_CLIENT_OK)
		return;
	if (source->further && !(source->client.remote.flags & TSCT_EXT_SESSION_OPEN)) {
		source->further--;
		make_request(world, packet->to, packet->source, true);
	}
	add_exchanges(world, packet->to, packet->source);
	follow_session(world, packet->to, packet->source);
}

static void receive_answer_later(struct world *world, struct event *event)
{
	receive_answer(world, event->packet);
	free(event->packet);
}

/* ---- receiving packets --------------------------------------------------- */

static void transmit_answer(struct world *world, struct event *event)
{
	struct packet *packet = event->packet;
	struct node *node = &world->nodes[event->node];
	struct node *client_node;

	if (node->alive && node->restarts == event->restarts) {
		if (!node->timestamping.by_program)
			tsct_responder_sent(node->responder, event->ticket,
					    node_served_time(world, node,
							    false));
		if (packet->to != NO_NODE) {
			client_node = &world->nodes[packet->to];
			wire_send(world, &client_node->sources[packet->source].answer,
				  packet);
		}
	}
	free(packet);
}

static void answer_request(struct world *world, struct event *event)
{
	struct packet *packet = event->packet, reply = { .reply = true };
	struct node *node = &world->nodes[event->node];
	struct tsct_packet_time rx = {
		.cycles = event->ticks, .error = event->ticket, .kernel = true,
	};
	struct tsct_timeline timeline;

	if (node->timestamping.by_program)
		rx = node_served_time(world, node, true);
	if (node->alive && node->restarts == event->restarts) {
		fill_timeline(world, node, &timeline);
		tsct_responder_answer(node->responder, &timeline,
				      &packet->client, packet->bytes,
				      packet->len, rx, reply.bytes, &reply.len,
				      &event->ticket);
	}
	reply.from = event->node;
	reply.to = packet->from;
	reply.source = packet->source;
	reply.client = packet->client;
	*packet = reply;
	event->handle = transmit_answer;
	if (reply.len)
		world_after_us(world, random_us(world, SEND_US), event);
	else
		free(packet);
}

void wire_arrive(struct world *world, struct event *event)
{
	struct packet *packet = event->packet;
	struct node *node = &world->nodes[packet->to];
	struct tsct_packet_time rx;

	if (!node->alive || (!packet->reply && !node->responder)) {
		free(packet);
		return;
	}
	if (packet->reply) {
		event->handle = receive_answer_later;
		if (node->timestamping.by_program) {
			world_after_us(world, random_us(world, WAKE_US), event);
			return;
		}
		receive_answer_later(world, event);
		return;
	}
	rx = node_served_time(world, node, true);
	event->handle = answer_request;
	event->node = packet->to;
	event->ticks = rx.cycles;
	event->ticket = rx.error;
	event->restarts = node->restarts;
	world_after_us(world, random_us(world, WAKE_US), event);
}
