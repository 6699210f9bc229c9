// SPDX-License-Identifier: GPL-2.0-only
#include <linux/init.h>
#include <linux/module.h>

#include <tsctrace/version.h>

#include "channel.h"
#include "cpucheck.h"
#include "disruption.h"
#include "netlink.h"
#include "reserved.h"
#include "ring.h"

static int __init tsctrace_init(void)
{
	int err;

	err = tsct_cpucheck_init();
	if (err)
		return err;
	err = tsct_disruption_init();
	if (err)
		goto exit_cpucheck;
	err = tsct_cpucheck_start();
	if (err)
		goto exit_disruption;
	err = tsct_disruption_start();
	if (err)
		goto stop_cpucheck;
	tsct_reserved_init();
	err = tsct_channels_init();
	if (err)
		goto exit_reserved;
	tsct_bpf_init();
	err = tsct_netlink_init();
	if (err)
		goto exit_channels;
	/* Programs can hold the module from here on: nothing that fails may follow. */
	err = tsct_device_init();
	if (err)
		goto exit_netlink;
	tsct_disruption_device_init();
	tsct_cpucheck_report();
	return 0;

exit_netlink:
	tsct_netlink_exit();
exit_channels:
	tsct_channels_exit();
exit_reserved:
	tsct_reserved_exit();
	tsct_disruption_stop();
stop_cpucheck:
	tsct_cpucheck_stop();
exit_disruption:
	tsct_disruption_exit();
exit_cpucheck:
	tsct_cpucheck_exit();
	return err;
}

static void __exit tsctrace_exit(void)
{
	tsct_device_exit();
	tsct_disruption_device_exit();
	tsct_channels_exit();
	tsct_reserved_exit();
	tsct_disruption_stop();
	tsct_cpucheck_stop();
	tsct_netlink_exit();
	tsct_disruption_exit();
	tsct_cpucheck_exit();
}

module_init(tsctrace_init);
module_exit(tsctrace_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(TSCT_VERSION);
MODULE_AUTHOR("The tsctrace developers");
MODULE_DESCRIPTION("Per-CPU event rings on one TSC timeline");
