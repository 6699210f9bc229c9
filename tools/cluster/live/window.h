/* SPDX-License-Identifier: MIT */
/*
 * Events of several nodes in the order of time, while they arrive: computation without
 * I/O. An event waits until all nodes have sent all that is earlier, but at most a given
 * time after its arrival; an event that arrives later still is late.
 *
 * Times are on one timeline, each with a bound. The order of two events of different
 * nodes is known if their times differ by more than the sum of both bounds.
 */
#ifndef TSCT_TOOLS_LIVE_WINDOW_H
#define TSCT_TOOLS_LIVE_WINDOW_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Flags of an event that was released */
#define LIVE_LATE	0x1	/* an event of a later time was released before it */
#define LIVE_UNSURE	0x2	/* its order to an event of another node before it is unknown */

struct live_event {
	__s64 ns;		/* time, ns */
	__u64 error_ns;		/* bound of the time, ns; UINT64_MAX: unknown */
	__u32 node, cpu, tid;
	__u16 name;		/* index of the name, which the window does not use */
	__u8 kind;		/* TSCT_KIND_* */
	__u8 flags;		/* LIVE_*, set when it is released */
};

/* An event that waits */
struct live_waiting {
	struct live_event event;
	__u64 order;		/* number of the arrival: equal times stay in this order */
};

/* All events that arrived until a time are to be released at the latest `hold_ns` later */
struct live_arrival {
	__s64 arrived_ns;	/* time of the first arrival, CLOCK_MONOTONIC */
	__s64 ns;		/* latest time of an event that arrived until the next one */
};

/* Arrivals within 1/LIVE_ARRIVALS of the time that events may wait count as one. */
#define LIVE_ARRIVALS	64

struct live_window_node {
	bool waited;		/* events wait for this node */
	__s64 passed_ns;	/* it has sent all events before; INT64_MIN: unknown */
	__u64 late;		/* its late events */
};

struct live_window {
	struct live_window_node *nodes;
	unsigned int nr_nodes;
	struct live_waiting *heap;	/* binary heap, the earliest event first */
	size_t nr, room;
	__u64 order;
	__s64 hold_ns;
	__s64 passed_ns;	/* all nodes have sent all events before */
	__s64 forced_ns;	/* latest time of an event that waited long enough */
	/* ring of arrivals whose events may wait */
	struct live_arrival arrivals[LIVE_ARRIVALS + 2];
	unsigned int first, nr_arrivals;
	__s64 released_ns;	/* latest time of a released event; INT64_MIN: none */
	/* the two nodes with the largest time plus bound of a released event */
	struct live_reach {
		__u32 node;
		__s64 ns;	/* saturates; INT64_MIN: none */
	} reach[2];
	__u64 late, unsure, released, forced;	/* numbers of events */
};

/*
 * @nr_nodes: number of nodes, all waited for
 * @room: most events that wait; with more, the earliest are released
 * @hold_ns: longest wait of an event, ns
 * Returns 0 or -ENOMEM; live_window_free() is called in any case.
 */
int live_window_init(struct live_window *w, unsigned int nr_nodes, size_t room,
		     __s64 hold_ns);
void live_window_free(struct live_window *w);

/* Adds an event that arrived at @now_ns, which never decreases. The window must not be
 * full. */
void live_window_push(struct live_window *w, const struct live_event *event, __s64 now_ns);
static inline bool live_window_is_full(const struct live_window *w)
{
	return w->nr == w->room;
}

/* Node @node has sent all its events before @ns. A time before that of the last call is
 * ignored. */
void live_window_pass(struct live_window *w, __u32 node, __s64 ns);

/* Node @node sends no more. */
void live_window_leave(struct live_window *w, __u32 node);

/* Takes the next event that may be released; false: there is none at @now_ns */
bool live_window_next(struct live_window *w, __s64 now_ns, struct live_event *ret);

#endif /* TSCT_TOOLS_LIVE_WINDOW_H */
