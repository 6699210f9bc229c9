// SPDX-License-Identifier: GPL-2.0-only
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/module.h>

#include <tsctrace/version.h>

#include "channel.h"
#include "parts.h"
#include "reserved.h"
#include "ring.h"

/*
 * Parts of the module in the order of their initialization; they exit in reverse order.
 * Once the device exists, programs can hold the module, so no part that may fail follows.
 */
static const struct {
	int (*init)(void);
	void (*exit)(void);
} module_parts[] = {
	{ tsct_netlink_init, tsct_netlink_exit },
	{ tsct_disruption_init, tsct_disruption_exit },
	{ tsct_cpucheck_init, tsct_cpucheck_exit },
	{ tsct_disruption_start, tsct_disruption_stop },
	{ tsct_reserved_init, tsct_reserved_exit },
	{ tsct_channels_init, tsct_channels_exit },
	{ tsct_device_init, tsct_device_exit },
};

static void module_exit_parts(unsigned int nr)
{
	while (nr--)
		module_parts[nr].exit();
}

static int __init tsctrace_init(void)
{
	unsigned int i;
	int err;

	tsct_bpf_init();
	for (i = 0; i < ARRAY_SIZE(module_parts); i++) {
		err = module_parts[i].init();
		if (err) {
			module_exit_parts(i);
			return err;
		}
	}
	tsct_disruption_device_init();
	tsct_cpucheck_report();
	return 0;
}

static void __exit tsctrace_exit(void)
{
	tsct_disruption_device_exit();
	module_exit_parts(ARRAY_SIZE(module_parts));
}

module_init(tsctrace_init);
module_exit(tsctrace_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(TSCT_VERSION);
MODULE_AUTHOR("The tsctrace developers");
MODULE_DESCRIPTION("Per-CPU event rings on one TSC timeline");
