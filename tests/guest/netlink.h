/* SPDX-License-Identifier: MIT */
/* Helpers of the tests t_*.c that use the module's generic netlink family. */
#ifndef TSCT_TEST_NETLINK_H
#define TSCT_TEST_NETLINK_H

#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "device.h"

#define NL_SOL		270	/* SOL_NETLINK, which the libc's headers may lack */
#define NL_WAIT_MS	20000

/* A message, as sent or received. genl and payload are not valid in NLMSG_* messages. */
struct nl_message {
	struct nlmsghdr header;
	struct genlmsghdr genl;
	char payload[16384];
};

/* Numbers of the module's family and groups, set by nl_resolve() */
static uint16_t nl_family;
static uint32_t nl_group_clock, nl_group_channels;

/* ---- attributes --------------------------------------------------------- */

T_FN const void *nl_value(const struct nlattr *attr)
{
	return (const char *)attr + NLA_HDRLEN;
}

T_FN size_t nl_value_len(const struct nlattr *attr)
{
	return attr->nla_len - NLA_HDRLEN;
}

/* Returns the attribute of @type among those in @bytes; NULL: there is none. */
T_FN const struct nlattr *nl_find_in(const void *bytes, size_t len, int type)
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

T_FN size_t nl_payload_len(const struct nl_message *m)
{
	return m->header.nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN;
}

T_FN const struct nlattr *nl_find(const struct nl_message *m, int type)
{
	return nl_find_in(m->payload, nl_payload_len(m), type);
}

/* Returns a number of 4 or 8 bytes; another length, or none, fails the test. */
T_FN uint64_t nl_number_in(const struct nlattr *attr, size_t size)
{
	uint64_t value = 0;

	if (!t_check(attr && nl_value_len(attr) == size, "no number of %zu bytes",
		     size))
		return ~0ULL;
	memcpy(&value, nl_value(attr), size);
	return value;
}

#define nl_u32(m, type)	((uint32_t)nl_number_in(nl_find(m, type), 4))
#define nl_u64(m, type)	nl_number_in(nl_find(m, type), 8)

/* ---- sockets ------------------------------------------------------------ */

/* Opens a socket that gets errors without a copy of the request. */
T_FN int nl_open(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	int on = 1;

	if (sock < 0 || bind(sock, (struct sockaddr *)&address, sizeof(address)) ||
	    setsockopt(sock, NL_SOL, NETLINK_CAP_ACK, &on, sizeof(on)))
		t_die("netlink socket");
	return sock;
}

T_FN int nl_join(int sock, uint32_t group)
{
	return setsockopt(sock, NL_SOL, NETLINK_ADD_MEMBERSHIP, &group,
			  sizeof(group));
}

/* Receives one datagram. Returns its size in bytes; 0: timeout; -1: error */
T_FN ssize_t nl_receive_raw(int sock, void *buffer, size_t size, int timeout_ms)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };

	if (poll(&p, 1, timeout_ms) <= 0)
		return 0;
	return recv(sock, buffer, size, 0);
}

/* Receives a message that is alone in its datagram. Returns false after a timeout. */
T_FN bool nl_receive(int sock, struct nl_message *m, int timeout_ms)
{
	ssize_t len = nl_receive_raw(sock, m, sizeof(*m), timeout_ms);

	if (!len)
		return false;
	return t_check(len >= (ssize_t)(NLMSG_HDRLEN + GENL_HDRLEN) &&
		       (size_t)len >= m->header.nlmsg_len, "%zd bytes: %m", len);
}

/* ---- requests ----------------------------------------------------------- */

T_FN void nl_begin(struct nl_message *m, uint8_t cmd, uint16_t flags)
{
	static uint32_t sequence;

	*m = (struct nl_message) {
		.header = {
			.nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN,
			.nlmsg_type = nl_family,
			.nlmsg_flags = NLM_F_REQUEST | flags,
			.nlmsg_seq = ++sequence,
		},
		.genl = { .cmd = cmd, .version = TSCT_GENL_VERSION },
	};
}

T_FN void nl_add(struct nl_message *m, uint16_t type, const void *value, size_t len)
{
	char *at = (char *)m + NLMSG_ALIGN(m->header.nlmsg_len);
	struct nlattr *attr = (void *)at;

	attr->nla_type = type;
	attr->nla_len = (uint16_t)(NLA_HDRLEN + len);
	memcpy(at + NLA_HDRLEN, value, len);
	m->header.nlmsg_len = NLMSG_ALIGN(m->header.nlmsg_len) +
		NLA_ALIGN(attr->nla_len);
}

T_FN void nl_add_u32(struct nl_message *m, uint16_t type, uint32_t value)
{
	nl_add(m, type, &value, sizeof(value));
}

T_FN bool nl_send(int sock, const struct nl_message *m)
{
	return t_check(send(sock, m, m->header.nlmsg_len, 0) ==
		       (ssize_t)m->header.nlmsg_len, "%m");
}

/* Sends a request. Gets the reply in *m. Returns 0 or the errno in it. */
T_FN int nl_query(int sock, struct nl_message *m)
{
	uint32_t sequence = m->header.nlmsg_seq;
	int error;

	if (!nl_send(sock, m) || !nl_receive(sock, m, NL_WAIT_MS))
		return ETIMEDOUT;
	t_check(m->header.nlmsg_seq == sequence);
	if (m->header.nlmsg_type != NLMSG_ERROR)
		return t_check(m->header.nlmsg_type == nl_family) ? 0 : EBADMSG;
	memcpy(&error, (const char *)m + NLMSG_HDRLEN, sizeof(error));
	return -error;
}

/* ---- the family --------------------------------------------------------- */

static uint32_t nl_group(const struct nlattr *groups, const char *name)
{
	const char *at = nl_value(groups), *end = at + nl_value_len(groups);

	while (at + NLA_HDRLEN < end) {
		const struct nlattr *group = (const void *)at;
		const struct nlattr *found = nl_find_in(nl_value(group),
				nl_value_len(group), CTRL_ATTR_MCAST_GRP_NAME);

		if (found && !strcmp(nl_value(found), name))
			return (uint32_t)nl_number_in(nl_find_in(nl_value(group),
				nl_value_len(group), CTRL_ATTR_MCAST_GRP_ID), 4);
		at += NLA_ALIGN(group->nla_len);
	}
	return 0;
}

/* Finds the family and its groups. Returns 0 or an errno. */
T_FN int nl_resolve(int sock)
{
	struct nl_message m;
	const struct nlattr *attr;
	int error;

	nl_family = GENL_ID_CTRL;
	nl_begin(&m, CTRL_CMD_GETFAMILY, 0);
	nl_add(&m, CTRL_ATTR_FAMILY_NAME, TSCT_GENL_NAME, sizeof(TSCT_GENL_NAME));
	error = nl_query(sock, &m);
	if (error)
		return error;
	attr = nl_find(&m, CTRL_ATTR_FAMILY_ID);
	if (t_check(attr && nl_value_len(attr) == 2))
		nl_family = *(const uint16_t *)nl_value(attr);
	attr = nl_find(&m, CTRL_ATTR_MCAST_GROUPS);
	if (!t_check(attr))
		return EBADMSG;
	nl_group_clock = nl_group(attr, TSCT_GENL_GROUP_CLOCK);
	nl_group_channels = nl_group(attr, TSCT_GENL_GROUP_CHANNELS);
	t_check(nl_group_clock && nl_group_channels);
	return 0;
}

#endif
