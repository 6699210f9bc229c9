// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family: news for multicast groups, and no requests.
 * Documentation/netlink/tsctrace.yaml specifies it. Anyone in the initial network namespace
 * can listen without access to the device, so news about channels contain only ids.
 */
#include <linux/module.h>
#include <net/genetlink.h>

#include <tsctrace/abi.h>

#include "parts.h"

enum netlink_group {
	NETLINK_GROUP_CLOCK,
	NETLINK_GROUP_CHANNELS,
};

static const struct genl_multicast_group netlink_groups[] = {
	[NETLINK_GROUP_CLOCK] = { .name = TSCT_GENL_GROUP_CLOCK, },
	[NETLINK_GROUP_CHANNELS] = { .name = TSCT_GENL_GROUP_CHANNELS, },
};

/* netnsok is not set: the objects belong to no network namespace. */
static struct genl_family netlink_family = {
	.module = THIS_MODULE,
	.name = TSCT_GENL_NAME,
	.version = TSCT_GENL_VERSION,
	.mcgrps = netlink_groups,
	.n_mcgrps = ARRAY_SIZE(netlink_groups),
};

/* Returns a message @cmd for a group; NULL: the group has no listeners, or memory ran out. */
static struct sk_buff *netlink_begin(enum netlink_group group, u8 cmd)
{
	struct sk_buff *skb;

	if (!genl_has_listeners(&netlink_family, &init_net, group))
		return NULL;
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (skb && genlmsg_put(skb, 0, 0, &netlink_family, 0, cmd))
		return skb;
	nlmsg_free(skb);
	return NULL;
}

/* Sends a message of netlink_begin(). @err: result of appending the attributes */
static void netlink_end(struct sk_buff *skb, enum netlink_group group, int err)
{
	if (err) {
		nlmsg_free(skb);
		return;
	}
	nlmsg_end(skb, nlmsg_hdr(skb));
	/* Ignores errors: a listener that reads too slowly gets ENOBUFS from its socket. */
	genlmsg_multicast(&netlink_family, skb, 0, group, GFP_KERNEL);
}

void tsct_netlink_disrupted(const struct tsct_clock_snapshot *now, u32 source)
{
	struct sk_buff *skb = netlink_begin(NETLINK_GROUP_CLOCK, TSCT_GENL_CMD_DISRUPTED);

	/* No padding attribute: x86-64 can read a u64 that is aligned to 4 bytes only. */
	if (skb)
		netlink_end(skb, NETLINK_GROUP_CLOCK,
			    nla_put(skb, TSCT_GENL_CLOCK_DISRUPTIONS, sizeof(u64),
				    &now->disruptions) ?:
			    nla_put_u32(skb, TSCT_GENL_CLOCK_CAUSE, now->cause) ?:
			    nla_put_u32(skb, TSCT_GENL_CLOCK_SOURCE, source));
}

void tsct_netlink_channel(u8 cmd, u32 id)
{
	struct sk_buff *skb = netlink_begin(NETLINK_GROUP_CHANNELS, cmd);

	if (skb)
		netlink_end(skb, NETLINK_GROUP_CHANNELS,
			    nla_put_u32(skb, TSCT_GENL_CHANNEL_ID, id));
}

int tsct_netlink_init(void)
{
	return genl_register_family(&netlink_family);
}

void tsct_netlink_exit(void)
{
	genl_unregister_family(&netlink_family);
}
