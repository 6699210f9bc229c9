/* SPDX-License-Identifier: MIT */
/* The reason of the last error, for tests of parts that do not link libbpf */
#ifndef TESTS_REASON_H
#define TESTS_REASON_H

#include <stdarg.h>
#include <stdio.h>

#include "tools/bpf/bpf_errors.h"

static char reason[1024];

const char *bpf_errors_why(void)
{
	return reason;
}

int bpf_errors_fail(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	return error;
}

#endif
