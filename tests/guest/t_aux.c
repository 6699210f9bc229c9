// SPDX-License-Identifier: MIT
/*
 * A virtual machine has left its TSC_AUX on a CPU while the module reads it in the
 * kernel: the check does not show the value to users, time stamps stay TSC cycles, and no
 * disruption is counted. The same if the module is loaded then.
 * guest-test: module=no
 */
#include "clock.h"
#include "modules.h"

#define GUEST_AUX	0x7007

static struct tsct_cpu_check table[64];

static void set_aux(unsigned int value, bool svm)
{
	char parameters[64];

	snprintf(parameters, sizeof(parameters), "cpu=1 value=%u svm=%d", value, svm);
	t_check(mod_try_load("/lib/modules/tsct-aux.ko", parameters) == ECANCELED);
}

static bool has_svm(void)
{
	return !system("grep -q ' svm' /proc/cpuinfo");
}

static struct tsct_check check(int fd, unsigned long request)
{
	struct tsct_check check = { .table = (uintptr_t)table, .nr = 64 };

	memset(table, 0, sizeof(table));
	t_check(!ioctl(fd, request, &check), "%m");
	return check;
}

/* @value: TSC_AUX of CPU 1 */
static void try_check(int fd, unsigned long request, uint32_t value)
{
	struct tsct_check c = check(fd, request);
	uint32_t match = value == 1 ? TSCT_CPU_AUX_MATCH : 0;

	t_check(table[1].tsc_aux == (match || !has_svm() ? value : 0), "%#x", table[1].tsc_aux);
	t_check((table[1].flags & TSCT_CPU_AUX_MATCH) == match, "%#x",
		table[1].flags);
	t_check(!(table[1].flags & TSCT_CPU_HYPERVISOR) == (match || !has_svm()),
		"%#x", table[1].flags);
	t_check(table[0].tsc_aux == 0 && table[0].flags & TSCT_CPU_AUX_MATCH);
	t_check(!(c.flags & TSCT_CHECK_AUX_MATCH) == !match);
	t_check(c.flags & TSCT_CHECK_USABLE && c.source == TSCT_SOURCE_TSC);
	t_check(dev_info(fd).source == TSCT_SOURCE_TSC);
}

static void try_run_time(void)
{
	const struct tsct_disruption_page *page = clk_map();
	const uint64_t before = clk_count(page);
	int fd = dev_open();

	try_check(fd, TSCT_IOC_CHECK, 1);
	set_aux(GUEST_AUX, true);
	try_check(fd, TSCT_IOC_CHECK_RUN, GUEST_AUX);
	set_aux(1, false);
	try_check(fd, TSCT_IOC_CHECK_RUN, 1);
	t_check(clk_count(page) == before, "cause %u", page->cause);
	munmap((void *)page, TSCT_PAGE_SIZE);
	close(fd);
}

int main(void)
{
	int fd;

	mod_load("/lib/modules/tsctrace.ko", "");
	try_run_time();
	t_check(!mod_unload("tsctrace"), "%m");

	set_aux(GUEST_AUX, true);
	mod_load("/lib/modules/tsctrace.ko", "");
	fd = dev_open();
	try_check(fd, TSCT_IOC_CHECK, GUEST_AUX);
	close(fd);
	set_aux(1, false);
	t_check(!mod_unload("tsctrace"), "%m");
	return t_status();
}
