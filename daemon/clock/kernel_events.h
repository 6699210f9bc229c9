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
	int family;		/* the module's family id; 0: not registered */
	__u32 epoch;		/* epoch published by this daemon, whose events
				 * are ignored */
	bool news;		/* result of kernel_events_read() */
};

/*
 * kernel_events_open - subscribe to the events
 *
 * Returns 0 or -errno, such as on a kernel without generic netlink. The daemon
 * then detects every disruption without the events, up to a tick later.
 */
int kernel_events_open(struct kernel_events *kernel);
void kernel_events_close(struct kernel_events *kernel);

/* Descriptor to poll for input; -1: not open */
int kernel_events_fd(const struct kernel_events *kernel);

/*
 * kernel_events_read - receive pending events without blocking, up to 32
 * @epoch: published epoch, whose events are ignored: the module also sends events
 *	of epochs that this daemon began
 *
 * True if the clock should be checked now.
 */
bool kernel_events_read(struct kernel_events *kernel, __u32 epoch);

/* Handles one message; public for the unit test. */
void kernel_events_take(struct kernel_events *kernel, struct nl_msg *message);

#endif /* TSCTRACED_KERNEL_EVENTS_H */
