// SPDX-License-Identifier: MIT
/*
 * Removes CPU 1, which must be offline, from the kernel's mask of CPUs present, or adds it
 * again, as a hypervisor does that adds a CPU. Loading the module does that and then fails
 * with ECANCELED, so that it can be loaded again.
 */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/module.h>

static bool present;
module_param(present, bool, 0);

static int __init tsct_present_init(void)
{
	if (cpu_online(1))
		return -EBUSY;
	if (present)
		cpumask_set_cpu(1, &__cpu_present_mask);
	else
		cpumask_clear_cpu(1, &__cpu_present_mask);
	return -ECANCELED;
}

module_init(tsct_present_init);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Changes the mask of CPUs present");
