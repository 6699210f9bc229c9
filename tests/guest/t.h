/* SPDX-License-Identifier: MIT */
/*
 * Checks for the tests t_*.c: a failed check is printed and counted, the test goes
 * on, and ends with
 *
 *	return t_status();
 *
 * The macros add file and line; none of them changes the control flow.
 */
#ifndef TSCT_TEST_T_H
#define TSCT_TEST_T_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned int t_checks, t_failures;

__attribute__((format(printf, 5, 6), unused))
static bool t_note(bool ok, const char *file, int line, const char *what,
		   const char *format, ...)
{
	va_list args;

	t_checks++;
	if (ok)
		return true;
	t_failures++;
	printf("%s:%d: failed: %s", file, line, what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	return false;
}

/* t_check(n == 3, "n is %d", n) returns true if the condition holds; otherwise t_check
 * prints the message, counts a failure and returns false. */
#define t_check(cond, ...) \
	t_note(!!(cond), __FILE__, __LINE__, #cond, " " __VA_ARGS__)

__attribute__((unused))
static bool t_wants(long ret, int err, int want, const char *call,
		    const char *file, int line)
{
	char found[64] = "success";

	if (ret == -1)
		snprintf(found, sizeof(found), "%s", strerror(err));
	return t_note(ret == -1 && err == want, file, line, call,
		      " gave %s, not %s", found, strerror(want));
}

/* t_errno(ioctl(fd, 0), ENOTTY): the call returns -1 with that errno */
#define t_errno(call, want) ({						\
	errno = 0;							\
	long t_ret = (long)(call);					\
	t_wants(t_ret, errno, want, #call, __FILE__, __LINE__);		\
})

__attribute__((format(printf, 1, 2), noreturn, unused))
static void t_skip(const char *why, ...)
{
	va_list args;

	va_start(args, why);
	vprintf(why, args);
	va_end(args);
	putchar('\n');
	exit(77);
}

/* A test that checked nothing did not pass. */
__attribute__((unused))
static int t_status(void)
{
	printf("%u of %u checks failed\n", t_failures, t_checks);
	return t_failures || !t_checks;
}

#endif
