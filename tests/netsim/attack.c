// SPDX-License-Identifier: MIT
/*
 * Off the path: answers that nobody asked for, made of what can be guessed. On it,
 * but without the key: answers that come once more, later, whole or with another
 * time in them. And strangers who ask and ask.
 */
#include <math.h>
#include <stdlib.h>

#include "world.h"

static struct path soon = { .floor = 20, .exp = 50 };
static struct path long_after = { .floor = 20, .exp = 2e6 };

static void change(struct world *world, struct packet *packet)
{
	packet->bytes[roll64(&world->dice) % packet->len] ^=
		(uint8_t)(1U << roll64(&world->dice) % 8);
}

void attack_saw(struct world *world, const struct packet *packet, bool believed)
{
	struct adversary *adversary = world->adversary;
	struct packet again = *packet;

	if (!adversary)
		return;
	if (packet->forged) {
		adversary->believed += believed;
		return;
	}
	if (packet->to != adversary->victim || packet->source)
		return;
	adversary->seen = *packet;
	if (!roll_chance(&world->dice, adversary->replay))
		return;
	again.forged = true;
	adversary->replayed++;
	wire_send(world, roll_chance(&world->dice, 0.5) ? &soon : &long_after,
		  &again);
	/* What comes behind the header is stamps and MAC; bits of it differ. */
	change(world, &again);
	wire_send(world, &soon, &again);
}

/* On the path, with all that passes by; requests, too */
void attack_path(struct world *world, struct packet *packet)
{
	struct adversary *adversary = world->adversary;

	if (!adversary || packet->forged ||
	    !roll_chance(&world->dice, adversary->corrupt))
		return;
	change(world, packet);
	if (roll_chance(&world->dice, 0.2))
		packet->len = 1 + roll64(&world->dice) % packet->len;
	packet->forged = packet->reply;
	adversary->corrupted++;
}

/* The last answer, with other random numbers: what who is off the path can do */
static void spoof(struct world *world, struct event *event)
{
	struct adversary *adversary = world->adversary;
	struct packet forged = adversary->seen;
	unsigned int i;

	world_at(world, world_s(world) + adversary->spoof_s *
		 roll_exp(&world->dice), event);
	if (!forged.len)
		return;
	forged.forged = true;
	for (i = 24; i < forged.len; i++)
		if (i < 32 || roll_chance(&world->dice, 0.3))
			forged.bytes[i] = (uint8_t)roll64(&world->dice);
	adversary->spoofed++;
	wire_send(world, &soon, &forged);
}

/* From anywhere, among other places from where members are */
static void flood(struct world *world, struct event *event)
{
	struct adversary *adversary = world->adversary;
	struct packet packet = { .from = NOBODY, .to = 0, .forged = true };
	struct tsct_client stranger;
	struct tsct_client_options options = { .node = roll64(&world->dice) };
	__u64 random[2] = { roll64(&world->dice), roll64(&world->dice) };
	uint32_t like = (uint32_t)(roll64(&world->dice) % world->nr_nodes);

	if (world_s(world) > adversary->flood_to_s)
		return;
	world_at(world, world_s(world) + adversary->flood_s *
		 roll_exp(&world->dice), event);
	packet.asker = world->nodes[like].address;
	if (roll_chance(&world->dice, 0.9)) {
		packet.asker.ip[13] = (uint8_t)(100 + roll64(&world->dice) % 100);
		packet.asker.ip[14] = (uint8_t)roll64(&world->dice);
	}
	tsct_client_init(&stranger, &options);
	packet.len = tsct_client_request(&stranger, NULL, random, NULL,
					 packet.bytes);
	adversary->flooded++;
	wire_send(world, &soon, &packet);
}

void attack_begin(struct world *world, struct adversary *adversary)
{
	struct event event = { 0 };

	world->adversary = adversary;
	if (adversary->spoof_s > 0) {
		event.happen = spoof;
		world_at(world, world_s(world), &event);
	}
	if (adversary->flood_s > 0) {
		event.happen = flood;
		world_at(world, adversary->flood_from_s, &event);
	}
}
