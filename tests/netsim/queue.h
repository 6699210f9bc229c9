/* SPDX-License-Identifier: MIT */
/* What happens, in order of time; at the same time, in the order it was asked */
#ifndef TESTS_NETSIM_QUEUE_H
#define TESTS_NETSIM_QUEUE_H

#include "lib/core/port.h"

struct world;
struct packet;

struct event {
	int64_t at_ps;
	uint64_t turn;
	void (*happen)(struct world *world, struct event *event);
	struct packet *packet;
	uint32_t node, source;
	uint64_t ticks;		/* what it is of is up to happen() */
	uint32_t ticket, life;
};

struct queue {
	struct event *events;	/* a heap */
	size_t nr, room;
	uint64_t turns;
};

void queue_add(struct queue *queue, const struct event *event);
/* The first; false: there is none up to @ps. */
bool queue_take(struct queue *queue, int64_t ps, struct event *ret_event);
void queue_free(struct queue *queue);

#endif /* TESTS_NETSIM_QUEUE_H */
