// SPDX-License-Identifier: MIT
/*
 * CPUs that the boot command line isolates (isolcpus=2 nohz_full=3) are not checked, and
 * a check sends them no interrupt. The others are checked, and time stamps stay TSC
 * cycles. Programs still get rings on all CPUs.
 * guest-test: smp=4 boot=isolated
 */
#include "device.h"

#define NR_CPUS	4
#define CHECKS	100

/* Reads the number of function-call interrupts of each CPU. */
static void read_calls(unsigned long calls[NR_CPUS])
{
	FILE *file = fopen("/proc/interrupts", "r");
	char line[1024];
	bool found = false;

	while (fgets(line, sizeof(line), file) && !found)
		found = sscanf(line, " CAL: %lu %lu %lu %lu", &calls[0], &calls[1],
			       &calls[2], &calls[3]) == NR_CPUS;
	fclose(file);
	t_check(found, "no CAL: in /proc/interrupts");
}

/* CPU 3 is isolated by nohz_full, which not every kernel has. */
static bool is_isolated(unsigned int cpu)
{
	return cpu == 2 || (cpu == 3 && !access("/sys/devices/system/cpu/nohz_full", F_OK));
}

int main(void)
{
	struct tsct_cpu_check table[64];
	struct tsct_check check = { .table = (uintptr_t)table, .nr = 64 };
	unsigned long before[NR_CPUS], after[NR_CPUS];
	int fd = dev_open(), i;
	unsigned int cpu;

	dev_pin(0);
	read_calls(before);
	for (i = 0; i < CHECKS; i++)
		t_check(!ioctl(fd, TSCT_IOC_CHECK_RUN, &check), "%m");
	read_calls(after);
	printf("interrupts: %lu %lu %lu %lu\n", after[0] - before[0],
	       after[1] - before[1], after[2] - before[2], after[3] - before[3]);
	/* Other code in the kernel sends some to all CPUs, such as when it patches itself. */
	for (cpu = 1; cpu < NR_CPUS; cpu++)
		t_check(is_isolated(cpu) ? after[cpu] - before[cpu] < CHECKS / 4 :
			after[cpu] - before[cpu] >= CHECKS, "CPU %u", cpu);
	t_check(check.flags & TSCT_CHECK_USABLE && check.flags & TSCT_CHECK_AUX_MATCH,
		"%#x", check.flags);
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		t_check(table[cpu].flags & TSCT_CPU_ONLINE);
		t_check(!(table[cpu].flags & TSCT_CPU_ISOLATED) == !is_isolated(cpu), "%u: %#x",
			cpu, table[cpu].flags);
		t_check(!(table[cpu].flags & TSCT_CPU_SKEW_KNOWN) == is_isolated(cpu), "%u: %#x",
			cpu, table[cpu].flags);
	}
	close(fd);
	fd = dev_new("isolated");
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		dev_pin(cpu);
		t_check(!dev_write(fd, TSCT_ID_FIRST, NULL, 0), "CPU %u: %m", cpu);
	}
	return t_status();
}
