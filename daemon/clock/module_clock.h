/* SPDX-License-Identifier: MIT */
/*
 * Access to the kernel module. The device is open only during a request,
 * because an open descriptor prevents unloading of the module. So rmmod works while the
 * daemon runs, except in the few microseconds of a request, and the next request finds
 * a module that was loaded in the meantime.
 */
#ifndef TSCTRACED_MODULE_CLOCK_H
#define TSCTRACED_MODULE_CLOCK_H

#include <stdbool.h>
#include <tsctrace/abi.h>

struct module_clock {
	bool use;			/* false: the kernel module is not used */
	bool absent;			/* true: the last attempt to open the device
					 * found no module; the device is not opened
					 * again while this flag is set */
	int result;			/* last result of module_clock_store(), 0 or -errno;
					 * each new error is logged */
};

/*
 * module_clock_store - store the clock in reserved memory, so that it outlives a panic
 * @page: the clock page, to which no thread writes meanwhile
 *
 * Does nothing if there is no module, or no reserved memory. Logs failures.
 */
void module_clock_store(struct module_clock *m, const struct tsct_clock_page *page);

/* Sends TSCT_IOC_CLOCK_SNAPSHOT to the module. Returns 0 or -errno; -ENOENT: no
 * module, or a module of an earlier release, which is logged and then not used. */
int module_clock_snapshot(struct module_clock *m,
			  struct tsct_clock_snapshot *ret);

/* Sends TSCT_IOC_CHECK to the module. Returns 0 or -errno. */
int module_clock_check(struct module_clock *m, struct tsct_check *check);

/* ---- kernel_events.c: the module's events -------------------------------- */

struct nl_sock;
struct nl_msg;

/*
 * Receiver of the module's disruption events on generic netlink. The
 * module's family appears and disappears with the module; the generic
 * netlink controller ("nlctrl") reports this.
 */
struct kernel_events {
	struct nl_sock *sock;
	int family;		/* netlink id of the module's family; 0: no family */
	bool news;		/* result of kernel_events_read(): true if the
				 * clock is to be checked for disruptions */
};

/*
 * kernel_events_open - subscribe to the module's disruption events
 *
 * Returns 0, or -errno, for example on a kernel without generic netlink. Without events,
 * timekeeper_tick() detects every disruption, up to --interval-ms later.
 */
int kernel_events_open(struct kernel_events *kernel);
void kernel_events_close(struct kernel_events *kernel);

/* Descriptor of the netlink socket, to poll for input; -1: not open */
int kernel_events_fd(const struct kernel_events *kernel);

/*
 * kernel_events_read - receive up to 32 pending events of the module without blocking
 *
 * Returns true if the clock should be checked for disruptions now.
 */
bool kernel_events_read(struct kernel_events *kernel);

/* Handles one netlink message; public for the unit test. */
void kernel_events_take(struct kernel_events *kernel, struct nl_msg *message);

#endif /* TSCTRACED_MODULE_CLOCK_H */
