// SPDX-License-Identifier: MIT
/*
 * Reports a restore of the virtual machine to the kernel, as its driver of VM
 * Generation ID does when the hypervisor has changed the id. Loading the module reports
 * one restore and then fails with ECANCELED, so that it can be loaded again.
 *
 * The driver is built into Debian's kernels, and the kernel exports the function only
 * to a driver that is a module: a kprobe finds it.
 */
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/random.h>

static struct kprobe probe = { .symbol_name = "add_vmfork_randomness" };

static int __init tsct_vmfork_init(void)
{
	void (*report)(const void *id, size_t size);
	u8 id[16];
	int err = register_kprobe(&probe);

	if (err)
		return err;
	report = (void *)probe.addr;
	unregister_kprobe(&probe);
	get_random_bytes(id, sizeof(id));
	report(id, sizeof(id));
	return -ECANCELED;
}

module_init(tsct_vmfork_init);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Reports a restore of the virtual machine");
