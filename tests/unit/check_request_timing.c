// SPDX-License-Identifier: MIT
/* Requests to a source: their number per poll, and the times between them */
#include "suite.h"
#include "lib/sync/schedule.h"

#define US	1000LL
#define MS	1000000LL

/* Returns the number of requests in 100 polls of an interval, of which the last one had
 * several. */
static unsigned int requests(const struct tsct_fit *fit, __s64 interval_ns)
{
	unsigned int nr_single = 0, sum = 0, nr, i;

	for (i = 0; i < 100; i++) {
		nr = tsct_request_number(fit, interval_ns, nr_single);
		nr_single = nr > 1 ? 0 : nr_single + 1;
		sum += nr;
	}
	return sum;
}

/* Polls are pairs until enough pairs were compared; then as many as the slow place needs. */
TEST(test_requests)
{
	struct tsct_fit fit = { .nr_pairs = 23 };

	ck_assert_uint_eq(requests(NULL, 62 * MS), 200);
	ck_assert_uint_eq(requests(&fit, 62 * MS), 200);
	fit.nr_pairs = 24;
	ck_assert_uint_eq(requests(&fit, 62 * MS), 112);
	ck_assert_uint_eq(requests(&fit, 1999 * MS), 112);
	fit.slow_place = TSCT_FIT_PLACE_FIRST;
	ck_assert_uint_eq(requests(&fit, 62 * MS), 125);
	fit.slow_place = TSCT_FIT_PLACE_FURTHER;
	ck_assert_uint_eq(requests(&fit, 62 * MS), 106);
	ck_assert_uint_eq(requests(&fit, 2000 * MS), 300);
	ck_assert_uint_eq(requests(NULL, 16000 * MS), 300);
}

/* A possible turn is obeyed; one that would make a flood, or silence, is not. */
TEST(test_turns)
{
	ck_assert_int_eq(tsct_request_turn_ns(500, 100 * US), 500 * US);
	ck_assert_int_eq(tsct_request_turn_ns(150, 100 * US), 150 * US);
	/* All slots of 1024 members, twice */
	ck_assert_int_eq(tsct_request_turn_ns(1024 * 500, 0), 512 * MS);
	ck_assert_int_eq(tsct_request_turn_ns(1024 * 1000, 0), 1024 * MS);
	ck_assert_int_eq(tsct_request_turn_ns(1024 * 1000 + 1, 0), 1024 * MS);
	ck_assert_int_eq(tsct_request_turn_ns(~0U, 300 * MS), 1024 * MS);
	/* Two requests are 250 us apart at least, so a slow path needs no pause. */
	for (__s64 since_ns = 0; since_ns < 250 * US; since_ns += 10 * US)
		ck_assert_int_eq(tsct_request_turn_ns(0, since_ns) + since_ns, 250 * US);
	ck_assert_int_eq(tsct_request_turn_ns(100, 100 * US), 150 * US);
	ck_assert_int_eq(tsct_request_turn_ns(0, 250 * US), 0);
	ck_assert_int_eq(tsct_request_turn_ns(0, 300 * MS), 0);
}

/* Timeouts cover twice the round trip, between the interval and 1 s. */
TEST(test_timeouts)
{
	ck_assert_int_eq(tsct_request_timeout_ns(50 * MS, 100 * US, 0), 50 * MS);
	ck_assert_int_eq(tsct_request_timeout_ns(50 * MS, 60 * MS, 0), 120 * MS);
	ck_assert_int_eq(tsct_request_timeout_ns(100 * MS, 300 * MS, 0), 600 * MS);
	ck_assert_int_eq(tsct_request_timeout_ns(100 * MS, 900 * MS, 0), 1000 * MS);
	ck_assert_int_eq(tsct_request_timeout_ns(16000 * MS, 900 * MS, 0), 16000 * MS);
	/* Two lost requests are no reason to wait longer. */
	ck_assert_int_eq(tsct_request_timeout_ns(100 * MS, 0, 2), 100 * MS);
	ck_assert_int_eq(tsct_request_timeout_ns(100 * MS, 0, 3), 200 * MS);
	ck_assert_int_eq(tsct_request_timeout_ns(100 * MS, 0, 5), 800 * MS);
	ck_assert_int_eq(tsct_request_timeout_ns(100 * MS, 0, 1000), 1000 * MS);
	ck_assert_int_eq(tsct_request_timeout_ns(1LL << 62, 0, 1000), 1LL << 62);
}

/* A burst over a path with a round trip of 300 ms, of which nothing is known: one of its six
 * polls waits long enough. */
TEST(test_burst_on_a_long_path)
{
	unsigned int lost = 0;

	while (lost < 6 && tsct_request_timeout_ns(100 * MS, 0, lost) < 300 * MS)
		lost++;
	ck_assert_uint_lt(lost, 5);
}

/* A longer round trip is known at once, a shorter one after some answers. */
TEST(test_round_trip)
{
	__s64 rtt_ns = tsct_request_rtt_ns(0, 300 * MS);

	ck_assert_int_eq(rtt_ns, 300 * MS);
	ck_assert_int_eq(tsct_request_rtt_ns(rtt_ns, 400 * MS), 400 * MS);
	ck_assert_int_ge(tsct_request_rtt_ns(rtt_ns, 1 * MS), 250 * MS);
	for (unsigned int i = 0; i < 100; i++)
		rtt_ns = tsct_request_rtt_ns(rtt_ns, 1 * MS);
	ck_assert_int_eq(rtt_ns, 1 * MS);
}
