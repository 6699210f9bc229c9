// SPDX-License-Identifier: MIT
/* What record and snapshot say when something is wrong. */
#include <stdarg.h>
#include <stdio.h>

#include "cmd_record.h"

const char *record_verb = "record";

void record_complain(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "trace-ctl %s: ", record_verb);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}
