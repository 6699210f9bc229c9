/* SPDX-License-Identifier: MIT */
/* Monitor of changes of addresses, links and routes, by rtnetlink */
#ifndef TSCTRACED_LINK_MONITOR_H
#define TSCTRACED_LINK_MONITOR_H

#include <stdbool.h>

struct link_monitor;

/* Opens a link monitor. Returns 0, or -errno where rtnetlink is not available. */
int link_monitor_open(struct link_monitor **ret_monitor);
/* Closes a link monitor. Does nothing if @monitor is NULL. */
void link_monitor_close(struct link_monitor *monitor);
int link_monitor_fd(const struct link_monitor *monitor);

/* Reads up to 64 netlink messages. True: an address, link or route changed. */
bool link_monitor_read(struct link_monitor *monitor);

#endif /* TSCTRACED_LINK_MONITOR_H */
