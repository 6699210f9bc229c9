// SPDX-License-Identifier: MIT
/*
 * An adversary. Off the path, it sends unsolicited answers with guessed fields. On the
 * path, without the key, it replays answers later, unchanged or modified, and modifies
 * packets. It also floods a server with requests from random addresses.
 */
#include <math.h>
#include <stdlib.h>

#include "world.h"

static struct network_path soon_path = { .floor = 20, .exp = 50 };
static struct network_path late_path = { .floor = 20, .exp = 2e6 };

static void flip_bit(struct world *world, struct packet *packet)
{
	packet->bytes[random_u64(&world->random) % packet->len] ^=
		(uint8_t)(1U << random_u64(&world->random) % 8);
}

void attack_answer_checked(struct world *world, const struct packet *packet,
			   bool accepted)
{
	struct adversary *adversary = world->adversary;
	struct packet again = *packet;

	if (!adversary)
		return;
	if (packet->forged) {
		adversary->accepted += accepted;
		return;
	}
	if (packet->to != adversary->victim || packet->source)
		return;
	adversary->seen = *packet;
	if (!random_chance(&world->random, adversary->replay))
		return;
	again.forged = true;
	adversary->replayed++;
	wire_send(world, random_chance(&world->random, 0.5) ? &soon_path : &late_path,
		  &again);
	/* Sends an answer that was seen before a second time, with one bit flipped. */
	flip_bit(world, &again);
	wire_send(world, &soon_path, &again);
}

/* Corrupts random packets on the path, both requests and answers. */
void attack_packet(struct world *world, struct packet *packet)
{
	struct adversary *adversary = world->adversary;

	if (!adversary || packet->forged ||
	    !random_chance(&world->random, adversary->corrupt))
		return;
	flip_bit(world, packet);
	if (random_chance(&world->random, 0.2))
		packet->len = 1 + random_u64(&world->random) % packet->len;
	packet->forged = packet->reply;
	adversary->corrupted++;
}

/* Forges an answer: the last genuine one with random values in some fields, as an
 * adversary off the path can send. */
static void spoof(struct world *world, struct event *event)
{
	struct adversary *adversary = world->adversary;
	struct packet forged = adversary->seen;

	world_at(world, world_s(world) + adversary->spoof_s *
		 random_exp(&world->random), event);
	if (!forged.len)
		return;
	forged.forged = true;
	for (unsigned int i = 24; i < forged.len; i++)
		if (i < 32 || random_chance(&world->random, 0.3))
			forged.bytes[i] = (uint8_t)random_u64(&world->random);
	adversary->spoofed++;
	wire_send(world, &soon_path, &forged);
}

/* Sends a flood request from a random source address, or from a member's address. */
static void flood(struct world *world, struct event *event)
{
	struct adversary *adversary = world->adversary;
	struct packet packet = { .from = NO_NODE, .to = 0, .forged = true };
	struct tsct_client unknown;
	struct tsct_client_options options = { .node = random_u64(&world->random) };
	__u64 random[2] = { random_u64(&world->random), random_u64(&world->random) };
	uint32_t member = (uint32_t)(random_u64(&world->random) % world->nr_nodes);

	if (world_s(world) > adversary->flood_to_s)
		return;
	world_at(world, world_s(world) + adversary->flood_s *
		 random_exp(&world->random), event);
	packet.client = world->nodes[member].address;
	if (random_chance(&world->random, 0.9)) {
		packet.client.ip[13] = (uint8_t)(100 + random_u64(&world->random) % 100);
		packet.client.ip[14] = (uint8_t)random_u64(&world->random);
	}
	tsct_client_init(&unknown, &options);
	packet.len = tsct_client_request(&unknown, NULL, random, NULL, false, packet.bytes);
	adversary->flooded++;
	wire_send(world, &soon_path, &packet);
}

void attack_begin(struct world *world, struct adversary *adversary)
{
	struct event event = { 0 };

	world->adversary = adversary;
	if (adversary->spoof_s > 0) {
		event.handle = spoof;
		world_at(world, world_s(world), &event);
	}
	if (adversary->flood_s > 0) {
		event.handle = flood;
		world_at(world, adversary->flood_from_s, &event);
	}
}
