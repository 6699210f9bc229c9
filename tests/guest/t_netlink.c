// SPDX-License-Identifier: MIT
/*
 * The generic netlink family has news only: it answers no request, whatever is in it, and
 * does not exist in other network namespaces.
 * guest-test: timeout=60 smp=2
 */
#include "../unit/seed.h"
#include "netlink.h"

static int sock;

static void try_requests(void)
{
	struct nl_message m;

	for (unsigned int cmd = 0; cmd < 256; cmd++) {
		nl_begin(&m, (uint8_t)cmd, cmd & 1 ? NLM_F_DUMP : 0);
		nl_add_u32(&m, TSCT_GENL_CHANNEL_ID, 1);
		t_check(nl_query(sock, &m) == EOPNOTSUPP, "command %u", cmd);
	}
}

/* Requests of random bytes: each gets an error, and nothing else. */
static void try_random(void)
{
	unsigned int state, i, len;
	struct nl_message m;

	print_seed();
	state = first_seed;
	for (unsigned int round = 0; round < 3000; round++) {
		nl_begin(&m, (uint8_t)rand_r(&state),
			 rand_r(&state) % 3 ? NLM_F_ACK : NLM_F_DUMP);
		len = (unsigned int)rand_r(&state) % 64;
		for (i = 0; i < len; i++)
			m.payload[i] = (char)rand_r(&state);
		m.header.nlmsg_len += len;
		t_check(nl_query(sock, &m), "round %u", round);
	}
}

static void try_namespace(void)
{
	const uint16_t family = nl_family;
	struct nl_message m;
	int s;

	t_check(!unshare(CLONE_NEWNET), "%m");
	s = nl_open();
	t_check(nl_resolve(s) == ENOENT);
	nl_family = family;
	nl_begin(&m, TSCT_GENL_CMD_DISRUPTED, 0);
	t_check(nl_query(s, &m) == ENOENT);
}

int main(void)
{
	sock = nl_open();
	t_check(!nl_resolve(sock));
	try_requests();
	try_random();
	t_part(try_namespace);
	return t_status();
}
