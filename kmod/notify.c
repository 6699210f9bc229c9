// SPDX-License-Identifier: GPL-2.0-only
/*
 * Multicasts clock disruptions over generic netlink. There are no netlink requests.
 * Messages to slow listeners are dropped: the clock area holds the same information.
 */
#include <linux/module.h>
#include <net/genetlink.h>

#include <tsctrace/abi.h>

#include "clockpage.h"

static const struct genl_multicast_group notify_groups[] = {
	{ .name = TSCT_GENL_GROUP, },
};

static struct genl_family notify_family = {
	.module = THIS_MODULE,
	.name = TSCT_GENL_NAME,
	.version = TSCT_GENL_VERSION,
	.maxattr = TSCT_GENL_ATTR_SOURCE,
	.mcgrps = notify_groups,
	.n_mcgrps = ARRAY_SIZE(notify_groups),
};

void tsct_notify_disrupted(u32 epoch, u32 cause, u32 source)
{
	struct sk_buff *skb = genlmsg_new(3 * nla_total_size(sizeof(u32)),
					  GFP_KERNEL);
	void *header;

	if (!skb)
		return;
	header = genlmsg_put(skb, 0, 0, &notify_family, 0, TSCT_GENL_CMD_DISRUPTED);
	if (!header || nla_put_u32(skb, TSCT_GENL_ATTR_EPOCH, epoch) ||
	    nla_put_u32(skb, TSCT_GENL_ATTR_CAUSE, cause) ||
	    nla_put_u32(skb, TSCT_GENL_ATTR_SOURCE, source)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, header);
	/* Errors are ignored: there is no listener, or a listener reads too slowly. */
	genlmsg_multicast(&notify_family, skb, 0, 0, GFP_KERNEL);
}

int tsct_notify_init(void)
{
	return genl_register_family(&notify_family);
}

void tsct_notify_exit(void)
{
	genl_unregister_family(&notify_family);
}
