// SPDX-License-Identifier: MIT
/*
 * poll() and epoll: sleepers are woken by new data, and only by that.
 * guest-test: rt=yes
 */
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>

#include "device.h"

#define LATER_S	0.1

static int wait_for(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n = poll(&p, 1, ms);

	return n <= 0 ? n : p.revents;
}

/* Forks a child that adds data to the ring of CPU 0 after LATER_S, by a store of the
 * ring's head, or to the current CPU's ring by TSCT_IOC_WRITE. */
static pid_t publish_later(int fd, struct dev_maps *m, bool by_store)
{
	pid_t pid = t_fork();
	uint64_t payload = 1;

	if (pid)
		return pid;
	usleep((useconds_t)(LATER_S * 1e6));
	if (by_store)
		__atomic_fetch_add(&dev_producer(m, 0)->head, 24, __ATOMIC_RELEASE);
	else
		dev_write(fd, 16, &payload, sizeof(payload));
	_exit(0);
}

static void try_wake(int fd, struct dev_maps *m, bool by_store)
{
	double start = t_now(), took;
	pid_t pid = publish_later(fd, m, by_store);

	/* A sleeper that was not woken finds the data at the timeout. */
	t_check(wait_for(fd, T_HANG_S * 1000) == POLLIN);
	took = t_now() - start;
	t_check(took > LATER_S * 0.9 && took < T_HANG_S / 2, "%.3f s", took);
	waitpid(pid, NULL, 0);
}

static void consume_all(struct dev_maps *m)
{
	for (unsigned int cpu = 0; cpu < m->header->nr_cpus; cpu++)
		dev_consumer(m, cpu)->tail = dev_pos(m, cpu);
}

static void try_discard(void)
{
	int fd = dev_new("poll");
	struct dev_maps m = dev_map(fd);

	t_check(wait_for(fd, 0) == 0);
	t_check(wait_for(fd, 100) == 0);
	for (int i = 0; i < 4; i++) {
		try_wake(fd, &m, i & 1);
		/* A descriptor is readable until the data is consumed. */
		t_check(wait_for(fd, 0) == POLLIN);
		t_check(wait_for(fd, 1000) == POLLIN);
		consume_all(&m);
		t_check(wait_for(fd, 50) == 0);
	}
	dev_unmap(&m);
	close(fd);
}

static void try_overwrite(void)
{
	struct tsct_channel_create arg = dev_request("poll");
	int fd, other = dev_open();
	struct dev_maps m;

	arg.policy = TSCT_POLICY_OVERWRITE;
	fd = dev_create(&arg);
	m = dev_map(fd);
	t_check(!dev_attach(other, arg.id, TSCT_ROLE_READ), "%m");
	t_check(wait_for(fd, 50) == 0);
	try_wake(fd, &m, true);
	/* A wakeup is reported once to each descriptor. */
	t_check(wait_for(fd, 50) == 0);
	t_check(wait_for(other, 0) == POLLIN);
	t_check(wait_for(other, 50) == 0);
	try_wake(fd, &m, false);
	dev_unmap(&m);
	close(other);
	close(fd);
}

static void try_epoll(uint32_t mode)
{
	struct epoll_event want = { .events = EPOLLIN | mode }, got;
	int fd = dev_new("poll"), ep = epoll_create1(0), i;
	struct dev_maps m = dev_map(fd);
	pid_t pid;

	t_check(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &want), "%m");
	t_check(epoll_wait(ep, &got, 1, 50) == 0);
	for (i = 0; i < 3; i++) {
		pid = publish_later(fd, &m, true);
		t_check(epoll_wait(ep, &got, 1, T_HANG_S * 1000) == 1, "round %d", i);
		waitpid(pid, NULL, 0);
		consume_all(&m);
		t_check(epoll_wait(ep, &got, 1, 50) == 0, "round %d", i);
	}
	/* The descriptor is closed while the module polls the rings for epoll. */
	pid = publish_later(fd, &m, true);
	dev_unmap(&m);
	close(fd);
	usleep(50000);
	close(ep);
	waitpid(pid, NULL, 0);
}

static void try_without_role(void)
{
	struct tsct_channel_create arg = dev_request("poll");
	int fd = dev_open();

	t_check(wait_for(fd, 1000) == POLLERR);
	arg.roles = TSCT_ROLE_WRITE;
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg), "%m");
	t_check(wait_for(fd, 1000) == POLLERR);
	close(fd);
}

/* After a sleeper is killed, the rings are no longer polled. */
static void try_killed(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			wait_for(dev_new("killed"), 60000);
			_exit(0);
		}
		usleep(5000 + 3000 * (unsigned int)i);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

int main(void)
{
	try_discard();
	try_overwrite();
	try_epoll(0);
	try_epoll(EPOLLET);
	try_without_role();
	try_killed();
	t_check(dev_info(dev_open()).bytes == 0);
	return t_status();
}
