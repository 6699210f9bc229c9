/* SPDX-License-Identifier: MIT */
/* Fields of recorded system calls (events sys_NAME of kernel channels) as text */
#ifndef TSCT_SYSCALL_VALUE_H
#define TSCT_SYSCALL_VALUE_H

#include "lib/ctf/trace_reader.h"
#include "lib/syscalls/syscalls.h"

/*
 * tsct_syscall_of - the system call that an event definition records
 * Returns NULL for other events, also for programs' own events of such a name. Slow: once
 * for a definition.
 */
const struct tsct_syscall *tsct_syscall_of(const struct tsct_recording *rec, __u32 stream,
					   const struct tsct_event_def *def);

/*
 * tsct_syscall_value - a field of an event as text: "O_RDONLY|O_CLOEXEC"
 * @call: system call of the event; NULL is allowed
 * Returns the length of the text; 0: the value has no other text than of any event.
 */
size_t tsct_syscall_value(const struct tsct_syscall *call, const struct tsct_trace_event *e,
			  const struct tsct_value *value, char text[TSCT_SYSCALL_TEXT_MAX]);

/* Text of a string that could not be read when it was recorded */
#define TSCT_SYSCALL_UNREADABLE	"unreadable"

/*
 * tsct_syscall_format - the text of any field of an event, as tsct_value_format()
 * Writes at most TSCT_SYSCALL_TEXT_MAX + TSCT_TEXT_ESCAPED(value->size) bytes to @at,
 * without a NUL, and returns the end. "..." follows a string of which the end was not
 * recorded.
 */
char *tsct_syscall_format(char *at, const struct tsct_syscall *call,
			  const struct tsct_trace_event *e, const struct tsct_value *value);

#endif /* TSCT_SYSCALL_VALUE_H */
