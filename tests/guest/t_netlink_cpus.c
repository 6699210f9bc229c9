// SPDX-License-Identifier: MIT
/*
 * Dumps of CPUs over generic netlink that need more than one part: of a channel, also if
 * it is removed meanwhile, and of the CPU check, also if CPUs are checked meanwhile.
 * guest-test: timeout=60 smp=64
 */
#include "netlink.h"

#define CPUS	64

struct listing {
	int type;		/* attribute with the CPU's number */
	unsigned int nr;	/* number of CPUs; they come in order, without a gap */
};

static void see_cpu(const struct nl_message *m, void *arg)
{
	struct listing *l = arg;

	t_check(nl_u32(m, l->type) == l->nr, "%u, not %u", nl_u32(m, l->type), l->nr);
	l->nr++;
}

/* Begins a dump on a new socket. The kernel makes the first part at once, the next one
 * when a part is received. */
static int open_dump(uint8_t cmd, uint32_t id)
{
	int sock = nl_open();
	struct nl_message m;

	nl_begin(&m, cmd, NLM_F_DUMP);
	if (id)
		nl_add_u32(&m, TSCT_GENL_CHANNEL_CPU_ID, id);
	nl_send(sock, &m);
	return sock;
}

static unsigned int finish(int sock, int type, bool *interrupted)
{
	struct listing l = { .type = type };
	struct nl_result result;

	*interrupted = false;
	result = nl_dump_rest(sock, see_cpu, &l, interrupted);
	t_check(!result.error, "%s: %s", strerror(result.error), result.text);
	close(sock);
	return l.nr;
}

static void try_channel(void)
{
	struct tsct_channel_create arg = dev_request("wide");
	int fd = dev_create(&arg), sock;
	bool interrupted;
	unsigned int nr;

	sock = open_dump(TSCT_GENL_CMD_CHANNEL_CPU_GET, arg.id);
	nr = finish(sock, TSCT_GENL_CHANNEL_CPU_CPU, &interrupted);
	t_check(nr == CPUS && !interrupted, "%u", nr);
	sock = open_dump(TSCT_GENL_CMD_CHANNEL_CPU_GET, arg.id);
	close(fd);
	nr = finish(sock, TSCT_GENL_CHANNEL_CPU_CPU, &interrupted);
	t_check(nr > 0 && nr < CPUS && interrupted, "%u", nr);
}

static void try_check(void)
{
	struct tsct_check check = { 0 };
	int fd = dev_open(), sock;
	bool interrupted;
	unsigned int nr;

	sock = open_dump(TSCT_GENL_CMD_CHECK_CPU_GET, 0);
	nr = finish(sock, TSCT_GENL_CHECK_CPU_CPU, &interrupted);
	t_check(nr == dev_info(fd).nr_cpus && !interrupted, "%u", nr);
	sock = open_dump(TSCT_GENL_CMD_CHECK_CPU_GET, 0);
	t_check(!ioctl(fd, TSCT_IOC_CHECK_RUN, &check), "%m");
	nr = finish(sock, TSCT_GENL_CHECK_CPU_CPU, &interrupted);
	t_check(nr == check.nr && interrupted, "%u", nr);
	close(fd);
}

int main(void)
{
	unsigned int nr = dev_info(dev_open()).nr_cpus;
	int sock = nl_open();

	if (nr < CPUS)
		t_skip("this kernel supports %u CPUs: a dump has one part", nr);
	t_check(!nl_resolve(sock));
	close(sock);
	try_channel();
	try_check();
	return t_status();
}
