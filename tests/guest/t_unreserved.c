// SPDX-License-Identifier: MIT
/*
 * The module without reserved.c (CONFIG_TSCTRACE_RESERVED=n), on a machine that reserved memory
 * for it: a kept overwrite channel has pages of its own, no previous boot is found, no clock is
 * stored, and the tests of kept channels and of maps pass. The usual module takes that memory for
 * the same channel, from Linux 6.12 on.
 *
 * guest-test: boot=reserved timeout=120 module=no rt=yes
 */
#include "modules.h"

/* Makes a kept overwrite channel, and writes an event. Returns the flags in its header. */
static uint32_t keep_channel(int fd)
{
	struct tsct_channel_create arg = dev_request("unreserved");
	uint64_t value = 1;
	struct dev_maps m;
	uint32_t flags;

	dev_pin(1);
	arg.policy = TSCT_POLICY_OVERWRITE;
	arg.flags = TSCT_CHANNEL_KEEP;
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg), "%m");
	m = dev_map(fd);
	t_check(!dev_write(fd, TSCT_ID_FIRST, &value, sizeof(value)), "%m");
	t_check(dev_events(&m, 1) == 1, "%u events", dev_events(&m, 1));
	flags = m.header->flags;
	dev_unmap(&m);
	return flags;
}

static void try_requests(int fd)
{
	static struct tsct_clock_copy copy;
	struct tsct_clock_store store = {
		.copy = (uintptr_t)&copy, .cpus = (uintptr_t)&copy,
		.nr_cpus = dev_info(fd).nr_cpus,
	};
	struct tsct_previous previous = { .flags = TSCT_PREVIOUS_DISCARD };
	struct tsct_previous_read part = { .data = (uintptr_t)&copy, .len = sizeof(copy) };

	t_errno(ioctl(fd, TSCT_IOC_PREVIOUS, &previous), ENOENT);
	t_errno(ioctl(fd, TSCT_IOC_PREVIOUS_READ, &part), ENOENT);
	t_errno(ioctl(fd, TSCT_IOC_CLOCK_STORE, &store), ENOENT);
	previous.flags = ~TSCT_PREVIOUS_DISCARD;
	t_errno(ioctl(fd, TSCT_IOC_PREVIOUS, &previous), EINVAL);
}

/* Runs another test of this program. It counts channels and memory from none on. */
static void run_test(const char *name)
{
	pid_t pid;
	int status;

	mod_load("/lib/modules/tsctrace-unreserved.ko", "");
	pid = t_fork();
	if (!pid) {
		execl("/proc/self/exe", name, NULL);
		_exit(127);
	}
	status = t_wait(pid);
	t_check(!status, "%s: status %d", name, status);
	t_check(!mod_unload("tsctrace"), "%m");
}

int main(void)
{
	struct tsct_previous previous = { .flags = TSCT_PREVIOUS_DISCARD };
	uint32_t flags;
	int fd;

	mod_load("/lib/modules/tsctrace.ko", "");
	fd = dev_open();
	/* A test before this one may have left channels of a previous boot. */
	t_check(!ioctl(fd, TSCT_IOC_PREVIOUS, &previous) || errno == ENOENT, "%m");
	flags = keep_channel(fd);
	t_check(!(flags & TSCT_CHANNEL_RESERVED) == !mod_can_reserve(), "flags %#x", flags);
	close(fd);
	t_check(!mod_unload("tsctrace"), "%m");

	mod_load("/lib/modules/tsctrace-unreserved.ko", "");
	fd = dev_open();
	flags = keep_channel(fd);
	t_check(flags == TSCT_CHANNEL_KEEP, "flags %#x", flags);
	try_requests(fd);
	close(fd);
	t_check(!mod_unload("tsctrace"), "%m");
	run_test("t_mmap");
	run_test("t_keep");
	return t_status();
}
