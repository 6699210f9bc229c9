/* SPDX-License-Identifier: MIT */
/*
 * Included first of all in unit tests, by the compiler's -include. With every
 * assertion that holds, libcheck tells the parent process the place, which is
 * then said of a test that dies or hangs: a system call, for millions of them.
 * Of a test that makes many, every thousandth is close enough. One that fails
 * still tells its own place.
 */
#ifndef TSCT_TESTS_UNIT_MARKS_H
#define TSCT_TESTS_UNIT_MARKS_H

#include <check.h>

static inline void mark_some(const char *file, int line)
{
	static _Thread_local unsigned int marks;

	if (marks++ < 1000 || marks % 1000 == 0)
		_mark_point(file, line);
}

#define _mark_point(file, line) mark_some(file, line)

#endif
