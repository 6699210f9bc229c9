/* SPDX-License-Identifier: MIT */
/* Functions for the tests t_*.c that read the module's count of disruptions. */
#ifndef TSCT_TEST_CLOCK_H
#define TSCT_TEST_CLOCK_H

#include "device.h"

#define SECOND	1000000000LL

T_FN uint64_t clk_cycles(uint32_t source)
{
	uint32_t low, high;

	if (source != TSCT_SOURCE_TSC)
		return (uint64_t)t_ns(CLOCK_MONOTONIC_RAW);
	asm volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

T_FN int clk_open(void)
{
	int fd = open(TSCT_DISRUPTIONS_PATH, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		t_die(TSCT_DISRUPTIONS_PATH);
	return fd;
}

static bool clk_is_unstable(void)
{
	return !strcmp(getenv("TSCT_BOOT") ?: "", "unstable");
}

/* A second or so after the boot, the kernel goes on from the clocksource tsc-early to tsc: a
 * disruption that no test asked for. In the unstable boot, it uses another one by then. */
T_FN bool clk_has_settled(void)
{
	char name[32] = "";
	FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			   "r");
	bool read = file && fgets(name, sizeof(name), file);

	if (file)
		fclose(file);
	return read && strcmp(name, "tsc-early\n") &&
		(!clk_is_unstable() || strcmp(name, "tsc\n"));
}

/* Waits until the module uses the source that it has in this boot. */
T_FN uint32_t clk_wait_for_source(int device)
{
	const uint32_t source = clk_is_unstable() ? TSCT_SOURCE_MONOTONIC_RAW : TSCT_SOURCE_TSC;

	t_until(clk_has_settled() && dev_info(device).source == source);
	return source;
}

/* Maps the page. The map stays for the rest of the test. */
T_FN const struct tsct_disruption_page *clk_map(void)
{
	void *page;
	int fd;

	t_until(clk_has_settled());
	fd = clk_open();
	page = mmap(NULL, TSCT_PAGE_SIZE, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		t_die("mmap of the count of disruptions");
	close(fd);
	return page;
}

T_FN uint64_t clk_count(const struct tsct_disruption_page *page)
{
	return __atomic_load_n(&page->disruptions, __ATOMIC_ACQUIRE);
}

/* Sets CLOCK_REALTIME on or back. */
T_FN void clk_step(long us)
{
	struct timex timex = {
		.modes = ADJ_SETOFFSET, .time.tv_sec = us / 1000000 - (us % 1000000 < 0),
		.time.tv_usec = us % 1000000 + (us % 1000000 < 0 ? 1000000 : 0),
	};

	t_check(adjtimex(&timex) >= 0, "%m");
}

/* Waits for a change of the count since @before, by @cause. Returns the new count. */
T_FN uint64_t clk_expect(const struct tsct_disruption_page *page, uint64_t before,
			 uint64_t unit, uint32_t cause)
{
	t_until(clk_count(page) != before);
	t_check(clk_count(page) == before + unit && page->cause == cause,
		"%#llx, not %#llx, cause %u", (unsigned long long)clk_count(page),
		(unsigned long long)(before + unit), page->cause);
	return clk_count(page);
}

/* Nothing has changed: for what is counted by the call that causes it, or right after. */
T_FN void clk_expect_none(const struct tsct_disruption_page *page, uint64_t before)
{
	usleep(300000);
	t_check(clk_count(page) == before, "%#llx, not %#llx, cause %u",
		(unsigned long long)clk_count(page), (unsigned long long)before, page->cause);
}

#endif
