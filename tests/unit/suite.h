/* SPDX-License-Identifier: MIT */
/*
 * Unit tests register themselves, and main.c runs all that were linked into one
 * program. The tests of one file check_NAME.c are the suite NAME:
 *
 *	TEST(test_empty)
 *	{
 *		ck_assert(...);
 *	}
 *
 *	CASE("hostile", setup, teardown);
 *
 *	LOOP_TEST(test_sizes, 0, 5)		// with _i = 0 ... 4
 *	{
 *		...
 *	}
 *
 * A case is a group of tests with a name and common fixtures. Tests above the first
 * CASE() of a file are in a case with the name of the suite and without fixtures.
 *
 * Each test runs in a process of its own, which libcheck forks. It is killed after
 * 300 s: that limit finds tests that hang, and is no measurement.
 *
 *	build/tests/unit/check_clock			all suites of that program
 *	build/tests/unit/check_clock test_utc ...	only these tests
 *	CK_RUN_SUITE=clock_file build/tests/unit/check_clock
 *	CK_RUN_CASE=hostile ...				cases with that name
 *	SEED=4711 ...					the random numbers of an earlier run
 *	CK_FORK=no gdb ...				in a debugger
 */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

/* Headers of the C library that most tests use */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The entries that TEST(), CASE() and SUBCOMMAND() register */
struct unit_entry {
	const char *file;	/* that was compiled */
	int order;		/* position in that file */

	/* of a test: libcheck's description, and the range of its iterations */
	const TTest *const *test;
	int from, to;
	bool random;		/* iterations differ in their random numbers only */

	/* of a case */
	const char *name;
	void (*before)(void);	/* runs before each test, in the test's process */
	void (*after)(void);
	const char *tags;	/* for CK_INCLUDE_TAGS */
	/* Returns why this machine cannot run the case's tests, which are then skipped,
	 * or NULL. Must not change the process: all suites' tests run in children. */
	const char *(*missing)(void);

	/* of a command */
	const char *word;
	int (*run)(const char *arg);
};

/* A section of pointers: the compiler may pad an array of structs. */
#define UNIT_ENTRY_(n, ...)						\
	static const struct unit_entry unit_entry_##n = {		\
		.file = __BASE_FILE__, .order = n, __VA_ARGS__		\
	};								\
	static const struct unit_entry *const unit_pointer_##n		\
		__attribute__((used, section("unit_entries"))) = &unit_entry_##n
#define UNIT_ENTRY_OF(n, ...)	UNIT_ENTRY_(n, __VA_ARGS__)
#define UNIT_ENTRY(...)		UNIT_ENTRY_OF(__COUNTER__, __VA_ARGS__)

/* Begins a case, or continues the one with that name. Further arguments: .tags,
 * .missing */
#define CASE(title, setup, teardown, ...)				\
	UNIT_ENTRY(.name = title, .before = setup, .after = teardown,	\
		   __VA_ARGS__)

/* Adds a test that is defined elsewhere in the file to the present case. */
#define RUN_LOOP_TEST(name, first, end)					\
	UNIT_ENTRY(.test = &name, .from = first, .to = end)
#define RUN_TEST(name)		RUN_LOOP_TEST(name, 0, 1)

/* Begins iteration @i of a test: seeds the random numbers of seed.h. */
void unit_begin(int i);

/* Number of repeats with random numbers in a test: @nr in make check-all, half of them in make
 * check, an eighth in make check-fast */
int unit_repeats(int nr);

/* Defines a test, and adds it to the present case. Further arguments: .random */
#define LOOP_TEST(name, first, end, ...)				\
	static const TTest *name;					\
	static void name##_body(int _i);				\
	UNIT_ENTRY(.test = &name, .from = first, .to = end, __VA_ARGS__);	\
	START_TEST(name)						\
	{								\
		unit_begin(_i);						\
		name##_body(_i);					\
	}								\
	static void name##_body(int _i __attribute__((unused)))
#define TEST(name)		LOOP_TEST(name, 0, 1)
/* A test with random numbers, with @nr seeds; with a quarter of them in make check-fast */
#define RANDOM_TEST(name, nr)	LOOP_TEST(name, 0, nr, .random = true)

/* If the program's arguments are @verb and one more, the program calls @function with that
 * one and exits with its result: for tests that execute their program anew. */
#define SUBCOMMAND(verb, function)						\
	UNIT_ENTRY(.word = verb, .run = function)

/* Waits for the end of a child process, which must exit with @code. */
static inline void expect_exit(pid_t pid, int code)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), code);
}

/* For a case's .missing */
static inline const char *not_root(void)
{
	return geteuid() ? "needs root" : NULL;
}

/* Number of an array's elements, the end of a loop test */
#define ROWS(array)		((int)(sizeof(array) / sizeof((array)[0])))

#endif /* TESTS_SUITE_H */
