// SPDX-License-Identifier: MIT
/*
 * poll() and epoll of a kernel channel: sleepers are woken by new data, and only by that. User
 * channels have no poll().
 * guest-test: rt=yes
 */
#include "modules.h"

#define LATER_S	0.1

static int wait_for(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n = poll(&p, 1, ms);

	return n <= 0 ? n : p.revents;
}

/* Forks a child that emits on CPU @cpu after LATER_S. */
static pid_t publish_later(unsigned int cpu)
{
	pid_t pid = t_fork();

	if (pid)
		return pid;
	dev_pin(cpu);
	usleep((useconds_t)(LATER_S * 1e6));
	mod_emit(1);
	_exit(0);
}

static void try_wake(int fd, unsigned int cpu)
{
	double start = t_now(), took;
	pid_t pid = publish_later(cpu);

	/* A sleeper that was not woken finds the data at the timeout. */
	t_check(wait_for(fd, T_HANG_S * 1000) == POLLIN);
	took = t_now() - start;
	t_check(took > LATER_S * 0.9 && took < T_HANG_S / 2, "%.3f s", took);
	waitpid(pid, NULL, 0);
}

static void try_discard(void)
{
	int fd = mod_channel(TSCT_POLICY_DISCARD);
	struct dev_maps m = dev_map_rings(fd, PROT_READ);

	t_check(wait_for(fd, 0) == 0);
	t_check(wait_for(fd, 100) == 0);
	for (int i = 0; i < 4; i++) {
		try_wake(fd, i & 1);
		/* A descriptor is readable until the data is consumed. */
		t_check(wait_for(fd, 0) == POLLIN);
		t_check(wait_for(fd, 1000) == POLLIN);
		dev_consume_all(&m);
		t_check(wait_for(fd, 50) == 0);
	}
	dev_close(fd, &m);
}

static void try_overwrite(void)
{
	int fd = mod_channel(TSCT_POLICY_OVERWRITE), other = dev_open();

	t_check(!dev_attach_name(other, "k0", TSCT_ROLE_READ), "%m");
	t_check(wait_for(fd, 50) == 0);
	try_wake(fd, 0);
	/* A wakeup is reported once to each descriptor. */
	t_check(wait_for(fd, 50) == 0);
	t_check(wait_for(other, 0) == POLLIN);
	t_check(wait_for(other, 50) == 0);
	try_wake(fd, 1);
	close(other);
	close(fd);
}

static void try_epoll(uint32_t mode)
{
	struct epoll_event want = { .events = EPOLLIN | mode }, got;
	int fd = mod_channel(TSCT_POLICY_DISCARD), ep = epoll_create1(0), i;
	struct dev_maps m = dev_map_rings(fd, PROT_READ);
	pid_t pid;

	t_check(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &want), "%m");
	t_check(epoll_wait(ep, &got, 1, 50) == 0);
	for (i = 0; i < 3; i++) {
		pid = publish_later(i & 1);
		t_check(epoll_wait(ep, &got, 1, T_HANG_S * 1000) == 1, "round %d", i);
		waitpid(pid, NULL, 0);
		dev_consume_all(&m);
		t_check(epoll_wait(ep, &got, 1, 50) == 0, "round %d", i);
	}
	/* The descriptor is closed while epoll waits for the rings. */
	pid = publish_later(0);
	dev_close(fd, &m);
	usleep(50000);
	close(ep);
	waitpid(pid, NULL, 0);
}

/* A descriptor without the READ role, or of a user channel */
static void try_without_poll(void)
{
	struct tsct_watermark watermark = { .bytes = 1 };
	int fd = dev_open();

	t_check(wait_for(fd, 1000) == POLLERR);
	t_check(!dev_attach_name(fd, "k0", 0), "%m");
	t_check(wait_for(fd, 1000) == POLLERR);
	close(fd);
	fd = dev_new("poll");
	t_check(wait_for(fd, 1000) == POLLERR);
	t_errno(ioctl(fd, TSCT_IOC_WATERMARK, &watermark), EOPNOTSUPP);
	close(fd);
}

/* After a sleeper is killed, the rings are no longer polled. */
static void try_killed(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			int fd = dev_open();

			dev_attach_name(fd, "k0", TSCT_ROLE_READ);
			wait_for(fd, 60000);
			_exit(0);
		}
		usleep(5000 + 3000 * (unsigned int)i);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

int main(void)
{
	mod_load("/lib/modules/tsct-fuzz.ko", "");
	try_discard();
	try_overwrite();
	try_epoll(0);
	try_epoll(EPOLLET);
	try_without_poll();
	try_killed();
	t_check(!mod_unload("tsct_fuzz"), "%m");
	t_check(dev_info(dev_open()).bytes == 0);
	return t_status();
}
