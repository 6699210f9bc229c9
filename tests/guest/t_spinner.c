// SPDX-License-Identifier: MIT
/*
 * A program of real-time priority, which the kernel never interrupts for other tasks,
 * occupies a CPU: loading the module and a new check end in time, and the skew of that
 * CPU is measured.
 * guest-test: module=no rt=yes
 */
#include "modules.h"

static volatile bool *spinning;

static void spin(void)
{
	struct sched_param param = { .sched_priority = 50 };

	dev_pin(1);
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		_exit(1);
	*spinning = true;
	for (;;)
		;
}

static void try_check(void)
{
	struct tsct_cpu_check table[DEV_CPUS];
	const double begin = t_now();
	int fd = dev_open();
	struct tsct_check check = dev_check_measured(fd, table);

	t_check(check.flags & TSCT_CHECK_USABLE);
	printf("%.3f s, skew %lld .. %lld cycles, %u rounds\n", t_now() - begin,
	       table[1].skew_min_cycles, table[1].skew_max_cycles, table[1].rounds);
	close(fd);
}

int main(void)
{
	pid_t pid;

	t_check(mod_set("/proc/sys/kernel/sched_rt_runtime_us", "-1") > 0, "%m");
	dev_pin(0);
	spinning = mmap(NULL, 4096, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = t_fork();
	if (!pid)
		spin();
	while (!*spinning)
		usleep(1000);
	mod_load("/lib/modules/tsctrace.ko", "");
	try_check();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	t_check(!mod_unload("tsctrace"), "%m");
	mod_set("/proc/sys/kernel/sched_rt_runtime_us", "950000");
	return t_status();
}
