// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "queue.h"

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

void queue_add(struct queue *queue, const struct event *event)
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

bool queue_take(struct queue *queue, int64_t ps, struct event *ret_event)
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

void queue_free(struct queue *queue)
{
	free(queue->events);
	*queue = (struct queue) { 0 };
}
