/* SPDX-License-Identifier: MIT */
/* Changes of addresses, links and routes, as the kernel tells of them. */
#ifndef TSCTRACED_LINKS_H
#define TSCTRACED_LINKS_H

#include <stdbool.h>

struct links;

/* 0 or -errno: routing netlink cannot be had. */
int links_open(struct links **ret_links);
void links_close(struct links *links);	/* NULL is fine */
int links_fd(const struct links *links);

/* Reads what came, a bounded amount. True: something changed. */
bool links_read(struct links *links);

#endif /* TSCTRACED_LINKS_H */
