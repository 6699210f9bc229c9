// SPDX-License-Identifier: MIT
/*
 * A kept channel outlives its program, counts against its owner, is found by
 * name, and is freed when it is removed or, like the last one here, with the
 * module.
 */
#include <signal.h>

#include "modules.h"
#include "ring.h"

#define PARAM	"/sys/module/tsctrace/parameters/"

static struct tsct_channel_create keep_request(const char *name)
{
	struct tsct_channel_create arg = dev_request(name);

	arg.flags = TSCT_CHANNEL_KEEP;
	return arg;
}

static uint32_t keep(const char *name)
{
	struct tsct_channel_create arg = keep_request(name);

	close(dev_create(&arg));
	return arg.id;
}

static int remove_id(uint32_t id)
{
	struct tsct_channel_remove arg = { .id = id };
	int fd = dev_open(), err = ioctl(fd, TSCT_IOC_CHANNEL_REMOVE, &arg);
	int saved = errno;

	close(fd);
	errno = saved;
	return err;
}

static struct tsct_channel_info info_of(uint32_t id)
{
	struct tsct_channel_info info = { .id = id - 1 };
	int fd = dev_open();

	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &info) && info.id == id, "%m");
	close(fd);
	return info;
}

/* All events that a killed program has published remain. */
static void try_crash(void)
{
	struct tsct_channel_info info;
	struct tsct_channel_cpu cpu;
	struct ring_reader r = { .cpu = 1 };
	struct dev_maps m;
	unsigned char payload[64];
	uint32_t id;
	int fd, i;
	pid_t pid = t_fork();

	if (!pid) {
		struct tsct_channel_create arg = keep_request("crash");

		fd = dev_create(&arg);
		dev_pin(1);
		for (i = 0; i < 50; i++) {
			pattern_fill(payload, 64, (uint64_t)i);
			dev_write(fd, 16, payload, 64);
		}
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);

	fd = dev_open();
	t_check(dev_info(fd).channels == 1 && dev_info(fd).bytes > 0);
	t_check(!dev_attach_name(fd, "crash", BOTH), "%m");
	m = dev_map(fd);
	id = m.header->id;
	info = info_of(id);
	t_check(info.holders == 1 && info.consumers == 1 && info.events == 50);
	t_check(info.flags == TSCT_CHANNEL_KEEP);
	r.maps = &m;
	ring_drain(&r);
	t_check(r.records == 50 && r.wrong == 0, "%lu", r.records);
	dev_unmap(&m);
	close(fd);
	info = info_of(id);
	t_check(info.holders == 0 && info.consumers == 0 && info.unread == 0);
	/* A kept channel's statistics are available while nobody has it open. */
	fd = dev_open();
	cpu = (struct tsct_channel_cpu){ .id = id, .cpu = 1 };
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_CPU, &cpu) && cpu.events == 50, "%m");
	cpu.cpu = 2;
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CPU, &cpu), EINVAL);
	cpu.id = id + 1;
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CPU, &cpu), ENOENT);
	t_check(!remove_id(id), "%m");
	t_check(dev_info(fd).channels == 0 && dev_info(fd).bytes == 0);
	t_errno(remove_id(id), ENOENT);
	close(fd);
}

/* A channel that is removed while held: its name is free, its holders can go on using
 * it. */
static void try_remove_held(void)
{
	struct tsct_channel_create arg = keep_request("held");
	int fd = dev_create(&arg), other = dev_open();
	uint32_t id = arg.id;
	uint64_t payload = 1;

	t_errno(ioctl(other, TSCT_IOC_CHANNEL_CREATE, &arg), EEXIST);
	t_check(!remove_id(id), "%m");
	t_errno(remove_id(id), ENOENT);
	t_check(!dev_write(fd, 16, &payload, 8), "%m");
	t_check(info_of(id).flags == 0 && info_of(id).events == 1);
	t_errno(dev_attach_name(other, "held", TSCT_ROLE_WRITE), ENOENT);
	t_check(!ioctl(other, TSCT_IOC_CHANNEL_CREATE, &arg), "%m");
	t_check(dev_info(fd).channels == 2 && arg.id != id);
	close(fd);
	t_check(dev_info(other).channels == 1);
	close(other);
	t_check(!remove_id(arg.id), "%m");

	/* A channel without KEEP cannot be removed. */
	arg = dev_request("plain");
	fd = dev_create(&arg);
	t_errno(remove_id(arg.id), EINVAL);
	close(fd);
	t_errno(remove_id(0), ENOENT);
}

static uint32_t foreign;

/* A user has no access to another user's kept channels; own kept channels count
 * against the limits. */
static void as_user(void *unused)
{
	struct tsct_channel_create arg;
	struct tsct_channel_cpu cpu = { .id = foreign };
	uint32_t ids[10];
	int fd = dev_open(), i;
	char name[8];

	(void)unused;
	t_errno(remove_id(foreign), EACCES);
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CPU, &cpu), ENOENT);
	for (i = 0; i < 10; i++) {
		sprintf(name, "k%d", i);
		ids[i] = keep(name);
	}
	arg = keep_request("k10");
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg), EDQUOT);
	t_check(!remove_id(ids[0]), "%m");
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg), "%m");
	for (i = 1; i < 10; i++)
		t_check(!remove_id(ids[i]), "%m");
	t_check(!remove_id(arg.id), "%m");
	close(fd);
}

int main(void)
{
	int fd = dev_open();

	try_crash();
	try_remove_held();
	chmod(TSCT_DEVICE_PATH, 0666);
	foreign = keep("foreign");
	mod_set(PARAM "channels_user_max", "10");
	dev_as_user(1000, as_user, NULL);
	t_check(!remove_id(foreign), "%m");
	t_check(dev_info(fd).channels == 0 && dev_info(fd).bytes == 0);
	keep("left.behind");
	t_check(dev_info(fd).channels == 1);
	return t_status();
}
