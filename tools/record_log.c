// SPDX-License-Identifier: MIT
/* What record says when something is wrong. Calls none of its other parts. */
#include <stdarg.h>
#include <stdio.h>

#include "cmd_record.h"

void record_complain(const char *format, ...)
{
	va_list args;

	fputs("trace-ctl record: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}
