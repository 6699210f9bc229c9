// SPDX-License-Identifier: MIT
/*
 * Members of the netlink group get each disruption once, immediately.
 * guest-test: timeout=60
 */
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include "clock.h"

#define SOL_NETLINK_	270

struct message {
	struct nlmsghdr header;
	struct genlmsghdr genl;
	char payload[4096];
};

static int sock;

/* Returns the attribute of @type among those in @bytes; NULL: there is none. */
static const struct nlattr *find(const void *bytes, size_t len, int type)
{
	const char *at = bytes, *end = at + len;

	while (at + NLA_HDRLEN <= end) {
		const struct nlattr *attr = (const void *)at;

		if (attr->nla_len < NLA_HDRLEN || at + attr->nla_len > end)
			break;
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return attr;
		at += NLA_ALIGN(attr->nla_len);
	}
	return NULL;
}

static const void *value(const struct nlattr *attr)
{
	return (const char *)attr + NLA_HDRLEN;
}

static size_t value_len(const struct nlattr *attr)
{
	return attr->nla_len - NLA_HDRLEN;
}

/* Receives a netlink message from the kernel. Returns the size of the payload in bytes;
 * 0: timeout */
static size_t receive(struct message *message, int timeout_ms)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	ssize_t len;

	if (poll(&p, 1, timeout_ms) <= 0)
		return 0;
	len = recv(sock, message, sizeof(*message), 0);
	t_check(len >= (ssize_t)(NLMSG_HDRLEN + GENL_HDRLEN), "%zd", len);
	return len < 0 ? 0 : (size_t)len - NLMSG_HDRLEN - GENL_HDRLEN;
}

/* Resolves the names of family and group to their numbers. */
static void resolve(uint16_t *family, uint32_t *group)
{
	struct message m = {
		.header = {
			.nlmsg_type = GENL_ID_CTRL,
			.nlmsg_flags = NLM_F_REQUEST,
		},
		.genl = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
	};
	struct nlattr *attr = (void *)m.payload;
	const struct nlattr *found, *one;
	size_t len;

	attr->nla_type = CTRL_ATTR_FAMILY_NAME;
	attr->nla_len = NLA_HDRLEN + sizeof(TSCT_GENL_NAME);
	memcpy(m.payload + NLA_HDRLEN, TSCT_GENL_NAME, sizeof(TSCT_GENL_NAME));
	m.header.nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN +
		NLA_ALIGN(attr->nla_len);
	t_check(send(sock, &m, m.header.nlmsg_len, 0) > 0, "%m");
	len = receive(&m, 20000);
	t_check(m.header.nlmsg_type == GENL_ID_CTRL, "no family");
	found = find(m.payload, len, CTRL_ATTR_FAMILY_ID);
	*family = found ? *(const uint16_t *)value(found) : 0;
	found = find(m.payload, len, CTRL_ATTR_MCAST_GROUPS);
	t_check(*family && found);
	/* the only multicast group of the module's generic netlink family */
	one = found ? value(found) : NULL;
	found = one ? find(value(one), value_len(one), CTRL_ATTR_MCAST_GRP_NAME)
		: NULL;
	t_check(found && !strcmp(value(found), TSCT_GENL_GROUP));
	found = one ? find(value(one), value_len(one), CTRL_ATTR_MCAST_GRP_ID)
		: NULL;
	*group = found ? *(const uint32_t *)value(found) : 0;
	t_check(*group != 0);
}

static uint32_t number(const struct message *m, size_t len, int type)
{
	const struct nlattr *attr = find(m->payload, len, type);

	t_check(attr && value_len(attr) == 4, "attribute %d", type);
	return attr ? *(const uint32_t *)value(attr) : ~0U;
}

static uint16_t family;

static void hear(uint32_t epoch, uint32_t cause)
{
	struct message m = { 0 };
	size_t len = receive(&m, 20000);

	t_check(len > 0, "no message for epoch %u", epoch);
	t_check(m.header.nlmsg_type == family && m.header.nlmsg_pid == 0);
	t_check(m.genl.cmd == TSCT_GENL_CMD_DISRUPTED &&
		m.genl.version == TSCT_GENL_VERSION);
	t_check(number(&m, len, TSCT_GENL_ATTR_EPOCH) == epoch, "%u, not %u",
		number(&m, len, TSCT_GENL_ATTR_EPOCH), epoch);
	t_check(number(&m, len, TSCT_GENL_ATTR_CAUSE) == cause, "%u, not %u",
		number(&m, len, TSCT_GENL_ATTR_CAUSE), cause);
	t_check(number(&m, len, TSCT_GENL_ATTR_SOURCE) == TSCT_SOURCE_TSC);
}

static void hear_nothing(void)
{
	struct message m;

	t_check(receive(&m, 300) == 0, "unexpected message");
}

static void set_online(bool on)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY);

	t_check(fd >= 0 && write(fd, on ? "1" : "0", 1) == 1, "%m");
	close(fd);
}

int main(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	int fd = dev_open(), i;
	const struct tsct_clock_page *page = clk_map(fd);
	struct tsct_clock_set set = clk_params(TSCT_SOURCE_TSC, 3);
	uint32_t group;

	sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	t_check(!bind(sock, (struct sockaddr *)&address, sizeof(address)), "%m");
	resolve(&family, &group);
	t_check(!setsockopt(sock, SOL_NETLINK_, NETLINK_ADD_MEMBERSHIP, &group,
			    sizeof(group)), "%m");
	/* Neither the first epoch nor new params are a disruption. */
	t_check(!clk_set(fd, &set), "%m");
	hear_nothing();
	t_check(!clk_set(fd, &set), "%m");
	hear_nothing();
	/* Each new epoch is announced once: an epoch set by clk_set(), and epochs that
	 * the module begins at each change of CPU 1 to offline or online. */
	set = clk_params(TSCT_SOURCE_TSC, 4);
	set.state.cause = TSCT_CAUSE_STEP;
	t_check(!clk_set(fd, &set), "%m");
	hear(4, TSCT_CAUSE_STEP);
	for (i = 0; i < 3; i++) {
		set_online(i & 1);
		hear(5 + i, TSCT_CAUSE_HOTPLUG);
		t_check(clk_state(page).epoch == 5U + i);
	}
	set_online(true);
	hear(8, TSCT_CAUSE_HOTPLUG);
	hear_nothing();
	/* A listener that does not read does not block senders. */
	for (i = 0; i < 2000; i++) {
		set = clk_params(TSCT_SOURCE_TSC, 9 + i);
		set.state.cause = TSCT_CAUSE_FAKE;
		t_check(!clk_set(fd, &set), "%d: %m", i);
	}
	t_check(clk_state(page).epoch == 2008);
	return t_status();
}
