// SPDX-License-Identifier: MIT
/*
 * A kept channel outlives its program, counts against its owner, is found by
 * name, and is freed when it is removed or, like the last one here, with the
 * module. A container's root, with the host's user id, does not own the host's channels.
 */
#include <linux/capability.h>

#include "modules.h"
#include "ring.h"

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

static struct tsct_channel_info info_of(uint32_t id)
{
	int fd = dev_open();
	struct tsct_channel_info info = dev_next(fd, id - 1);

	t_check(info.id == id);
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
	dev_close(fd, &m);
	info = info_of(id);
	t_check(info.holders == 0 && info.consumers == 0 && info.unread == 0);
	/* A kept channel's statistics are available while nobody has it open. */
	fd = dev_open();
	cpu = dev_cpu(fd, id, 1);
	t_check(cpu.events == 50);
	cpu.cpu = 2;
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CPU, &cpu), EINVAL);
	cpu.id = id + 1;
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CPU, &cpu), ENOENT);
	t_check(!dev_remove(id), "%m");
	t_check(dev_info(fd).channels == 0 && dev_info(fd).bytes == 0);
	t_errno(dev_remove(id), ENOENT);
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
	t_check(!dev_remove(id), "%m");
	t_errno(dev_remove(id), ENOENT);
	t_check(!dev_write(fd, 16, &payload, 8), "%m");
	t_check(info_of(id).flags == 0 && info_of(id).events == 1);
	t_errno(dev_attach_name(other, "held", TSCT_ROLE_WRITE), ENOENT);
	t_check(!ioctl(other, TSCT_IOC_CHANNEL_CREATE, &arg), "%m");
	t_check(dev_info(fd).channels == 2 && arg.id != id);
	close(fd);
	t_check(dev_info(other).channels == 1);
	close(other);
	t_check(!dev_remove(arg.id), "%m");

	/* A channel without KEEP cannot be removed. */
	arg = dev_request("plain");
	fd = dev_create(&arg);
	t_errno(dev_remove(arg.id), EINVAL);
	close(fd);
	t_errno(dev_remove(0), ENOENT);
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { 0 };

	t_check(!syscall(SYS_capset, &header, none), "%m");
}

static uint32_t hosts;		/* id of a channel of the host's root */

/* In a pid namespace below, root without capabilities has its own channels only. */
static void in_container(void)
{
	struct tsct_channel_create arg = keep_request("same"), planted = keep_request("planted");
	struct tsct_channel_info info = { 0 };
	struct tsct_channel_cpu cpu = { .id = hosts };
	int fd = dev_open();

	drop_capabilities();
	t_errno(dev_attach(fd, hosts, TSCT_ROLE_WRITE), EACCES);
	t_errno(dev_attach(fd, hosts, 0), EACCES);
	t_errno(dev_attach_name(fd, "same", BOTH), ENOENT);
	t_errno(dev_remove(hosts), EACCES);
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &info), ENOENT);
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CPU, &cpu), ENOENT);
	/* Its channels have names of their own. */
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg), "%m");
	close(fd);
	fd = dev_open();
	t_check(!dev_attach_name(fd, "same", BOTH), "%m");
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &info) && info.id == arg.id, "%m");
	close(fd);
	fd = dev_open();
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &planted), "%m");
	close(fd);
}

/* CAP_SYS_ADMIN crosses the bounds of a pid namespace. */
static void in_privileged_container(void)
{
	int fd = dev_open();

	t_check(!dev_attach(fd, hosts, TSCT_ROLE_WRITE), "%m");
	close(fd);
	t_check(!dev_remove(hosts), "%m");
}

/* Root without capabilities owns what is in its pid namespace and in those below. */
static void in_host(void)
{
	struct tsct_channel_info info = info_of(hosts);
	int fd = dev_open();

	drop_capabilities();
	t_check(!dev_attach_name(fd, "same", BOTH), "%m");
	close(fd);
	t_check(!ioctl(dev_open(), TSCT_IOC_CHANNEL_NEXT, &info), "%m");
	t_check(!strcmp(info.name, "same") && info.id != hosts && !dev_remove(info.id), "%m");
	/* A name that only a container has: the host's programs do not write there. */
	fd = dev_open();
	t_errno(dev_attach_name(fd, "planted", BOTH), ENOENT);
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &info), "%m");
	t_check(!strcmp(info.name, "planted") && !dev_remove(info.id), "%m");
	close(fd);
}

static void try_containers(void)
{
	void (*const steps[])(void) = { in_container, in_host, in_privileged_container };

	hosts = keep("same");
	for (unsigned int i = 0; i < 3; i++) {
		pid_t pid = t_fork();

		if (!pid) {
			if (steps[i] != in_host)
				t_check(!unshare(CLONE_NEWPID | CLONE_NEWNET), "%m");
			t_part(steps[i]);
			exit(t_status());
		}
		t_check(!t_wait(pid), "step %u", i);
	}
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

	t_errno(dev_remove(foreign), EACCES);
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CPU, &cpu), ENOENT);
	for (i = 0; i < 10; i++) {
		sprintf(name, "k%d", i);
		ids[i] = keep(name);
	}
	arg = keep_request("k10");
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg), EDQUOT);
	t_check(!dev_remove(ids[0]), "%m");
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg), "%m");
	for (i = 1; i < 10; i++)
		t_check(!dev_remove(ids[i]), "%m");
	t_check(!dev_remove(arg.id), "%m");
	close(fd);
}

int main(void)
{
	int fd = dev_open();

	try_crash();
	try_remove_held();
	try_containers();
	chmod(TSCT_DEVICE_PATH, 0666);
	foreign = keep("foreign");
	mod_set(PARAM "channels_user_max", "10");
	dev_as_user(1000, as_user, NULL);
	t_check(!dev_remove(foreign), "%m");
	t_check(dev_info(fd).channels == 0 && dev_info(fd).bytes == 0);
	keep("left.behind");
	t_check(dev_info(fd).channels == 1);
	return t_status();
}
