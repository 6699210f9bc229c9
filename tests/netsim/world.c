// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

#define COMPLAINTS_SHOWN	10

void world_init(struct world *world, unsigned int nr_nodes, uint64_t seed)
{
	*world = (struct world) {
		.dice = dice_of(seed, 2000),
		.nr_nodes = nr_nodes,
		.seed = seed,
	};
	world->nodes = calloc(nr_nodes, sizeof(*world->nodes));
	if (!world->nodes)
		abort();
}

void world_free(struct world *world)
{
	struct event event;
	unsigned int i;

	while (queue_take(&world->queue, INT64_MAX, &event))
		free(event.packet);
	queue_free(&world->queue);
	for (i = 0; i < world->nr_nodes; i++)
		node_free(&world->nodes[i]);
	free(world->nodes);
	free(world->node_tally);
}

void world_run(struct world *world, double until_s)
{
	int64_t until_ps = llrint(until_s * PS_PER_S);
	struct event event;

	while (queue_take(&world->queue, until_ps, &event)) {
		world->now_ps = event.at_ps;
		event.happen(world, &event);
	}
	world->now_ps = until_ps;
}

void world_at(struct world *world, double s, const struct event *event)
{
	struct event new = *event;

	new.at_ps = llrint(s * PS_PER_S);
	if (new.at_ps < world->now_ps)
		new.at_ps = world->now_ps;
	queue_add(&world->queue, &new);
}

void world_complain(struct world *world, const struct node *node,
		    const char *format, ...)
{
	va_list args;

	if (world->complaints++ >= COMPLAINTS_SHOWN && !world->verbose)
		return;
	printf("  VIOLATION seed %llu node %ld at %.6f s: ",
	       (unsigned long long)world->seed, (long)(node - world->nodes),
	       world_s(world));
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}
