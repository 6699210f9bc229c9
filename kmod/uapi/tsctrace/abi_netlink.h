/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * Section 6 of the binary interface. Part of abi.h: include that.
 *
 * 6. Generic netlink
 * ------------------
 * The module's family in the initial network namespace: news for multicast groups, and no
 * requests. Documentation/netlink/tsctrace.yaml specifies the messages, their attributes and
 * types; this header has their numbers. Each attribute set has numbers of its own.
 * Receivers ignore unknown attributes and messages, which later releases may add.
 */
#ifndef TSCTRACE_ABI_NETLINK_H
#define TSCTRACE_ABI_NETLINK_H

#define TSCT_GENL_NAME			"tsctrace"
#define TSCT_GENL_VERSION		1

/* Multicast groups */
#define TSCT_GENL_GROUP_CLOCK		"clock"
#define TSCT_GENL_GROUP_CHANNELS	"channels"

/* Messages. Numbers 2 to 8 had other meanings in earlier versions. */
#define TSCT_GENL_CMD_DISRUPTED		1	/* the clock was disrupted */
#define TSCT_GENL_CMD_CHANNEL_MADE	9	/* a channel was made */
#define TSCT_GENL_CMD_CHANNEL_REMOVED	10	/* a channel ceased to exist */
/* the kernel could not write events to a channel: at most one message a second per channel */
#define TSCT_GENL_CMD_CHANNEL_LOST	11

/* Attributes of a disruption of the clock */
#define TSCT_GENL_CLOCK_CAUSE		2
#define TSCT_GENL_CLOCK_SOURCE		3
#define TSCT_GENL_CLOCK_DISRUPTIONS	22

/* Attributes of a channel */
#define TSCT_GENL_CHANNEL_ID		1

#endif /* TSCTRACE_ABI_NETLINK_H */
