/* SPDX-License-Identifier: MIT */
/*
 * The module's clock, as its keeper sees it.
 *
 * The device is opened for each request and closed behind it. An open
 * descriptor pins the module: so rmmod works with the daemon running, but for
 * the few microseconds of a request, and a module that is loaded later is
 * found by the next one.
 */
#ifndef TSCTRACED_MODULE_H
#define TSCTRACED_MODULE_H

#include <stdbool.h>
#include <tsctrace/abi.h>

struct module_clock {
	bool use;
	int result;			/* of the last publication; 0: it has it */
	int lock;			/* held: other daemons leave it alone */
};

void module_clock_init(struct module_clock *m, bool use);
void module_clock_close(struct module_clock *m);

/*
 * What is published there, or -errno: -ENOENT: there is no module.
 */
int module_clock_last(const struct module_clock *m, struct tsct_clock_state *ret_state);

/*
 * module_clock_set - publish
 *
 * Returns 0; -ENOENT: there is no module; -EBUSY: another daemon serves it;
 * -ETIME: the line should begin later; -ESTALE: the module is in a later epoch,
 * or counts other stamps; -EXDEV: its line is another one, of the same epoch;
 * -EAGAIN: the machine is about to sleep; else it refuses: -EPERM, -EACCES, ...
 * What changed since the last call is logged.
 */
int module_clock_set(struct module_clock *m, const char *instead,
	       const struct tsct_clock_state *state);

/* TSCT_IOC_CLOCK_SNAPSHOT. 0 or -errno. */
int module_clock_snapshot(const struct module_clock *m, struct tsct_clock_snapshot *ret);

/* TSCT_IOC_CHECK. 0 or -errno. */
int module_clock_check(const struct module_clock *m, struct tsct_check *check);

#endif /* TSCTRACED_MODULE_H */
