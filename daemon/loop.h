/* SPDX-License-Identifier: MIT */
/* The daemon's event loop, with its only blocking system call */
#ifndef TSCTRACED_LOOP_H
#define TSCTRACED_LOOP_H

#include "daemon/clock/timekeeper.h"
#include "daemon/clock/platform_linux.h"

struct peers;
struct tsct_server;

struct loop_options {
	const char *run_dir;	/* directory of the control socket */
	int interval_ms;	/* longest time between two samples */
};

/*
 * loop_run - run the timekeeper, the peers, the server of channels and the
 * control socket until SIGTERM or SIGINT
 *
 * These two signals and SIGHUP must be blocked: the loop reads them from a
 * signalfd. All arguments must have been started or opened. Returns 0 or -errno.
 */
int loop_run(struct timekeeper *timekeeper, struct platform *platform,
	     struct tsct_server *server, struct peers *peers,
	     const struct loop_options *options);

#endif /* TSCTRACED_LOOP_H */
