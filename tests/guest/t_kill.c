// SPDX-License-Identifier: MIT
/*
 * $TSCT_KILLS children (200; all: 600) perform every operation of the device and are killed
 * at random moments. Nothing may remain: no channel, no memory, no message in
 * the kernel log.
 * guest-test: parallel=yes timeout=120 rt=yes
 */
#include "../unit/seed.h"
#include "clock.h"

static unsigned int seed;

static unsigned int draw(unsigned int below)
{
	return (unsigned int)rand_r(&seed) % below;
}

static struct tsct_channel_create some_channel(void)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	struct tsct_channel_create arg = dev_request(names[draw(4)]);

	arg.policy = draw(2);
	arg.blocks = 4U << draw(7);
	arg.block_size = 4096U << draw(3);
	arg.roles = draw(4);
	return arg;
}

static void map_something(int fd)
{
	static struct dev_maps m;
	const struct tsct_channel_header *h;
	unsigned int cpu = draw(2);
	uint64_t offset;

	h = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED)
		return;
	offset = draw(2) ? h->ring_offset + cpu * h->ring_stride :
		h->consumer_offset + cpu * 4096;
	m.rings = mmap(NULL, 4096U << draw(3), draw(4) ? RW : PROT_READ,
		       MAP_SHARED, fd, (off_t)offset);
	if (m.rings != MAP_FAILED && draw(2))
		*(volatile char *)m.rings;
	if (m.rings != MAP_FAILED && draw(4) == 0)
		munmap(m.rings, 4096);
	if (draw(2))
		munmap((void *)h, 4096);
	clk_map();
}

static void write_something(int fd)
{
	static char payload[70000];

	for (unsigned int i = 0; i < 20; i++)
		dev_write(fd, 16 + draw(4), payload,
			  draw(8) ? draw(300) : draw(sizeof(payload)));
}

static void ask_something(int fd)
{
	struct tsct_cpu_check table[4];
	struct tsct_check check = { .nr = 4, .table = (uintptr_t)table };
	struct tsct_channel_info info = { 0 };
	struct tsct_info state;

	ioctl(fd, TSCT_IOC_INFO, &state);
	ioctl(fd, TSCT_IOC_CHECK, &check);
	if (draw(50) == 0)
		ioctl(fd, TSCT_IOC_CHECK_RUN, &check);
	while (!ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &info) && draw(4))
		;
}

/* Reads the clock, and stores anything as the clock that outlives a panic. */
static void store_clock(int fd)
{
	static char anything[sizeof(struct tsct_clock_copy)];
	struct tsct_clock_store store = {
		.copy = (uintptr_t)anything, .cpus = (uintptr_t)anything,
		.nr_cpus = dev_info(fd).nr_cpus,
	};
	struct tsct_clock_snapshot snapshot;

	ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &snapshot);
	ioctl(fd, TSCT_IOC_CLOCK_STORE, &store);
}

static void define_something(int fd)
{
	struct tsct_event_def def = {
		.size = TSCT_EVENT_DEF_SIZE(0),
	};

	snprintf(def.name, sizeof(def.name), "event%u", draw(100));
	ioctl(fd, TSCT_IOC_DEFINE, &def);
}

static void one_step(int *fd)
{
	struct tsct_channel_create create;
	struct pollfd p;

	switch (draw(12)) {
	case 0:
	case 1:
		create = some_channel();
		ioctl(*fd, TSCT_IOC_CHANNEL_CREATE, &create);
		break;
	case 2:
		dev_attach(*fd, 1 + draw(20), draw(4));
		break;
	case 3:
	case 4:
		map_something(*fd);
		break;
	case 5:
	case 6:
		write_something(*fd);
		break;
	case 7:
		ask_something(*fd);
		break;
	case 8:
		store_clock(*fd);
		break;
	case 9:
		define_something(*fd);
		break;
	case 10:
		p = (struct pollfd){ .fd = *fd, .events = POLLIN };
		poll(&p, 1, (int)draw(20));
		break;
	case 11:
		close(*fd);
		*fd = dev_open();
		break;
	}
}

static void child(unsigned int own_seed)
{
	int fd = dev_open();

	seed = own_seed;
	/* A second process shares descriptors and maps, and ends at any time. */
	if (draw(3) == 0 && fork() == 0) {
		seed++;
		alarm(1);
	}
	for (;;)
		one_step(&fd);
}

static void wait_for_all(void)
{
	while (wait(NULL) > 0 || errno != ECHILD)
		;
}

int main(void)
{
	const unsigned int kills = t_repeats("TSCT_KILLS", 200, 600);
	int fd = dev_open();

	print_seed();
	seed = first_seed;
	for (unsigned int i = 0; i < kills; i++) {
		unsigned int wait_us = draw(4) ? draw(3000) : draw(60000);
		pid_t pid = fork();

		if (!pid) {
			close(fd);
			setpgid(0, 0);
			child(seed_of(i));
		}
		setpgid(pid, pid);
		usleep(wait_us);
		t_check(!kill(-pid, SIGKILL), "%m");
		if (draw(4) == 0)
			wait_for_all();
	}
	wait_for_all();
	/*
	 * The kernel may close the files of a killed process with a delay. A channel's
	 * memory is uncharged some time after the module has removed the channel.
	 */
	t_until(dev_info(fd).channels == 0);
	t_until(dev_info(fd).bytes == 0);
	return t_status();
}
