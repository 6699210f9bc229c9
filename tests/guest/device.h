/* SPDX-License-Identifier: MIT */
/* Helpers of the tests t_*.c that use /dev/tsctrace by ioctl() and mmap(). */
#ifndef TSCT_TEST_DEVICE_H
#define TSCT_TEST_DEVICE_H

#include <tsctrace/abi.h>

#include "t.h"

#define PARAM	"/sys/module/tsctrace/parameters/"
#define BOTH	(TSCT_ROLE_WRITE | TSCT_ROLE_READ)
#define RW	(PROT_READ | PROT_WRITE)

static sigjmp_buf dev_fault __attribute__((unused));

/* Handles a signal of an access to memory: sigsetjmp(dev_fault, 1) returns it. */
T_FN void dev_on_fault(int sig)
{
	siglongjmp(dev_fault, sig);
}

/* Returns 0 if the byte can be read, or else the signal. */
T_FN int dev_touch(const volatile void *at)
{
	int sig;

	signal(SIGBUS, dev_on_fault);
	signal(SIGSEGV, dev_on_fault);
	sig = sigsetjmp(dev_fault, 1);
	if (!sig)
		*(const volatile char *)at;
	signal(SIGBUS, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	return sig;
}

T_FN int dev_open(void)
{
	int fd = open(TSCT_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		t_die(TSCT_DEVICE_PATH);
	return fd;
}

#define DEV_CPUS	64	/* room for the results of the CPU check */

/*
 * Runs the CPU check again until the skew of each CPU is known. It is not where two CPUs of
 * the guest never ran at the same time, on a busy host.
 */
T_FN struct tsct_check dev_check_measured(int fd, struct tsct_cpu_check *table)
{
	struct tsct_check check = { .nr = DEV_CPUS, .table = (uintptr_t)table };
	unsigned int cpu, known;

	do {
		check.nr = DEV_CPUS;
		if (ioctl(fd, TSCT_IOC_CHECK_RUN, &check))
			t_die("TSCT_IOC_CHECK_RUN");
		for (cpu = 0, known = 0; cpu < check.nr && cpu < DEV_CPUS; cpu++)
			known += !(table[cpu].flags & TSCT_CPU_ONLINE) ||
				table[cpu].flags & TSCT_CPU_SKEW_KNOWN;
	} while (known < cpu);
	return check;
}

/* Returns a valid request; tests make one field at a time invalid. */
T_FN struct tsct_channel_create dev_request(const char *name)
{
	struct tsct_channel_create arg = {
		.policy = TSCT_POLICY_DISCARD,
		.block_size = 4096,
		.blocks = 4,
		.roles = BOTH,
	};

	strncpy(arg.name, name, sizeof(arg.name) - 1);
	return arg;
}

/* Returns a descriptor bound to a new channel; exits on failure. */
T_FN int dev_create(struct tsct_channel_create *arg)
{
	int fd = dev_open();

	if (ioctl(fd, TSCT_IOC_CHANNEL_CREATE, arg))
		t_die(arg->name);
	return fd;
}

T_FN int dev_new(const char *name)
{
	struct tsct_channel_create arg = dev_request(name);

	return dev_create(&arg);
}

T_FN int dev_attach(int fd, uint32_t id, uint32_t roles)
{
	struct tsct_channel_attach arg = {
		.id = id, .uid = TSCT_UID_SELF, .roles = roles,
	};

	return ioctl(fd, TSCT_IOC_CHANNEL_ATTACH, &arg);
}

T_FN int dev_attach_name(int fd, const char *name, uint32_t roles)
{
	struct tsct_channel_attach arg = {
		.uid = TSCT_UID_SELF, .roles = roles,
	};

	strncpy(arg.name, name, sizeof(arg.name) - 1);
	return ioctl(fd, TSCT_IOC_CHANNEL_ATTACH, &arg);
}

T_FN int dev_write(int fd, unsigned int id, const void *payload,
		     unsigned int len)
{
	struct tsct_write arg = {
		.payload = (uintptr_t)payload, .len = len, .id = (__u16)id,
	};

	return ioctl(fd, TSCT_IOC_WRITE, &arg);
}

T_FN struct tsct_info dev_info(int fd)
{
	struct tsct_info info;

	if (ioctl(fd, TSCT_IOC_INFO, &info))
		t_die("TSCT_IOC_INFO");
	return info;
}

/* Returns the figures of the first channel after the one with the id @after that is visible. */
T_FN struct tsct_channel_info dev_next(int fd, uint32_t after)
{
	struct tsct_channel_info info = { .id = after };

	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &info), "%m");
	return info;
}

T_FN struct tsct_channel_cpu dev_cpu(int fd, uint32_t id, unsigned int cpu)
{
	struct tsct_channel_cpu arg = { .id = id, .cpu = cpu };

	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_CPU, &arg), "CPU %u: %m", cpu);
	return arg;
}

/* Returns a descriptor bound to a new channel, or -1; see errno. */
T_FN int dev_try_create(const char *name, uint32_t blocks, uint32_t flags)
{
	struct tsct_channel_create arg = dev_request(name);
	int fd = dev_open();

	arg.blocks = blocks;
	arg.flags = flags;
	if (!ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg))
		return fd;
	close(fd);
	return -1;
}

T_FN int dev_create_as(uid_t uid, const char *name, uint32_t blocks)
{
	int fd, err;

	t_check(!seteuid(uid), "%m");
	fd = dev_try_create(name, blocks, 0);
	err = errno;
	t_check(!seteuid(0), "%m");
	errno = err;
	return fd;
}

/* Removes a kept channel. */
T_FN int dev_remove(uint32_t id)
{
	struct tsct_channel_remove arg = { .id = id };
	int fd = dev_open(), err = ioctl(fd, TSCT_IOC_CHANNEL_REMOVE, &arg), saved = errno;

	close(fd);
	errno = saved;
	return err;
}

/* Maps of a channel, for a test that both reads and writes it */
struct dev_maps {
	const struct tsct_channel_header *header;
	char *consumers;
	char *rings;
};

/* @rights: how to map the rings; a kernel channel's rings can only be read. */
T_FN struct dev_maps dev_map_rings(int fd, int rights)
{
	const struct tsct_channel_header *h;
	struct dev_maps m;
	size_t size;

	h = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED)
		goto failed;
	size = h->consumer_offset;
	munmap((void *)h, 4096);
	h = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED)
		goto failed;
	m.header = h;
	m.consumers = mmap(NULL, h->ring_offset - h->consumer_offset, RW,
			   MAP_SHARED, fd, (off_t)h->consumer_offset);
	m.rings = mmap(NULL, h->file_size - h->ring_offset, rights, MAP_SHARED,
		       fd, (off_t)h->ring_offset);
	if (m.consumers == MAP_FAILED || m.rings == MAP_FAILED)
		goto failed;
	return m;
failed:
	t_die("mmap");
}

T_FN struct dev_maps dev_map(int fd)
{
	return dev_map_rings(fd, RW);
}

T_FN void dev_unmap(struct dev_maps *m)
{
	struct tsct_channel_header h = *m->header;

	munmap(m->rings, h.file_size - h.ring_offset);
	munmap(m->consumers, h.ring_offset - h.consumer_offset);
	munmap((void *)m->header, h.consumer_offset);
}

/* Closes a channel that is mapped. */
T_FN void dev_close(int fd, struct dev_maps *m)
{
	dev_unmap(m);
	close(fd);
}

T_FN bool dev_ready(const struct dev_maps *m, unsigned int cpu)
{
	const char *states = (const char *)m->header + m->header->cpu_state_offset;

	return __atomic_load_n(&states[cpu], __ATOMIC_ACQUIRE) == TSCT_CPU_READY;
}

T_FN struct tsct_consumer *dev_consumer(const struct dev_maps *m,
					  unsigned int cpu)
{
	return (void *)(m->consumers + (size_t)cpu * TSCT_PAGE_SIZE);
}

T_FN struct tsct_producer *dev_producer(const struct dev_maps *m,
					  unsigned int cpu)
{
	return (void *)(m->rings + cpu * m->header->ring_stride);
}

/* The two halves of a ring's head: a position, and the number of events before it */
T_FN uint64_t dev_pos(const struct dev_maps *m, unsigned int cpu)
{
	return __atomic_load_n(&dev_producer(m, cpu)->head, __ATOMIC_ACQUIRE) &
		0xffffffffffffULL;
}

T_FN unsigned int dev_events(const struct dev_maps *m, unsigned int cpu)
{
	return (unsigned int)(dev_producer(m, cpu)->head >> 48);
}

/* Consumes all events of a CPU. */
T_FN void dev_consume(const struct dev_maps *m, unsigned int cpu)
{
	__atomic_store_n(&dev_consumer(m, cpu)->tail, dev_pos(m, cpu), __ATOMIC_RELEASE);
}

T_FN void dev_consume_all(const struct dev_maps *m)
{
	for (unsigned int cpu = 0; cpu < m->header->nr_cpus; cpu++)
		dev_consume(m, cpu);
}

T_FN char *dev_data(const struct dev_maps *m, unsigned int cpu)
{
	return (char *)dev_producer(m, cpu) + TSCT_PAGE_SIZE;
}

T_FN void dev_pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		t_die("sched_setaffinity");
}

/* Writes a text to a file, as of sysfs. Returns false if that fails; see errno. */
T_FN bool dev_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

/* Runs @fn as an unprivileged user; its failures count as this test's. */
T_FN void dev_as_user(uid_t uid, void (*fn)(void *arg), void *arg)
{
	pid_t pid = t_fork();
	int status;

	if (!pid) {
		if (setgid(uid) || setuid(uid))
			t_die("setuid");
		fn(arg);
		exit(t_status());
	}
	status = t_wait(pid);
	t_check(status == 0, "as user %u: status %d", uid, status);
}

/* Makes CPU 1 go or come. */
T_FN void dev_online(bool on)
{
	t_check(dev_put("/sys/devices/system/cpu/cpu1/online", on ? "1" : "0"), "%m");
}

/* Writes a text to a file that has to accept it. */
T_FN void dev_set(const char *path, const char *text)
{
	t_check(dev_put(path, text), "%s > %s: %m", text, path);
}

#endif
