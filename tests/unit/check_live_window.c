// SPDX-License-Identifier: MIT
/* test-wing: cluster */
/* Events of several nodes while they arrive: order, waits, late events, and events whose
 * order is unknown */
#include "tools/wings/cluster/live/window.c"
#include "seed.h"
#include "suite.h"

#define MS	1000000LL
#define HOLD	(500 * MS)
#define NODES	3
#define ROOM	4096

static struct live_window w;
static struct live_event e;

static void begin(void)
{
	ck_assert_int_eq(live_window_init(&w, NODES, ROOM, HOLD), 0);
}

static void end(void)
{
	live_window_free(&w);
}

static void push(__u32 node, __s64 ns, __u64 error_ns, __s64 now)
{
	const struct live_event event = { .ns = ns, .error_ns = error_ns, .node = node };

	live_window_push(&w, &event, now);
}

static void expect(__s64 now, __u32 node, __s64 ns, unsigned int flags)
{
	ck_assert(live_window_next(&w, now, &e));
	ck_assert_uint_eq(e.node, node);
	ck_assert_int_eq(e.ns, ns);
	ck_assert_uint_eq(e.flags, flags);
}

static void expect_none(__s64 now)
{
	ck_assert(!live_window_next(&w, now, &e));
}

CASE("live_window", begin, end);

TEST(waits_for_all)
{
	push(0, 100, 1, 0);
	push(1, 50, 1, 0);
	push(0, 200, 1, 0);
	live_window_pass(&w, 0, 300);
	live_window_pass(&w, 1, 300);
	expect_none(1);			/* node 2 may have earlier ones */
	live_window_pass(&w, 2, 51);
	expect(1, 1, 50, 0);
	expect_none(1);
	live_window_pass(&w, 2, 100);
	expect_none(1);			/* it may have one at 100, too */
	live_window_pass(&w, 2, 101);
	live_window_pass(&w, 2, 60);	/* nothing is taken back */
	expect(1, 0, 100, 0);
	live_window_leave(&w, 2);
	expect(1, 0, 200, 0);
	expect_none(1);
	ck_assert_uint_eq(w.late + w.forced, 0);
}

/* Extreme times and bounds neither overflow nor stop the window. */
TEST(extreme)
{
	push(0, INT64_MAX, INT64_MAX, 0);
	push(1, INT64_MIN, INT64_MAX, 0);
	push(2, INT64_MIN, UINT64_MAX, 0);
	live_window_leave(&w, 0);
	live_window_leave(&w, 1);
	live_window_leave(&w, 2);
	expect(0, 1, INT64_MIN, 0);
	expect(0, 2, INT64_MIN, LIVE_UNSURE);
	expect(0, 0, INT64_MAX, LIVE_UNSURE);	/* there is nothing to wait for */
	expect_none(HOLD);
}

TEST(full)
{
	for (unsigned int i = 0; i < ROOM; i++)
		push(0, i, 0, 0);
	ck_assert(live_window_is_full(&w));
	expect(0, 0, 0, 0);
	expect_none(0);
	push(0, 5, 0, 0);
	expect(0, 0, 1, 0);
}

/*
 * Nodes whose messages take random times. All events come out once, in order unless they
 * are marked as late, none waits for longer than permitted; none is late if all messages
 * are fast enough; the order of neighbours is unknown exactly if their bounds touch.
 */
LOOP_TEST(random_delays, 0, 10)
{
	static struct live_event done[64 * 1024];
	const __s64 slowest = _i % 2 ? HOLD / 3 : 3 * HOLD;
	__s64 cut[NODES] = { 0 }, arrives[NODES] = { 0 }, at[NODES] = { 0 }, now;
	__s64 last = INT64_MIN;
	bool touches;
	size_t nr = 0, pushed = 0, i, k, late = 0, late_of[NODES] = { 0 }, unsure = 0;

	for (now = 0; now < 20 * HOLD; now += HOLD / 50) {
		for (__u32 node = 0; node < NODES; node++) {
			if (now < arrives[node])
				continue;
			/* A message arrives, with the events until it was sent. */
			for (; at[node] < cut[node]; at[node] += any(20 * MS), pushed++)
				push(node, at[node], any(500) ? any(10 * MS) : UINT64_MAX, now);
			live_window_pass(&w, node, cut[node]);
			cut[node] = now;
			arrives[node] = now + any(slowest);
		}
		while (live_window_next(&w, now, &e))
			done[nr++] = e;
		ck_assert(!w.nr_arrivals || now - arrival_at(&w, 0)->arrived_ns < HOLD);
	}
	for (__u32 node = 0; node < NODES; node++)
		live_window_leave(&w, node);
	while (live_window_next(&w, now, &e))
		done[nr++] = e;
	ck_assert_uint_eq(nr, pushed);
	for (i = 0; i < nr; i++) {
		late += done[i].ns < last;
		late_of[done[i].node] += done[i].ns < last;
		unsure += !!(done[i].flags & LIVE_UNSURE);
		ck_assert_int_eq(done[i].ns < last, !!(done[i].flags & LIVE_LATE));
		last = done[i].ns > last ? done[i].ns : last;
		for (touches = false, k = 0; k < i; k++)
			touches |= done[k].node != done[i].node &&
				latest_ns(&done[k]) >= earliest_ns(&done[i]);
		ck_assert_int_eq(touches, !!(done[i].flags & LIVE_UNSURE));
	}
	ck_assert_uint_eq(w.late, late);
	ck_assert_uint_eq(w.unsure, unsure);
	for (__u32 node = 0; node < NODES; node++)
		ck_assert_uint_eq(w.nodes[node].late, late_of[node]);
	ck_assert_uint_gt(nr, 100);
	/* A message that takes less than events wait makes no event late. */
	ck_assert(_i % 2 ? !late && !w.forced : w.forced > 0);
}
