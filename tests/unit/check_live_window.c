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

static void pass_all(__s64 ns)
{
	for (__u32 i = 0; i < NODES; i++)
		live_window_pass(&w, i, ns);
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

/* Without a word of a node, events wait for a time after their arrival; all that are
 * earlier go with them. What comes later is late, and counted. */
TEST(waits_not_forever)
{
	push(0, 100, 1, 0);
	push(0, 300, 1, 100 * MS);
	expect_none(HOLD - 1);
	push(1, 50, 1, HOLD - 1);	/* arrived just now, but it is earlier */
	expect(HOLD, 1, 50, 0);
	expect(HOLD, 0, 100, 0);
	expect_none(HOLD);
	push(2, 70, 1, HOLD + 1);
	expect(HOLD + 1, 2, 70, LIVE_LATE | LIVE_UNSURE);
	expect_none(HOLD + 99 * MS);
	expect(HOLD + 100 * MS, 0, 300, 0);
	ck_assert_uint_eq(w.late, 1);
	ck_assert_uint_eq(w.nodes[2].late, 1);
	ck_assert_uint_eq(w.forced, 4);
}

TEST(orders_within_bounds)
{
	push(0, 100, 10, 0);
	push(1, 120, 10, 0);	/* touches the bound of the one before */
	push(1, 121, 10, 0);	/* its order to that of its own node is known, to 0 not sure */
	push(0, 141, 10, 0);	/* 121 + 10 >= 141 - 10 */
	push(0, 161, 9, 0);	/* 131 < 152 */
	push(2, 1000, UINT64_MAX, 0);
	push(0, 2000, 1, 0);
	push(2, 2001, 0, 0);
	push(2, 3000, 0, 0);
	pass_all(INT64_MAX);
	expect(0, 0, 100, 0);
	expect(0, 1, 120, LIVE_UNSURE);
	expect(0, 1, 121, 0);
	expect(0, 0, 141, LIVE_UNSURE);
	expect(0, 0, 161, 0);
	expect(0, 2, 1000, LIVE_UNSURE);	/* a time without a bound may be any time */
	expect(0, 0, 2000, LIVE_UNSURE);	/* also to events after it */
	expect(0, 2, 2001, LIVE_UNSURE);
	expect(0, 2, 3000, 0);
	ck_assert_uint_eq(w.unsure, 5);
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
	__s64 last = INT64_MIN, reach;
	size_t nr = 0, pushed = 0, i, k, late = 0;

	for (now = 0; now < 20 * HOLD; now += HOLD / 50) {
		for (__u32 node = 0; node < NODES; node++) {
			if (now < arrives[node])
				continue;
			/* A message arrives, with the events until it was sent. */
			for (; at[node] < cut[node]; at[node] += any(20 * MS), pushed++)
				push(node, at[node], any(10 * MS), now);
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
		ck_assert_int_eq(done[i].ns < last, !!(done[i].flags & LIVE_LATE));
		last = done[i].ns > last ? done[i].ns : last;
		for (reach = INT64_MIN, k = 0; k < i; k++)
			if (done[k].node != done[i].node && latest_ns(&done[k]) > reach)
				reach = latest_ns(&done[k]);
		ck_assert_int_eq(reach >= earliest_ns(&done[i]),
				 !!(done[i].flags & LIVE_UNSURE));
	}
	ck_assert_uint_eq(w.late, late);
	ck_assert_uint_gt(nr, 100);
	/* A message that takes less than events wait makes no event late. */
	ck_assert(_i % 2 ? !late && !w.forced : w.forced > 0);
}
