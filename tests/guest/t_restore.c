// SPDX-License-Identifier: MIT
/*
 * The hypervisor saves the virtual machine, and another QEMU goes on from there with
 * another VM Generation ID. With a daemon: an epoch begins, cause migration, the clock
 * is synchronized again, and the kernel's bound to UTC is unknown.
 * guest-test: boot=big timeout=120
 * guest-test: files=build/daemon/tsctraced
 */
#include "lib.h"
#include "vmfork.h"

static struct tsct_clock *clk;

static uint64_t restore_seq(void)
{
	struct tsct_clock_snapshot s = { 0 };
	int fd = dev_open();

	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &s), "%m");
	close(fd);
	return s.restore_seq;
}

static bool is_in_new_epoch(void)
{
	struct tsct_clock_state state;

	return !tsct_clock_snapshot(clk, &state) &&
		state.cause == TSCT_CAUSE_MIGRATION;
}

/* boot.sh --restore waits for this line on the guest's console. */
static void request_snapshot(void)
{
	static const char line[] = "\ntake a snapshot\n";
	int fd = open("/dev/console", O_WRONLY | O_NOCTTY);

	t_check(fd >= 0 && write(fd, line, strlen(line)) > 0, "%m");
	close(fd);
}

int main(void)
{
	struct tsct_utc utc;
	pid_t pid = lib_start_daemon("1000");

	t_until(lib_open_clock(&clk));
	t_until(lib_is_synchronized(clk));
	vmfork_update_kernel(500);
	t_check(!tsct_clock_utc(clk, &utc) && utc.source == TSCT_UTC_KERNEL);
	t_check(restore_seq() == 0, "restored before the test");
	request_snapshot();
	t_until(restore_seq() == 1);
	t_until(is_in_new_epoch());
	t_check(tsct_clock_utc(clk, &utc) == -ESTALE, "UTC is known");
	t_until(lib_is_synchronized(clk));
	t_check(restore_seq() == 1);
	lib_stop_daemon(pid);
	return t_status();
}
