/* SPDX-License-Identifier: MIT */
/* Helpers of all test suites */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

#include <check.h>
#include <stdio.h>

/* Adds a test case. @before and @after run around each test (NULL: none), which has a
 * timeout of 60 s. */
static inline TCase *add_case(Suite *suite, const char *name,
			      void (*before)(void), void (*after)(void))
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, before, after);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return tcase;
}

/* Reports tests that this machine cannot run as one skipped test, in TAP. */
static inline void skip_test(const char *name, const char *reason)
{
	printf("ok 1 - %s # SKIP %s\n1..1\n", name, reason);
	fflush(stdout);
}

/* Runs the suite. Returns the exit status of main(). */
static inline int run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

#endif /* TESTS_SUITE_H */
