// SPDX-License-Identifier: MIT
/*
 * Sleep voids the clock: behind it the page is in a new epoch, disrupted,
 * until somebody measures again. Rings go on. Needs a kernel that can try
 * suspend (CONFIG_PM_DEBUG).
 * guest-test: timeout=60
 */
#include <time.h>

#include "ring.h"

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		t_skip("this kernel cannot try to sleep: %s: %m", path);
	close(fd);
}

static uint64_t ticks(void)
{
	uint32_t low, high;

	asm volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

int main(void)
{
	struct ring_reader r = { .cpu = 1 };
	struct tsct_clock_set set = { 0 };
	const struct tsct_clock_page *page;
	unsigned char payload[40];
	int fd = dev_new("suspend");
	struct dev_maps m = dev_map(fd);

	r.maps = &m;
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
		    (off_t)TSCT_CLOCK_OFFSET);
	set.state.source = TSCT_SOURCE_TSC;
	set.state.epoch = 9;
	set.state.status = TSCT_STATUS_SYNCHRONIZED;
	set.state.real = (struct tsct_pair){
		.mult = 1ULL << 32, .shift = 32, .base_tsc = ticks(),
		.as_of_tsc = ticks(), .void_after_tsc = ticks() + (1ULL << 40),
	};
	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SET, &set), "%m");
	dev_pin(1);
	pattern_fill(payload, sizeof(payload), 1);
	t_check(!dev_write(fd, 16, payload, sizeof(payload)), "%m");
	dev_pin(0);

	put("/sys/power/pm_test", "processors");
	put("/sys/power/state", "mem");

	/* one when it went to sleep, one when it woke up */
	t_check(page->copy[0].epoch == 11, "%u", page->copy[0].epoch);
	t_check(page->copy[0].status == TSCT_STATUS_DISRUPTED);
	t_check(page->copy[0].real.mult == 0);
	dev_pin(1);
	t_check(!dev_write(fd, 16, payload, sizeof(payload)), "%m");
	ring_drain(&r);
	t_check(r.records == 2 && r.wrong == 0);
	t_errno(ioctl(fd, TSCT_IOC_CLOCK_SET, &set), EINVAL);
	set.state.epoch = 11;
	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SET, &set), "%m");
	return t_status();
}
