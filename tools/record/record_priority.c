// SPDX-License-Identifier: MIT
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Declared here, as <linux/sched/types.h> conflicts with <sched.h>, which cmd_record.h includes */
void record_priority_raise(void);

#define NICE_MIN	(-20)
#define SLICE_NS	100000	/* shortest time slice that Linux accepts, ns */

/*
 * Raises the priority of this thread: a ring may be full within milliseconds, so a recorder
 * that waits for a CPU behind the programs that it records loses events, even if it needs
 * little CPU time. Without the right to do so (RLIMIT_NICE), the thread gets a short time slice,
 * which shortens the wait since Linux 6.12. A policy or a nice value that the user has chosen
 * is kept. Children of the thread get the default values.
 */
void record_priority_raise(void)
{
	struct sched_attr attr = { .size = sizeof(attr) };

	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) ||
	    attr.sched_policy != SCHED_NORMAL)
		return;
	attr.size = sizeof(attr);
	attr.sched_flags = SCHED_FLAG_RESET_ON_FORK;
	attr.sched_runtime = SLICE_NS;
	if (!attr.sched_nice) {
		attr.sched_nice = NICE_MIN;
		if (!syscall(SYS_sched_setattr, 0, &attr, 0))
			return;
		attr.sched_nice = 0;
	}
	/* If sched_setattr() fails, too, the thread keeps its priority and time slice. */
	syscall(SYS_sched_setattr, 0, &attr, 0);
}
