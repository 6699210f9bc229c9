/* SPDX-License-Identifier: MIT */
/* The parts of the daemon that main.c runs: the event loop, and the fd store of kept channels */
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
 * @interval_ms: time between two samples, ms; varies by up to a quarter
 *	(struct tick_schedule)
 *
 * SIGTERM, SIGINT and SIGHUP must be blocked: the loop reads these signals from a
 * signalfd. The objects that the arguments point to must be started or open. Returns 0 or
 * -errno.
 */
int loop_run(struct timekeeper *timekeeper, struct platform *platform,
	     struct tsct_server *server, struct peers *peers,
	     const char *run_dir, int interval_ms);

/* ---- kept_channels.c ------------------------------------------------------ */

/*
 * Keeps channels over a restart of the daemon, also after kill -9. If systemd started the daemon,
 * systemd's file descriptor store holds the memfds of kept channels. Otherwise a holder process
 * holds the memfds: the daemon starts the holder when the first channel is kept; the holder ends
 * when it holds no memfd and no daemon is connected, or when the run-time directory is removed.
 */
struct kept_channels;

/*
 * kept_channels_open - give the kept channels of an earlier daemon to @server,
 * and store the memfds of channels that @server is to keep from now on
 *
 * Logs errors. Returns NULL: out of memory; channels are not kept over a restart.
 */
struct kept_channels *kept_channels_open(const char *run_dir, struct tsct_server *server);

/* Disconnects from the holder process and frees @kept; channels stay kept. @kept may be
 * NULL. */
void kept_channels_close(struct kept_channels *kept);

/*
 * kept_channels_hold - main function of the holder process
 *
 * Descriptor 3 is the listening socket, to which the daemon connects. Returns the exit
 * status.
 */
int kept_channels_hold(const char *run_dir);

#endif /* TSCTRACED_H */
