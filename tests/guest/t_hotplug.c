// SPDX-License-Identifier: MIT
/*
 * A CPU that was offline when the channel was created has a ring, too; one that goes
 * down and up keeps its ring with its contents. $TSCT_HOTPLUGS times (3; all: 5) it goes down
 * and up while programs write and read. Then a CPU is added to the machine.
 * guest-test: timeout=90 rt=yes
 */
#include "busy.h"
#include "clock.h"
#include "modules.h"

static void try_offline(void)
{
	struct tsct_channel_create arg = dev_request("offline");
	struct tsct_channel_info info;
	struct dev_maps m;
	uint64_t payload = 7, before;
	int fd;

	dev_online(false);
	fd = dev_create(&arg);
	m = dev_map(fd);
	before = dev_info(fd).bytes;
	t_check(m.header->nr_cpus == 2);
	t_check(dev_ready(&m, 0) && dev_ready(&m, 1));
	t_check(dev_pos(&m, 1) == 32);

	dev_online(true);
	t_check(dev_info(fd).bytes == before);
	dev_pin(1);
	t_check(!dev_write(fd, 16, &payload, 8), "%m");
	t_check(dev_pos(&m, 1) == 32 + 24);
	info = dev_next(fd, 0);
	t_check(info.nr_cpus_ready == 2 && info.lost_no_ring == 0);
	t_check(info.bytes == dev_info(fd).bytes);

	dev_pin(0);
	dev_online(false);
	t_check(dev_ready(&m, 1));
	t_check(*(uint64_t *)(dev_data(&m, 1) + 32 + 16) == 7);
	dev_online(true);
	t_check(dev_pos(&m, 1) == 32 + 24);
	dev_close(fd, &m);
	t_check(dev_info(dev_open()).bytes == 0);
}

static int fd;	/* of the channel that stays open to the end */

static void try_while_writing(void)
{
	const int rounds = 2 * (int)t_repeats("TSCT_HOTPLUGS", 3, 5);
	struct busy busy = { 0 };
	cpu_set_t all = { 0 };

	CPU_SET(0, &all);
	CPU_SET(1, &all);
	sched_setaffinity(0, sizeof(all), &all);
	busy_begin(&busy);
	fd = busy.fd;
	for (int round = 0; round < rounds; round++) {
		dev_online(round & 1);
		for (int i = 0; i < 20; i++) {
			usleep(5000);
			busy_drain(&busy);
		}
	}
	busy_end(&busy);
	t_check(busy.readers[0].records > 0 && busy.readers[1].records > 0);
	t_check(busy.maps.header->lost_no_ring == 0);
}

/* Writers in the kernel move to online CPUs; every loss is counted. */
static void try_kernel_writers(void)
{
	struct ring_reader r[2] = {
		{ .cpu = 0, .kernel = true }, { .cpu = 1, .kernel = true },
	};
	struct tsct_channel_info info;
	struct mod_nest reported[2];
	int round = 0, nest = dev_open(), status = 0;
	struct dev_maps m;
	pid_t pid;

	mod_load("/lib/modules/tsct-nest.ko", "roam=1");
	t_check(!dev_attach_name(nest, "nest", TSCT_ROLE_READ), "%m");
	m = dev_map_rings(nest, PROT_READ);
	r[0].maps = r[1].maps = &m;
	dev_pin(0);
	/* However fast the writers are, the CPU goes down and up while they write. */
	while (round <= 30 && !status) {
		pid = mod_set_apart(MOD_NEST "run", "150000");
		while (!waitpid(pid, &status, WNOHANG)) {
			if (round % 8 == 0)
				dev_online(round / 8 & 1);
			usleep(3000);
			ring_drain(&r[0]);
			ring_drain(&r[1]);
			round++;
		}
	}
	dev_online(true);
	ring_drain(&r[0]);
	ring_drain(&r[1]);
	mod_nest_results(reported, NULL, 2);
	t_check(status == 0, "%#x", status);
	t_check(r[0].wrong + r[1].wrong == 0);
	t_check(r[0].records == reported[0].written && reported[0].written > 1000 &&
		r[1].records == reported[1].written && reported[1].written > 1000,
		"%lu of %lu, %lu of %lu", r[0].records, reported[0].written,
		r[1].records, reported[1].written);
	info = dev_next(nest, m.header->id - 1);
	t_check(info.events == r[0].records + r[1].records, "%llu", info.events);
	t_check(info.lost[TSCT_LOST_FULL] == reported[0].full + reported[1].full);
	t_check(!reported[0].other && !reported[1].other && !info.lost_no_ring);
	printf("kernel: %lu and %lu written, %lu lost, in %d rounds\n",
	       reported[0].written, reported[1].written, reported[0].full + reported[1].full,
	       round);
	dev_close(nest, &m);
	t_check(!mod_unload("tsct_nest"), "%m");
}

static bool is_reported(struct tsct_check *check, struct tsct_cpu_check *table, bool on)
{
	*check = (struct tsct_check) { .nr = 2, .table = (uintptr_t)table };
	t_check(!ioctl(fd, TSCT_IOC_CHECK, check), "%m");
	return !(table[1].flags & TSCT_CPU_ONLINE) == !on;
}

/* Checks that TSCT_IOC_CHECK reports CPU 1 offline or online after each change. */
static void try_check(void)
{
	struct tsct_cpu_check table[2];
	struct tsct_check check;

	for (int on = 0; on < 2; on++) {
		dev_online(on);
		t_until(is_reported(&check, table, on));
		t_check(check.flags & TSCT_CHECK_USABLE);
	}
	t_check(table[1].flags & TSCT_CPU_AUX_MATCH);
	t_check(table[0].flags & TSCT_CPU_REFERENCE);
}

/* Only a counter that contradicts its CPU's skew is a disruption: neither a CPU that goes
 * down, nor one that comes up with the counter that it had. A CPU that is down keeps its
 * measured skew. */
static void try_clock(void)
{
	const struct tsct_disruption_page *page = clk_map();
	uint64_t before = clk_count(page);
	struct tsct_cpu_check table[DEV_CPUS];
	struct tsct_check check = dev_check_measured(fd, table);

	for (int on = 0; on < 2; on++) {
		dev_online(on);
		t_until(is_reported(&check, table, on));
		t_check(table[1].flags & TSCT_CPU_SKEW_KNOWN, "%#x", table[1].flags);
		clk_expect_none(page, before);
	}
}

/* ---- a CPU that is added --------------------------------------------------- */

/* tsct-present.ko removes an offline CPU from the kernel's mask of CPUs present, and adds it
 * again. */
static void set_present(const char *parameters)
{
	t_check(mod_try_load("/lib/modules/tsct-present.ko", parameters) == ECANCELED, "%m");
}

/*
 * A CPU is added to the machine. Channels made before get its ring when it comes up,
 * within the limits of their users, charged to them; one whose user is at the limit gets
 * none, and counts the events of that CPU as lost. Channels made later have all rings.
 */
static void try_added(void)
{
	int root, poor, device = dev_open(), later;
	struct dev_maps m, p;
	uint64_t bytes;

	chmod(TSCT_DEVICE_PATH, 0666);
	dev_online(false);
	set_present("present=0");
	t_check(dev_put(PARAM "bytes_user_max", "1572864"), "%m");
	root = dev_create_as(0, "root", 256);
	/* More than 1 MiB on one CPU; the limit of 1.5 MiB has no room for a second. */
	poor = dev_create_as(1000, "poor", 256);
	t_check(root >= 0 && poor >= 0, "%m");
	m = dev_map(root);
	p = dev_map(poor);
	bytes = dev_info(device).bytes;
	t_check(dev_ready(&m, 0) && !dev_ready(&m, 1) && !dev_ready(&p, 1));
	t_check(dev_touch(dev_producer(&m, 0)) == 0);
	t_check(dev_touch(dev_producer(&m, 1)) == SIGBUS);
	t_check(dev_touch(dev_consumer(&m, 1)) == SIGBUS);
	t_check(dev_touch(dev_producer(&m, 1)) == SIGBUS);

	set_present("present=1");
	dev_online(true);
	t_check(dev_ready(&m, 1) && !dev_ready(&p, 1));
	t_check(dev_info(device).bytes == bytes + m.header->ring_stride + 4096, "%llu",
		dev_info(device).bytes - bytes);
	dev_pin(1);
	t_check(!dev_write(root, 16, NULL, 0), "%m");
	t_errno(dev_write(poor, 16, NULL, 0), ENXIO);
	t_check(m.header->lost_no_ring == 0 && p.header->lost_no_ring == 1);
	later = dev_create_as(0, "later", 4);
	t_check(!dev_write(later, 16, NULL, 0), "%m");
	t_check(dev_put(PARAM "bytes_user_max", "0"), "%m");
}

int main(void)
{
	try_offline();
	try_while_writing();
	try_kernel_writers();
	try_check();
	try_clock();
	close(fd);
	t_part(try_added);
	return t_status();
}
