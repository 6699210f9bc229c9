/* SPDX-License-Identifier: MIT */
/*
 * The kernel module's clock. The device is open only during a request, because an
 * open descriptor pins the module. So rmmod works while the daemon runs, except
 * in the few microseconds of a request, and the next request finds a module that
 * was loaded in the meantime.
 */
#ifndef TSCTRACED_MODULE_CLOCK_H
#define TSCTRACED_MODULE_CLOCK_H

#include <stdbool.h>
#include <tsctrace/abi.h>

struct module_clock {
	bool use;			/* false: do not use the module */
	int result;			/* last logged result of a publication */
	int lock;			/* lock file against other daemons; -1:
					 * not locked */
};

void module_clock_close(struct module_clock *m);

/* Reads the module's published state. Returns 0 or -errno; -ENOENT: no module */
int module_clock_last(const struct module_clock *m,
		      struct tsct_clock_state *ret_state);

/*
 * module_clock_set - publish a state to the module
 * @instead: directory published to in any case; for the log
 *
 * Returns 0; -ENOENT: no module; -EBUSY: another daemon publishes to it;
 * -ETIME: the clock params should have begun already; -ESTALE: the module is in
 * a later epoch, or uses another source; -EXDEV: other clock params were published
 * in the same epoch; -EAGAIN: the system is about to suspend; -EPERM, -EACCES and
 * others: rejected. A change of the result is logged, unless it is temporary
 * (-ETIME, -ESTALE, -EXDEV, -EAGAIN).
 */
int module_clock_set(struct module_clock *m, const char *instead,
		     const struct tsct_clock_state *state);

/* Requests TSCT_IOC_CLOCK_SNAPSHOT. Returns 0 or -errno. */
int module_clock_snapshot(const struct module_clock *m,
			  struct tsct_clock_snapshot *ret);

/* Requests TSCT_IOC_CHECK. Returns 0 or -errno. */
int module_clock_check(const struct module_clock *m, struct tsct_check *check);

#endif /* TSCTRACED_MODULE_CLOCK_H */
