// SPDX-License-Identifier: MIT
/*
 * A machine with 64 CPUs: a user without privileges creates three channels of the
 * library's default size, each CPU has a ring and writes an event, and the check of all
 * CPUs ends in time.
 * guest-test: smp=64 timeout=60
 */
#include <time.h>

#include "device.h"

#define NR_CPUS	64

static void write_everywhere(void *unused)
{
	struct tsct_channel_info info = { 0 };
	const char *names[] = { "default", "b", "c" };
	struct tsct_channel_create arg;
	unsigned int cpu, i;
	int fds[3];

	(void)unused;
	for (i = 0; i < 3; i++) {
		arg = dev_request(names[i]);
		arg.block_size = 16384;
		arg.blocks = 64;
		fds[i] = dev_create(&arg);
	}
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		dev_pin(cpu);
		t_check(!dev_write(fds[0], TSCT_ID_FIRST, NULL, 0), "CPU %u: %m", cpu);
	}
	t_check(!ioctl(fds[0], TSCT_IOC_CHANNEL_NEXT, &info), "%m");
	t_check(info.nr_cpus_ready == NR_CPUS && info.events == NR_CPUS, "%u, %llu",
		info.nr_cpus_ready, info.events);
}

int main(void)
{
	struct tsct_cpu_check table[NR_CPUS];
	struct tsct_check check = { .table = (uintptr_t)table, .nr = NR_CPUS };
	unsigned int cpu, known = 0;
	struct timespec begin, end;
	int fd = dev_open();

	if (sysconf(_SC_NPROCESSORS_CONF) < NR_CPUS)
		t_skip("this kernel supports %ld CPUs", sysconf(_SC_NPROCESSORS_CONF));
	chmod(TSCT_DEVICE_PATH, 0666);
	dev_as_user(1000, write_everywhere, NULL);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	t_check(!ioctl(fd, TSCT_IOC_CHECK_RUN, &check), "%m");
	clock_gettime(CLOCK_MONOTONIC, &end);
	for (cpu = 0; cpu < NR_CPUS; cpu++)
		known += !!(table[cpu].flags & TSCT_CPU_SKEW_KNOWN);
	printf("%u of %u CPUs compared in %ld ms\n", known, check.nr,
	       (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000);
	t_check(check.nr == NR_CPUS && check.flags & TSCT_CHECK_USABLE, "%#x",
		check.flags);
	/* On a busy host, the 5 s of a check do not suffice for all. */
	t_check(known > NR_CPUS / 8, "%u", known);
	t_check(end.tv_sec - begin.tv_sec < 15);
	return t_status();
}
