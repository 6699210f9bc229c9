// SPDX-License-Identifier: MIT
/*
 * Sessions and barriers of a master: every member gets its share of turns, even if
 * others are late, silent, too early or gone. Missing members are listed.
 */
#include "seed.h"
#include "suite.h"
#include "daemon/collective/schedule_barrier.c"

#define NODES	1200

static struct tsct_schedule *r;
static struct tsct_extension reply;

static void make(__u32 messages, __u32 duration_us, __u32 slot_us, __u32 first)
{
	struct tsct_schedule_options options = {
		.max_messages = messages, .max_duration_us = duration_us,
		.slot_us = slot_us, .first = first,
	};

	tsct_schedule_free(r);
	r = tsct_schedule_new(&options);
	ck_assert_ptr_nonnull(r);
}

static void setup(void)
{
	r = NULL;
	make(0, 0, 0, 0);
}

static void teardown(void)
{
	tsct_schedule_free(r);
}

static void member(__u64 node, const char *name, __u64 now_us)
{
	const int at = tsct_schedule_member(r, node, name, 0, now_us);

	ck_assert_int_ge(at, 0);
	ck_assert_int_lt(at, TSCT_MEMBERS_MAX);
	/* The member keeps its index. */
	ck_assert_int_eq(tsct_schedule_member(r, node, name, 0, now_us), at);
}

static void send_request(__u64 node, __u16 flags, __u32 session, __u32 barrier,
			 __u64 now_us)
{
	struct tsct_extension request = {
		.node = node, .flags = flags, .session = session,
		.barrier = barrier,
	};

	memset(&reply, 0, sizeof(reply));
	tsct_schedule_request(r, &request, &reply, now_us);
}

static void check_reply(__u32 session, __u16 flags)
{
	ck_assert_uint_eq(reply.session, session);
	ck_assert_uint_eq(reply.flags, flags);
}

static void join(__u64 node, __u32 session, __u64 now_us)
{
	send_request(node, TSCT_EXT_JOIN, session, 0, now_us);
}

/* Joins a session. The answer has @flags. */
static void check_join(__u64 node, __u32 session, __u64 now_us, __u16 flags)
{
	join(node, session, now_us);
	ck_assert_uint_eq(reply.flags, flags);
}

/* Arrives at a barrier, which is then released or not. */
static void arrive(__u64 node, __u32 barrier, __u64 now_us, bool released)
{
	send_request(node, TSCT_EXT_ARRIVED, 0, barrier, now_us);
	ck_assert_int_eq((reply.flags & TSCT_EXT_RELEASED) != 0, released);
}

/* The participants from *@at on begin with @name, which has made @exchanges; NULL: there are none. */
static void check_participant(unsigned int *at, const char *name, __u32 exchanges)
{
	const char *found = NULL;
	__u32 nr = 0;

	ck_assert_int_eq(tsct_schedule_participant(r, at, &found, &nr), name != NULL);
	if (!name)
		return;
	ck_assert_str_eq(found, name);
	ck_assert_uint_eq(nr, exchanges);
}

/* ---- sessions ------------------------------------------------------------ */

CASE("schedule", setup, teardown);

TEST(test_no_session)
{
	member(1, NULL, 0);
	send_request(1, 0, 0, 0, 10);
	check_reply(0, 0);
	ck_assert_uint_eq(tsct_schedule_open(r, 10), 0);
	/* A member joins a session that the master never began. */
	join(1, 77, 20);
	check_reply(0, 0);
	/* A node that is not a member sends a request. */
	ck_assert_uint_eq(tsct_schedule_begin(r, 30), 1);
	send_request(2, 0, 0, 0, 30);
	ck_assert_uint_eq(reply.session, 0);
	ck_assert_uint_eq(reply.barrier, 1);
}

/*
 * Members take turns cyclically. The session ends with the last message of the last
 * member.
 */
TEST(test_turns)
{
	__u64 turn[6] = { 0 }, now = 0, last = 0, i;
	__u32 s;

	make(10, 1000000, 500, 0);
	for (i = 1; i < 6; i++)
		member(i, NULL, 1000);
	s = tsct_schedule_begin(r, 2000);
	ck_assert_uint_eq(tsct_schedule_begin(r, 2500), s);
	for (i = 1; i < 6; i++) {
		send_request(i, 0, 0, 0, 2000 + i);
		check_reply(s, TSCT_EXT_SESSION_OPEN);
		turn[i] = 2000 + i + reply.turn_us;
	}
	for (unsigned int cycle = 1; cycle <= 10; cycle++) {
		for (i = 1; i < 6; i++) {
			now = turn[i] + 30;
			/* a turn begins at least a slot after the previous turn */
			ck_assert_uint_ge(turn[i], last + 499);
			last = turn[i];
			ck_assert_uint_eq(tsct_schedule_open(r, now), s);
			join(i, s, now);
			check_reply(s, cycle == 10 ? TSCT_EXT_SESSION_OVER : TSCT_EXT_SESSION_OPEN);
			turn[i] = now + reply.turn_us;
		}
	}
	ck_assert_uint_eq(tsct_schedule_open(r, now), 0);
	check_join(3, s, now + 5, TSCT_EXT_SESSION_OVER);
	ck_assert_uint_eq(tsct_schedule_begin(r, now + 10), s + 1);
}

/* The nodes of a session are the configured members and the present ones, with their exchanges.
 * New options leave members and session as they are. */
TEST(test_participants)
{
	const struct tsct_schedule_options options = { .max_messages = 2, .name = "other" };
	unsigned int at = 0;
	__u32 s;

	check_participant(&at, NULL, 0);
	ck_assert_int_eq(tsct_schedule_expect(r, "alpha"), 0);
	ck_assert_int_eq(tsct_schedule_expect(r, "beta"), 0);
	member(1, "alpha", 0);
	s = tsct_schedule_begin(r, 10);
	join(1, s, 20);
	join(1, s, 20);
	at = 0;
	check_participant(&at, "alpha", 1);
	check_participant(&at, "beta", 0);
	check_participant(&at, NULL, 0);
	tsct_schedule_configure(r, &options);
	ck_assert_uint_eq(tsct_schedule_open(r, 30), s);
	join(1, s, 2000);
	ck_assert_uint_eq(reply.flags, TSCT_EXT_SESSION_OVER);
	tsct_schedule_dismiss(r, "alpha");
	at = 0;
	check_participant(&at, "beta", 0);
	check_participant(&at, NULL, 0);
}

/* A member that sends before its turn gets no additional turn, and takes no turn from
 * others. */
TEST(test_early_member)
{
	__u64 turn, now;
	__u32 s;

	make(3, 1000000, 500, 0);
	member(1, NULL, 0);
	member(2, NULL, 0);
	s = tsct_schedule_begin(r, 1000);
	send_request(1, 0, 0, 0, 1000);
	send_request(2, 0, 0, 0, 1001);
	turn = 1001 + reply.turn_us;
	ck_assert_uint_eq(turn, 1500);
	/* A member sends in its turn once, and then 100 times before its turn. */
	join(1, s, 1010);
	now = 1010 + reply.turn_us;
	ck_assert_uint_eq(now, 2000);
	for (int i = 0; i < 100; i++) {
		check_join(1, s, 1011 + (__u64)i, TSCT_EXT_SESSION_OPEN);
		ck_assert_uint_eq(1011 + i + reply.turn_us, 2000);
	}
	join(2, s, turn);
	ck_assert_uint_eq(turn + reply.turn_us, 2500);
	/* A request that comes half a slot before the member's turn is in time. */
	join(1, s, 1749);
	ck_assert_uint_eq(1749 + reply.turn_us, 2000);
	join(1, s, 1750);
	ck_assert_uint_eq(1750 + reply.turn_us, 3000);
	/* A request without JOIN does not count as a message of the session. */
	send_request(1, 0, 0, 0, 3000);
	ck_assert_uint_eq(reply.flags, TSCT_EXT_SESSION_OPEN);
	check_join(1, s, 3000, TSCT_EXT_SESSION_OVER);
}

/*
 * One of three members stops sending: the others continue, at least as fast as
 * before.
 */
TEST(test_silent_member)
{
	__u64 turn[4], now = 0, i, before;
	__u32 s;

	make(50, 1000000, 500, 0);
	for (i = 1; i < 4; i++)
		member(i, NULL, 0);
	s = tsct_schedule_begin(r, 0);
	for (i = 1; i < 4; i++) {
		send_request(i, 0, 0, 0, 0);
		turn[i] = reply.turn_us;
	}
	for (unsigned int n = 0; n < 50; n++) {
		for (i = 1; i < 4; i++) {
			if (i == 2 && n >= 10)
				continue;
			now = turn[i];
			join(i, s, now);
			turn[i] = now + reply.turn_us;
		}
	}
	ck_assert_uint_eq(reply.flags, TSCT_EXT_SESSION_OVER);
	ck_assert_uint_le(now, 10 * 1500 + 40 * 1000 + 500);
	/* The session stays open for the silent member up to the session's maximum
	 * duration of 1 s. */
	ck_assert_uint_eq(tsct_schedule_open(r, 999999), s);
	ck_assert_uint_eq(tsct_schedule_open(r, 1000000), 0);
	/* The silent member sends requests again: the member can continue the session
	 * until the session's maximum duration of 1 s is over. */
	before = now + 100000;
	check_join(2, s, before, TSCT_EXT_SESSION_OPEN);
	check_join(2, s, 1000000, TSCT_EXT_SESSION_OVER);
	ck_assert_uint_eq(reply.session, s);
	check_join(2, s, 2000000, TSCT_EXT_SESSION_OVER);
}

TEST(test_late_members)
{
	__u32 s;

	make(4, 10000, 500, 0);
	s = tsct_schedule_begin(r, 0);
	/* A session without members waits until one joins. */
	ck_assert_uint_eq(tsct_schedule_open(r, 9999), s);
	member(1, NULL, 3000);
	send_request(1, 0, 0, 0, 3000);
	ck_assert_uint_eq(reply.flags, TSCT_EXT_SESSION_OPEN);
	for (int i = 0; i < 4; i++)
		check_join(1, s, 3000 + 500 * (__u64)i,
			   i < 3 ? TSCT_EXT_SESSION_OPEN : TSCT_EXT_SESSION_OVER);
	ck_assert_uint_eq(tsct_schedule_open(r, 5000), 0);
	/* A member whose first request comes at the session's end gets no turn to make
	 * an exchange. */
	s = tsct_schedule_begin(r, 20000);
	member(2, NULL, 29900);
	send_request(1, 0, 0, 0, 29800);
	ck_assert_uint_eq(reply.flags, TSCT_EXT_SESSION_OPEN);
	send_request(2, 0, 0, 0, 29900);
	check_reply(s, TSCT_EXT_SESSION_OVER);
}

TEST(test_session_numbers_wrap)
{
	__u32 s, barrier;

	make(1, 1000, 100, ~0U - 1);
	member(1, NULL, 0);
	for (int i = 0; i < 4; i++) {
		s = tsct_schedule_begin(r, 10000 * (__u64)i);
		ck_assert_uint_eq(s, i < 2 ? ~0U - 1 + (__u32)i :
				  (__u32)i - 1);
		send_request(1, 0, 0, 0, 10000 * (__u64)i);
		check_join(1, s, 10000 * (__u64)i + 1, TSCT_EXT_SESSION_OVER);
	}
	for (int i = 0; i < 4; i++) {
		barrier = tsct_schedule_barrier(r);
		ck_assert_uint_eq(barrier, i < 2 ? ~0U - 1 + (__u32)i :
				  (__u32)i - 1);
		arrive(1, barrier, 50000, false);
		tsct_schedule_arrive(r, barrier, 50000);
		arrive(1, barrier, 50000, true);
		ck_assert_uint_eq(reply.barrier, barrier);
	}
	arrive(1, ~0U - 2, 50000, false);
	arrive(1, 0, 50000, false);
	ck_assert_uint_eq(reply.barrier, 3);
}

/* ---- members ------------------------------------------------------------- */

/* A member that polls rarely stays present for two of its poll intervals. */
TEST(test_rare_polls)
{
	unsigned int at = 0;

	ck_assert_int_ge(tsct_schedule_member(r, 1, "rare", 8, 0), 0);
	ck_assert_int_ge(tsct_schedule_member(r, 2, "unknown", 0, 0), 0);
	tsct_schedule_begin(r, 500000000);
	check_participant(&at, "rare", 0);
	check_participant(&at, NULL, 0);
	ck_assert_uint_eq(tsct_member_timeout_us(200), 2000000ULL << 17);
}

TEST(test_members)
{
	ck_assert_int_eq(tsct_schedule_member(r, 0, "zero", 0, 0), -EINVAL);
	ck_assert_int_eq(tsct_schedule_expect(r, ""), -EINVAL);
	ck_assert_int_eq(tsct_schedule_expect(r, NULL), -EINVAL);
	for (__u64 i = 1; i <= TSCT_MEMBERS_MAX; i++)
		member(i, NULL, i);
	member(7, "seven", 2000);
	ck_assert_int_eq(tsct_schedule_member(r, 5000, NULL, 0, 3000), -E2BIG);
	ck_assert_int_eq(tsct_schedule_expect(r, "much loved"), -E2BIG);
	/*
	 * Members that sent nothing for a minute are replaced, the longest silent
	 * first.
	 */
	ck_assert_int_ge(tsct_schedule_member(r, 5000, NULL, 0, 60000002), 0);
	ck_assert_int_eq(tsct_schedule_member(r, 5001, NULL, 0, 60000002), -E2BIG);
	send_request(1, 0, 0, 0, 60000002);
	ck_assert_uint_eq(tsct_schedule_missing(r, 1, NULL, 0), 1 + 1024);
	tsct_schedule_begin(r, 60000002);
	send_request(1, 0, 0, 0, 60000002);
	ck_assert_uint_eq(reply.session, 0);
	send_request(2, 0, 0, 0, 60000002);
	ck_assert_uint_eq(reply.session, 1);
}

static void missing(__u32 barrier, unsigned int nr, const char *names)
{
	char text[256];

	ck_assert_uint_eq(tsct_schedule_missing(r, barrier, text, sizeof(text)),
			  nr);
	ck_assert_str_eq(text, names);
}

/* ---- barriers ------------------------------------------------------------ */

TEST(test_barriers)
{
	member(0xabc, NULL, 0);
	member(2, "two", 0);
	missing(1, 3, "the master, 0000000000000abc, two");
	send_request(2, TSCT_EXT_ARRIVED, 0, 1, 100);
	ck_assert_uint_eq(reply.barrier, 1);
	ck_assert_uint_eq(reply.flags, 0);
	missing(1, 2, "the master, 0000000000000abc");
	tsct_schedule_arrive(r, 1, 200);
	missing(1, 1, "0000000000000abc");
	ck_assert(!tsct_schedule_released(r, 1));
	/* Member 2 and the master stop waiting at the barrier, and wait again later. */
	send_request(2, 0, 0, 0, 300);
	missing(1, 2, "0000000000000abc, two");
	tsct_schedule_withdraw(r);
	missing(1, 3, "the master, 0000000000000abc, two");
	tsct_schedule_arrive(r, 2, 300);	/* no effect: there is no barrier
						 * number 2 yet */
	send_request(2, TSCT_EXT_ARRIVED, 0, 2, 300);
	missing(1, 3, "the master, 0000000000000abc, two");
	tsct_schedule_arrive(r, 1, 400);
	send_request(2, TSCT_EXT_ARRIVED, 0, 1, 400);
	ck_assert_uint_eq(tsct_schedule_open(r, 400), 0);
	/* The last member arrives: the barrier is released, and a session begins. */
	send_request(0xabc, TSCT_EXT_ARRIVED, 0, 1, 500);
	ck_assert_uint_eq(reply.barrier, 1);
	check_reply(1, TSCT_EXT_RELEASED | TSCT_EXT_SESSION_OPEN);
	ck_assert_uint_eq(tsct_schedule_open(r, 500), 1);
	ck_assert(tsct_schedule_released(r, 1));
	ck_assert(!tsct_schedule_released(r, 2));
	ck_assert(!tsct_schedule_released(r, 0));
	ck_assert_uint_eq(tsct_schedule_barrier(r), 2);
	missing(1, 0, "");
	missing(2, 3, "the master, 0000000000000abc, two");
	/* A member that lost the master's answer reports again that it arrived at the
	 * barrier. The master repeats the answer. */
	for (int i = 0; i < 5; i++) {
		send_request(2, TSCT_EXT_ARRIVED, 0, 1, 600);
		ck_assert_uint_eq(reply.barrier, 1);
		ck_assert(reply.flags & TSCT_EXT_RELEASED);
	}
	missing(2, 3, "the master, 0000000000000abc, two");
	send_request(2, 0, 0, 0, 700);
	ck_assert_uint_eq(reply.barrier, 2);
	ck_assert(!(reply.flags & TSCT_EXT_RELEASED));
}

/* A member that reports callers again and again causes poll requests once in 10 s, and once
 * per barrier; other members are not affected. */
TEST(test_limits_polls)
{
	__u64 now;
	unsigned int nr = 0;

	member(1, NULL, 0);
	member(2, NULL, 0);
	for (now = 1; now < 60000000; now += 100000) {
		member(1, NULL, now);
		nr += tsct_schedule_take_poll(r, 1, now);
	}
	ck_assert_uint_eq(nr, 6);
	member(2, NULL, now);
	ck_assert(tsct_schedule_take_poll(r, 2, now));
	ck_assert(!tsct_schedule_take_poll(r, 2, now + 1));
	ck_assert(!tsct_schedule_take_poll(r, 3, now));
	/* The next barrier is another collective. */
	send_request(1, TSCT_EXT_ARRIVED, 0, 1, now);
	send_request(2, TSCT_EXT_ARRIVED, 0, 1, now);
	tsct_schedule_arrive(r, 1, now);
	ck_assert(tsct_schedule_released(r, 1));
	ck_assert(tsct_schedule_take_poll(r, 2, now + 2));
	ck_assert(!tsct_schedule_take_poll(r, 2, now + 3));
}

/* Callers wait somewhere until the last member that had one says that none waits. */
TEST(test_callers)
{
	ck_assert_int_eq(tsct_schedule_expect(r, "three"), 0);
	member(1, NULL, 0);
	member(2, NULL, 0);
	member(3, "three", 0);
	ck_assert(!tsct_schedule_set_caller(r, 1, false, 1000));
	ck_assert(tsct_schedule_set_caller(r, 1, true, 1000));
	ck_assert(tsct_schedule_set_caller(r, 1, true, 1000));
	ck_assert(tsct_schedule_set_caller(r, 2, true, 1000));
	ck_assert(tsct_schedule_set_caller(r, 1, false, 1000));
	ck_assert(!tsct_schedule_set_caller(r, 2, false, 1000));
	/* A node that is no member has no entry: its caller counts only now. */
	ck_assert(tsct_schedule_set_caller(r, 4, true, 1000));
	ck_assert(!tsct_schedule_set_caller(r, 1, false, 1000));
	ck_assert(tsct_schedule_set_caller(r, 3, true, 1000));
	tsct_schedule_dismiss(r, "three");
	ck_assert(!tsct_schedule_set_caller(r, 1, false, 1000));
	/* A member dies while its caller waits. */
	ck_assert(tsct_schedule_set_caller(r, 2, true, 1000));
	ck_assert(tsct_schedule_set_caller(r, 1, false, 2000000));
	ck_assert(!tsct_schedule_set_caller(r, 1, false, 2001000));
}

/* A member that takes part through another node is waited for there, and here again once
 * it takes part here. */
TEST(test_member_elsewhere)
{
	member(1, "one", 0);
	member(2, "two", 0);
	send_request(2, TSCT_EXT_ELSEWHERE, 0, 0, 100);
	missing(1, 2, "the master, one");
	tsct_schedule_arrive(r, 1, 200);
	arrive(1, 1, 300, true);
	send_request(2, TSCT_EXT_ARRIVED, 0, 1, 400);
	missing(2, 3, "the master, one, two");
}

TEST(test_barrier_ignores_absent_members)
{
	member(1, "one", 0);
	member(2, "two", 0);
	tsct_schedule_arrive(r, 1, 1000);
	arrive(1, 1, 1000, false);
	arrive(1, 1, 60000000, false);
	arrive(1, 1, 60000001, true);
}

/*
 * Barriers wait for configured members even before their first request, but for no
 * other absent nodes.
 */
TEST(test_barrier_expects_configured_members)
{
	ck_assert_int_eq(tsct_schedule_expect(r, "a"), 0);
	ck_assert_int_eq(tsct_schedule_expect(r, "b"), 0);
	ck_assert_int_eq(tsct_schedule_expect(r, "a"), 0);
	missing(1, 3, "the master, a, b");
	member(9, "stranger", 0);
	missing(1, 3, "the master, a, b");
	tsct_schedule_arrive(r, 1, 0);
	member(11, "a", 0);
	member(11, "a", 5);
	send_request(11, TSCT_EXT_ARRIVED, 0, 1, 10);
	missing(1, 1, "b");
	/* The arrival of a member that sent nothing for a minute expires, and the
	 * barrier waits for that member again. */
	send_request(9, 0, 0, 0, 100000000);
	missing(1, 2, "a, b");
	send_request(11, TSCT_EXT_ARRIVED, 0, 1, 100000000);
	missing(1, 1, "b");
	/* If a member restarts with another node id, its earlier arrival at the barrier
	 * does not count. */
	member(12, "a", 100000000);
	missing(1, 2, "a, b");
	send_request(11, TSCT_EXT_ARRIVED, 0, 1, 100000000);
	missing(1, 2, "a, b");
	send_request(12, TSCT_EXT_ARRIVED, 0, 1, 100000000);
	missing(1, 1, "b");
	/* The name of a configured member may become known after it joined. */
	member(13, NULL, 100000000);
	member(13, "b", 100000000);
	arrive(13, 1, 100000000, true);
	missing(2, 3, "the master, a, b");
}

/* Missing processes are listed by the name of their node, which the names of nodes below
 * that node follow. */
TEST(test_lists_processes)
{
	member(1, "one", 0);
	member(2, "two", 0);
	tsct_schedule_set_blockers(r, 1, ": 1 of 2 processes (pid 5 6; 1 not joined)");
	tsct_schedule_set_blockers(r, 2, ": 1 of 4 processes (pid 7), x, "
				   "y: 2 of 2 processes (pid 8 9)");
	missing(1, 3, "the master, one: 1 of 2 processes (pid 5 6; 1 not joined), "
		"two: 1 of 4 processes (pid 7), x, y: 2 of 2 processes (pid 8 9) "
		"(below two)");
	tsct_schedule_set_blockers(r, 1, "");
	tsct_schedule_set_blockers(r, 2, "x");
	tsct_schedule_set_blockers(r, 0, ": 3 of 3 processes (pid 1)");
	missing(1, 3, "the master: 3 of 3 processes (pid 1), one, x (below two)");
	tsct_schedule_arrive(r, 1, 0);
	tsct_schedule_set_blockers(r, 0, "");
	missing(1, 2, "one, x (below two)");
	/* Member "one" does not know of processes, but its member "z" reports some. */
	tsct_schedule_set_blockers(r, 1, ": 1 of 2 processes (pid 5) (below z)");
	missing(1, 2, ": 1 of 2 processes (pid 5) (below z) (below one), x (below two)");
}

/* A member whose request has the number of a released barrier, without ARRIVED, learns
 * of the release: a caller of that member left after the member had arrived. */
TEST(test_released_without_arrived)
{
	member(1, "one", 0);
	tsct_schedule_arrive(r, 1, 0);
	send_request(1, 0, 0, 1, 10);
	ck_assert(!(reply.flags & TSCT_EXT_RELEASED));
	missing(1, 1, "one");
	arrive(1, 1, 20, true);
	send_request(1, 0, 0, 1, 30);
	ck_assert(reply.flags & TSCT_EXT_RELEASED);
	ck_assert_uint_eq(reply.barrier, 1);
	send_request(1, 0, 0, 2, 40);
	ck_assert(!(reply.flags & TSCT_EXT_RELEASED));
	ck_assert_uint_eq(reply.barrier, 2);
}

/* While member 1 sends requests, the nodes below it that block the barrier are listed
 * instead of it. */
TEST(test_lists_blocking_nodes_below)
{
	char names[24];

	member(1, "one", 0);
	member(2, "two", 0);
	tsct_schedule_arrive(r, 1, 0);
	send_request(2, TSCT_EXT_ARRIVED, 0, 1, 0);
	tsct_schedule_set_blockers(r, 1, "x, y");
	tsct_schedule_set_blockers(r, 2, "z");	/* node "z", which is below member 2, is
						 * not reported as missing, because
						 * member 2 has arrived */
	tsct_schedule_set_blockers(r, 3, "nobody's child");
	send_request(1, 0, 0, 0, 0);
	missing(1, 1, "x, y (below one)");
	ck_assert_uint_eq(tsct_schedule_missing(r, 1, names, 12), 1);
	ck_assert_str_eq(names, "x, y (be...");
	send_request(2, TSCT_EXT_ARRIVED, 0, 1, 2000001);
	missing(1, 1, "one");		/* member 1 itself is reported as missing,
					 * as it sent nothing for 2 s */
	send_request(1, 0, 0, 0, 2000001);
	missing(1, 1, "x, y (below one)");
	tsct_schedule_set_blockers(r, 1, "");
	missing(1, 1, "one");
}

/* A member that the master dismissed delays neither sessions nor barriers. */
TEST(test_dismissed_member)
{
	ck_assert_int_eq(tsct_schedule_expect(r, "a"), 0);
	ck_assert_int_eq(tsct_schedule_expect(r, "b"), 0);
	member(1, "a", 0);
	member(2, "b", 0);
	tsct_schedule_dismiss(r, "nobody");
	ck_assert_uint_eq(tsct_schedule_begin(r, 10), 1);
	join(1, 1, 10);
	tsct_schedule_dismiss(r, "b");
	tsct_schedule_dismiss(r, "b");
	tsct_schedule_arrive(r, 1, 20);
	missing(1, 1, "a");
	send_request(2, TSCT_EXT_ARRIVED, 0, 1, 20); /* request of a former member */
	ck_assert_uint_eq(reply.flags, 0);
	ck_assert_int_eq(tsct_schedule_expect(r, "b"), 0);
	missing(1, 2, "a, b");
	tsct_schedule_dismiss(r, "b");
	arrive(1, 1, 30, true);
	/* If no members are configured, barriers wait for all members that are
	 * present. */
	tsct_schedule_dismiss(r, "a");
	member(3, "c", 40);
	missing(2, 2, "the master, c");
}

TEST(test_master_alone)
{
	ck_assert_uint_eq(tsct_schedule_barrier(r), 1);
	tsct_schedule_arrive(r, 1, 0);
	ck_assert(tsct_schedule_released(r, 1));
	ck_assert_uint_eq(tsct_schedule_barrier(r), 2);
}

TEST(test_short_name_buffer)
{
	char text[20];

	member(1, "a-long-name", 0);
	member(2, "another-one", 0);
	ck_assert_uint_eq(tsct_schedule_missing(r, 1, NULL, 0), 3);
	for (size_t size = 1; size <= sizeof(text); size++) {
		memset(text, 'x', sizeof(text));
		ck_assert_uint_eq(tsct_schedule_missing(r, 1, text, size), 3);
		ck_assert_uint_eq(strnlen(text, sizeof(text)), size - 1);
		if (size > 3)
			ck_assert_str_eq(text + size - 4, "...");
	}
}

/* ---- random input -------------------------------------------------------- */

/* With random input, a released barrier stays released. */
LOOP_TEST(test_random_input, 0, 10)
{
	__u64 now = 0, node;
	__u32 barrier, was = 0, number;
	char name[16];

	make(1 + any(5), 1000 + any(10000), any(600), any(2) ? ~0U - 3 : 0);
	for (unsigned int i = 0; i < 20000; i++) {
		now += any(4) ? any(300) : any(1000) ? 0 : 70000000;
		node = any(4) ? 1 + any(5) : any(NODES);
		barrier = tsct_schedule_barrier(r);
		snprintf(name, sizeof(name), "n%u", any(4));
		switch (any(8)) {
		case 0:
			tsct_schedule_member(r, node, any(2) ? name : NULL, 0, now);
			break;
		case 1:
			ck_assert_uint_ne(tsct_schedule_begin(r, now), 0);
			break;
		case 2:
			tsct_schedule_arrive(r, barrier - any(2), now);
			break;
		case 3:
			if (!any(200) && any(2) == (unsigned int)_i % 2)
				tsct_schedule_expect(r, name);
			break;
		default:
			number = any(4) ? barrier : barrier - any(5);
			send_request(node, (__u16)any(0x400),
				     tsct_schedule_begin(r, now),
				     number, now);
			ck_assert(!(reply.flags & TSCT_EXT_SESSION_OPEN) ||
				  !(reply.flags & TSCT_EXT_SESSION_OVER));
			if (reply.flags & TSCT_EXT_RELEASED)
				ck_assert(tsct_schedule_released(r, number));
			ck_assert_uint_ne(reply.barrier, 0);
		}
		if (was && was != tsct_schedule_barrier(r))
			ck_assert(tsct_schedule_released(r, was));
		ck_assert(!tsct_schedule_released(r, tsct_schedule_barrier(r)));
		was = tsct_schedule_barrier(r);
	}
}

/* Twenty members on a simulated network; some stop sending, some join late. Each member
 * that stays sends all its messages before the session reaches its maximum duration. */
LOOP_TEST(test_twenty_members, 0, 10)
{
	enum { N = 20 };
	__u64 turn[N + 1] = { 0 }, now, end = 0;
	unsigned int messages[N + 1] = { 0 }, i, first;
	__u32 s;

	make(20, 1000000, 500, 0);
	for (i = 1; i <= N; i++) {
		member(i, NULL, 0);
		turn[i] = 1 + any(i % 5 ? 2000 : 200000);
	}
	s = tsct_schedule_begin(r, 0);
	for (;;) {
		first = 0;
		for (i = 1; i <= N; i++)
			if (turn[i] && (!first || turn[i] < turn[first]))
				first = i;
		if (!first)
			break;
		now = turn[first] + 20 + any(100);
		send_request((__u64)first, messages[first] ? TSCT_EXT_JOIN : 0,
			     s, 0,
			     now);
		ck_assert_uint_eq(reply.session, s);
		messages[first]++;
		turn[first] = now + reply.turn_us + 20 + any(100);
		if (reply.flags & TSCT_EXT_SESSION_OVER ||
		    (first % 7 == 0 && messages[first] > 3)) {
			turn[first] = 0;
			end = now;
		}
	}
	for (i = 1; i <= N; i++)
		ck_assert_uint_eq(messages[i], i % 7 ? 21 : 4);
	ck_assert_uint_lt(end, 500000);
}
