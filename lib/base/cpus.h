/* SPDX-License-Identifier: MIT */
/* The CPUs of the machine, and those that this process may use */
#ifndef TSCT_CPUS_H
#define TSCT_CPUS_H

#include <linux/types.h>
#include <sched.h>
#include <stdbool.h>

/* Returns the highest possible CPU id + 1. */
__u32 tsct_cpus_possible(void);

/* Returns the CPUs that are online. @by_process: true: only the CPUs on which this
 * process may run (cpuset, affinity). */
void tsct_cpus_usable(bool by_process, cpu_set_t *ret_cpus);

#endif /* TSCT_CPUS_H */
