// SPDX-License-Identifier: MIT
/*
 * Messages to the module's generic netlink family. Commands and attributes are made from
 * numbers: the fuzzer has no list of them.
 */
#include <linux/genetlink.h>
#include <sys/socket.h>

#include "fuzz.h"

#define MESSAGE_MAX	1024

struct message {
	struct nlmsghdr head;
	struct genlmsghdr genl;
	char attributes[MESSAGE_MAX];
};

uint16_t fz_family;

int fz_netlink_socket(void)
{
	struct timeval tenth = { .tv_usec = 100000 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tenth, sizeof(tenth));
	return fd;
}

static void add_attribute(struct message *m, unsigned int type, const void *data,
			  size_t size)
{
	struct nlattr *attr = (void *)((char *)m + m->head.nlmsg_len);

	if (m->head.nlmsg_len + NLA_HDRLEN + NLA_ALIGN(size) > sizeof(*m))
		return;
	attr->nla_len = (uint16_t)(NLA_HDRLEN + size);
	attr->nla_type = (uint16_t)type;
	memcpy((char *)attr + NLA_HDRLEN, data, size);
	m->head.nlmsg_len += (uint32_t)(NLA_HDRLEN + NLA_ALIGN(size));
}

static struct message message(unsigned int family, unsigned int command)
{
	return (struct message) {
		.head = {
			.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN),
			.nlmsg_type = (uint16_t)family,
			.nlmsg_flags = NLM_F_REQUEST,
		},
		.genl = { .cmd = (uint8_t)command, .version = 1 },
	};
}

/* Returns the number of the module's family; 0: there is none. */
uint16_t fz_netlink_family(void)
{
	struct message m = message(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	int fd = fz_netlink_socket();
	uint16_t family = 0;
	ssize_t len, at = NLMSG_LENGTH(GENL_HDRLEN);
	struct nlattr *attr;

	add_attribute(&m, CTRL_ATTR_FAMILY_NAME, TSCT_GENL_NAME, sizeof(TSCT_GENL_NAME));
	len = send(fd, &m, m.head.nlmsg_len, 0) < 0 ? 0 : recv(fd, &m, sizeof(m), 0);
	while (at + NLA_HDRLEN <= len && m.head.nlmsg_type == GENL_ID_CTRL) {
		attr = (void *)((char *)&m + at);
		if (attr->nla_type == CTRL_ATTR_FAMILY_ID)
			memcpy(&family, (char *)attr + NLA_HDRLEN, sizeof(family));
		if (attr->nla_len < NLA_HDRLEN)
			break;
		at += NLA_ALIGN(attr->nla_len);
	}
	close(fd);
	return family;
}

/* Returns the result of send(). sel[0]: command; [1]: flags; [2]: number of attributes;
 * [3..]: type, size and value of each; [12]: damage */
long fz_netlink_send(int fd, const uint8_t *sel)
{
	static const uint8_t sizes[] = { 4, 4, 8, 0, 1, 2, 32, 255 };
	struct message m = message(fz_family, sel[0] < 0xc0 ? sel[0] % 12 : sel[0]);
	unsigned int i, group = sel[1] / 16u + 1;
	char data[256];
	long ret;

	if (sel[1] & 1)
		m.head.nlmsg_flags |= NLM_F_DUMP;
	if (sel[1] & 2)
		m.head.nlmsg_flags |= NLM_F_ACK;
	if (sel[1] & 4)
		setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group));
	for (i = 0; i < sel[2] % 4u; i++) {
		const uint8_t *s = &sel[3 + i * 3];

		memset(data, 0, sizeof(data));
		data[0] = (char)s[2];
		if (s[1] & 0x80)
			memset(data, s[2], sizeof(data));
		add_attribute(&m, s[0] < 0xe0 ? s[0] % 24 : s[0] << 8 | s[0], data,
			      sizes[s[1] % 8]);
	}
	if (sel[12] > 0xe0)
		((uint8_t *)&m)[sel[12] % 32] ^= sel[11];
	ret = send(fd, &m, sel[12] == 0xe0 ? m.head.nlmsg_len - 1 : m.head.nlmsg_len, 0);
	for (i = 0; ret >= 0 && i < 20 && recv(fd, &m, sizeof(m), MSG_DONTWAIT) > 0; i++)
		;
	return ret;
}
