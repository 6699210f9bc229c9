/* SPDX-License-Identifier: MIT */
/* Restores of the virtual machine, and updates of the kernel's bound to UTC */
#ifndef TSCT_TEST_VMFORK_H
#define TSCT_TEST_VMFORK_H

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

#include "t.h"

/* Reports a restore to the kernel. Returns when the kernel's notifiers, that of
 * tsctrace.ko among them, have run. */
static inline void vmfork_report(void)
{
	int fd = open("/lib/modules/tsct-vmfork.ko", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && syscall(SYS_finit_module, fd, "", 0) && errno == ENOENT)
		t_skip("this kernel has no CONFIG_VMGENID");
	t_check(fd >= 0 && errno == ECANCELED, "tsct-vmfork.ko: %m");
	close(fd);
}

/* Sets maxerror as an NTP daemon does that has synchronized the clock. */
static inline void vmfork_update_kernel(long maxerror_us)
{
	struct timex timex = {
		.modes = ADJ_MAXERROR | ADJ_STATUS,
		.maxerror = maxerror_us, .status = STA_PLL,
	};

	t_check(adjtimex(&timex) >= 0, "%m");
}

#endif /* TSCT_TEST_VMFORK_H */
