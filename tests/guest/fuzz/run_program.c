// SPDX-License-Identifier: MIT
/*
 * Runs a program in a child process, and checks what must hold: no call hangs, and when
 * all descriptors are closed nothing is left.
 */
#include "../modules/fuzz_call.h"
#include "fuzz.h"

unsigned int fz_seconds_max = 60;

static void print_stacks(pid_t pid)
{
	char command[160];

	snprintf(command, sizeof(command),
		 "cat /proc/%d/task/*/stack; dmesg | tail -n 40", pid);
	if (system(command))
		perror(command);
}

/* Waits for the child's end, and kills it after @ms if that is not 0. */
static const char *wait_child(pid_t pid, const struct fz_program *program)
{
	struct pollfd end = {
		.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN,
	};
	const char *why = NULL;

	if (program->kill_ms && !poll(&end, 1, program->kill_ms))
		kill(-pid, SIGKILL);
	else if (!program->kill_ms && !poll(&end, 1, (int)fz_seconds_max * 1000))
		why = "a call takes too long";
	if (why)
		print_stacks(pid);
	kill(-pid, SIGKILL);
	if (!poll(&end, 1, (int)fz_seconds_max * 1000)) {
		print_stacks(pid);
		why = "a killed task does not end";
	}
	close(end.fd);
	/* Also children of the child, which became ours. */
	while (!why && (waitpid(-1, NULL, 0) > 0 || errno == EINTR))
		;
	return why;
}

static void reset_settings(void)
{
	const struct timespec time = { 1700000000, 0 };

	clock_settime(CLOCK_REALTIME, &time);
	faults_write(FZ_CLOCKSOURCE, "tsc");
	faults_write(FZ_PARAMETERS "bytes_max", "0");
	faults_write(FZ_PARAMETERS "bytes_user_max", "268435456");
	faults_write(FZ_PARAMETERS "channels_user_max", "64");
	faults_write(FZ_PARAMETERS "skew_max_ns", "1000");
	faults_write(FZ_CPU1, "1");
}

/* Removes the channels that were kept. Nothing may be left. */
static const char *remove_channels(void)
{
	static char why[128];
	struct tsct_channel_remove arg = { 0 };
	struct tsct_info info;
	int fd = dev_open();

	for (unsigned int tries = 0; tries < 200; tries++) {
		struct tsct_channel_info next = { 0 };

		while (!ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &next)) {
			arg.id = next.id;
			ioctl(fd, TSCT_IOC_CHANNEL_REMOVE, &arg);
			memset(next.reserved, 0, sizeof(next.reserved));
		}
		info = dev_info(fd);
		if (!info.channels && !info.bytes)
			break;
		usleep(10000);
	}
	close(fd);
	snprintf(why, sizeof(why), "%llu channels and %llu bytes are left", info.channels,
		 info.bytes);
	return info.channels || info.bytes ? why : NULL;
}

/* Loads or unloads the module that emits events in all contexts, if the program uses it. */
static void toggle_nest(const struct fz_program *program, bool load)
{
	bool overwrite = program->ops[0].sel[1] & 1;
	int fd;

	if (!fz_has_call(program, FZ_EMIT))
		return;
	if (!load) {
		syscall(SYS_delete_module, "tsct_nest", 0);
		return;
	}
	fd = open("/lib/modules/tsct-nest.ko", O_RDONLY | O_CLOEXEC);
	syscall(SYS_finit_module, fd, overwrite ? "policy=1" : "", 0);
	close(fd);
}

/* Closes the channels that a program opened by way of tsct-fuzz.ko. */
static void close_kernel_channels(const struct fz_program *program)
{
	uint8_t sel[FZ_SELECTORS] = { FZ_KERNEL_CLOSE };
	int fd;

	if (!fz_has_call(program, FZ_KERNEL))
		return;
	fd = open(FZ_KERNEL_PATH, O_WRONLY | O_CLOEXEC);
	fz_cover_begin(0);
	for (sel[1] = 0; sel[1] < 2; sel[1]++)
		if (write(fd, sel, sizeof(sel)) != sizeof(sel))
			perror(FZ_KERNEL_PATH);
	fz_cover_end(0);
	close(fd);
}

const char *fz_run(const struct fz_program *program, bool sweep)
{
	const char *why;
	pid_t pid;

	memset(fz_shared->ids, 0, sizeof(fz_shared->ids));
	memset(fz_shared->doing, 0, sizeof(fz_shared->doing));
	fz_shared->nr_ids = 0;
	fz_shared->why[0] = 0;
	toggle_nest(program, true);
	fflush(stdout);
	pid = fork();
	if (!pid)
		fz_run_child(program, sweep);
	why = pid < 0 ? "fork failed" : wait_child(pid, program);
	close_kernel_channels(program);
	toggle_nest(program, false);
	if (fz_has_call(program, FZ_PARAM) || fz_has_call(program, FZ_HOTPLUG) ||
	    fz_has_call(program, FZ_SETTING))
		reset_settings();
	fz_cover_collect_all();
	if (fz_shared->why[0])
		why = fz_shared->why;
	return why ?: remove_channels();
}
