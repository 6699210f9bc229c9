// SPDX-License-Identifier: MIT
/*
 * The largest payload of an event of the kernel: TSCT_KERNEL_PAYLOAD_MAX, also in blocks with
 * more room, since interrupts are off while it is copied. A larger one is counted as lost.
 */
#include "modules.h"

/* Indices of the lengths TSCT_KERNEL_PAYLOAD_MAX, and one byte more, in tsct-fuzz.ko */
#define LARGEST		10
#define TOO_LARGE	11

int main(void)
{
	struct tsct_channel_info info;
	int fd = dev_open();

	mod_load("/lib/modules/tsct-fuzz.ko", "");
	/* Blocks of 65536 bytes */
	t_check(mod_fuzz(FZ_KERNEL_OPEN, 0, 1, 3), "%m");
	t_check(mod_fuzz(FZ_KERNEL_EMIT, 0, LARGEST, 0), "%m");
	t_check(!mod_fuzz(FZ_KERNEL_EMIT, 0, TOO_LARGE, 0) && errno == EMSGSIZE, "%m");
	info = dev_next(fd, 0);
	t_check(info.block_size == 65536 && info.events == 1, "%u bytes, %llu events",
		info.block_size, (unsigned long long)info.events);
	t_check(info.lost[TSCT_LOST_TOO_BIG] == 1, "%llu",
		(unsigned long long)info.lost[TSCT_LOST_TOO_BIG]);
	t_check(!mod_unload("tsct_fuzz"), "%m");
	return t_status();
}
