// SPDX-License-Identifier: MIT
/*
 * A thousand channels at once, each with events of its own, while a CPU goes down
 * and up; and users who get EDQUOT at their limits.
 * guest-test: timeout=120 rt=yes
 */
#include <sys/resource.h>

#include "ring.h"

#define CHANNELS 1000

static int fds[CHANNELS];

static int try_create(unsigned int nr, uint32_t flags)
{
	char name[16];

	sprintf(name, "c%u", nr);
	return dev_try_create(name, 2, flags);
}

static void write_all(unsigned int cpu, unsigned int nr)
{
	unsigned char payload[40];

	dev_pin(cpu);
	for (unsigned int i = 0; i < nr; i++) {
		pattern_fill(payload, sizeof(payload), i * 2 + cpu);
		if (dev_write(fds[i], 16, payload, sizeof(payload)))
			t_check(false, "channel %u: %m", i);
	}
}

static void read_one(unsigned int i)
{
	struct dev_maps m = dev_map(fds[i]);
	struct ring_reader r = { .maps = &m };
	uint64_t nr;

	for (r.cpu = 0; r.cpu < 2; r.cpu++) {
		r.pos = r.records = r.last_cycles = 0;
		ring_drain(&r);
		memcpy(&nr, dev_data(&m, r.cpu) + 32 + 16, 8);
		if (r.records != 1 || r.wrong || nr != i * 2 + r.cpu)
			t_check(false, "channel %u, cpu %u: %lu, %lu", i, r.cpu,
				r.records, nr);
	}
	dev_unmap(&m);
}

static unsigned int count_channels(int fd)
{
	struct tsct_channel_info info = { 0 };
	unsigned int nr = 0;

	while (!ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &info))
		nr += info.events == 2 && info.nr_cpus_ready == 2;
	return nr;
}

static void try_thousand(int fd)
{
	/* Half of the channels are created while CPU 1 is offline. They get a ring for
	 * CPU 1 when CPU 1 comes up. */
	dev_online(false);
	for (unsigned int i = 0; i < CHANNELS; i++) {
		if (i == CHANNELS / 2)
			dev_online(true);
		fds[i] = try_create(i, 0);
		if (fds[i] < 0) {
			t_check(false, "channel %u: %m", i);
			return;
		}
	}
	t_check(dev_info(fd).channels == CHANNELS);
	write_all(0, CHANNELS);
	write_all(1, CHANNELS);
	dev_pin(0);
	dev_online(false);
	t_check(count_channels(fd) == CHANNELS, "%u", count_channels(fd));
	for (unsigned int i = 0; i < CHANNELS; i++)
		read_one(i);
	dev_online(true);
	printf("%llu bytes\n", dev_info(fd).bytes);
	for (unsigned int i = 0; i < CHANNELS; i++)
		close(fds[i]);
	t_check(dev_info(fd).channels == 0);
	t_check(dev_info(fd).bytes == 0, "%llu", dev_info(fd).bytes);
}

/* Checks the default limit of 64 channels per user: of channels that open descriptors
 * hold, or, with @flags TSCT_CHANNEL_KEEP, of channels without a descriptor. */
static void as_user(void *flags)
{
	struct tsct_channel_info info = { 0 };
	unsigned int nr;
	int fd = dev_open(), one;

	for (nr = 0; nr < CHANNELS; nr++) {
		one = try_create(nr, (uint32_t)(uintptr_t)flags);
		if (one < 0)
			break;
		if (flags)
			close(one);
	}
	t_check(nr == 64 && errno == EDQUOT, "%u: %m", nr);
	while (flags && !ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &info))
		t_check(!dev_remove(info.id), "%m");
	close(fd);
}

int main(void)
{
	const struct rlimit files = { CHANNELS + 100, CHANNELS + 100 };
	int fd = dev_open();

	t_check(!setrlimit(RLIMIT_NOFILE, &files), "%m");
	try_thousand(fd);
	chmod(TSCT_DEVICE_PATH, 0666);
	dev_as_user(1000, as_user, NULL);
	dev_as_user(1000, as_user, (void *)TSCT_CHANNEL_KEEP);
	t_check(dev_info(fd).channels == 0);
	t_check(dev_info(fd).bytes == 0, "%llu", dev_info(fd).bytes);
	return t_status();
}
