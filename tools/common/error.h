/* SPDX-License-Identifier: MIT */
/*
 * Messages of trace-ctl on standard error: "trace-ctl VERB: TEXT". "trace-ctl VERB" is
 * program_invocation_name. Control characters and backslashes in TEXT are escaped, because
 * TEXT may contain names and texts from recordings, programs and other nodes.
 */
#ifndef TOOLS_ERROR_H
#define TOOLS_ERROR_H

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 1, 2)))
void ctl_error(const char *format, ...);

/* Prints a message like ctl_error(), and returns @ret. */
__attribute__((format(printf, 2, 3)))
int ctl_fail(int ret, const char *format, ...);

/* Prints a message like ctl_error(), but to stream @to. */
__attribute__((format(printf, 2, 0)))
void ctl_error_to(FILE *to, const char *format, va_list args);

/* Print a message that the caller writes in parts to the stream that ctl_error_start() returns.
 * ctl_error_finish() prints it. Only one thread at a time may do so. */
FILE *ctl_error_start(void);
void ctl_error_finish(void);

#endif /* TOOLS_ERROR_H */
