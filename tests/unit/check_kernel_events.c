/* SPDX-License-Identifier: MIT */
/* Handling of generic netlink messages that the kernel or another process might send.
 * Messages of the real module are tested in the guests. */
#include "daemon/clock/kernel_events.c"
#include "logged.h"

#define FAMILY	77
#define GROUP	5

static struct kernel_events kernel;

static void setup(void)
{
	kernel = (struct kernel_events) { .sock = nl_socket_alloc() };
	ck_assert_ptr_nonnull(kernel.sock);
	ck_assert_int_eq(genl_connect(kernel.sock), 0);
}

static void teardown(void)
{
	kernel_events_close(&kernel);
}

static struct nl_msg *message(int type, int cmd)
{
	struct nl_msg *msg = nlmsg_alloc();

	ck_assert_ptr_nonnull(msg);
	ck_assert_ptr_nonnull(genlmsg_put(msg, 0, 0, type, 0, 0, (uint8_t)cmd,
					  1));
	return msg;
}

/* Delivers a netlink message, from the kernel if @port is 0, else from a process. Returns
 * whether it was news. */
static bool arrive(struct nl_msg *msg, __u32 port)
{
	struct sockaddr_nl from = { .nl_family = AF_NETLINK, .nl_pid = port };

	nlmsg_set_src(msg, &from);
	kernel.news = false;
	kernel_events_take(&kernel, msg);
	nlmsg_free(msg);
	return kernel.news;
}

static struct nl_msg *family_message(int cmd, const char *name,
				     const char *group_name)
{
	struct nl_msg *msg = message(GENL_ID_CTRL, cmd);
	struct nlattr *groups, *group;

	nla_put_string(msg, CTRL_ATTR_FAMILY_NAME, name);
	nla_put_u16(msg, CTRL_ATTR_FAMILY_ID, FAMILY);
	if (!group_name)
		return msg;
	groups = nla_nest_start(msg, CTRL_ATTR_MCAST_GROUPS);
	group = nla_nest_start(msg, 1);
	nla_put_string(msg, CTRL_ATTR_MCAST_GRP_NAME, "other");
	nla_put_u32(msg, CTRL_ATTR_MCAST_GRP_ID, GROUP + 1);
	nla_nest_end(msg, group);
	group = nla_nest_start(msg, 2);
	nla_put_string(msg, CTRL_ATTR_MCAST_GRP_NAME, group_name);
	nla_put_u32(msg, CTRL_ATTR_MCAST_GRP_ID, GROUP);
	nla_nest_end(msg, group);
	nla_nest_end(msg, groups);
	return msg;
}

CASE("kernel_events", setup, teardown);

TEST(test_module_loads_and_unloads)
{
	ck_assert(arrive(family_message(CTRL_CMD_NEWFAMILY, TSCT_GENL_NAME,
					TSCT_GENL_GROUP_CLOCK), 0));
	ck_assert_int_eq(kernel.family, FAMILY);
	ck_assert(arrive(family_message(CTRL_CMD_DELFAMILY, TSCT_GENL_NAME, NULL), 0));
	ck_assert_int_eq(kernel.family, 0);
}

TEST(test_ignores_other_families)
{
	const int new = CTRL_CMD_NEWFAMILY;

	ck_assert(!arrive(family_message(new, "nl80211", TSCT_GENL_GROUP_CLOCK), 0));
	ck_assert(!arrive(family_message(new, TSCT_GENL_NAME, "news"), 0));
	ck_assert(!arrive(family_message(new, TSCT_GENL_NAME, NULL), 0));
	/* A message that comes from another process is ignored. */
	ck_assert(!arrive(family_message(new, TSCT_GENL_NAME, TSCT_GENL_GROUP_CLOCK), 1234));
	ck_assert_int_eq(kernel.family, 0);
}

static struct nl_msg *event(int type)
{
	struct nl_msg *msg = message(type, TSCT_GENL_CMD_DISRUPTED);

	nla_put_u64(msg, TSCT_GENL_CLOCK_DISRUPTIONS, 7);
	nla_put_u32(msg, TSCT_GENL_CLOCK_CAUSE, TSCT_CAUSE_HOTPLUG);
	nla_put_u32(msg, TSCT_GENL_CLOCK_SOURCE, TSCT_SOURCE_TSC);
	return msg;
}

TEST(test_disruption)
{
	struct nl_msg *msg;

	ck_assert(!arrive(event(FAMILY), 0));	/* the family is not known yet */
	kernel.family = FAMILY;
	ck_assert(arrive(event(FAMILY), 0));
	ck_assert(!arrive(event(FAMILY + 1), 0));
	ck_assert(!arrive(event(FAMILY), 1234));
	/* Messages with an unknown command or missing attributes are ignored. */
	ck_assert(!arrive(message(FAMILY, TSCT_GENL_CMD_DISRUPTED + 1), 0));
	ck_assert(!arrive(message(FAMILY, TSCT_GENL_CMD_DISRUPTED), 0));
	msg = message(FAMILY, TSCT_GENL_CMD_DISRUPTED);
	nla_put_u16(msg, TSCT_GENL_CLOCK_CAUSE, 1);
	ck_assert(!arrive(msg, 0));
	msg = message(FAMILY, TSCT_GENL_CMD_DISRUPTED);
	nla_put_u32(msg, TSCT_GENL_CLOCK_CAUSE, 4000000000U);
	nla_put_u64(msg, 99, 1);
	ck_assert(arrive(msg, 0));
}

/* Opening the socket on this kernel, which has generic netlink but not the module */
TEST(test_open_socket)
{
	struct kernel_events here;

	ck_assert_int_eq(kernel_events_open(&here), 0);
	ck_assert_int_ge(kernel_events_fd(&here), 0);
	for (int i = 0; i < 10; i++)
		ck_assert(!kernel_events_read(&here));
	kernel_events_close(&here);
	ck_assert_int_eq(kernel_events_fd(&here), -1);
}
