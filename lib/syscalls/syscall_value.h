/* SPDX-License-Identifier: MIT */
/* Meaning of kernel events, and fields of recorded system calls as text, see
 * lib/ctf/syscall_event.h */
#ifndef TSCT_SYSCALL_VALUE_H
#define TSCT_SYSCALL_VALUE_H

#include "lib/ctf/syscall_event.h"
#include "lib/syscalls/syscalls.h"

/* Text of a string that could not be read when it was recorded */
#define TSCT_SYSCALL_UNREADABLE	"unreadable"

/* Returns the text for a string argument that was not recorded: "NULL" for a null
 * pointer, else TSCT_SYSCALL_UNREADABLE. Returns NULL for any other value or event. */
const char *tsct_syscall_no_text(const struct tsct_recording *rec,
				 const struct tsct_trace_event *e, const struct tsct_value *v);

/* Meaning of an instant event of a kernel channel */
enum tsct_kernel_event {
	TSCT_KERNEL_OTHER,
	TSCT_KERNEL_ENTER,	/* sys_enter: begin of any system call, by its number */
	TSCT_KERNEL_EXIT,	/* sys_exit: end of any system call */
	TSCT_KERNEL_SWITCH,	/* sched_switch */
	TSCT_KERNEL_WAKING,	/* sched_waking and sched_wakeup_new, of -e sched */
	TSCT_KERNEL_MIGRATE,	/* sched_migrate_task, of -e sched */
	TSCT_KERNEL_FORK,	/* sched_process_fork, of -e sched */
};

enum tsct_kernel_event tsct_kernel_event(const struct tsct_recording *rec, __u32 stream,
					 const struct tsct_event_def *def);

/* Returns true for sys_enter and sys_exit, which record the begin and end of any call. */
static inline bool tsct_kernel_is_raw_call(const struct tsct_recording *rec, __u32 stream,
					   const struct tsct_event_def *def)
{
	const enum tsct_kernel_event event = tsct_kernel_event(rec, stream, def);

	return event == TSCT_KERNEL_ENTER || event == TSCT_KERNEL_EXIT;
}

#endif /* TSCT_SYSCALL_VALUE_H */
