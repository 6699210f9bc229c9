/* SPDX-License-Identifier: MIT */
/* Changes of addresses, links and routes, as the kernel tells of them. */
#ifndef TSCTRACED_LINKS_H
#define TSCTRACED_LINKS_H

#include <stdbool.h>

struct link_monitor;

/* 0 or -errno: routing netlink cannot be had. */
int link_monitor_open(struct link_monitor **ret_links);
void link_monitor_close(struct link_monitor *links);	/* NULL is fine */
int link_monitor_fd(const struct link_monitor *links);

/* Reads what came, a bounded amount. True: something changed. */
bool link_monitor_read(struct link_monitor *links);

#endif /* TSCTRACED_LINKS_H */
