// SPDX-License-Identifier: MIT
/* Panics when it is loaded: not all kernels have a system request for that. */
#include <linux/module.h>
#include <linux/panic.h>

static int __init tsct_panic_init(void)
{
	panic("tsct-panic");
}

module_init(tsct_panic_init);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Test: a panic");
