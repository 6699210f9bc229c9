// SPDX-License-Identifier: MIT
/*
 * A CPU is added to the machine. Channels made before get its ring when it comes up,
 * within the limits of their users, charged to them; one whose user is at the limit gets
 * none, and counts the events of that CPU as lost. Channels made later have all rings.
 *
 * tsct-present.ko removes an offline CPU from the kernel's mask of CPUs present, and adds
 * it again.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>

#include "modules.h"

#define PARAM	"/sys/module/tsctrace/parameters/"

static void set_online(const char *on)
{
	t_check(dev_put("/sys/devices/system/cpu/cpu1/online", on), "%m");
}

static void set_present(bool present)
{
	int fd = open("/lib/modules/tsct-present.ko", O_RDONLY | O_CLOEXEC);

	t_check(fd >= 0 && syscall(SYS_finit_module, fd,
				   present ? "present=1" : "present=0", 0) &&
		errno == ECANCELED, "tsct-present.ko: %m");
	close(fd);
}

static sigjmp_buf out;

static void on_fault(int sig)
{
	siglongjmp(out, sig);
}

static int touch(const volatile void *at)
{
	int sig = sigsetjmp(out, 1);

	if (!sig)
		*(const volatile char *)at;
	return sig;
}

static int create_as(uid_t uid, const char *name, uint32_t blocks)
{
	struct tsct_channel_create arg = dev_request(name);
	int fd = dev_open();

	arg.blocks = blocks;
	t_check(!seteuid(uid), "%m");
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg), "%s: %m", name);
	t_check(!seteuid(0), "%m");
	return fd;
}

int main(void)
{
	int root, poor, fd = dev_open(), later;
	struct dev_maps m, p;
	uint64_t bytes;

	chmod(TSCT_DEVICE_PATH, 0666);
	set_online("0");
	set_present(false);
	t_check(dev_put(PARAM "bytes_user_max", "1572864"), "%m");
	root = create_as(0, "root", 256);
	/* More than 1 MiB on one CPU; the limit of 1.5 MiB has no room for a second. */
	poor = create_as(1000, "poor", 256);
	m = dev_map(root);
	p = dev_map(poor);
	bytes = dev_info(fd).bytes;
	t_check(dev_ready(&m, 0) && !dev_ready(&m, 1) && !dev_ready(&p, 1));
	signal(SIGBUS, on_fault);
	t_check(touch(dev_producer(&m, 0)) == 0);
	t_check(touch(dev_producer(&m, 1)) == SIGBUS);
	t_check(touch(dev_consumer(&m, 1)) == SIGBUS);
	t_check(touch(dev_producer(&m, 1)) == SIGBUS);
	signal(SIGBUS, SIG_DFL);

	set_present(true);
	set_online("1");
	t_check(dev_ready(&m, 1) && !dev_ready(&p, 1));
	t_check(dev_info(fd).bytes == bytes + m.header->ring_stride + 4096, "%llu",
		dev_info(fd).bytes - bytes);
	dev_pin(1);
	t_check(!dev_write(root, 16, NULL, 0), "%m");
	t_errno(dev_write(poor, 16, NULL, 0), ENXIO);
	t_check(m.header->lost_no_ring == 0 && p.header->lost_no_ring == 1);
	later = create_as(0, "later", 4);
	t_check(!dev_write(later, 16, NULL, 0), "%m");
	t_check(dev_put(PARAM "bytes_user_max", "0"), "%m");
	return t_status();
}
