/* SPDX-License-Identifier: MIT */
/* Reports a restore of the virtual machine to the kernel of the guest. */
#ifndef TSCT_TEST_VMFORK_H
#define TSCT_TEST_VMFORK_H

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "t.h"

/* Returns when the kernel's notifiers, that of tsctrace.ko among them, have run. */
static inline void vmfork_report(void)
{
	int fd = open("/lib/modules/tsct-vmfork.ko", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && syscall(SYS_finit_module, fd, "", 0) && errno == ENOENT)
		t_skip("this kernel has no CONFIG_VMGENID");
	t_check(fd >= 0 && errno == ECANCELED, "tsct-vmfork.ko: %m");
	close(fd);
}

#endif /* TSCT_TEST_VMFORK_H */
