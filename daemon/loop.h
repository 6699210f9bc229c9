/* SPDX-License-Identifier: MIT */
/* The daemon's event loop, with its only blocking system call */
#ifndef TSCTRACED_LOOP_H
#define TSCTRACED_LOOP_H

#include "daemon/clock/timekeeper.h"
#include "daemon/clock/platform_linux.h"

struct peers;
struct tsct_server;

/*
 * loop_run - run the timekeeper, the peers, the server of channels and the
 * control socket until SIGTERM or SIGINT
 * @run_dir: directory of the control socket
 * @interval_ms: time between two samples, to a quarter (tick_schedule.h)
 *
 * SIGTERM, SIGINT and SIGHUP must be blocked: the loop reads these signals from a
 * signalfd. All arguments must have been started or opened. Returns 0 or -errno.
 */
int loop_run(struct timekeeper *timekeeper, struct platform *platform,
	     struct tsct_server *server, struct peers *peers,
	     const char *run_dir, int interval_ms);

#endif /* TSCTRACED_LOOP_H */
