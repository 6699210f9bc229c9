// SPDX-License-Identifier: MIT
/*
 * Messages to the module's generic netlink family: its requests with the attributes that
 * they take, and any numbers in place of command, types, sizes and values.
 */
#include "../netlink.h"
#include "fuzz.h"

/* Attributes of a request; 0: none */
static const struct {
	uint8_t id, cpu;
} attributes[] = {
	[TSCT_GENL_CMD_CHANNEL_GET] = { TSCT_GENL_CHANNEL_ID, 0 },
	[TSCT_GENL_CMD_CHANNEL_CPU_GET] = {
		TSCT_GENL_CHANNEL_CPU_ID, TSCT_GENL_CHANNEL_CPU_CPU,
	},
	[TSCT_GENL_CMD_CHECK_CPU_GET] = { 0, TSCT_GENL_CHECK_CPU_CPU },
	[TSCT_GENL_CMD_CHANNEL_REMOVED] = { 0, 0 },
};

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

/* Returns the result of send(). sel[0]: command; [1]: flags; [2]: leaves out the channel's
 * id, the CPU; [3]: id; [4]: CPU; [5]: number of further attributes; [6..11]: type, size
 * and value of each; [12]: damage */
long fz_netlink_send(int fd, const uint8_t *sel, const struct fz_context *c)
{
	const unsigned int cmd = sel[0] < 0xe0 ? TSCT_GENL_CMD_MODULE_GET + sel[0] % 6 : sel[0];
	static __thread struct nl_message m;
	unsigned int i, id = 0, cpu = 0;
	bool dump = sel[1] & 1;
	long ret;

	if (cmd <= TSCT_GENL_CMD_CHANNEL_REMOVED) {
		id = attributes[cmd].id;
		cpu = attributes[cmd].cpu;
	}
	nl_begin(&m, (uint8_t)cmd, (uint16_t)((dump ? NLM_F_DUMP : 0) |
					      (sel[1] & 2 ? NLM_F_ACK : 0)));
	/* Dumps are of all channels, or of all CPUs. */
	if (id && (!dump || cpu) != (sel[2] & 1))
		nl_add_u32(&m, (uint16_t)id, c->nr_ids && sel[3] < 0xe0 ?
			   c->ids[sel[3] % c->nr_ids] : sel[3]);
	if (cpu && !dump != (sel[2] >> 1 & 1))
		nl_add_u32(&m, (uint16_t)cpu, sel[4] < 0xe0 ? sel[4] % (c->nr_cpus + 1) :
			   sel[4] * 256u);
	for (i = 0; i < sel[5] % 3u; i++)
		add_any(&m, &sel[6 + i * 3]);
	if (sel[12] > 0xe0)
		((uint8_t *)&m)[sel[12] % 32] ^= sel[11];
	ret = send(fd, &m, sel[12] == 0xe0 ? m.header.nlmsg_len - 1 : m.header.nlmsg_len, 0);
	/* A dump continues at each recv(). One that was begun and not read is dropped. */
	for (i = 0; ret >= 0 && !(sel[1] & 8) && i < 20; i++)
		if (recv(fd, &m, sel[1] & 16 ? 64 : sizeof(m), MSG_DONTWAIT) <= 0)
			break;
	return ret;
}
