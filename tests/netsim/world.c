// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

#define VIOLATIONS_SHOWN	10

/* ---- queue of events ----------------------------------------------------- */

static bool before(const struct event *a, const struct event *b)
{
	return a->at_ps != b->at_ps ? a->at_ps < b->at_ps : a->turn < b->turn;
}

static void grow(struct queue *queue)
{
	queue->room = queue->room ? 2 * queue->room : 1024;
	queue->events = realloc(queue->events,
				queue->room * sizeof(*queue->events));
	if (!queue->events)
		abort();
}

static void queue_add(struct queue *queue, const struct event *event)
{
	struct event new = *event;
	size_t i = queue->nr;

	if (queue->nr == queue->room)
		grow(queue);
	queue->nr++;
	new.turn = queue->turns++;
	for (; i && before(&new, &queue->events[(i - 1) / 2]); i = (i - 1) / 2)
		queue->events[i] = queue->events[(i - 1) / 2];
	queue->events[i] = new;
}

static bool queue_next(struct queue *queue, int64_t ps, struct event *ret_event)
{
	struct event *events = queue->events, last;
	size_t i = 0, child;

	if (!queue->nr || events[0].at_ps > ps)
		return false;
	*ret_event = events[0];
	last = events[--queue->nr];
	while ((child = 2 * i + 1) < queue->nr) {
		if (child + 1 < queue->nr &&
		    before(&events[child + 1], &events[child]))
			child++;
		if (!before(&events[child], &last))
			break;
		events[i] = events[child];
		i = child;
	}
	events[i] = last;
	return true;
}

static void queue_free(struct queue *queue)
{
	free(queue->events);
	*queue = (struct queue) { 0 };
}

/* ---- setup and event loop ------------------------------------------------ */

void world_init(struct world *world, unsigned int nr_nodes, uint64_t seed)
{
	*world = (struct world) {
		.random = random_stream(seed, 2000),
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

	while (queue_next(&world->queue, INT64_MAX, &event))
		free(event.packet);
	queue_free(&world->queue);
	for (unsigned int i = 0; i < world->nr_nodes; i++)
		node_free(&world->nodes[i]);
	free(world->nodes);
	free(world->node_tally);
}

void world_run(struct world *world, double until_s)
{
	int64_t until_ps = llrint(until_s * PS_PER_S);
	struct event event;

	while (queue_next(&world->queue, until_ps, &event)) {
		world->now_ps = event.at_ps;
		event.handle(world, &event);
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

void world_after_us(struct world *world, double us, const struct event *event)
{
	struct event new = *event;

	new.at_ps = world->now_ps + llrint(us * PS_PER_US);
	queue_add(&world->queue, &new);
}

void world_violation(struct world *world, const struct node *node,
		     const char *format, ...)
{
	va_list args;

	if (world->violations++ >= VIOLATIONS_SHOWN && !world->verbose)
		return;
	printf("  VIOLATION seed %llu node %ld at %.6f s: ",
	       (unsigned long long)world->seed, (long)(node - world->nodes),
	       world_s(world));
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}
