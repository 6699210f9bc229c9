// SPDX-License-Identifier: MIT
/*
 * A user in a memory cgroup far above memory.high creates a large channel: the kernel
 * lets each allocation sleep. CPUs go offline and online meanwhile without a delay, and
 * other users create channels. A fatal signal ends the request.
 * guest-test: timeout=60
 */
#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <time.h>

#include "device.h"

#define GROUP	"/tmp/cgroup/small"
#define LIMIT_S	4	/* limit of one change of a CPU or one request, s */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void make_group(void)
{
	mkdir("/tmp/cgroup", 0755);
	if (mount("cgroup2", "/tmp/cgroup", "cgroup2", 0, NULL) ||
	    !dev_put("/tmp/cgroup/cgroup.subtree_control", "+memory"))
		t_skip("this kernel has no memory cgroups (CONFIG_MEMCG)");
	t_check(!mkdir(GROUP, 0755), "%m");
	t_check(dev_put(GROUP "/memory.high", "4194304"), "%m");
}

/* Creates a channel of 64 MiB for each CPU, in the group. */
static pid_t start_creation(void)
{
	struct tsct_channel_create arg = dev_request("large");
	pid_t pid = fork();

	if (pid)
		return pid;
	if (!dev_put(GROUP "/cgroup.procs", "0"))
		_exit(1);
	arg.block_size = 65536;
	arg.blocks = 1024;
	dev_create(&arg);
	_exit(0);
}

int main(void)
{
	double begin, longest = 0, took;
	int fd = dev_open(), status, i;
	pid_t pid;

	make_group();
	pid = start_creation();
	sleep(2);	/* the group is above its limit now */
	t_check(!waitpid(pid, &status, WNOHANG), "the creation did not wait");
	for (i = 0; i < 6; i++) {
		begin = now();
		t_check(dev_put("/sys/devices/system/cpu/cpu1/online", i & 1 ? "1" : "0"),
			"%m");
		took = now() - begin;
		longest = took > longest ? took : longest;
		begin = now();
		close(dev_new("small"));
		took = now() - begin;
		longest = took > longest ? took : longest;
	}
	t_check(longest < LIMIT_S, "%.1f s", longest);
	t_check(!waitpid(pid, &status, WNOHANG), "the creation has ended");
	kill(pid, SIGKILL);
	begin = now();
	t_check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "%#x", status);
	/* A task sleeps for up to 2 s in one allocation above memory.high. */
	t_check(now() - begin < 2 * LIMIT_S, "%.1f s", now() - begin);
	t_check(dev_info(fd).bytes == 0 && dev_info(fd).channels == 0, "%llu",
		dev_info(fd).bytes);
	printf("the longest change took %.3f s\n", longest);
	return t_status();
}
