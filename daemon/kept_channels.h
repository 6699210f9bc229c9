/* SPDX-License-Identifier: MIT */
/*
 * Kept channels over a restart of the daemon, also after kill -9. Their memfds are with
 * systemd (its file descriptor store) if that started the daemon, else with a process
 * that the daemon starts when the first channel is kept, and that ends with the last one
 * or with the run-time directory.
 */
#ifndef KEPT_CHANNELS_H
#define KEPT_CHANNELS_H

#include "lib/provider/server.h"

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

#endif /* KEPT_CHANNELS_H */
