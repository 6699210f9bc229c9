/* SPDX-License-Identifier: MIT */
/*
 * Included first in all unit tests, by the compiler's -include. For each assertion
 * that holds, libcheck sends its file and line to the parent process, which reports
 * the last one if the test dies or hangs. That is a system call for each of millions
 * of assertions; after the first 1000 of a thread, every thousandth is close enough.
 * An assertion that fails still reports its own line.
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
