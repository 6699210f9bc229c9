// SPDX-License-Identifier: MIT
/*
 * A user in a memory cgroup far above memory.high creates a large channel: the kernel
 * lets each allocation sleep. CPUs go offline and online meanwhile without a delay, and
 * other users create channels. A fatal signal ends the request.
 * guest-test: timeout=60
 */
#include "modules.h"

#define GROUP	"/tmp/cgroup/small"

static void make_group(void)
{
	mkdir("/tmp/cgroup", 0755);
	if (mount("cgroup2", "/tmp/cgroup", "cgroup2", 0, NULL) ||
	    !dev_put("/tmp/cgroup/cgroup.subtree_control", "+memory"))
		t_skip("this kernel has no memory cgroups (CONFIG_MEMCG)");
	t_check(!mkdir(GROUP, 0755), "%m");
	t_check(dev_put(GROUP "/memory.high", "4194304"), "%m");
}

/* The group is above its limit. */
static bool is_throttled(void)
{
	unsigned int high = 0;

	return sscanf(mod_get(GROUP "/memory.events"), "low %*u high %u", &high) == 1 && high;
}

/* Creates a channel of 64 MiB for each CPU, in the group. */
static pid_t start_creation(void)
{
	struct tsct_channel_create arg = dev_request("large");
	pid_t pid = t_fork();

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
	t_until(is_throttled());
	t_check(!waitpid(pid, &status, WNOHANG), "the creation did not wait");
	for (i = 0; i < 6; i++) {
		begin = t_now();
		dev_online(i & 1);
		took = t_now() - begin;
		longest = took > longest ? took : longest;
		begin = t_now();
		close(dev_new("small"));
		took = t_now() - begin;
		longest = took > longest ? took : longest;
	}
	t_check(!waitpid(pid, &status, WNOHANG), "the creation has ended");
	kill(pid, SIGKILL);
	t_check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "%#x", status);
	t_check(dev_info(fd).bytes == 0 && dev_info(fd).channels == 0, "%llu",
		dev_info(fd).bytes);
	printf("the longest change took %.3f s\n", longest);
	return t_status();
}
