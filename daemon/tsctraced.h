/* SPDX-License-Identifier: MIT */
/* The parts of the daemon that main.c runs: the event loop, and the holder of kept channels */
#ifndef TSCTRACED_H
#define TSCTRACED_H

#include "daemon/clock/platform_linux.h"
#include "lib/provider/server.h"

/* ---- loop.c: the event loop, with the daemon's only blocking system call -- */

struct peers;

/*
 * loop_run - run the timekeeper, the peers, the server of channels and the
 * control socket until SIGTERM or SIGINT
 * @run_dir: directory of the control socket
 * @interval_ms: time between two samples, to a quarter (struct tick_schedule)
 *
 * SIGTERM, SIGINT and SIGHUP must be blocked: the loop reads these signals from a
 * signalfd. All arguments must have been started or opened. Returns 0 or -errno.
 */
int loop_run(struct timekeeper *timekeeper, struct platform *platform,
	     struct tsct_server *server, struct peers *peers,
	     const char *run_dir, int interval_ms);

/* ---- kept_channels.c ------------------------------------------------------ */

/*
 * Kept channels over a restart of the daemon, also after kill -9. Their memfds are with
 * systemd (its file descriptor store) if that started the daemon, else with a process
 * that the daemon starts when the first channel is kept, and that ends with the last one
 * or with the run-time directory.
 */
struct kept_channels;

/*
 * kept_channels_open - give kept channels of an earlier daemon to @server, and keep those
 * that it makes from now on
 *
 * Logs errors. Returns NULL: out of memory; channels are not kept over a restart.
 */
struct kept_channels *kept_channels_open(const char *run_dir, struct tsct_server *server);

/* Ends what kept_channels_open() began; channels stay kept. NULL is allowed. */
void kept_channels_close(struct kept_channels *kept);

/*
 * kept_channels_hold - main function of the process that holds memfds
 *
 * Descriptor 3 is its socket, to which the daemon connects. Returns the exit status.
 */
int kept_channels_hold(const char *run_dir);

#endif /* TSCTRACED_H */
