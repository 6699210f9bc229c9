// SPDX-License-Identifier: MIT
/*
 * Members of the netlink groups get each disruption and each change of the clock's
 * status once, immediately, and the ids of channels that are made and removed, also as
 * an unprivileged user, and nothing else about them.
 * guest-test: timeout=90 rt=yes
 */
#include "clock.h"
#include "netlink.h"

static int sock;

static void hear_clock(uint8_t cmd, uint32_t epoch, uint32_t cause, uint32_t status)
{
	struct nl_message m = { 0 };

	t_check(nl_receive(sock, &m, NL_WAIT_MS), "no message for epoch %u", epoch);
	t_check(m.header.nlmsg_type == nl_family && m.header.nlmsg_pid == 0);
	t_check(m.genl.cmd == cmd && m.genl.version == TSCT_GENL_VERSION, "%u",
		m.genl.cmd);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_EPOCH) == epoch, "%u, not %u",
		nl_u32(&m, TSCT_GENL_CLOCK_EPOCH), epoch);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_CAUSE) == cause, "%u, not %u",
		nl_u32(&m, TSCT_GENL_CLOCK_CAUSE), cause);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_SOURCE) == TSCT_SOURCE_TSC);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_STATUS) == status, "%u, not %u",
		nl_u32(&m, TSCT_GENL_CLOCK_STATUS), status);
	/* A clock without a time has no error bound. */
	t_check(!nl_find(&m, TSCT_GENL_CLOCK_ERROR_PS) ==
		(status == TSCT_STATUS_DISRUPTED), "status %u", status);
}

static void hear_nothing(void)
{
	struct nl_message m = { 0 };

	t_check(!nl_receive(sock, &m, 300), "unexpected message %u", m.genl.cmd);
}

static struct tsct_clock_set new_epoch(uint32_t epoch, uint32_t cause)
{
	struct tsct_clock_set set = clk_params(TSCT_SOURCE_TSC, epoch);

	set.state.cause = cause;
	return set;
}

static void try_clock(int fd, const struct tsct_clock_page *page)
{
	struct tsct_clock_set set = clk_params(TSCT_SOURCE_TSC, 3);

	t_check(!nl_join(sock, nl_group_clock), "%m");
	/* The first epoch is no disruption; new params are no news. */
	t_check(!clk_set(fd, &set), "%m");
	hear_clock(TSCT_GENL_CMD_CLOCK_STATUS, 3, TSCT_CAUSE_NONE,
		   TSCT_STATUS_SYNCHRONIZED);
	t_check(!clk_set(fd, &set), "%m");
	hear_nothing();
	/* Another status, and no news if it is published again */
	for (int i = 0; i < 2; i++) {
		set.state.status = TSCT_STATUS_CALIBRATING;
		t_check(!clk_set(fd, &set), "%m");
	}
	hear_clock(TSCT_GENL_CMD_CLOCK_STATUS, 3, TSCT_CAUSE_NONE,
		   TSCT_STATUS_CALIBRATING);
	hear_nothing();
	/* A state that is refused is no news. */
	set.state.status = TSCT_STATUS_NR;
	t_errno(clk_set(fd, &set), EINVAL);
	hear_nothing();
	/* Each new epoch is announced once: an epoch set by clk_set(), and epochs that
	 * the module begins at each change of CPU 1 to offline or online. */
	set = new_epoch(4, TSCT_CAUSE_STEP);
	t_check(!clk_set(fd, &set), "%m");
	hear_clock(TSCT_GENL_CMD_DISRUPTED, 4, TSCT_CAUSE_STEP,
		   TSCT_STATUS_SYNCHRONIZED);
	for (int i = 0; i < 3; i++) {
		dev_online(i & 1);
		hear_clock(TSCT_GENL_CMD_DISRUPTED, 5 + i, TSCT_CAUSE_HOTPLUG,
			   TSCT_STATUS_DISRUPTED);
		t_check(clk_state(page).epoch == 5U + i);
	}
	dev_online(true);
	hear_clock(TSCT_GENL_CMD_DISRUPTED, 8, TSCT_CAUSE_HOTPLUG,
		   TSCT_STATUS_DISRUPTED);
	set = new_epoch(8, TSCT_CAUSE_HOTPLUG);
	t_check(!clk_set(fd, &set), "%m");
	hear_clock(TSCT_GENL_CMD_CLOCK_STATUS, 8, TSCT_CAUSE_HOTPLUG,
		   TSCT_STATUS_SYNCHRONIZED);
	hear_nothing();
}

/* A listener that does not read does not block senders, and gets ENOBUFS. */
static void try_slow_listener(int fd, const struct tsct_clock_page *page)
{
	struct tsct_clock_set set;
	struct nl_message m;
	ssize_t len;

	for (int i = 0; i < 2000; i++) {
		set = new_epoch(9 + i, TSCT_CAUSE_FAKE);
		t_check(!clk_set(fd, &set), "%d: %m", i);
	}
	t_check(clk_state(page).epoch == 2008);
	do
		len = nl_receive_raw(sock, &m, sizeof(m), 1000);
	while (len > 0);
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

int main(void)
{
	int fd = dev_open();
	const struct tsct_clock_page *page = clk_map(fd);

	sock = nl_open();
	t_check(!nl_resolve(sock));
	try_clock(fd, page);
	try_slow_listener(fd, page);
	try_channels();
	try_listener_of_user();
	return t_status();
}
