// SPDX-License-Identifier: MIT
/*
 * Suspend disrupts the clock: while it is under way, and after it, the count of disruptions
 * is another one. Rings accept events as before. $TSCT_SUSPENDS times (2; all: 3) the machine
 * suspends while programs write and read, and no event is lost. Needs a kernel that can test
 * suspend (CONFIG_PM_DEBUG).
 * guest-test: timeout=60 rt=yes
 */
#include "busy.h"
#include "clock.h"

static void write_file(const char *path, const char *text)
{
	if (!dev_put(path, text))
		t_skip("this kernel cannot test suspend: %s: %m", path);
}

static uint64_t before_suspend;		/* the count before the first suspend */

/* Waits for each change of the count until it has counted a whole suspend: at its end at the
 * latest, the flag PENDING is gone. The thread may begin after the suspend. */
static void *watch_count(void *arg)
{
	const struct tsct_disruption_page *page = arg;
	uint64_t before = before_suspend;

	t_until(clk_count(page) != before);
	t_until(clk_count(page) >> 33 != before >> 33);
	return NULL;
}

/* Checks the count after a suspend; before it, it was @before. Steps of CLOCK_REALTIME belong
 * to it. */
static void try_after(const struct tsct_disruption_page *page, uint64_t before)
{
	uint64_t now = clk_count(page);

	t_check(now >> 32 == (before >> 32) + 2, "%#llx, not after %#llx",
		(unsigned long long)now, (unsigned long long)before);
	t_check(page->cause == TSCT_CAUSE_SUSPEND, "%u", page->cause);
}

static void try_under_load(const struct tsct_disruption_page *page)
{
	const int turns = (int)t_repeats("TSCT_SUSPENDS", 2, 3);
	const uint64_t before = clk_count(page) >> 33;
	struct busy busy = { 0 };

	busy_begin(&busy);
	write_file("/sys/power/pm_test", "platform");	/* the last level that freeze has */
	for (int i = 0; i < turns; i++) {
		t_check(dev_put("/sys/power/state", "freeze"), "%m");
		usleep(20000);
		busy_drain(&busy);
	}
	busy_end(&busy);
	t_check(clk_count(page) >> 33 == before + (uint64_t)turns, "%llu",
		(unsigned long long)(clk_count(page) >> 33) - before);
	printf("%d suspends\n", turns);
}

int main(void)
{
	struct ring_reader r = { .cpu = 1 };
	const struct tsct_disruption_page *page = clk_map();
	uint64_t before = clk_count(page);
	unsigned char payload[40];
	int fd = dev_new("suspend");
	struct dev_maps m = dev_map(fd);
	pthread_t watcher;

	r.maps = &m;
	dev_pin(1);
	pattern_fill(payload, sizeof(payload), 1);
	t_check(!dev_write(fd, 16, payload, sizeof(payload)), "%m");
	dev_pin(0);

	before_suspend = before;
	t_check(!pthread_create(&watcher, NULL, watch_count, (void *)page));
	write_file("/sys/module/suspend/parameters/pm_test_delay", "0");
	write_file("/sys/power/pm_test", "processors");
	write_file("/sys/power/state", "mem");
	pthread_join(watcher, NULL);

	try_after(page, before);
	dev_pin(1);
	t_check(!dev_write(fd, 16, payload, sizeof(payload)), "%m");
	ring_drain(&r);
	t_check(r.records == 2 && r.wrong == 0);
	try_under_load(page);
	return t_status();
}
