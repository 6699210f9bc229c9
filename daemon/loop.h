/* SPDX-License-Identifier: MIT */
#ifndef TSCTRACED_LOOP_H
#define TSCTRACED_LOOP_H

#include "keeper.h"
#include "real.h"

struct tsct_server;

/*
 * loop_run - keep the clock and serve, until SIGTERM or SIGINT
 * @interval_ms: from one sample to the next, at most
 *
 * Those and SIGHUP must be blocked: the loop takes them from a descriptor.
 * Returns 0 or -errno.
 */
int loop_run(struct keeper *k, struct real *real, struct tsct_server *server,
	     const char *run_dir, int interval_ms);

#endif /* TSCTRACED_LOOP_H */
