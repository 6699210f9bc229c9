/* SPDX-License-Identifier: MIT */
/* Events of system calls (sys_NAME in kernel channels): their definitions, which are in no channel,
 * and their fields as text. lib/syscalls, which `make CORE=1` leaves out, defines these functions;
 * without lib/syscalls, such events cannot be recorded, and are read like a program's events. */
#ifndef TSCT_SYSCALL_EVENT_H
#define TSCT_SYSCALL_EVENT_H

#include "lib/base/wing.h"
#include "trace_reader.h"

struct tsct_syscall;

#define TSCT_SYSCALL_TEXT_MAX	768	/* longest text of a value, with its NUL, bytes */

/* Gets the definition of the system call event with ID @id, see TSCT_SYSCALL_ID_FIRST.
 * Returns false if there is no such event. */
TSCT_WING bool tsct_syscall_event_def(unsigned int id, struct tsct_event_def *ret_def);

/* Returns true for events of the 15 calls that programs make most often. These events get short IDs
 * in a file. There are 32 short IDs: at least 2 are left for other events. */
TSCT_WING bool tsct_syscall_event_is_frequent(const char *event_name);

/*
 * tsct_syscall_of - get the system call that events of a definition record.
 * Returns NULL for other events, also for a program's own events with the name of a system
 * call. Slow: call it once per definition.
 */
TSCT_WING const struct tsct_syscall *
tsct_syscall_of(const struct tsct_recording *rec, __u32 stream, const struct tsct_event_def *def);

/*
 * tsct_syscall_value - format a field of a system call's event: "O_RDONLY|O_CLOEXEC"
 * @call: system call of the event; NULL: none. Returns the length of the text; 0:
 * the value has no such text: use tsct_value_format().
 */
TSCT_WING size_t tsct_syscall_value(const struct tsct_syscall *call,
				    const struct tsct_trace_event *e,
				    const struct tsct_value *value,
				    char text[TSCT_SYSCALL_TEXT_MAX]);

/*
 * tsct_syscall_format - format any field of an event of a system call, or of any other
 * event. Writes at most TSCT_SYSCALL_TEXT_MAX + TSCT_TEXT_ESCAPED(value->size) bytes to
 * @at, without a NUL, and returns the end. "..." follows a string that was cut off when
 * it was recorded.
 */
TSCT_WING char *tsct_syscall_format(char *at, const struct tsct_syscall *call,
				    const struct tsct_trace_event *e,
				    const struct tsct_value *value);

#endif /* TSCT_SYSCALL_EVENT_H */
