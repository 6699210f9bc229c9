// SPDX-License-Identifier: MIT
/*
 * The participants of collectives on one node: all that are declared are waited for,
 * those that ended are not, and a call is released once.
 * test-wing: collective
 */
#include "suite.h"
#include "daemon/collective/participants.c"

#define MS	1000000LL

static struct tsct_participants p;
static char why[256];

static void setup(void)
{
	memset(&p, 0, sizeof(p));
}

static __u32 join(unsigned int declared, int pid)
{
	__u32 id = 0;

	ck_assert_int_eq(tsct_participants_join(&p, declared, pid, &id, why,
						sizeof(why)), 0);
	ck_assert_uint_ne(id, 0);
	return id;
}

static void refused(int err, unsigned int declared, const char *reason)
{
	__u32 id = 0;

	ck_assert_int_eq(tsct_participants_join(&p, declared, 1, &id, why,
						sizeof(why)), err);
	ck_assert_str_eq(why, reason);
	ck_assert_uint_eq(id, 0);
}

static struct tsct_participant *call(__u32 id, __u32 number, __s64 now_ns)
{
	struct tsct_participant *at = tsct_participants_find(&p, id);

	ck_assert_ptr_nonnull(at);
	tsct_participant_wait(at, number, now_ns);
	return at;
}

static void missing(__s64 now_ns, unsigned int nr, const char *expected)
{
	char text[121];

	ck_assert_uint_eq(tsct_participants_missing(&p, now_ns, text,
						    sizeof(text)), nr);
	ck_assert_str_eq(text, expected);
	ck_assert_uint_eq(tsct_participants_missing(&p, now_ns, NULL, 0), nr);
}

CASE("participants", setup, NULL);

TEST(test_all_are_waited_for)
{
	__u32 a, b, c;

	missing(0, 0, "");
	a = join(3, 10);
	missing(1, 3, "3 of 3 processes (pid 10; 2 not joined)");
	call(a, 1, 1);
	missing(1, 2, "2 of 3 processes (2 not joined)");
	b = join(3, 20);
	c = join(3, 30);
	ck_assert_uint_ne(a, b);
	missing(1, 2, "2 of 3 processes (pid 20 30)");
	call(c, 1, 2);
	missing(2, 1, "1 of 3 processes (pid 20)");
	call(b, 1, 3);
	missing(3, 0, "");
}

/* A call whose process sends no request for half a second has stopped waiting. */
TEST(test_calls_expire)
{
	__u32 a = join(2, 10), b = join(2, 20);

	call(a, 1, 1);
	call(b, 1, 300 * MS);
	missing(500 * MS, 0, "");
	missing(501 * MS, 1, "1 of 2 processes (pid 10)");
	call(a, 1, 502 * MS);
	missing(502 * MS, 0, "");
}

/* A call that was released does not count as a call of the next collective, however
 * often its request is repeated, also if its process stalled before the release. */
TEST(test_a_call_is_released_once)
{
	__u32 a = join(2, 10), b = join(2, 20);

	call(a, 1, 1);
	call(b, 1, 1);
	tsct_participants_release(&p, 77);
	missing(2, 2, "2 of 2 processes (pid 10 20)");
	ck_assert_uint_eq(call(a, 1, 2)->released, 77);
	missing(2, 2, "2 of 2 processes (pid 10 20)");
	ck_assert_uint_eq(call(a, 2, 3)->released, 0);
	missing(3, 1, "1 of 2 processes (pid 20)");
	ck_assert_uint_eq(call(b, 1, 900 * MS)->released, 77);
	call(b, 2, 900 * MS);
	tsct_participants_release(&p, 78);
	ck_assert_uint_eq(call(a, 2, 901 * MS)->released, 78);
	ck_assert_uint_eq(call(b, 2, 901 * MS)->released, 78);
}

/* A process that joined and did not call is not released. */
TEST(test_no_release_without_a_call)
{
	__u32 a = join(2, 10), b = join(2, 20);

	call(a, 1, 1);
	tsct_participants_release(&p, 77);
	ck_assert_uint_eq(call(b, 1, 2)->released, 0);
	missing(2, 1, "1 of 2 processes (pid 10)");
}

TEST(test_ended_are_not_waited_for)
{
	__u32 a = join(3, 10), b = join(3, 20), c;

	call(a, 1, 1);
	tsct_participants_leave(&p, b);
	ck_assert_ptr_null(tsct_participants_find(&p, b));
	missing(1, 1, "1 of 3 processes (1 not joined)");
	c = join(3, 30);
	call(c, 1, 1);
	missing(1, 0, "");
	/* A process that was started again takes the place of the one that ended. */
	b = join(3, 40);
	missing(1, 1, "1 of 3 processes (pid 40)");
	refused(-EUSERS, 3, "3 of 3 processes of this node have joined already; "
		"declare a larger number in all of them");
	tsct_participants_leave(&p, 0);
	tsct_participants_leave(&p, 12345);
	tsct_participants_leave(&p, a);
	tsct_participants_leave(&p, b);
	missing(1, 0, "");
	tsct_participants_leave(&p, c);
	/* After the last one, another number can be declared. */
	missing(1, 0, "");
	join(2, 50);
	missing(1, 2, "2 of 2 processes (pid 50; 1 not joined)");
}

TEST(test_invalid_numbers)
{
	refused(-EINVAL, 0, "0 processes: not a number from 1 to 512");
	refused(-EINVAL, 513, "513 processes: not a number from 1 to 512");
	join(2, 10);
	refused(-EINVAL, 4, "4 processes: other processes of this node declared "
		"2; declare the same number in all of them");
	missing(1, 2, "2 of 2 processes (pid 10; 1 not joined)");
}

TEST(test_full_and_long_texts)
{
	__u32 id[PEERS_PARTICIPANTS_MAX];

	for (unsigned int i = 0; i < PEERS_PARTICIPANTS_MAX; i++)
		id[i] = join(PEERS_PARTICIPANTS_MAX, 1000000 + (int)i);
	missing(1, 512, "512 of 512 processes (pid 1000000 1000001 1000002 "
		"1000003 1000004 ...)");
	for (unsigned int i = 0; i < PEERS_PARTICIPANTS_MAX; i++) {
		ck_assert_ptr_nonnull(tsct_participants_find(&p, id[i]));
		call(id[i], 1, 1);
	}
	missing(1, 0, "");
	/* An id is not given again while its participant is there. */
	tsct_participants_leave(&p, id[7]);
	p.last_id = ~0U;
	ck_assert_uint_eq(join(PEERS_PARTICIPANTS_MAX, 7), id[7]);
}
