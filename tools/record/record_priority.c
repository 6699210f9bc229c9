// SPDX-License-Identifier: MIT
/* The recorder's scheduling. <linux/sched/types.h> excludes <sched.h>. */
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record_priority.h"

#define NICE_MIN	(-20)
#define SLICE_NS	100000	/* shortest time slice that Linux accepts, ns */

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
	/* If this fails, too, the thread keeps its place in the order. */
	syscall(SYS_sched_setattr, 0, &attr, 0);
}
