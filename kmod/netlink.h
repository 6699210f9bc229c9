/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_NETLINK_H
#define TSCT_KMOD_NETLINK_H

#include <linux/types.h>

struct tsct_clock_snapshot;

/* The generic netlink family: first part of the module to begin, and last to end. */
int tsct_netlink_init(void);
void tsct_netlink_exit(void);

/*
 * Multicast news of a disruption of the clock (@source: TSCT_SOURCE_* of new channels), or
 * of a channel (@cmd: TSCT_GENL_CMD_CHANNEL_MADE, _REMOVED or _LOST). May sleep; the caller
 * holds no lock.
 */
void tsct_netlink_disrupted(const struct tsct_clock_snapshot *now, u32 source);
void tsct_netlink_channel(u8 cmd, u32 id);

#endif /* TSCT_KMOD_NETLINK_H */
