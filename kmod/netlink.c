// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family: news for multicast groups, and no requests.
 * Documentation/netlink/tsctrace.yaml specifies it. Anyone in the initial network namespace
 * can listen, without access to the device: news about channels contain only ids.
 */
#include <linux/module.h>
#include <net/genetlink.h>

#include <tsctrace/abi.h>

#include "netlink.h"

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

static bool netlink_registered;

/* A disruption of the clock */
struct netlink_disruption {
	u64 disruptions;
	u32 cause;
	u32 source;
};

static int netlink_put_disruption(struct sk_buff *skb, const void *data)
{
	const struct netlink_disruption *disruption = data;

	/* Aligned to 4 bytes only, as x86-64 needs no padding. */
	return nla_put(skb, TSCT_GENL_CLOCK_DISRUPTIONS, sizeof(disruption->disruptions),
		       &disruption->disruptions) ?:
		nla_put_u32(skb, TSCT_GENL_CLOCK_CAUSE, disruption->cause) ?:
		nla_put_u32(skb, TSCT_GENL_CLOCK_SOURCE, disruption->source);
}

static int netlink_put_channel(struct sk_buff *skb, const void *id)
{
	return nla_put_u32(skb, TSCT_GENL_CHANNEL_ID, *(const u32 *)id);
}

static void netlink_multicast(enum netlink_group group, u8 cmd,
			      int (*put)(struct sk_buff *skb, const void *data),
			      const void *data)
{
	struct sk_buff *skb;
	void *header;

	if (!READ_ONCE(netlink_registered) ||
	    !genl_has_listeners(&netlink_family, &init_net, group))
		return;
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return;
	header = genlmsg_put(skb, 0, 0, &netlink_family, 0, cmd);
	if (!header || put(skb, data)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, header);
	/* Ignores errors: a listener that reads too slowly gets ENOBUFS from its socket. */
	genlmsg_multicast(&netlink_family, skb, 0, group, GFP_KERNEL);
}

void tsct_netlink_disrupted(const struct tsct_clock_snapshot *now, u32 source)
{
	const struct netlink_disruption disruption = {
		.disruptions = now->disruptions, .cause = now->cause, .source = source,
	};

	netlink_multicast(NETLINK_GROUP_CLOCK, TSCT_GENL_CMD_DISRUPTED,
			  netlink_put_disruption, &disruption);
}

void tsct_netlink_channel(u8 cmd, u32 id)
{
	netlink_multicast(NETLINK_GROUP_CHANNELS, cmd, netlink_put_channel, &id);
}

int tsct_netlink_init(void)
{
	int err = genl_register_family(&netlink_family);

	WRITE_ONCE(netlink_registered, !err);
	return err;
}

void tsct_netlink_exit(void)
{
	WRITE_ONCE(netlink_registered, false);
	genl_unregister_family(&netlink_family);
}
