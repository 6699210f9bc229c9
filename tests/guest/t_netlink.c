// SPDX-License-Identifier: MIT
/*
 * Queries over generic netlink: the same figures as by ioctl, the same rights, and
 * malformed requests, each rejected with a message that names what is wrong.
 * guest-test: timeout=60 smp=2
 */
#include <linux/capability.h>
#include <sys/syscall.h>

#include "../unit/seed.h"
#include "clock.h"
#include "netlink.h"

static int sock;	/* opened by root */

static struct nl_result query(struct nl_message *m, uint8_t cmd)
{
	nl_begin(m, cmd, 0);
	return nl_query(sock, m);
}

static struct nl_result query_id(int s, struct nl_message *m, uint32_t id)
{
	nl_begin(m, TSCT_GENL_CMD_CHANNEL_GET, 0);
	nl_add_u32(m, TSCT_GENL_CHANNEL_ID, id);
	return nl_query(s, m);
}

/* ---- figures ------------------------------------------------------------ */

static void try_module(int fd, bool sums)
{
	struct tsct_info info = dev_info(fd);
	struct nl_message m;

	t_check(!query(&m, TSCT_GENL_CMD_MODULE_GET).error);
	t_check(!strcmp(nl_string(&m, TSCT_GENL_MODULE_VERSION), info.version));
	t_check(nl_u32(&m, TSCT_GENL_MODULE_NR_CPUS) == info.nr_cpus);
	t_check(nl_u32(&m, TSCT_GENL_MODULE_SOURCE) == info.source);
	t_check(nl_u64(&m, TSCT_GENL_MODULE_FEATURES) == info.features);
	t_check(nl_u64(&m, TSCT_GENL_MODULE_BYTES_MAX) == info.bytes_max);
	t_check(nl_u64(&m, TSCT_GENL_MODULE_BYTES_USER_MAX) == info.bytes_user_max);
	if (!sums) {
		t_check(!nl_find(&m, TSCT_GENL_MODULE_CHANNELS));
		t_check(!nl_find(&m, TSCT_GENL_MODULE_BYTES));
		return;
	}
	t_check(nl_u64(&m, TSCT_GENL_MODULE_CHANNELS) == info.channels);
	t_check(nl_u64(&m, TSCT_GENL_MODULE_BYTES) == info.bytes && info.bytes);
}

static void check_channel(const struct nl_message *m,
			  const struct tsct_channel_info *info)
{
	t_check(nl_u32(m, TSCT_GENL_CHANNEL_ID) == info->id);
	t_check(nl_u32(m, TSCT_GENL_CHANNEL_UID) == info->uid);
	t_check(!strcmp(nl_string(m, TSCT_GENL_CHANNEL_NAME), info->name));
	t_check(nl_u32(m, TSCT_GENL_CHANNEL_POLICY) == info->policy);
	t_check(nl_u32(m, TSCT_GENL_CHANNEL_FLAGS) == info->flags);
	t_check(nl_u32(m, TSCT_GENL_CHANNEL_SOURCE) == info->source);
	t_check(nl_u32(m, TSCT_GENL_CHANNEL_BLOCK_SIZE) == info->block_size);
	t_check(nl_u32(m, TSCT_GENL_CHANNEL_BLOCKS) == info->blocks);
	t_check(nl_u32(m, TSCT_GENL_CHANNEL_NR_CPUS_READY) == info->nr_cpus_ready);
	t_check(nl_u32(m, TSCT_GENL_CHANNEL_HOLDERS) == info->holders);
	t_check(nl_u32(m, TSCT_GENL_CHANNEL_CONSUMERS) == info->consumers);
	t_check(nl_u64(m, TSCT_GENL_CHANNEL_BYTES) == info->bytes);
	t_check(nl_u64(m, TSCT_GENL_CHANNEL_EVENTS) == info->events);
	t_check(nl_u64(m, TSCT_GENL_CHANNEL_WRITTEN) == info->written);
	t_check(nl_u64(m, TSCT_GENL_CHANNEL_UNREAD) == info->unread);
	for (int i = 0; i < TSCT_LOST_NR; i++)
		t_check(nl_nested_u64(m, TSCT_GENL_CHANNEL_LOST,
				      i == TSCT_LOST_REFUSED ? TSCT_GENL_LOST_REFUSED :
				      TSCT_GENL_LOST_FULL + i) == info->lost[i]);
	t_check(nl_nested_u64(m, TSCT_GENL_CHANNEL_LOST, TSCT_GENL_LOST_NO_RING) ==
		info->lost_no_ring);
}

struct listing {
	int fd;			/* device, for the same figures by ioctl */
	uint32_t id, cpu;	/* last channel or CPU that was seen */
	unsigned int nr;
};

/* Each message of the dump is what TSCT_IOC_CHANNEL_NEXT returns, in its order. */
static void see_channel(const struct nl_message *m, void *arg)
{
	struct tsct_channel_info info = { 0 };
	struct listing *l = arg;

	info.id = l->id;
	if (!t_check(!ioctl(l->fd, TSCT_IOC_CHANNEL_NEXT, &info), "%m"))
		return;
	check_channel(m, &info);
	l->id = info.id;
	l->nr++;
}

static void see_channel_cpu(const struct nl_message *m, void *arg)
{
	struct listing *l = arg;
	struct tsct_channel_cpu cpu = { .id = l->id };

	cpu.cpu = nl_u32(m, TSCT_GENL_CHANNEL_CPU_CPU);
	t_check(cpu.cpu == l->nr, "CPU %u", cpu.cpu);
	t_check(!ioctl(l->fd, TSCT_IOC_CHANNEL_CPU, &cpu), "%m");
	t_check(nl_u32(m, TSCT_GENL_CHANNEL_CPU_ID) == cpu.id);
	t_check(nl_u32(m, TSCT_GENL_CHANNEL_CPU_STATE) == TSCT_CPU_READY);
	t_check(nl_u64(m, TSCT_GENL_CHANNEL_CPU_EVENTS) == cpu.events);
	t_check(nl_u64(m, TSCT_GENL_CHANNEL_CPU_WRITTEN) == cpu.written);
	t_check(nl_u64(m, TSCT_GENL_CHANNEL_CPU_UNREAD) == cpu.unread);
	t_check(nl_u64(m, TSCT_GENL_CHANNEL_CPU_OVERWRITTEN) == cpu.overwritten);
	for (int i = 0; i < TSCT_LOST_NR; i++)
		t_check(nl_nested_u64(m, TSCT_GENL_CHANNEL_CPU_LOST,
				      i == TSCT_LOST_REFUSED ? TSCT_GENL_LOST_REFUSED :
				      TSCT_GENL_LOST_FULL + i) == cpu.lost[i]);
	t_check(!nl_find_in(nl_value(nl_find(m, TSCT_GENL_CHANNEL_CPU_LOST)),
			    nl_value_len(nl_find(m, TSCT_GENL_CHANNEL_CPU_LOST)),
			    TSCT_GENL_LOST_NO_RING));
	l->nr++;
}

static struct nl_result dump_channels(int s, struct listing *l)
{
	struct nl_message m;

	nl_begin(&m, TSCT_GENL_CMD_CHANNEL_GET, NLM_F_DUMP);
	return nl_dump(s, &m, see_channel, l);
}

static struct nl_result dump_cpus(int s, struct listing *l)
{
	struct nl_message m;

	nl_begin(&m, TSCT_GENL_CMD_CHANNEL_CPU_GET, NLM_F_DUMP);
	nl_add_u32(&m, TSCT_GENL_CHANNEL_CPU_ID, l->id);
	return nl_dump(s, &m, see_channel_cpu, l);
}

/* A channel with unread events, and losses by two causes */
static int make_lossy(uint32_t *ret_id)
{
	struct tsct_channel_create arg = dev_request("lossy");
	static char big[8000];
	int fd = dev_create(&arg), i;

	for (i = 0; i < 200; i++)
		if (dev_write(fd, 16, big, 200))
			t_check(errno == ENOSPC, "%m");
	t_errno(dev_write(fd, 16, big, sizeof(big)), EMSGSIZE);
	*ret_id = arg.id;
	return fd;
}

static void try_channels(int fd)
{
	struct listing l = { .fd = fd };
	struct tsct_channel_info info = { 0 };
	struct nl_message m;
	uint32_t id;
	int lossy, other = dev_new("other");

	dev_pin(1);
	lossy = make_lossy(&id);
	t_check(!dump_channels(sock, &l).error);
	t_check(l.nr == 2, "%u channels", l.nr);
	info.id = id - 1;
	t_check(!ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &info), "%m");
	t_check(info.id == id && info.events && info.unread &&
		info.lost[TSCT_LOST_FULL] && info.lost[TSCT_LOST_TOO_BIG] == 1);
	t_check(!query_id(sock, &m, id).error);
	check_channel(&m, &info);
	l = (struct listing) { .fd = fd, .id = id };
	t_check(!dump_cpus(sock, &l).error);
	t_check(l.nr == 2, "%u CPUs", l.nr);
	nl_begin(&m, TSCT_GENL_CMD_CHANNEL_CPU_GET, 0);
	nl_add_u32(&m, TSCT_GENL_CHANNEL_CPU_ID, id);
	nl_add_u32(&m, TSCT_GENL_CHANNEL_CPU_CPU, 1);
	t_check(!nl_query(sock, &m).error);
	l = (struct listing) { .fd = fd, .id = id, .nr = 1 };
	see_channel_cpu(&m, &l);
	t_check(nl_u64(&m, TSCT_GENL_CHANNEL_CPU_EVENTS) == info.events);
	close(other);
	close(lossy);
}

static struct tsct_cpu_check table[64];

static void see_check_cpu(const struct nl_message *m, void *arg)
{
	struct listing *l = arg;
	const struct tsct_cpu_check *entry = &table[l->nr++ % 64];
	bool known = entry->flags & TSCT_CPU_SKEW_KNOWN;

	t_check(nl_u32(m, TSCT_GENL_CHECK_CPU_CPU) == entry->cpu);
	t_check(nl_u32(m, TSCT_GENL_CHECK_CPU_NODE) == entry->node);
	t_check(nl_u32(m, TSCT_GENL_CHECK_CPU_TSC_AUX) == entry->tsc_aux);
	t_check(nl_u32(m, TSCT_GENL_CHECK_CPU_FLAGS) == entry->flags);
	t_check(nl_u32(m, TSCT_GENL_CHECK_CPU_ROUNDS) == entry->rounds);
	t_check(!!nl_find(m, TSCT_GENL_CHECK_CPU_SKEW_MIN_CYCLES) == known);
	if (!known)
		return;
	t_check((int64_t)nl_u64(m, TSCT_GENL_CHECK_CPU_SKEW_MIN_CYCLES) ==
		entry->skew_min_cycles);
	t_check((int64_t)nl_u64(m, TSCT_GENL_CHECK_CPU_SKEW_MAX_CYCLES) ==
		entry->skew_max_cycles);
}

static void try_check(int fd)
{
	struct tsct_check check = { .table = (uintptr_t)table, .nr = 64 };
	struct listing l = { 0 };
	struct nl_message m;

	t_check(!ioctl(fd, TSCT_IOC_CHECK, &check), "%m");
	t_check(!query(&m, TSCT_GENL_CMD_CHECK_GET).error);
	t_check(nl_u32(&m, TSCT_GENL_CHECK_FLAGS) == check.flags);
	t_check(nl_u32(&m, TSCT_GENL_CHECK_SOURCE) == check.source);
	t_check(nl_u32(&m, TSCT_GENL_CHECK_TSC_KHZ) == check.tsc_khz);
	t_check(nl_u32(&m, TSCT_GENL_CHECK_NR_CPUS) == check.nr);
	t_check(nl_u64(&m, TSCT_GENL_CHECK_WHEN_CYCLES) == check.when_cycles);
	t_check(!strcmp(nl_string(&m, TSCT_GENL_CHECK_CLOCKSOURCE),
			check.clocksource));
	nl_begin(&m, TSCT_GENL_CMD_CHECK_CPU_GET, NLM_F_DUMP);
	t_check(!nl_dump(sock, &m, see_check_cpu, &l).error);
	t_check(l.nr == check.nr, "%u CPUs", l.nr);
	nl_begin(&m, TSCT_GENL_CMD_CHECK_CPU_GET, 0);
	nl_add_u32(&m, TSCT_GENL_CHECK_CPU_CPU, 1);
	t_check(!nl_query(sock, &m).error);
	l.nr = 1;
	see_check_cpu(&m, &l);
}

static void try_clock(int fd)
{
	struct tsct_clock_set set = clk_params(TSCT_SOURCE_TSC, 3);
	struct nl_message m;

	t_check(!query(&m, TSCT_GENL_CMD_CLOCK_GET).error);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_STATUS) == TSCT_STATUS_UNKNOWN);
	t_check(nl_u64(&m, TSCT_GENL_CLOCK_CYCLES));
	t_check(!nl_find(&m, TSCT_GENL_CLOCK_TIME_NS));
	t_check(!nl_find(&m, TSCT_GENL_CLOCK_ERROR_PS));
	t_check(!nl_find(&m, TSCT_GENL_CLOCK_RATE_MULT));
	t_check(!nl_find(&m, TSCT_GENL_CLOCK_UTC_ERROR_NS));

	set.state.rate_mult = ONE;
	set.state.rate_error_ppt = 77;
	set.state.cluster_status = TSCT_STATUS_SYNCHRONIZED;
	set.state.cluster = set.state.real;
	set.state.cluster.base_ns = 5 * SECOND;
	set.state.cluster_master = 0x123456789abcdefULL;
	set.state.cluster_epoch = 2;
	set.state.cluster_timeline = 9;
	set.state.utc_source = TSCT_UTC_KERNEL;
	set.state.utc_error_ns = 4000;
	set.state.utc_growth_ppb = 500;
	set.state.utc_as_of_cycles = set.state.real.base_cycles;
	t_check(!clk_set(fd, &set), "%m");
	t_check(!query(&m, TSCT_GENL_CMD_CLOCK_GET).error);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_EPOCH) == 3);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_CAUSE) == TSCT_CAUSE_NONE);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_SOURCE) == TSCT_SOURCE_TSC);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_STATUS) == TSCT_STATUS_SYNCHRONIZED);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_FLAGS) == 0);
	t_check(nl_u64(&m, TSCT_GENL_CLOCK_TIME_NS) == (uint64_t)
		tsct_clock_params_ns(&set.state.real,
				     nl_u64(&m, TSCT_GENL_CLOCK_CYCLES)));
	t_check(nl_u64(&m, TSCT_GENL_CLOCK_ERROR_PS) ==
		tsct_clock_params_error_ps(&set.state.real,
					   nl_u64(&m, TSCT_GENL_CLOCK_CYCLES)));
	t_check(nl_u64(&m, TSCT_GENL_CLOCK_RATE_MULT) == ONE);
	t_check(nl_u64(&m, TSCT_GENL_CLOCK_RATE_ERROR_PPT) == 77);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_CLUSTER_STATUS) ==
		TSCT_STATUS_SYNCHRONIZED);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_CLUSTER_EPOCH) == 2);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_CLUSTER_TIMELINE) == 9);
	t_check(nl_u64(&m, TSCT_GENL_CLOCK_CLUSTER_MASTER) == 0x123456789abcdefULL);
	t_check(nl_u64(&m, TSCT_GENL_CLOCK_CLUSTER_TIME_NS) >= 5U * SECOND);
	t_check(nl_u64(&m, TSCT_GENL_CLOCK_CLUSTER_ERROR_PS) >= 1000);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_UTC_SOURCE) == TSCT_UTC_KERNEL);
	t_check(nl_u64(&m, TSCT_GENL_CLOCK_UTC_ERROR_NS) == 4000);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_UTC_GROWTH_PPB) == 500);
	t_check(nl_u64(&m, TSCT_GENL_CLOCK_UTC_AS_OF_CYCLES) ==
		set.state.utc_as_of_cycles);

	/* Params that were not refreshed: holdover, then no time */
	set = clk_params(TSCT_SOURCE_TSC, 4);
	set.state.cause = TSCT_CAUSE_STEP;
	set.state.cluster_epoch = 3;
	set.state.real.holdover_after_cycles = set.state.real.as_of_cycles;
	t_check(!clk_set(fd, &set), "%m");
	t_check(!query(&m, TSCT_GENL_CMD_CLOCK_GET).error);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_STATUS) == TSCT_STATUS_HOLDOVER);
	t_check(nl_find(&m, TSCT_GENL_CLOCK_ERROR_PS));
	set.state.epoch = 5;
	set.state.real.void_after_cycles = set.state.real.as_of_cycles;
	t_check(!clk_set(fd, &set), "%m");
	t_check(!query(&m, TSCT_GENL_CMD_CLOCK_GET).error);
	t_check(nl_u32(&m, TSCT_GENL_CLOCK_STATUS) == TSCT_STATUS_HOLDOVER);
	t_check(!nl_find(&m, TSCT_GENL_CLOCK_ERROR_PS));
}

/* ---- rights ------------------------------------------------------------- */

static void check_invisible(int s, uint32_t id)
{
	struct nl_message m;
	struct nl_result result = query_id(s, &m, id);

	t_check(result.error == ENOENT, "%s", strerror(result.error));
	t_check(!strcmp(result.text, "id: no channel of this user has this id"), "%s",
		result.text);
	t_check(result.offset == NLMSG_HDRLEN + GENL_HDRLEN, "%u", result.offset);
	nl_begin(&m, TSCT_GENL_CMD_CHANNEL_CPU_GET, 0);
	nl_add_u32(&m, TSCT_GENL_CHANNEL_CPU_ID, id);
	nl_add_u32(&m, TSCT_GENL_CHANNEL_CPU_CPU, 0);
	t_check(nl_query(s, &m).error == ENOENT);
	nl_begin(&m, TSCT_GENL_CMD_CHANNEL_CPU_GET, NLM_F_DUMP);
	nl_add_u32(&m, TSCT_GENL_CHANNEL_CPU_ID, id);
	result = nl_dump(s, &m, NULL, NULL);
	t_check(result.error == ENOENT, "%s", strerror(result.error));
	t_check(!strcmp(result.text, "id: no channel of this user has this id"), "%s",
		result.text);
}

static void as_user(void *arg)
{
	uint32_t roots = *(uint32_t *)arg;
	struct tsct_channel_create own = dev_request("own");
	struct listing l = { .fd = dev_open() };
	struct nl_message m;
	int fd;

	close(sock);
	sock = nl_open();
	check_invisible(sock, roots);
	t_check(!dump_channels(sock, &l).error);
	t_check(l.nr == 0, "%u channels", l.nr);
	fd = dev_create(&own);
	check_invisible(sock, roots);
	t_check(!dump_channels(sock, &l).error);
	t_check(l.nr == 1 && l.id == own.id, "%u channels", l.nr);
	t_check(!query_id(sock, &m, own.id).error);
	t_check(!strcmp(nl_string(&m, TSCT_GENL_CHANNEL_NAME), "own"));
	l = (struct listing) { .fd = l.fd, .id = own.id };
	t_check(!dump_cpus(sock, &l).error);
	t_check(l.nr == 2);
	try_module(l.fd, false);
	try_check(l.fd);
	t_check(!query(&m, TSCT_GENL_CMD_CLOCK_GET).error);
	close(fd);
}

/* A socket that root opened shows root's channels, but not those of others. */
static void with_roots_socket(void *arg)
{
	const uint32_t *ids = arg;
	struct nl_message m;

	t_check(!query_id(sock, &m, ids[0]).error);
	check_invisible(sock, ids[1]);
}

static void capset_effective(uint32_t mask)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	t_check(!syscall(SYS_capget, &header, data), "%m");
	data[0].effective = mask & data[0].permitted;
	t_check(!syscall(SYS_capset, &header, data), "%m");
}

/*
 * Root writes a request to a socket that a user opened: what counts is the user. The
 * same with root's user id, but no capability.
 */
static void try_socket_of_user(uint32_t roots, uint32_t users)
{
	struct nl_message m;
	int s;

	t_check(!seteuid(1000), "%m");
	s = nl_open();
	t_check(!seteuid(0), "%m");
	check_invisible(s, roots);
	t_check(!query_id(s, &m, users).error);
	close(s);

	capset_effective(0);
	s = nl_open();
	capset_effective(~0U);
	check_invisible(s, users);
	t_check(!query_id(s, &m, roots).error);
	close(s);
}

static uint32_t users_channel(int *ret_fd)
{
	struct tsct_channel_create arg = dev_request("users");

	t_check(!seteuid(1000), "%m");
	*ret_fd = dev_create(&arg);
	t_check(!seteuid(0), "%m");
	return arg.id;
}

/* In another network namespace there is no such family. */
static void try_namespace(void)
{
	const uint16_t family = nl_family;
	struct nl_message m;
	int s;

	t_check(!unshare(CLONE_NEWNET), "%m");
	s = nl_open();
	t_check(nl_resolve(s) == ENOENT);
	nl_family = family;
	nl_begin(&m, TSCT_GENL_CMD_MODULE_GET, 0);
	t_check(nl_query(s, &m).error == ENOENT);
}

static void try_rights(void)
{
	struct tsct_channel_create arg = dev_request("roots");
	int fd = dev_create(&arg), other;
	uint32_t ids[2] = { arg.id, 0 };

	chmod(TSCT_DEVICE_PATH, 0666);
	dev_as_user(1000, as_user, &arg.id);
	ids[1] = users_channel(&other);
	dev_as_user(2000, with_roots_socket, ids);
	try_socket_of_user(ids[0], ids[1]);
	t_part(try_namespace);
	close(other);
	close(fd);
}

/* ---- malformed requests -------------------------------------------------- */

#define FIRST	(NLMSG_HDRLEN + GENL_HDRLEN)	/* offset of the first attribute */

#define ANY	~0U	/* 6.1 reports the offset for errors of the policy only */

/* Sends a request that must fail. @line: of this file, or of the table */
static void refuse(struct nl_message *m, int line, int error, const char *text,
		   uint32_t offset, uint32_t missing)
{
	struct nl_result result;

	if (m->header.nlmsg_flags & NLM_F_DUMP)
		result = nl_dump(sock, m, NULL, NULL);
	else
		result = nl_query(sock, m);
	t_check(result.error == error, "line %d: %s, not %s", line,
		strerror(result.error), strerror(error));
	t_check(strstr(result.text, text), "line %d: '%s', not '%s'", line,
		result.text, text);
	if (offset == ANY)
		return;
	t_check(result.offset == offset, "line %d: offset %u, not %u", line,
		result.offset, offset);
	t_check(result.missing == missing, "line %d: missing %u, not %u", line,
		result.missing, missing);
}

#define REFUSE(m, error, text, offset, missing) \
	refuse(m, __LINE__, error, text, offset, missing)

#define ID	0xfeedbeef	/* stands for the id of a channel */

static const struct bad {
	uint8_t cmd;
	uint16_t flags;
	struct { uint16_t type; uint32_t value; } attrs[2];
	int error;
	const char *text;
	uint32_t offset, missing;
} bad[] = {
#define GET(cmd)	TSCT_GENL_CMD_##cmd##_GET, 0
#define DUMP(cmd)	TSCT_GENL_CMD_##cmd##_GET, NLM_F_DUMP
#define ATTR(name, value)	{ TSCT_GENL_##name, value }
	{ GET(CHANNEL), { }, EINVAL, "id: attribute is missing", 0, TSCT_GENL_CHANNEL_ID },
	{ GET(CHANNEL_CPU), { ATTR(CHANNEL_CPU_CPU, 0) }, EINVAL, "id: attribute is missing", 0,
	  TSCT_GENL_CHANNEL_CPU_ID },
	{ GET(CHANNEL_CPU), { ATTR(CHANNEL_CPU_ID, 1) }, EINVAL, "cpu: attribute is missing", 0,
	  TSCT_GENL_CHANNEL_CPU_CPU },
	{ GET(CHECK_CPU), { }, EINVAL, "cpu: attribute is missing", 0, TSCT_GENL_CHECK_CPU_CPU },
	/* values */
	{ GET(CHANNEL), { ATTR(CHANNEL_ID, 0) }, ERANGE, "integer out of range", FIRST, 0 },
	{ GET(CHANNEL), { ATTR(CHANNEL_ID, ~0U) }, ENOENT, "id: no channel", FIRST, 0 },
	{ GET(CHANNEL_CPU), { ATTR(CHANNEL_CPU_ID, ID), ATTR(CHANNEL_CPU_CPU, 8191) }, EINVAL,
	  "cpu: no such CPU", FIRST + 8, 0 },
	{ GET(CHANNEL_CPU), { ATTR(CHANNEL_CPU_ID, ID), ATTR(CHANNEL_CPU_CPU, 8192) }, ERANGE,
	  "integer out of range", FIRST + 8, 0 },
	{ GET(CHECK_CPU), { ATTR(CHECK_CPU_CPU, 8191) }, EINVAL, "cpu: no such CPU", FIRST, 0 },
	{ GET(CHECK_CPU), { ATTR(CHECK_CPU_CPU, ~0U) }, ERANGE, "integer out of range", FIRST, 0 },
	/* Attributes of the reply are none of the request. */
	{ GET(CHANNEL), { ATTR(CHANNEL_ID, ID), ATTR(CHANNEL_UID, 0) }, EINVAL,
	  "Unknown attribute type", FIRST + 8, 0 },
	{ DUMP(CHANNEL), { { 999, 0 } }, EINVAL, "Unknown attribute type", FIRST, 0 },
	{ GET(CHANNEL), { ATTR(CHANNEL_ID | NLA_F_NESTED, ID) }, EINVAL,
	  "NLA_F_NESTED not expected", FIRST, 0 },
	/* dumps */
	{ DUMP(CHANNEL), { ATTR(CHANNEL_ID, ID) }, EINVAL, "id: not an attribute of a dump", ANY,
	  0 },
	{ DUMP(CHANNEL_CPU), { }, EINVAL, "id: attribute is missing", ANY, 0 },
	{ DUMP(CHANNEL_CPU), { ATTR(CHANNEL_CPU_ID, ID), ATTR(CHANNEL_CPU_CPU, 0) }, EINVAL,
	  "cpu: not an attribute of a dump", ANY, 0 },
	{ DUMP(CHECK_CPU), { ATTR(CHECK_CPU_CPU, 0) }, EINVAL, "cpu: not an attribute of a dump",
	  ANY, 0 },
	{ DUMP(CHANNEL_CPU), { ATTR(CHANNEL_CPU_ID, 0) }, ERANGE, "integer out of range", FIRST,
	  0 },
};

static void try_bad(uint32_t id)
{
	struct nl_message m;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct bad *b = &bad[i];

		nl_begin(&m, b->cmd, b->flags);
		for (size_t j = 0; j < 2 && b->attrs[j].type; j++)
			nl_add_u32(&m, b->attrs[j].type,
				   b->attrs[j].value == ID ? id : b->attrs[j].value);
		refuse(&m, (int)i, b->error, b->text, b->offset, b->missing);
	}
}

static void try_lengths(uint32_t id)
{
	uint64_t wide = id;
	struct nl_message m;

	for (size_t len = 0; len <= 8; len++) {
		if (len == 4)
			continue;
		nl_begin(&m, TSCT_GENL_CMD_CHANNEL_GET, 0);
		nl_add(&m, TSCT_GENL_CHANNEL_ID, &wide, len);
		REFUSE(&m, EINVAL, "attribute length", FIRST, 0);
	}
	/* An attribute that is longer than the message, and bytes that are none */
	nl_begin(&m, TSCT_GENL_CMD_CHANNEL_GET, 0);
	nl_add_u32(&m, TSCT_GENL_CHANNEL_ID, id);
	((struct nlattr *)m.payload)->nla_len = 60000;
	REFUSE(&m, EINVAL, "bytes leftover", 0, 0);
	for (size_t len = 1; len < 4; len++) {
		nl_begin(&m, TSCT_GENL_CMD_CHANNEL_GET, 0);
		nl_add_u32(&m, TSCT_GENL_CHANNEL_ID, id);
		m.header.nlmsg_len += len;
		REFUSE(&m, EINVAL, "bytes leftover", 0, 0);
	}
	/* A message without the header of generic netlink */
	nl_begin(&m, TSCT_GENL_CMD_CHANNEL_GET, 0);
	m.header.nlmsg_len = NLMSG_HDRLEN;
	REFUSE(&m, EINVAL, "", 0, 0);
}

static void try_unknown(uint32_t id)
{
	static const uint8_t commands[] = {
		0, TSCT_GENL_CMD_DISRUPTED, TSCT_GENL_CMD_CLOCK_STATUS,
		TSCT_GENL_CMD_CHANNEL_MADE, TSCT_GENL_CMD_CHANNEL_REMOVED, 11, 255,
	};
	static const uint8_t without_attributes[] = {
		TSCT_GENL_CMD_MODULE_GET, TSCT_GENL_CMD_CHECK_GET,
		TSCT_GENL_CMD_CLOCK_GET,
	};
	struct nl_message m;

	for (size_t i = 0; i < sizeof(commands); i++) {
		nl_begin(&m, commands[i], 0);
		REFUSE(&m, EOPNOTSUPP, "", 0, 0);
		nl_begin(&m, commands[i], NLM_F_DUMP);
		REFUSE(&m, EOPNOTSUPP, "", 0, 0);
	}
	for (size_t i = 0; i < sizeof(without_attributes); i++) {
		nl_begin(&m, without_attributes[i], NLM_F_DUMP);
		REFUSE(&m, EOPNOTSUPP, "", 0, 0);
		nl_begin(&m, without_attributes[i], 0);
		nl_add_u32(&m, 1, 1);
		REFUSE(&m, EINVAL, "", FIRST, 0);
	}
	nl_begin(&m, TSCT_GENL_CMD_CHANNEL_GET, 0);
	nl_add_u32(&m, 0, id);
	REFUSE(&m, EINVAL, "Unknown attribute type", FIRST, 0);
}

/* Reserved fields and flags of the headers */
static void try_headers(uint32_t id)
{
	struct nl_message m;

	nl_begin(&m, TSCT_GENL_CMD_MODULE_GET, 0);
	m.genl.reserved = 1;
	REFUSE(&m, EINVAL, "genlmsghdr.reserved", 0, 0);
	nl_begin(&m, TSCT_GENL_CMD_MODULE_GET, NLM_F_EXCL);
	REFUSE(&m, EINVAL, "nlmsg_flags", 0, 0);
	nl_begin(&m, TSCT_GENL_CMD_CHANNEL_GET, NLM_F_ROOT);
	nl_add_u32(&m, TSCT_GENL_CHANNEL_ID, id);
	REFUSE(&m, EINVAL, "nlmsg_flags", 0, 0);
}

static void try_dumps(void)
{
	struct nl_message m;

	nl_begin(&m, TSCT_GENL_CMD_CHECK_CPU_GET, NLM_F_DUMP);
	nl_add(&m, TSCT_GENL_CHECK_CPU_CPU, "x", 1);
	REFUSE(&m, EINVAL, "attribute length", FIRST, 0);
	nl_begin(&m, TSCT_GENL_CMD_CHANNEL_GET, NLM_F_DUMP);
	m.header.nlmsg_len += 2;
	REFUSE(&m, EINVAL, "bytes leftover", 0, 0);
	/* After all these errors, a dump works. */
	nl_begin(&m, TSCT_GENL_CMD_CHANNEL_GET, NLM_F_DUMP);
	t_check(!nl_dump(sock, &m, NULL, NULL).error);
}

/* Requests of random bytes: each gets an answer or an error, and nothing else. */
static void try_random(void)
{
	unsigned int state, round, i, len;
	struct nl_message m;

	print_seed();
	state = first_seed;
	for (round = 0; round < 3000; round++) {
		nl_begin(&m, (uint8_t)(rand_r(&state) % 12),
			 rand_r(&state) % 3 ? NLM_F_ACK : NLM_F_DUMP);
		len = (unsigned int)rand_r(&state) % 64;
		for (i = 0; i < len; i++)
			m.payload[i] = (char)(rand_r(&state) % 4 ?
					      rand_r(&state) % 9 : rand_r(&state));
		m.header.nlmsg_len += len;
		if (m.header.nlmsg_flags & NLM_F_ROOT) {
			nl_dump(sock, &m, NULL, NULL);
			continue;
		}
		if (nl_query(sock, &m).error || m.header.nlmsg_type != nl_family)
			continue;
		/* The acknowledgement follows the reply. */
		t_check(nl_receive_raw(sock, &m, sizeof(m), NL_WAIT_MS) > 0);
		t_check(m.header.nlmsg_type == NLMSG_ERROR);
	}
}

static void try_malformed(void)
{
	struct tsct_channel_create arg = dev_request("malformed");
	int fd = dev_create(&arg);

	try_bad(arg.id);
	try_lengths(arg.id);
	try_unknown(arg.id);
	try_headers(arg.id);
	try_dumps();
	try_random();
	close(fd);
}

int main(void)
{
	int fd = dev_open(), channel = dev_new("first");

	sock = nl_open();
	t_check(!nl_resolve(sock));
	try_module(fd, true);
	close(channel);
	try_channels(fd);
	try_check(fd);
	try_clock(fd);
	try_rights();
	try_malformed();
	return t_status();
}
