/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * Section 6 of the binary interface. Part of abi.h: include that.
 *
 * 6. Generic netlink
 * ------------------
 * The module's family in the initial network namespace: queries, and news for
 * multicast groups. Documentation/netlink/tsctrace.yaml specifies commands,
 * attributes and their types; this header has their numbers. Each command has an
 * attribute set of its own, so attribute numbers of different commands overlap.
 * Receivers ignore unknown attributes and commands: both may be added later.
 */
#ifndef TSCTRACE_ABI_NETLINK_H
#define TSCTRACE_ABI_NETLINK_H

#define TSCT_GENL_NAME			"tsctrace"
#define TSCT_GENL_VERSION		1

/* Multicast groups */
#define TSCT_GENL_GROUP_CLOCK		"clock"
#define TSCT_GENL_GROUP_CHANNELS	"channels"

/* Commands: requests with their replies, and news, which the module sends by itself */
#define TSCT_GENL_CMD_DISRUPTED		1	/* news: an epoch of the clock began */
#define TSCT_GENL_CMD_MODULE_GET	2
#define TSCT_GENL_CMD_CHANNEL_GET	3
#define TSCT_GENL_CMD_CHANNEL_CPU_GET	4
#define TSCT_GENL_CMD_CHECK_GET		5
#define TSCT_GENL_CMD_CHECK_CPU_GET	6
#define TSCT_GENL_CMD_CLOCK_GET		7
#define TSCT_GENL_CMD_CLOCK_STATUS	8	/* news: another status was published */
#define TSCT_GENL_CMD_CHANNEL_MADE	9	/* news: a channel was made */
#define TSCT_GENL_CMD_CHANNEL_REMOVED	10	/* news: a channel ceased to exist */

/* Attributes of the module */
#define TSCT_GENL_MODULE_VERSION	1
#define TSCT_GENL_MODULE_NR_CPUS	2
#define TSCT_GENL_MODULE_SOURCE		3
#define TSCT_GENL_MODULE_FEATURES	4
#define TSCT_GENL_MODULE_BYTES_MAX	5
#define TSCT_GENL_MODULE_BYTES_USER_MAX	6
#define TSCT_GENL_MODULE_CHANNELS	7
#define TSCT_GENL_MODULE_BYTES		8

/* Attributes of the clock */
#define TSCT_GENL_CLOCK_EPOCH		1
#define TSCT_GENL_CLOCK_CAUSE		2
#define TSCT_GENL_CLOCK_SOURCE		3
#define TSCT_GENL_CLOCK_STATUS		4
#define TSCT_GENL_CLOCK_FLAGS		5
#define TSCT_GENL_CLOCK_EPOCH_CYCLES	6
#define TSCT_GENL_CLOCK_CYCLES		7
#define TSCT_GENL_CLOCK_TIME_NS		8
#define TSCT_GENL_CLOCK_ERROR_PS	9
#define TSCT_GENL_CLOCK_RATE_MULT	10
#define TSCT_GENL_CLOCK_RATE_ERROR_PPT	11
#define TSCT_GENL_CLOCK_CLUSTER_STATUS	12
#define TSCT_GENL_CLOCK_CLUSTER_EPOCH	13
#define TSCT_GENL_CLOCK_CLUSTER_TIMELINE 14
#define TSCT_GENL_CLOCK_CLUSTER_MASTER	15
#define TSCT_GENL_CLOCK_CLUSTER_TIME_NS	16
#define TSCT_GENL_CLOCK_CLUSTER_ERROR_PS 17
#define TSCT_GENL_CLOCK_UTC_SOURCE	18
#define TSCT_GENL_CLOCK_UTC_ERROR_NS	19
#define TSCT_GENL_CLOCK_UTC_GROWTH_PPB	20
#define TSCT_GENL_CLOCK_UTC_AS_OF_CYCLES 21

/* Attributes of a channel */
#define TSCT_GENL_CHANNEL_ID		1
#define TSCT_GENL_CHANNEL_UID		2
#define TSCT_GENL_CHANNEL_NAME		3
#define TSCT_GENL_CHANNEL_POLICY	4
#define TSCT_GENL_CHANNEL_FLAGS		5
#define TSCT_GENL_CHANNEL_SOURCE	6
#define TSCT_GENL_CHANNEL_BLOCK_SIZE	7
#define TSCT_GENL_CHANNEL_BLOCKS	8
#define TSCT_GENL_CHANNEL_NR_CPUS_READY	9
#define TSCT_GENL_CHANNEL_HOLDERS	10
#define TSCT_GENL_CHANNEL_CONSUMERS	11
#define TSCT_GENL_CHANNEL_BYTES		12
#define TSCT_GENL_CHANNEL_EVENTS	13
#define TSCT_GENL_CHANNEL_WRITTEN	14
#define TSCT_GENL_CHANNEL_UNREAD	15
#define TSCT_GENL_CHANNEL_LOST		16

/* Attributes of a CPU's ring of a channel */
#define TSCT_GENL_CHANNEL_CPU_ID	1
#define TSCT_GENL_CHANNEL_CPU_CPU	2
#define TSCT_GENL_CHANNEL_CPU_STATE	3
#define TSCT_GENL_CHANNEL_CPU_EVENTS	4
#define TSCT_GENL_CHANNEL_CPU_WRITTEN	5
#define TSCT_GENL_CHANNEL_CPU_UNREAD	6
#define TSCT_GENL_CHANNEL_CPU_OVERWRITTEN 7
#define TSCT_GENL_CHANNEL_CPU_LOST	8

/* Attributes in a nested attribute LOST: numbers of lost events by cause */
#define TSCT_GENL_LOST_FULL		1
#define TSCT_GENL_LOST_TOO_BIG		2
#define TSCT_GENL_LOST_NESTED		3
#define TSCT_GENL_LOST_ABORTED		4
#define TSCT_GENL_LOST_NO_RING		5
#define TSCT_GENL_LOST_REFUSED		6

/* Attributes of the CPU check as a whole */
#define TSCT_GENL_CHECK_FLAGS		1
#define TSCT_GENL_CHECK_SOURCE		2
#define TSCT_GENL_CHECK_TSC_KHZ		3
#define TSCT_GENL_CHECK_NR_CPUS		4
#define TSCT_GENL_CHECK_WHEN_CYCLES	5
#define TSCT_GENL_CHECK_CLOCKSOURCE	6

/* Attributes of the CPU check of one CPU */
#define TSCT_GENL_CHECK_CPU_CPU		1
#define TSCT_GENL_CHECK_CPU_NODE	2
#define TSCT_GENL_CHECK_CPU_TSC_AUX	3
#define TSCT_GENL_CHECK_CPU_FLAGS	4
#define TSCT_GENL_CHECK_CPU_SKEW_MIN_CYCLES 5
#define TSCT_GENL_CHECK_CPU_SKEW_MAX_CYCLES 6
#define TSCT_GENL_CHECK_CPU_ROUNDS	7

#endif /* TSCTRACE_ABI_NETLINK_H */
