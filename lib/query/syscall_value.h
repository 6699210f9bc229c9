/* SPDX-License-Identifier: MIT */
/* Fields of recorded system calls (events sys_NAME of kernel channels) as text */
#ifndef TSCT_SYSCALL_VALUE_H
#define TSCT_SYSCALL_VALUE_H

#include "lib/ctf/trace_reader.h"
#include "lib/syscalls/syscalls.h"

/*
 * tsct_syscall_of - get the system call that events of a definition record.
 * Returns NULL for other events, also for a program's own events with the name of a system
 * call. Slow: call it once per definition.
 */
const struct tsct_syscall *tsct_syscall_of(const struct tsct_recording *rec, __u32 stream,
					   const struct tsct_event_def *def);

/*
 * tsct_syscall_value - format a field of a system call's event: "O_RDONLY|O_CLOEXEC"
 * @call: system call of the event; NULL: none.
 * Returns the length of the text; 0: the value has no text of its own, so that
 * tsct_value_format() is to format it.
 */
size_t tsct_syscall_value(const struct tsct_syscall *call, const struct tsct_trace_event *e,
			  const struct tsct_value *value, char text[TSCT_SYSCALL_TEXT_MAX]);

/* Text of a string that could not be read when it was recorded */
#define TSCT_SYSCALL_UNREADABLE	"unreadable"

/*
 * tsct_syscall_format - format any field of an event: as a system call's, or any other's.
 * Writes at most TSCT_SYSCALL_TEXT_MAX + TSCT_TEXT_ESCAPED(value->size) bytes to @at,
 * without a NUL, and returns the end. "..." follows a string that was cut off when it was
 * recorded.
 */
char *tsct_syscall_format(char *at, const struct tsct_syscall *call,
			  const struct tsct_trace_event *e, const struct tsct_value *value);

#endif /* TSCT_SYSCALL_VALUE_H */
