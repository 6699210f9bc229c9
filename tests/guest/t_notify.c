// SPDX-License-Identifier: MIT
/*
 * Members of the netlink groups get each disruption of the clock once, immediately, and the
 * ids of channels that are made and removed or lose events of the kernel, also as an unprivileged
 * user, and nothing else about them.
 * guest-test: timeout=90 rt=yes
 */
#include "clock.h"
#include "modules.h"
#include "netlink.h"

static int sock;

static void hear_disruption(uint64_t count, uint32_t cause)
{
	struct nl_message m = { 0 };

	t_check(nl_receive(sock, &m, NL_WAIT_MS), "no message for %#llx",
		(unsigned long long)count);
	t_check(m.header.nlmsg_type == nl_family && m.header.nlmsg_pid == 0);
	t_check(m.genl.cmd == TSCT_GENL_CMD_DISRUPTED &&
		m.genl.version == TSCT_GENL_VERSION, "%u", m.genl.cmd);
	t_check(nl_u64(&m, TSCT_GENL_CLOCK_DISRUPTIONS) == count, "%#llx, not %#llx",
		(unsigned long long)nl_u64(&m, TSCT_GENL_CLOCK_DISRUPTIONS),
		(unsigned long long)count);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_CAUSE) == cause, "%u, not %u",
		nl_u32(&m, TSCT_GENL_CLOCK_CAUSE), cause);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_SOURCE) == TSCT_SOURCE_TSC);
}

static void hear_nothing(void)
{
	struct nl_message m = { 0 };

	t_check(!nl_receive(sock, &m, 300), "unexpected message %u", m.genl.cmd);
}

static void try_clock(const struct tsct_disruption_page *page)
{
	t_check(!nl_join(sock, nl_group_clock), "%m");
	hear_nothing();
	for (int i = 0; i < 3; i++) {
		clk_step(1);
		hear_disruption(clk_count(page), TSCT_CAUSE_STEP);
	}
	/* CPUs that go down and come up are no news. */
	dev_online(false);
	dev_online(true);
	hear_nothing();
}

/* A listener that does not read does not block senders, and gets ENOBUFS. Steps that follow
 * each other too fast share a message. */
static void try_slow_listener(void)
{
	const int size = 1;
	struct nl_message m;
	double end = t_now() + T_HANG_S;
	ssize_t len = 1;

	/* The kernel's smallest receive queue */
	t_check(!setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), "%m");
	while (len > 0 && t_now() < end) {
		for (int i = 0; i < 200; i++) {
			clk_step(1);
			usleep(500);
		}
		do
			len = nl_receive_raw(sock, &m, sizeof(m), 100);
		while (len > 0);
		if (len < 0 && errno == EAGAIN)
			len = 1;
	}
	t_check(len < 0 && errno == ENOBUFS, "%zd: %m", len);
}

static void hear_channel(int listener, uint8_t cmd, uint32_t id)
{
	struct nl_message m = { 0 };

	t_check(nl_receive(listener, &m, NL_WAIT_MS), "no message for %u", id);
	t_check(m.genl.cmd == cmd, "%u, not %u", m.genl.cmd, cmd);
	t_check(nl_u32(&m, TSCT_GENL_CHANNEL_ID) == id, "%u, not %u",
		nl_u32(&m, TSCT_GENL_CHANNEL_ID), id);
	t_check(nl_payload_len(&m) == NLA_HDRLEN + 4, "more than the id: %zu",
		nl_payload_len(&m));
}

static void join_as_user(void *arg)
{
	int listener = nl_open(), *report = arg;
	struct nl_message m = { 0 };
	uint32_t id = 0;

	t_check(!nl_join(listener, nl_group_channels), "%m");
	t_check(!nl_join(listener, nl_group_clock), "%m");
	t_check(write(report[1], "j", 1) == 1);
	t_check(nl_receive(listener, &m, NL_WAIT_MS));
	t_check(m.genl.cmd == TSCT_GENL_CMD_CHANNEL_MADE);
	t_check(nl_payload_len(&m) == NLA_HDRLEN + 4);
	id = nl_u32(&m, TSCT_GENL_CHANNEL_ID);
	hear_channel(listener, TSCT_GENL_CMD_CHANNEL_REMOVED, id);
}

/* While the user listens in another process, root makes and removes a channel. */
static void try_listener_of_user(void)
{
	pid_t pid;
	char byte;
	int report[2];

	t_check(!pipe(report));
	pid = t_fork();
	if (!pid) {
		dev_as_user(1000, join_as_user, report);
		exit(t_status());
	}
	t_check(read(report[0], &byte, 1) == 1);
	close(dev_new("secret"));
	t_check(!t_wait(pid));
	close(report[0]);
	close(report[1]);
}

static void try_channels(void)
{
	struct tsct_channel_create arg = dev_request("one"), kept = dev_request("kept");
	struct tsct_channel_remove remove = { 0 };
	int listener = nl_open(), fd;

	t_check(!nl_join(listener, nl_group_channels), "%m");
	fd = dev_create(&arg);
	hear_channel(listener, TSCT_GENL_CMD_CHANNEL_MADE, arg.id);
	close(fd);
	hear_channel(listener, TSCT_GENL_CMD_CHANNEL_REMOVED, arg.id);
	/* A kept channel that is in use is removed with its last holder. */
	kept.flags = TSCT_CHANNEL_KEEP;
	fd = dev_create(&kept);
	hear_channel(listener, TSCT_GENL_CMD_CHANNEL_MADE, kept.id);
	remove.id = kept.id;
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_REMOVE, &remove), "%m");
	t_check(!nl_receive(listener, &(struct nl_message) { 0 }, 300));
	close(fd);
	hear_channel(listener, TSCT_GENL_CMD_CHANNEL_REMOVED, kept.id);
	/* A request that fails makes no news. */
	arg.block_size = 1;
	fd = dev_open();
	t_errno(ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &arg), EINVAL);
	t_check(!nl_receive(listener, &(struct nl_message) { 0 }, 300));
	close(fd);
	close(listener);
}

/* A channel that loses events is news: at once, then once a second. */
static void try_losses(void)
{
	struct nl_message m = { 0 };
	int listener = nl_open(), fd;
	struct tsct_channel_info info;
	unsigned int nr = 1;
	double begin;

	mod_load("/lib/modules/tsct-fuzz.ko", "");
	fd = mod_channel(TSCT_POLICY_DISCARD);
	info = dev_next(fd, 0);
	t_check(!nl_join(listener, nl_group_channels), "%m");
	mod_emit(10);
	t_check(!nl_receive(listener, &m, 300), "news without a loss");
	begin = t_now();
	while (mod_fuzz(FZ_KERNEL_EMIT, 0, 3, 255))
		;
	t_check(errno == ENOSPC, "%m");
	hear_channel(listener, TSCT_GENL_CMD_CHANNEL_LOST, info.id);
	for (int i = 0; i < 100; i++) {
		mod_fuzz(FZ_KERNEL_EMIT, 0, 3, 255);
		usleep(20000);
		while (nl_receive(listener, &m, 0))
			nr++;
	}
	t_check(nr >= 2 && nr <= 1 + (unsigned int)(t_now() - begin), "%u in %.1f s", nr,
		t_now() - begin);
	close(fd);
	close(listener);
	t_check(!mod_unload("tsct_fuzz"), "%m");
}

int main(void)
{
	sock = nl_open();
	t_check(!nl_resolve(sock));
	try_clock(clk_map());
	try_slow_listener();
	try_channels();
	try_listener_of_user();
	try_losses();
	return t_status();
}
