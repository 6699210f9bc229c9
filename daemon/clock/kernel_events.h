/* SPDX-License-Identifier: MIT */
/*
 * What the module says over generic netlink: that it saw a disruption. It
 * comes and goes, and so does its family; the kernel's controller tells.
 */
#ifndef TSCTRACED_KERNEL_H
#define TSCTRACED_KERNEL_H

#include <stdbool.h>
#include <linux/types.h>

struct nl_sock;
struct nl_msg;

struct kernel_events {
	struct nl_sock *sock;
	int family;		/* the module's; 0: it is not there */
	__u32 epoch;		/* that is no news */
	bool news;		/* for who asked kernel_events_read() */
};

/*
 * kernel_events_open - listen. Returns 0 or -errno: this kernel has no generic
 * netlink, say; the daemon then finds everything out a tick later.
 */
int kernel_events_open(struct kernel_events *kernel);
void kernel_events_close(struct kernel_events *kernel);

/* A descriptor that is readable when there is something to read. */
int kernel_events_fd(const struct kernel_events *kernel);

/*
 * kernel_events_read - take what is there, without waiting, a bounded amount
 * @epoch: ours; the module tells of those that we publish, too
 *
 * True if it is worth while to look at the clock at once.
 */
bool kernel_events_read(struct kernel_events *kernel, __u32 epoch);

/* One message; for tests, too. */
void kernel_events_take(struct kernel_events *kernel, struct nl_msg *message);

#endif /* TSCTRACED_KERNEL_H */
