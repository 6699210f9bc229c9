/* SPDX-License-Identifier: MIT */
/*
 * The control socket: a stream socket in the run-time directory. A client sends
 * a request of one line and receives one answer, after which the connection is
 * closed. Only the connection of a process that joins the collectives stays open, until
 * the process leaves or ends. Any user may send requests; only root and the daemon's own
 * user may request a fake disruption.
 *
 * Clients may be hostile: the number, lifetime and memory of connections
 * are limited, and the daemon never blocks on a connection.
 */
#ifndef TSCTRACED_CONTROL_H
#define TSCTRACED_CONTROL_H

#include <stdio.h>

#include "daemon/clock/timekeeper.h"
#include "lib/base/wing.h"

#define CONTROL_SOCKET	"control.sock"

struct control_ops {
	void *ctx;
	/* Prints the daemon's metrics. */
	void (*metrics)(void *ctx, FILE *to);
	/* Begins an epoch for a fake disruption and prints the outcome. */
	void (*fake_disruption)(void *ctx, FILE *to);
};

struct control;
struct peers;

/* Listens on the control socket in @dir_path, after removing the socket of an earlier daemon.
 * @peers answers all requests for which @ops has no function. Returns 0 or -errno. */
int control_open(const char *dir_path, const struct control_ops *ops,
		 struct peers *peers, struct control **ret_control);

/* Closes all connections and removes the control socket. @control may be NULL. */
void control_close(struct control *control);

/* Returns a descriptor that is readable while control_dispatch() has work. */
int control_fd(const struct control *control);

/* Serves connections of the control socket: a bounded amount of work per call. */
void control_dispatch(struct control *control);

/* Closes connections that take too long. Call it about once a second. */
void control_tick(struct control *control);

/* ---- the wing daemon/metrics --------------------------------------------- */

struct metrics_counts {
	bool module;		/* true: the daemon uses the kernel module */
	__u64 channels;		/* number of channels held by this daemon */
	__u64 bytes;		/* memory of this daemon's channels, bytes */
	__u32 segments;		/* number of clock segments in the clock file */
};

/* Prints metrics as text for Prometheus. */
TSCT_WING void metrics_answer(const struct timekeeper *timekeeper,
			      const struct metrics_counts *counts, FILE *to);

#endif /* TSCTRACED_CONTROL_H */
