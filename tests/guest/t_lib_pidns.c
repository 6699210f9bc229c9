// SPDX-License-Identifier: MIT
/*
 * Programs in two pid namespaces, where each is thread 1: their events have different
 * thread ids, those of the initial namespace, whether the program writes the record
 * itself or the kernel does. TSCT_IOC_THREAD reports them to the program.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "lib.h"

static const struct tsct_channel_options options = {
	.name = "pidns", .block_size = 4096, .blocks = 16, .roles = TSCT_ROLE_WRITE,
};

static void try_thread(pid_t outer_parent)
{
	struct tsct_thread_info thread;
	struct stat st;
	int fd = open(TSCT_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	t_check(!ioctl(fd, TSCT_IOC_THREAD, &thread), "%m");
	t_check(thread.tid == thread.tgid && (pid_t)thread.tid > outer_parent, "%u",
		thread.tid);
	t_check(thread.start_ns > 0 && !thread.reserved[0]);
	t_check(!stat("/proc/self/ns/pid", &st), "%m");
	t_check(thread.pid_namespace != 0);
	close(fd);
}

/* Process 1 of a new pid namespace: emits two events by itself, one by the kernel. */
static void emit_in_namespace(pid_t outer_parent)
{
	struct tsct_channel *channel = lib_open(&options);
	int id = tsct_event_define(channel, "hello", TSCT_KIND_INSTANT, "");
	struct tsct_write write = { .id = (__u16)id };
	struct tsct_channel_attach attach = {
		.name = "pidns", .uid = TSCT_UID_SELF, .roles = TSCT_ROLE_WRITE,
	};
	int fd = open(TSCT_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	t_check(getpid() == 1);
	t_check(!tsct_emit(channel, id, NULL, 0));
	t_check(!tsct_emit(channel, id, NULL, 0));
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_ATTACH, &attach), "%m");
	t_check(!ioctl(fd, TSCT_IOC_WRITE, &write), "%m");
	try_thread(outer_parent);
	exit(t_status());
}

/* Returns the number of the namespace's process 1 in this namespace. */
static pid_t run_in_namespace(void)
{
	pid_t pid, self = getpid();
	int status;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		t_check(!unshare(CLONE_NEWPID), "%m");
		/* The child is process 1 of the new namespace. */
		pid = fork();
		if (!pid)
			emit_in_namespace(self);
		waitpid(pid, &status, 0);
		exit(status ? 0 : pid & 0xff);
	}
	waitpid(pid, &status, 0);
	t_check(WIFEXITED(status) && WEXITSTATUS(status), "%#x", status);
	return WEXITSTATUS(status);
}

int main(void)
{
	struct tsct_channel_options own = options;
	struct tsct_channel *channel;
	struct tsct_reader *reader;
	struct tsct_event event;
	pid_t pids[2];
	int i;

	own.roles = BOTH;
	channel = lib_open(&own);
	reader = lib_reader(channel);
	lib_pin(0);
	pids[0] = run_in_namespace();
	pids[1] = run_in_namespace();
	t_check(pids[0] != pids[1]);
	for (i = 0; i < 6; i++) {
		if (!t_check(lib_next(reader, &event), "event %d", i))
			break;
		/* The exit status has the lowest 8 bits. */
		t_check((event.tid & 0xff) == (uint32_t)pids[i / 3] && event.tid > 1,
			"event %d: thread %u, process %d", i, event.tid, pids[i / 3]);
	}
	tsct_reader_close(reader);
	tsct_channel_close(channel);
	return t_status();
}
