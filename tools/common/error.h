/* SPDX-License-Identifier: MIT */
/*
 * Messages of trace-ctl on standard error: "trace-ctl VERB: TEXT". Control characters and
 * backslashes of TEXT are escaped, because names and texts of recordings, programs and other
 * nodes are in it. The start of the line is program_invocation_name.
 */
#ifndef TOOLS_ERROR_H
#define TOOLS_ERROR_H

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 1, 2)))
void ctl_error(const char *format, ...);

/* The same, and returns @ret. */
__attribute__((format(printf, 2, 3)))
int ctl_fail(int ret, const char *format, ...);

/* The same to another stream. */
__attribute__((format(printf, 2, 0)))
void ctl_error_to(FILE *to, const char *format, va_list args);

/* A message in parts: ctl_error_finish() prints what was written to the stream that
 * ctl_error_start() returned. Only one thread may make such a message at a time. */
FILE *ctl_error_start(void);
void ctl_error_finish(void);

#endif /* TOOLS_ERROR_H */
