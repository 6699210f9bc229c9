// SPDX-License-Identifier: MIT
/*
 * The CPU check: the entry of each CPU has that CPU's TSC_AUX and skew. In the boot
 * in which the kernel trusts the TSC, the check reports the TSC as usable; in the
 * boot in which the kernel marks the TSC unstable, it does not.
 * guest-test: boot=default,unstable rt=yes
 */
#include "clock.h"

static struct tsct_cpu_check table[DEV_CPUS];

static struct tsct_check get(int fd, unsigned long cmd)
{
	struct tsct_check check = {
		.table = (uintptr_t)table, .nr = DEV_CPUS,
	};

	memset(table, 0xff, sizeof(table));
	t_check(!ioctl(fd, cmd, &check), "%m");
	return check;
}

static void check_cpu(const struct tsct_cpu_check *c, unsigned int cpu,
		      bool first)
{
	uint32_t low, high, aux;

	t_check(c->cpu == cpu && c->node == 0, "%u %u", c->cpu, c->node);
	t_check(c->flags & TSCT_CPU_ONLINE);
	t_check(c->flags & TSCT_CPU_AUX_MATCH);
	t_check(!(c->flags & TSCT_CPU_REFERENCE) == !first);
	t_check(c->reserved0 == 0 && c->reserved[0] == 0);
	dev_pin(cpu);
	asm volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(aux));
	t_check(c->tsc_aux == aux && (aux & 0xfff) == cpu, "%#x %#x",
		c->tsc_aux, aux);
	t_check(c->flags & TSCT_CPU_SKEW_KNOWN, "CPU %u: skew not measured", cpu);
	if (first) {
		t_check(c->skew_min_cycles == 0 && c->skew_max_cycles == 0);
		return;
	}
	printf("CPU %u: skew %lld..%lld cycles, %u rounds\n", cpu,
	       c->skew_min_cycles, c->skew_max_cycles, c->rounds);
	t_check(c->rounds > 0);
	/* All CPUs of the guest share a counter: the true skew is 0. */
	t_check(c->skew_min_cycles <= 0 && c->skew_max_cycles >= 0);
	t_check(c->skew_max_cycles > c->skew_min_cycles);
	t_check(c->skew_max_cycles < 10000000000 && c->skew_min_cycles > -10000000000);
}

static void check_flags(const struct tsct_check *check, bool stable)
{
	t_check(check->flags & TSCT_CHECK_RDTSCP);
	t_check(check->flags & TSCT_CHECK_AUX_MATCH);
	t_check(!(check->flags & TSCT_CHECK_UNSTABLE) == stable);
	t_check(!(check->flags & TSCT_CHECK_CLOCKSOURCE) == !stable);
	t_check(!(check->flags & TSCT_CHECK_USABLE) == !stable);
	t_check(check->source == (stable ? (__u32)TSCT_SOURCE_TSC :
				  (__u32)TSCT_SOURCE_MONOTONIC_RAW));
	t_check(check->tsc_khz > 10000, "%u", check->tsc_khz);
	t_check(check->when_cycles != 0);
	t_check(!strcmp(check->clocksource, stable ? "tsc" : ""), "%s",
		check->clocksource);
}

/* Gets the results, which have not changed since the last time: only now and then does the
 * module check by itself. */
static bool is_same(int fd, struct tsct_check *check)
{
	const uint64_t before = check->when_cycles;

	*check = get(fd, TSCT_IOC_CHECK);
	return check->when_cycles == before;
}

static void try_room(int fd)
{
	struct tsct_check check = { .nr = 0 };

	/* TSCT_IOC_CHECK with room for 0 entries (.nr) returns in .nr the number of
	 * entries of the module's table of CPUs. */
	t_check(!ioctl(fd, TSCT_IOC_CHECK, &check), "%m");
	t_check(check.nr == dev_info(fd).nr_cpus, "%u", check.nr);
	/* A table with room for fewer entries than there are CPUs */
	memset(table, 0xff, sizeof(table));
	check = (struct tsct_check){ .nr = 1, .table = (uintptr_t)table };
	t_check(!ioctl(fd, TSCT_IOC_CHECK, &check), "%m");
	t_check(check.nr >= 2 && table[0].cpu == 0 && table[1].cpu == ~0U);
	/* A null pointer as the address of the table of CPUs */
	check = (struct tsct_check){ .nr = 1 };
	t_errno(ioctl(fd, TSCT_IOC_CHECK, &check), EFAULT);
	check = (struct tsct_check){ .nr = ~0U, .table = ~0ULL - 4095 };
	t_errno(ioctl(fd, TSCT_IOC_CHECK_RUN, &check), EFAULT);
}

int main(void)
{
	struct tsct_check check = { 0 }, again;
	int fd = dev_open();
	bool stable = clk_wait_for_source(fd) == TSCT_SOURCE_TSC;

	t_until(is_same(fd, &check));
	check_flags(&check, stable);
	dev_check_measured(fd, table);
	again = get(fd, TSCT_IOC_CHECK);
	check_flags(&again, stable);
	t_check(again.when_cycles > check.when_cycles);
	for (unsigned int cpu = 0; cpu < again.nr; cpu++)
		check_cpu(&table[cpu], cpu, cpu == 0);
	t_check(dev_info(fd).source == again.source);
	try_room(fd);
	return t_status();
}
