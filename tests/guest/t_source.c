// SPDX-License-Identifier: MIT
/*
 * The kernel's clocksource changes from the TSC to another and back. After each change,
 * the module's next check of the CPUs chooses the source of channels created later.
 * Existing channels keep their source. Each change begins a new epoch in the clock
 * page.
 */
#include <time.h>
#include <x86intrin.h>

#include "clock.h"

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/"

static bool choose(const char *name)
{
	int fd = open(CLOCKSOURCE "current_clocksource", O_WRONLY);
	bool done = fd >= 0 && write(fd, name, strlen(name)) > 0;

	close(fd);
	return done;
}

static uint32_t run_check(int fd)
{
	struct tsct_check check = { 0 };

	t_check(!ioctl(fd, TSCT_IOC_CHECK_RUN, &check), "%m");
	t_check(check.source == dev_info(fd).source);
	return check.source;
}

static uint64_t now(uint32_t source)
{
	struct timespec t;

	if (source == TSCT_SOURCE_TSC)
		return __rdtsc();
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Checks that the channel's header states @source, and that a new record's cycles are a
 * reading of @source. */
static void try_stamp(int fd, uint32_t source)
{
	struct dev_maps m = dev_map(fd);
	const struct tsct_record *rec = (const void *)(dev_data(&m, 1) + 32);
	uint64_t payload = 0, before, after;

	t_check(m.header->source == source, "%u", m.header->source);
	dev_pin(1);
	before = now(source);
	t_check(!dev_write(fd, 16, &payload, 8), "%m");
	after = now(source);
	t_check(rec->cycles >= before && rec->cycles <= after, "%lu %llu %lu",
		before, rec->cycles, after);
	dev_unmap(&m);
}

static void wait_for_source(int fd, uint32_t source)
{
	int i;

	for (i = 0; i < 200 && dev_info(fd).source != source; i++)
		usleep(10000);
	t_check(dev_info(fd).source == source, "%u", dev_info(fd).source);
}

int main(void)
{
	struct tsct_clock_set set = { .state = { .epoch = 3 } };
	struct tsct_clock_snapshot snapshot;
	const struct tsct_clock_page *page;
	int fd = dev_open(), old, new;

	page = clk_map(fd);
	t_check(dev_info(fd).source == TSCT_SOURCE_TSC);
	set.state.source = TSCT_SOURCE_TSC;
	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SET, &set), "%m");
	old = dev_new("old");

	t_check(choose("hpet") || choose("acpi_pm"), "no other clocksource");
	/* The module notices the change, begins an epoch, checks the CPUs, and begins
	 * another epoch for the new source. */
	wait_for_source(fd, TSCT_SOURCE_MONOTONIC_RAW);
	t_check(run_check(fd) == TSCT_SOURCE_MONOTONIC_RAW);
	t_check(page->copy[0].state.epoch == 5, "%u", page->copy[0].state.epoch);
	t_check(page->copy[0].state.source == TSCT_SOURCE_MONOTONIC_RAW);
	t_check(page->copy[0].state.cause == TSCT_CAUSE_CLOCKSOURCE);
	t_errno(ioctl(fd, TSCT_IOC_CLOCK_SET, &set), ESTALE);
	t_errno(ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &snapshot), EOPNOTSUPP);
	new = dev_new("new");
	try_stamp(old, TSCT_SOURCE_TSC);
	try_stamp(new, TSCT_SOURCE_MONOTONIC_RAW);

	t_check(choose("tsc"), "%m");
	wait_for_source(fd, TSCT_SOURCE_TSC);
	t_check(run_check(fd) == TSCT_SOURCE_TSC);
	t_check(page->copy[0].state.epoch == 7, "%u", page->copy[0].state.epoch);
	t_check(page->copy[0].state.source == TSCT_SOURCE_TSC);
	set.state.epoch = 6;
	t_errno(ioctl(fd, TSCT_IOC_CLOCK_SET, &set), ESTALE);
	set.state.epoch = 7;
	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SET, &set), "%m");
	return t_status();
}
