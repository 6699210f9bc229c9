// SPDX-License-Identifier: MIT
/*
 * A machine with 64 CPUs: a user without privileges creates three channels of the
 * library's default size, each CPU has a ring and writes an event. CPUs that the boot command
 * line isolates (isolcpus=2 nohz_full=3) are not checked, and a check sends them no
 * interrupt; the others are checked, and time stamps stay TSC cycles. Events on isolated CPUs
 * wake a reader without work on those CPUs.
 * guest-test: boot=big timeout=120
 */
#include "modules.h"

#define NR_CPUS	64

static void write_everywhere(void *unused)
{
	struct tsct_channel_info info;
	const char *names[] = { "default", "b", "c" };
	struct tsct_channel_create arg;
	int fds[3];

	for (unsigned int i = 0; i < 3; i++) {
		arg = dev_request(names[i]);
		arg.block_size = 16384;
		arg.blocks = 64;
		fds[i] = dev_create(&arg);
	}
	for (unsigned int cpu = 0; cpu < NR_CPUS; cpu++) {
		dev_pin(cpu);
		t_check(!dev_write(fds[0], TSCT_ID_FIRST, NULL, 0), "CPU %u: %m", cpu);
	}
	info = dev_next(fds[0], 0);
	t_check(info.nr_cpus_ready == NR_CPUS && info.events == NR_CPUS, "%u, %llu",
		info.nr_cpus_ready, info.events);
}

/* ---- the check of the CPUs -------------------------------------------------- */

/* Reads the number of function-call interrupts of each CPU. */
static void read_calls(unsigned long calls[NR_CPUS])
{
	FILE *file = fopen("/proc/interrupts", "r");
	char line[4096], *at = line;

	while (fgets(line, sizeof(line), file) && !strstr(line, "CAL:"))
		;
	fclose(file);
	at = strstr(line, "CAL:");
	if (!t_check(at, "no CAL: in /proc/interrupts"))
		return;
	at += strlen("CAL:");
	for (unsigned int cpu = 0; cpu < NR_CPUS; cpu++)
		calls[cpu] = strtoul(at, &at, 10);
}

/* CPU 3 is isolated by nohz_full, which not every kernel has. */
static bool is_isolated(unsigned int cpu)
{
	return cpu == 2 || (cpu == 3 && !access("/sys/devices/system/cpu/nohz_full", F_OK));
}

static struct tsct_cpu_check table[NR_CPUS];
static struct tsct_check check = { .table = (uintptr_t)table, .nr = NR_CPUS };

/*
 * Checks all CPUs. Returns true if no isolated CPU got an interrupt, and a part of the others was
 * called and measured. Other code in the kernel sends interrupts to all CPUs, too, such as when it
 * patches itself; and the 5 s of a check do not suffice for all CPUs on a busy host. Both are not
 * so each time.
 */
static bool spares_isolated(int fd)
{
	unsigned int cpu, known = 0, called = 0;
	unsigned long before[NR_CPUS], after[NR_CPUS], isolated = 0;

	check.nr = NR_CPUS;
	read_calls(before);
	t_check(!ioctl(fd, TSCT_IOC_CHECK_RUN, &check), "%m");
	read_calls(after);
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		known += !!(table[cpu].flags & TSCT_CPU_SKEW_KNOWN);
		if (is_isolated(cpu))
			isolated += after[cpu] - before[cpu];
		else
			called += after[cpu] > before[cpu];
	}
	printf("%u of %u CPUs compared, %u called, %lu interrupts on isolated CPUs\n", known,
	       check.nr, called, isolated);
	return !isolated && known > NR_CPUS / 8 && called > NR_CPUS / 8;
}

static void try_checks(void)
{
	int fd = dev_open();

	dev_pin(0);
	t_until(spares_isolated(fd));
	t_check(check.nr == NR_CPUS && check.flags & TSCT_CHECK_USABLE &&
		check.flags & TSCT_CHECK_AUX_MATCH, "%u CPUs, %#x", check.nr, check.flags);
	for (unsigned int cpu = 0; cpu < NR_CPUS; cpu++) {
		t_check(table[cpu].flags & TSCT_CPU_ONLINE);
		t_check(!(table[cpu].flags & TSCT_CPU_ISOLATED) == !is_isolated(cpu), "%u: %#x",
			cpu, table[cpu].flags);
		t_check(!(table[cpu].flags & TSCT_CPU_SKEW_KNOWN) || !is_isolated(cpu),
			"CPU %u: %#x", cpu, table[cpu].flags);
	}
	close(fd);
}

/* ---- events on an isolated CPU ------------------------------------------------ */

/* Events of an isolated CPU wake a reader elsewhere, by work that runs elsewhere. */
static void try_emitter(void)
{
	unsigned int isolated, nr = 0;
	struct pollfd p = { .events = POLLIN };
	struct dev_maps m;
	pid_t pid;

	mod_trace_runs(true);
	mod_load("/lib/modules/tsct-fuzz.ko", "");
	p.fd = mod_channel(TSCT_POLICY_DISCARD);
	m = dev_map_rings(p.fd, PROT_READ);
	/* Events that are there before the reader sleeps need no work. */
	for (unsigned int i = 0; i < 20 || (!nr && i < 200); i++) {
		pid = t_fork();
		if (!pid) {
			dev_pin(2 + i % 2);
			usleep(100000);
			mod_emit(1);
			_exit(0);
		}
		t_check(poll(&p, 1, T_HANG_S * 1000) == 1 && p.revents == POLLIN, "%#x", p.revents);
		t_wait(pid);
		dev_consume(&m, 2);
		dev_consume(&m, 3);
		nr = mod_count_runs(~0ULL);
	}
	isolated = mod_count_runs(is_isolated(3) ? 0xc : 0x4);
	printf("%u runs, %u on isolated CPUs\n", nr, isolated);
	t_check(nr && !isolated);
	mod_trace_runs(false);
	dev_unmap(&m);
	close(p.fd);
	t_check(!mod_unload("tsct_fuzz"), "%m");
}

/* Each CPU has a ring of its own in the statistics. */
static void try_statistics(void)
{
	struct tsct_channel_create arg = dev_request("wide");
	int fd = dev_create(&arg);

	for (unsigned int cpu = 0; cpu < NR_CPUS; cpu++) {
		struct tsct_channel_cpu info = dev_cpu(fd, arg.id, cpu);

		t_check(info.cpu == cpu && info.state == TSCT_CPU_READY, "CPU %u", cpu);
	}
	close(fd);
}

int main(void)
{
	if (sysconf(_SC_NPROCESSORS_CONF) < NR_CPUS)
		t_skip("this kernel supports %ld CPUs", sysconf(_SC_NPROCESSORS_CONF));
	chmod(TSCT_DEVICE_PATH, 0666);
	dev_as_user(1000, write_everywhere, NULL);
	try_checks();
	try_statistics();
	try_emitter();
	return t_status();
}
