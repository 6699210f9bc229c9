// SPDX-License-Identifier: MIT
/*
 * Sorts events of several nodes by time while they arrive: computation without I/O. An event waits
 * until all nodes have sent their earlier events, but at most a given time after its arrival. An
 * event that arrives after an event with a later time was released is marked as late.
 *
 * All times are on one timeline, each with a bound. The order of two events of different
 * nodes is known if their times differ by more than the sum of both bounds.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"

int live_window_init(struct live_window *w, unsigned int nr_nodes, __u32 room,
		     __s64 hold_ns)
{
	unsigned int i;

	memset(w, 0, sizeof(*w));
	w->nodes = calloc(nr_nodes, sizeof(*w->nodes));
	w->waiting = calloc(room, sizeof(*w->waiting));
	w->cursors = calloc(room, sizeof(*w->cursors));
	if (!w->nodes || !w->waiting || !w->cursors)
		return -ENOMEM;
	tsct_order_init(&w->order, w->cursors, room);
	for (i = 0; i < room; i++)
		w->cursors[i].index = i;
	w->nr_nodes = nr_nodes;
	w->hold_ns = hold_ns;
	w->passed_ns = w->forced_ns = w->released_ns = INT64_MIN;
	w->reach[0].ns = w->reach[1].ns = INT64_MIN;
	for (i = 0; i < nr_nodes; i++)
		w->nodes[i] = (struct live_window_node){ .waited = true,
							 .passed_ns = INT64_MIN };
	return 0;
}

void live_window_free(struct live_window *w)
{
	free(w->nodes);
	free(w->waiting);
	free(w->cursors);
	memset(w, 0, sizeof(*w));
}

/* ---- events that wait ------------------------------------------------------------------ */

static void add_waiting(struct live_window *w, const struct live_event *event)
{
	const struct tsct_order_cursor cursor = {
		.key = (__u64)event->ns ^ 1ULL << 63, .rank = w->arrived++,
		.index = w->cursors[w->order.nr].index,
	};

	w->waiting[cursor.index] = *event;
	tsct_order_add(&w->order, &cursor);
}

/* Takes the event with the earliest time, and frees its element of `waiting`. */
static void take_waiting(struct live_window *w, struct live_event *ret)
{
	const __u32 place = w->cursors[0].index;

	*ret = w->waiting[place];
	tsct_order_drop(&w->order);
	w->cursors[w->order.nr].index = place;
}

/* ---- times ------------------------------------------------------------------------- */

static struct live_arrival *arrival_at(struct live_window *w, unsigned int i)
{
	return &w->arrivals[(w->first + i) % (LIVE_ARRIVALS + 2)];
}

/* Removes the groups of events that arrived at least hold_ns ago, and updates w->forced_ns. */
static void force_arrivals(struct live_window *w, __s64 now_ns)
{
	for (; w->nr_arrivals && now_ns - arrival_at(w, 0)->arrived_ns >= w->hold_ns;
	     w->nr_arrivals--) {
		if (arrival_at(w, 0)->ns > w->forced_ns)
			w->forced_ns = arrival_at(w, 0)->ns;
		w->first = (w->first + 1) % (LIVE_ARRIVALS + 2);
	}
}

static void add_arrival(struct live_window *w, __s64 ns, __s64 now_ns)
{
	struct live_arrival *last = w->nr_arrivals ? arrival_at(w, w->nr_arrivals - 1) : NULL;

	if (last && now_ns - last->arrived_ns <= w->hold_ns / LIVE_ARRIVALS) {
		last->ns = ns > last->ns ? ns : last->ns;
		return;
	}
	force_arrivals(w, now_ns);
	*arrival_at(w, w->nr_arrivals++) = (struct live_arrival){ .arrived_ns = now_ns, .ns = ns };
}

void live_window_push(struct live_window *w, const struct live_event *event, __s64 now_ns)
{
	add_waiting(w, event);
	add_arrival(w, event->ns, now_ns);
}

static void find_passed(struct live_window *w)
{
	unsigned int i;

	w->passed_ns = INT64_MAX;
	for (i = 0; i < w->nr_nodes; i++)
		if (w->nodes[i].waited && w->nodes[i].passed_ns < w->passed_ns)
			w->passed_ns = w->nodes[i].passed_ns;
}

void live_window_pass(struct live_window *w, __u32 node, __s64 ns)
{
	struct live_window_node *n = &w->nodes[node];
	const __s64 before = n->passed_ns;

	if (ns <= before)
		return;
	n->passed_ns = ns;
	if (n->waited && before == w->passed_ns)
		find_passed(w);
}

void live_window_leave(struct live_window *w, __u32 node)
{
	if (w->nodes[node].waited) {
		w->nodes[node].waited = false;
		find_passed(w);
	}
}

/* ---- release ------------------------------------------------------------------------ */

static __s64 earliest_ns(const struct live_event *e)
{
	__s64 ns;

	return e->error_ns > INT64_MAX ||
		__builtin_sub_overflow(e->ns, (__s64)e->error_ns, &ns) ? INT64_MIN : ns;
}

static __s64 latest_ns(const struct live_event *e)
{
	__s64 ns;

	return e->error_ns > INT64_MAX ||
		__builtin_add_overflow(e->ns, (__s64)e->error_ns, &ns) ? INT64_MAX : ns;
}

/* Returns true if a released event of another node may have a later time than @e. */
static bool is_unsure(const struct live_window *w, const struct live_event *e)
{
	const struct live_reach *other = &w->reach[w->reach[0].node == e->node];

	return other->ns != INT64_MIN && other->ns >= earliest_ns(e);
}

static void note_reach(struct live_window *w, const struct live_event *e)
{
	const struct live_reach own = { .node = e->node, .ns = latest_ns(e) };

	if (w->reach[0].ns == INT64_MIN || w->reach[0].node == e->node) {
		if (own.ns > w->reach[0].ns)
			w->reach[0] = own;
	} else if (own.ns > w->reach[0].ns) {
		w->reach[1] = w->reach[0];
		w->reach[0] = own;
	} else if (own.ns > w->reach[1].ns) {
		w->reach[1] = own;
	}
}

bool live_window_next(struct live_window *w, __s64 now_ns, struct live_event *ret)
{
	const __s64 ns = w->order.nr ? w->waiting[w->cursors[0].index].ns : INT64_MAX;
	/* passed_ns is INT64_MAX if there is no node whose events must be waited for. */
	const bool waits = ns >= w->passed_ns && w->passed_ns != INT64_MAX;

	force_arrivals(w, now_ns);
	if (!w->order.nr || (waits && ns > w->forced_ns && ns >= w->released_ns &&
		       !live_window_is_full(w)))
		return false;
	take_waiting(w, ret);
	ret->flags = (__u8)((ns < w->released_ns ? LIVE_LATE : 0) |
			    (is_unsure(w, ret) ? LIVE_UNSURE : 0));
	w->late += !!(ret->flags & LIVE_LATE);
	w->nodes[ret->node].late += !!(ret->flags & LIVE_LATE);
	w->unsure += !!(ret->flags & LIVE_UNSURE);
	w->forced += waits;
	w->released++;
	if (ns > w->released_ns)
		w->released_ns = ns;
	note_reach(w, ret);
	return true;
}
