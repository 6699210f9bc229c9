/* SPDX-License-Identifier: MIT */
#ifndef TSCTRACED_LOOP_H
#define TSCTRACED_LOOP_H

#include "keeper.h"

struct tsct_server;

/*
 * loop_run - tick every @interval_ms and serve, until SIGTERM or SIGINT
 *
 * Those and SIGHUP must be blocked: the loop takes them from a descriptor.
 * Returns 0 or -errno.
 */
int loop_run(struct keeper *k, struct tsct_server *server, int interval_ms);

#endif /* TSCTRACED_LOOP_H */
