/* SPDX-License-Identifier: MIT */
/* Restores of the virtual machine, suspends, and updates of the kernel's bound to UTC */
#ifndef TSCT_TEST_VMFORK_H
#define TSCT_TEST_VMFORK_H

#include "modules.h"

/* Reports a restore to the kernel. Returns when the kernel's notifiers, that of
 * tsctrace.ko among them, have run. */
T_FN void vmfork_report(void)
{
	int error = mod_try_load("/lib/modules/tsct-vmfork.ko", "");

	if (error == ENOENT)
		t_skip("this kernel has no CONFIG_VMGENID");
	t_check(error == ECANCELED, "tsct-vmfork.ko: %s", strerror(error));
}

/* Suspends to memory, and wakes up. */
T_FN void vmfork_sleep(void)
{
	dev_set("/sys/module/suspend/parameters/pm_test_delay", "0");
	dev_set("/sys/power/pm_test", "processors");
	dev_set("/sys/power/state", "mem");
}

/* Sets maxerror as an NTP daemon does that has synchronized the clock. */
T_FN void vmfork_update_kernel(long maxerror_us)
{
	struct timex timex = {
		.modes = ADJ_MAXERROR | ADJ_STATUS,
		.maxerror = maxerror_us, .status = STA_PLL,
	};

	t_check(adjtimex(&timex) >= 0, "%m");
}

#endif /* TSCT_TEST_VMFORK_H */
