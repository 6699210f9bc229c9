// SPDX-License-Identifier: MIT
/*
 * No daemon runs. CLOCK_REALTIME is set, or the kernel's clocksource changes: the module
 * counts it before the call that does it returns, so that no reader converts by params of
 * before. A changed offset of TAI, a slew by NTP and time itself change nothing. After a
 * change of the clocksource, the module's next check of the CPUs chooses the source of
 * channels created later; existing channels keep their source. poll() and epoll
 * report changes until the count is read. The page can be mapped for reading by every user,
 * and in no other way.
 * guest-test: timeout=60 rt=yes
 */
#include "clock.h"

#define SOURCES	"/sys/devices/system/clocksource/clocksource0/current_clocksource"

static int fd;
static const struct tsct_disruption_page *page;

static void set_tai(int offset)
{
	struct timex timex = { .modes = ADJ_TAI, .constant = offset };

	t_check(adjtimex(&timex) >= 0, "%m");
}

static void slew(void)
{
	struct timex timex = { .modes = ADJ_FREQUENCY, .freq = 100 << 16 };

	t_check(adjtimex(&timex) >= 0, "%m");
	usleep(50000);
	timex.freq = 0;
	t_check(adjtimex(&timex) >= 0, "%m");
}

/* The count has changed when the call that sets the clock returns. */
static void try_step(long us)
{
	uint64_t before = clk_count(page), after;

	clk_step(us);
	after = clk_count(page);
	t_check(after == before + TSCT_DISRUPTIONS_STEP, "%ld us: %#llx, not one more than %#llx",
		us, (unsigned long long)after, (unsigned long long)before);
	t_check(page->cause == TSCT_CAUSE_STEP, "%u", page->cause);
}

static void try_none(void)
{
	uint64_t before = clk_count(page);

	t_check(before >> 32 && !(before & TSCT_DISRUPTIONS_PENDING), "%#llx",
		(unsigned long long)before);
	set_tai(37);
	clk_expect_none(page, before);
	slew();
	clk_expect_none(page, before);
}

static bool is_changed(int poller, int timeout_ms)
{
	struct pollfd p = { .fd = poller, .events = POLLIN | POLLPRI };

	t_check(poll(&p, 1, timeout_ms) >= 0, "%m");
	t_check(!p.revents || p.revents == (POLLIN | POLLPRI), "%#x", p.revents);
	return p.revents;
}

static void read_count(int poller)
{
	uint64_t count = 0;

	t_check(read(poller, &count, sizeof(count)) == sizeof(count), "%m");
	t_check(count == clk_count(page), "%#llx", (unsigned long long)count);
}

/* epoll asks when a descriptor is added and changed, and reports what it is told later only. */
static void try_epoll(void)
{
	struct epoll_event want = { .events = EPOLLIN }, got;
	int poller = clk_open(), ep = epoll_create1(EPOLL_CLOEXEC);

	clk_step(1000);
	t_check(!epoll_ctl(ep, EPOLL_CTL_ADD, poller, &want), "%m");
	t_check(epoll_wait(ep, &got, 1, 0) == 1, "a change before EPOLL_CTL_ADD");
	read_count(poller);
	t_check(epoll_wait(ep, &got, 1, 0) == 0);
	clk_step(1000);
	t_check(!epoll_ctl(ep, EPOLL_CTL_MOD, poller, &want), "%m");
	t_check(epoll_wait(ep, &got, 1, 0) == 1, "a change before EPOLL_CTL_MOD");
	clk_step(-2000);
	t_check(epoll_wait(ep, &got, 1, 0) == 1);
	close(ep);
	close(poller);
}

/* A child waits while this process sets the clock. */
static void try_poll(void)
{
	int poller = clk_open(), ends[2];
	char byte;
	pid_t pid;

	t_check(!is_changed(poller, 0));
	clk_step(1000);
	t_check(is_changed(poller, 0) && is_changed(poller, 0));
	read_count(poller);
	t_check(!is_changed(poller, 0));
	clk_step(1000);
	clk_step(1000);
	t_check(is_changed(poller, 0));
	read_count(poller);
	t_check(!is_changed(poller, 0));
	t_errno((int)read(poller, &byte, 1), EINVAL);
	t_errno((int)read(poller, (void *)page, 8), EFAULT);	/* mapped for reading */
	t_check(!pipe(ends));
	pid = t_fork();
	if (!pid) {
		int own = clk_open();

		t_check(write(ends[1], "o", 1) == 1);
		t_check(is_changed(own, T_HANG_S * 1000), "not woken");
		exit(t_status());
	}
	t_check(read(ends[0], &byte, 1) == 1);
	clk_step(-3000);
	t_check(!t_wait(pid));
	close(poller);
}

static void try_map(void *unused)
{
	int device = clk_open();
	char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, device, 0);

	t_check(map != MAP_FAILED && ((struct tsct_disruption_page *)map)->magic ==
		TSCT_DISRUPTIONS_MAGIC, "%m");
	t_errno(mprotect(map, 4096, PROT_READ | PROT_WRITE), EACCES);
	t_errno(mprotect(map, 4096, PROT_READ | PROT_EXEC), EACCES);
	t_check(mremap(map, 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED);
	munmap(map, 4096);
	t_errno(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, device, 0), EPERM);
	t_errno(mmap(NULL, 8192, PROT_READ, MAP_SHARED, device, 0), EINVAL);
	t_errno(mmap(NULL, 4096, PROT_READ, MAP_SHARED, device, 4096), EINVAL);
	t_errno(mmap(NULL, 4096, RW, MAP_SHARED, device, 0), EACCES);
	close(device);
}

static void try_user(void *unused)
{
	try_map(unused);
	t_errno(open(TSCT_DISRUPTIONS_PATH, O_RDWR), EACCES);
}

/* ---- clocksources ---------------------------------------------------------- */

static uint32_t run_check(void)
{
	struct tsct_check check = { 0 };

	t_check(!ioctl(fd, TSCT_IOC_CHECK_RUN, &check), "%m");
	t_check(check.source == dev_info(fd).source);
	return check.source;
}

/* Checks that the channel's header states @source, and that a new record's cycles are a
 * reading of @source. */
static void try_stamp(int channel, uint32_t source)
{
	struct dev_maps m = dev_map(channel);
	const struct tsct_record *rec = (const void *)(dev_data(&m, 1) + 32);
	uint64_t payload = 0, before, after;

	t_check(m.header->source == source, "%u", m.header->source);
	dev_pin(1);
	before = clk_cycles(source);
	t_check(!dev_write(channel, 16, &payload, 8), "%m");
	after = clk_cycles(source);
	t_check(rec->cycles >= before && rec->cycles <= after, "%lu %llu %lu",
		before, rec->cycles, after);
	dev_unmap(&m);
}

/* The module counts the change, checks the CPUs, and counts the change of its source. */
static void try_clocksource(void)
{
	struct tsct_clock_snapshot snapshot;
	uint64_t before = clk_count(page), after;
	int old = dev_new("old"), new;

	t_check(dev_put(SOURCES, "hpet") || dev_put(SOURCES, "acpi_pm"), "%m");
	after = clk_count(page);
	t_check(after >> 32 > before >> 32, "%#llx", (unsigned long long)after);
	t_until(dev_info(fd).source == TSCT_SOURCE_MONOTONIC_RAW);
	t_check(run_check() == TSCT_SOURCE_MONOTONIC_RAW);
	after = clk_count(page);
	t_check(after >> 33 == (before >> 33) + 2, "%#llx", (unsigned long long)after);
	t_check(page->cause == TSCT_CAUSE_CLOCKSOURCE, "%u", page->cause);
	t_errno(ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &snapshot), EOPNOTSUPP);
	t_check(snapshot.disruptions == after && snapshot.cause == page->cause);
	new = dev_new("new");
	try_stamp(old, TSCT_SOURCE_TSC);
	try_stamp(new, TSCT_SOURCE_MONOTONIC_RAW);

	dev_set(SOURCES, "tsc");
	t_until(dev_info(fd).source == TSCT_SOURCE_TSC);
	t_check(run_check() == TSCT_SOURCE_TSC);
	t_check(clk_count(page) >> 33 == (before >> 33) + 4, "%#llx",
		(unsigned long long)clk_count(page));
	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &snapshot), "%m");
	t_check(snapshot.disruptions == clk_count(page));
}

int main(void)
{
	fd = dev_open();
	page = clk_map();
	try_map(NULL);
	dev_as_user(1000, try_user, NULL);
	try_none();
	try_step(20);
	try_step(2000);
	try_step(900000);
	try_step(-900000);
	try_poll();
	try_epoll();
	try_clocksource();
	set_tai(0);
	return t_status();
}
