// SPDX-License-Identifier: MIT
/*
 * Messages to the module's generic netlink family, which answers none, and its news: any numbers
 * as command, types, sizes and values.
 */
#include "../netlink.h"
#include "fuzz.h"

/* Finds the module's family, which has another number after each load. */
bool fz_netlink_resolve(void)
{
	int fd = nl_open();
	bool ok = !nl_resolve(fd);

	close(fd);
	return ok;
}

/* Opens a socket that gets the module's news. */
int fz_netlink_socket(void)
{
	struct timeval tenth = { .tv_usec = 100000 };
	int fd = nl_open();

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tenth, sizeof(tenth));
	nl_join(fd, nl_group_clock);
	nl_join(fd, nl_group_channels);
	return fd;
}

static void add_any(struct nl_message *m, const uint8_t *sel)
{
	static const uint8_t sizes[] = { 4, 4, 8, 0, 1, 2, 32, 255 };
	char data[256] = "";

	data[0] = (char)sel[2];
	if (sel[1] & 0x80)
		memset(data, sel[2], sizeof(data));
	nl_add(m, (uint16_t)(sel[0] < 0xe0 ? sel[0] % 24 : sel[0] << 8 | sel[0]), data,
	       sizes[sel[1] % 8]);
}

/* Returns the result of send(). sel[0]: command; [1]: flags; [2]: number of attributes; [3..11]:
 * type, size and value of each; [12]: damage */
long fz_netlink_send(int fd, const uint8_t *sel)
{
	static __thread struct nl_message m;
	long ret;

	nl_begin(&m, sel[0], (uint16_t)((sel[1] & 1 ? NLM_F_DUMP : 0) |
					(sel[1] & 2 ? NLM_F_ACK : 0)));
	for (unsigned int i = 0; i < sel[2] % 4u; i++)
		add_any(&m, &sel[3 + i * 3]);
	if (sel[12] > 0xe0)
		((uint8_t *)&m)[sel[12] % 32] ^= sel[11];
	ret = send(fd, &m, sel[12] == 0xe0 ? m.header.nlmsg_len - 1 : m.header.nlmsg_len, 0);
	/* Receives the error and the news. */
	for (unsigned int i = 0; ret >= 0 && !(sel[1] & 8) && i < 20; i++)
		if (recv(fd, &m, sel[1] & 16 ? 64 : sizeof(m), MSG_DONTWAIT) <= 0)
			break;
	return ret;
}
