// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family: news for multicast groups, and no requests.
 * Documentation/netlink/tsctrace.yaml specifies it. Anyone in the initial network namespace
 * can listen, without access to the device: news about channels contain only ids.
 */
#include <linux/module.h>
#include <net/genetlink.h>

#include <tsctrace/abi.h>

#include "../lib/core/clock_params.h"
#include "clockpage.h"
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

/* Returns the status of a time: @published, or HOLDOVER if its params have expired (@err). */
static u32 netlink_status(u32 published, const struct tsct_clock_time *time, int err)
{
	if (!err)
		return time->status;
	return tsct_status_has_time(published) ? TSCT_STATUS_HOLDOVER : published;
}

/* Appends the attributes of a clock. A clock without a time has no error bound. */
static int netlink_put_clock(struct sk_buff *skb, const void *data)
{
	const struct tsct_clock_reading *reading = data;
	const struct tsct_clock_state *state = &reading->state;

	if (nla_put_u32(skb, TSCT_GENL_CLOCK_EPOCH, state->epoch) ||
	    nla_put_u32(skb, TSCT_GENL_CLOCK_CAUSE, state->cause) ||
	    nla_put_u32(skb, TSCT_GENL_CLOCK_SOURCE, state->source) ||
	    nla_put_u32(skb, TSCT_GENL_CLOCK_STATUS,
			netlink_status(state->status, &reading->real, reading->real_err)) ||
	    nla_put_u32(skb, TSCT_GENL_CLOCK_CLUSTER_STATUS,
			netlink_status(state->cluster_status, &reading->cluster,
				       reading->cluster_err)) ||
	    nla_put_u32(skb, TSCT_GENL_CLOCK_CLUSTER_EPOCH, state->cluster_epoch))
		return -EMSGSIZE;
	if (reading->real_err)
		return 0;
	/* Aligned to 4 bytes only, as x86-64 needs no padding. */
	return nla_put(skb, TSCT_GENL_CLOCK_ERROR_PS, sizeof(reading->real.error_ps),
		       &reading->real.error_ps);
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

void tsct_netlink_clock(u8 cmd, const struct tsct_clock_reading *reading)
{
	netlink_multicast(NETLINK_GROUP_CLOCK, cmd, netlink_put_clock, reading);
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
