/* SPDX-License-Identifier: MIT */
/*
 * Receiver of the module's disruption events on generic netlink. The module's
 * family appears and disappears with the module; the generic netlink controller
 * ("nlctrl") notifies of that.
 */
#ifndef TSCTRACED_KERNEL_EVENTS_H
#define TSCTRACED_KERNEL_EVENTS_H

#include <stdbool.h>
#include <linux/types.h>

struct nl_sock;
struct nl_msg;

struct kernel_events {
	struct nl_sock *sock;
	int family;		/* module's netlink family id; 0: not registered */
	__u32 epoch;		/* epoch published by this daemon; events of this epoch
				 * are ignored */
	bool news;		/* kernel_events_read()'s result: check the clock */
};

/*
 * kernel_events_open - subscribe to the module's disruption events
 *
 * Returns 0 or -errno, such as on a kernel without generic netlink. The daemon then
 * detects every disruption by timekeeper_tick(), up to --interval-ms later.
 */
int kernel_events_open(struct kernel_events *kernel);
void kernel_events_close(struct kernel_events *kernel);

/* Descriptor of the netlink socket, to poll for input; -1: not open */
int kernel_events_fd(const struct kernel_events *kernel);

/*
 * kernel_events_read - receive up to 32 pending events of the module without blocking
 * @epoch: published epoch. Events of this epoch are ignored: the module also sends
 *	events of epochs that this daemon began
 *
 * Returns true if the clock should be checked for disruptions now.
 */
bool kernel_events_read(struct kernel_events *kernel, __u32 epoch);

/* Handles one netlink message; public for the unit test. */
void kernel_events_take(struct kernel_events *kernel, struct nl_msg *message);

#endif /* TSCTRACED_KERNEL_EVENTS_H */
