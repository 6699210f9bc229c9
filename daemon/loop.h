/* SPDX-License-Identifier: MIT */
#ifndef TSCTRACED_LOOP_H
#define TSCTRACED_LOOP_H

#include "daemon/clock/timekeeper.h"
#include "daemon/clock/platform_linux.h"

struct peers;
struct tsct_server;

struct loop_options {
	const char *run_dir;
	int interval_ms;	/* from one sample to the next, at most */
};

/*
 * loop_run - keep the clock and serve, until SIGTERM or SIGINT
 *
 * Those and SIGHUP must be blocked: the loop takes them from a descriptor.
 * Returns 0 or -errno.
 */
int loop_run(struct timekeeper *k, struct platform *real, struct tsct_server *server,
	     struct peers *peers, const struct loop_options *options);

#endif /* TSCTRACED_LOOP_H */
