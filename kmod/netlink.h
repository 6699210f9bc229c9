/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_NETLINK_H
#define TSCT_KMOD_NETLINK_H

#include <linux/types.h>

struct tsct_clock_reading;

/* netlink.c: the generic netlink family. News sent before tsct_netlink_init(), or after
 * tsct_netlink_exit(), are dropped. */
int tsct_netlink_init(void);
void tsct_netlink_exit(void);

/*
 * Multicast news about the clock (@cmd: TSCT_GENL_CMD_DISRUPTED or _CLOCK_STATUS) or a
 * channel (_CHANNEL_MADE or _CHANNEL_REMOVED). May sleep; the caller holds no lock.
 */
void tsct_netlink_clock(u8 cmd, const struct tsct_clock_reading *reading);
void tsct_netlink_channel(u8 cmd, u32 id);

#endif /* TSCT_KMOD_NETLINK_H */
