// SPDX-License-Identifier: MIT
/*
 * A reader is woken when its watermark is reached, and not before.
 * guest-test: rt=yes
 */
#include <poll.h>
#include <sys/epoll.h>

#include "ring.h"

static int ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0 && p.revents == POLLIN;
}

static int watermark(int fd, uint64_t bytes)
{
	struct tsct_watermark arg = { .bytes = bytes };

	return ioctl(fd, TSCT_IOC_WATERMARK, &arg);
}

/* Writes @nr records of 64 bytes on one CPU. */
static void write_some(int fd, unsigned int cpu, int nr)
{
	unsigned char payload[48];

	dev_pin(cpu);
	while (nr--) {
		pattern_fill(payload, sizeof(payload), (uint64_t)nr);
		t_check(!dev_write(fd, 16, payload, sizeof(payload)), "%m");
	}
}

static void try_discard(void)
{
	struct ring_reader r[2] = { { .cpu = 0 }, { .cpu = 1 } };
	int fd = dev_new("discard");
	struct dev_maps m = dev_map(fd);

	r[0].maps = r[1].maps = &m;
	t_check(!ready(fd));
	t_check(!watermark(fd, 640), "%m");
	write_some(fd, 0, 5);
	write_some(fd, 1, 4);
	t_check(!ready(fd));
	/* The watermark applies to the unread bytes of all rings together. */
	write_some(fd, 1, 1);
	t_check(ready(fd) && ready(fd));
	t_check(!watermark(fd, 641), "%m");
	t_check(!ready(fd));
	t_check(!watermark(fd, 0), "%m");
	t_check(ready(fd));
	ring_drain(&r[0]);
	ring_drain(&r[1]);
	t_check(!ready(fd));
	write_some(fd, 0, 1);
	t_check(ready(fd));
	ring_drain(&r[0]);
	/* With a watermark above the size of all rings, poll() reports data when one
	 * ring is half full. */
	t_check(!watermark(fd, ~0ULL), "%m");
	write_some(fd, 0, 8192 / 64 - 5);
	t_check(!ready(fd));
	write_some(fd, 0, 6);
	t_check(ready(fd));
	t_check(r[0].wrong + r[1].wrong == 0);
	dev_unmap(&m);
	close(fd);
}

static void try_overwrite(void)
{
	struct tsct_channel_create arg = dev_request("overwrite");
	int fd, other = dev_open();

	arg.policy = TSCT_POLICY_OVERWRITE;
	fd = dev_create(&arg);
	t_check(!dev_attach(other, arg.id, TSCT_ROLE_READ), "%m");
	t_check(!watermark(fd, 640), "%m");
	t_check(!ready(fd) && !ready(other));
	write_some(fd, 0, 9);
	t_check(!ready(fd));
	t_check(ready(other) && !ready(other));
	write_some(fd, 1, 1);
	t_check(ready(fd) && !ready(fd));
	t_check(ready(other));
	write_some(fd, 0, 9);
	t_check(!ready(fd));
	t_check(!watermark(fd, ~0ULL), "%m");
	write_some(fd, 0, 8192 / 64 - 15);
	t_check(!ready(fd));
	write_some(fd, 0, 10);
	t_check(ready(fd) && !ready(fd));
	close(other);
	close(fd);
}

/* Lets the child of try_sleep() continue, which then waits: the parent polls by then. */
static void tell(const int pipe_to_child[2])
{
	t_check(write(pipe_to_child[1], "g", 1) == 1, "%m");
}

static void wait_to_be_told(const int pipe_from_parent[2])
{
	char c;

	if (read(pipe_from_parent[0], &c, 1) != 1)
		_exit(1);
	usleep(100000);
}

/* poll() sleeps while fewer bytes than the watermark are unread. poll() also wakes up
 * when the watermark is lowered to the number of unread bytes. */
static void try_sleep(void)
{
	struct pollfd p = { .events = POLLIN };
	int fd = dev_new("sleep"), go[2];
	pid_t pid;

	p.fd = fd;
	t_check(!watermark(fd, 640), "%m");
	t_check(!pipe(go), "%m");
	write_some(fd, 1, 9);
	pid = t_fork();
	if (!pid) {
		wait_to_be_told(go);
		write_some(fd, 1, 1);
		wait_to_be_told(go);
		_exit(watermark(fd, 640) != 0);
	}
	t_check(poll(&p, 1, 100) == 0);
	tell(go);
	t_check(poll(&p, 1, T_HANG_S * 1000) == 1);
	t_check(!watermark(fd, 10000000), "%m");
	t_check(poll(&p, 1, 100) == 0);
	tell(go);
	t_check(poll(&p, 1, T_HANG_S * 1000) == 1);
	t_check(!t_wait(pid));
	close(go[0]);
	close(go[1]);
	close(fd);
}

/* epoll reports each write once, although epoll calls the driver's poll function twice:
 * when the descriptor is added, and before epoll_wait() reports the descriptor. */
static void try_epoll(void)
{
	struct tsct_channel_create arg = dev_request("epoll");
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC), fd;
	struct pollfd p = { .events = POLLIN };

	arg.policy = TSCT_POLICY_OVERWRITE;
	p.fd = fd = dev_create(&arg);
	write_some(fd, 0, 1);
	t_check(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event), "%m");
	t_check(epoll_wait(ep, &event, 1, 5000) == 1);
	t_check(epoll_wait(ep, &event, 1, 100) == 0);
	write_some(fd, 1, 1);
	t_check(epoll_wait(ep, &event, 1, 5000) == 1);
	t_check(epoll_wait(ep, &event, 1, 100) == 0);
	close(ep);
	/* poll() reports data written before the call at once, and a second poll()
	 * does not report the same data. */
	write_some(fd, 0, 1);
	t_check(poll(&p, 1, 5000) == 1);
	t_check(poll(&p, 1, 100) == 0);
	close(fd);
}

int main(void)
{
	struct tsct_channel_create arg = dev_request("roles");
	int fd;

	arg.roles = TSCT_ROLE_WRITE;
	fd = dev_create(&arg);
	t_errno(watermark(fd, 1), EACCES);
	close(fd);
	try_discard();
	try_overwrite();
	try_sleep();
	try_epoll();
	return t_status();
}
