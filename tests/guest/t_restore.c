// SPDX-License-Identifier: MIT
/*
 * The hypervisor saves the virtual machine, and another QEMU goes on from there with
 * another VM Generation ID. With a daemon: an epoch begins, cause migration, the clock
 * is synchronized again, and the kernel's bound to UTC is unknown.
 * guest-test: boot=restore timeout=120
 * guest-test: files=build/daemon/tsctraced
 */
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tsctrace/tsctrace.h>

#include "device.h"
#include "vmfork.h"

#define STEP_US		50000
#define WAIT_S		20	/* most seconds of a wait, on an idle machine */

static struct tsct_clock *clk;

static bool is_synchronized(void)
{
	struct tsct_time now;

	return !tsct_clock_now(clk, &now) && now.status == TSCT_STATUS_SYNCHRONIZED;
}

static uint64_t restore_seq(void)
{
	struct tsct_clock_snapshot s = { 0 };
	int fd = dev_open();

	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &s), "%m");
	close(fd);
	return s.restore_seq;
}

static bool is_restored(void)
{
	return restore_seq() == 1;
}

static bool is_in_new_epoch(void)
{
	struct tsct_clock_state state;

	return !tsct_clock_snapshot(clk, &state) &&
		state.cause == TSCT_CAUSE_MIGRATION;
}

static void await(bool (*done)(void), const char *what)
{
	const double slow = atof(getenv("TSCT_SLOW") ?: "1");
	long left = (long)(slow * WAIT_S * 1e6 / STEP_US);

	while (!done() && left--)
		usleep(STEP_US);
	t_check(left > 0, "%s", what);
}

static bool open_module_clock(void)
{
	tsct_clock_close(clk);
	clk = NULL;
	return !tsct_clock_open(&clk) && !strcmp(tsct_clock_origin(clk), "module");
}

/* boot.sh --restore waits for this line on the guest's console. */
static void request_snapshot(void)
{
	static const char line[] = "\ntake a snapshot\n";
	int fd = open("/dev/console", O_WRONLY | O_NOCTTY);

	t_check(fd >= 0 && write(fd, line, strlen(line)) > 0, "%m");
	close(fd);
}

static pid_t start_daemon(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	execl("/usr/bin/tsctraced", "tsctraced", "-v", (char *)NULL);
	_exit(127);
}

int main(void)
{
	struct tsct_utc utc;
	pid_t pid;

	mkdir("/run", 0755);
	pid = start_daemon();
	await(open_module_clock, "no clock of the module");
	await(is_synchronized, "never synchronized");
	vmfork_update_kernel(500);
	t_check(!tsct_clock_utc(clk, &utc) && utc.source == TSCT_UTC_KERNEL);
	t_check(restore_seq() == 0, "restored before the test");
	request_snapshot();
	await(is_restored, "the restore is not reported");
	await(is_in_new_epoch, "no epoch begins");
	t_check(tsct_clock_utc(clk, &utc) == -ESTALE, "UTC is known");
	await(is_synchronized, "not synchronized again");
	t_check(restore_seq() == 1);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	return t_status();
}
