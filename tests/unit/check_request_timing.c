// SPDX-License-Identifier: MIT
/* Times between the requests to a source */
#include "suite.h"
#include "lib/sync/request_timing.h"

#define US	1000LL
#define MS	1000000LL

/* A possible turn is obeyed; one that would make a flood, or silence, is not. */
START_TEST(test_turns)
{
	__s64 since_ns;

	ck_assert_int_eq(tsct_request_turn_ns(500, 100 * US), 500 * US);
	ck_assert_int_eq(tsct_request_turn_ns(150, 100 * US), 150 * US);
	/* All slots of 1024 members, twice */
	ck_assert_int_eq(tsct_request_turn_ns(1024 * 500, 0), 512 * MS);
	ck_assert_int_eq(tsct_request_turn_ns(1024 * 1000, 0), 1024 * MS);
	ck_assert_int_eq(tsct_request_turn_ns(1024 * 1000 + 1, 0), 1024 * MS);
	ck_assert_int_eq(tsct_request_turn_ns(~0U, 300 * MS), 1024 * MS);
	/* Two requests are 250 us apart at least, so a slow path needs no pause. */
	for (since_ns = 0; since_ns < 250 * US; since_ns += 10 * US)
		ck_assert_int_eq(tsct_request_turn_ns(0, since_ns) + since_ns, 250 * US);
	ck_assert_int_eq(tsct_request_turn_ns(100, 100 * US), 150 * US);
	ck_assert_int_eq(tsct_request_turn_ns(0, 250 * US), 0);
	ck_assert_int_eq(tsct_request_turn_ns(0, 300 * MS), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("request_timing");
	TCase *tcase = add_case(suite, "request_timing", NULL, NULL);

	tcase_add_test(tcase, test_turns);
	return run_suite(suite);
}
