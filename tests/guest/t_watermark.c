// SPDX-License-Identifier: MIT
/*
 * A reader of a kernel channel is woken when its watermark is reached, and not before.
 * guest-test: rt=yes
 */
#include "modules.h"

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

/* Writes @nr times 64 bytes on one CPU. */
static void write_some(unsigned int cpu, unsigned int nr)
{
	dev_pin(cpu);
	mod_emit(nr);
}

static void try_discard(void)
{
	int fd = mod_channel(TSCT_POLICY_DISCARD);
	struct dev_maps m = dev_map_rings(fd, PROT_READ);

	t_check(!ready(fd));
	t_check(!watermark(fd, 640), "%m");
	write_some(0, 5);
	write_some(1, 4);
	t_check(!ready(fd));
	/* The watermark applies to the unread bytes of all rings together. */
	write_some(1, 1);
	t_check(ready(fd) && ready(fd));
	t_check(!watermark(fd, 641), "%m");
	t_check(!ready(fd));
	t_check(!watermark(fd, 0), "%m");
	t_check(ready(fd));
	dev_consume_all(&m);
	t_check(!ready(fd));
	write_some(0, 1);
	t_check(ready(fd));
	dev_consume(&m, 0);
	/* With a watermark above the size of all rings, poll() reports data when one
	 * ring is half full. */
	t_check(!watermark(fd, ~0ULL), "%m");
	write_some(0, 8192 / 64 - 5);
	t_check(!ready(fd));
	write_some(0, 6);
	t_check(ready(fd));
	dev_close(fd, &m);
}

static void try_overwrite(void)
{
	int fd = mod_channel(TSCT_POLICY_OVERWRITE), other = dev_open();

	t_check(!dev_attach_name(other, "k0", TSCT_ROLE_READ), "%m");
	t_check(!watermark(fd, 640), "%m");
	t_check(!ready(fd) && !ready(other));
	write_some(0, 9);
	t_check(!ready(fd));
	t_check(ready(other) && !ready(other));
	write_some(1, 1);
	t_check(ready(fd) && !ready(fd));
	t_check(ready(other));
	write_some(0, 9);
	t_check(!ready(fd));
	t_check(!watermark(fd, ~0ULL), "%m");
	write_some(0, 8192 / 64 - 15);
	t_check(!ready(fd));
	write_some(0, 10);
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
	int fd = mod_channel(TSCT_POLICY_DISCARD), go[2];
	pid_t pid;

	p.fd = fd;
	t_check(!watermark(fd, 640), "%m");
	t_check(!pipe(go), "%m");
	write_some(1, 9);
	pid = t_fork();
	if (!pid) {
		wait_to_be_told(go);
		write_some(1, 1);
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
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC), fd = mod_channel(TSCT_POLICY_OVERWRITE);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	write_some(0, 1);
	t_check(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event), "%m");
	t_check(epoll_wait(ep, &event, 1, T_HANG_S * 1000) == 1);
	t_check(epoll_wait(ep, &event, 1, 100) == 0);
	write_some(1, 1);
	t_check(epoll_wait(ep, &event, 1, T_HANG_S * 1000) == 1);
	t_check(epoll_wait(ep, &event, 1, 100) == 0);
	close(ep);
	/* poll() reports data written before the call at once, and a second poll()
	 * does not report the same data. */
	write_some(0, 1);
	t_check(poll(&p, 1, T_HANG_S * 1000) == 1);
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
	mod_load("/lib/modules/tsct-fuzz.ko", "");
	try_discard();
	try_overwrite();
	try_sleep();
	try_epoll();
	t_check(!mod_unload("tsct_fuzz"), "%m");
	return t_status();
}
