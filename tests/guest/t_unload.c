// SPDX-License-Identifier: MIT
/*
 * The module cannot be unloaded while a descriptor, or only a map, exists.
 * guest-test: module=no
 */
#include <sys/syscall.h>

#include "device.h"

static void load(void)
{
	int fd = open("/lib/modules/tsctrace.ko", O_RDONLY);

	t_check(!syscall(SYS_finit_module, fd, "", 0), "%m");
	close(fd);
}

static long unload(void)
{
	return syscall(SYS_delete_module, "tsctrace", O_NONBLOCK);
}

int main(void)
{
	struct dev_maps m;
	void *map;
	int fd;

	load();
	fd = open(TSCT_DEVICE_PATH, O_RDONLY);
	t_errno(unload(), EWOULDBLOCK);
	close(fd);

	fd = dev_open();
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
		   (off_t)TSCT_CLOCK_OFFSET);
	t_check(map != MAP_FAILED, "%m");
	close(fd);
	t_errno(unload(), EWOULDBLOCK);
	munmap(map, 4096);

	fd = dev_new("unload");
	m = dev_map(fd);
	close(fd);
	t_errno(unload(), EWOULDBLOCK);
	t_check(dev_pos(&m, 0) == 32);
	dev_unmap(&m);
	t_check(!unload(), "%m");
	return t_status();
}
