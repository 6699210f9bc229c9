/* SPDX-License-Identifier: MIT */
/*
 * The control socket: a stream socket in the run-time directory. A client sends
 * a request of one line and gets one answer, after which the connection is
 * closed. Any user may send requests; those that change something are for root
 * and the daemon's own user.
 *
 * Clients are treated as hostile: a few connections, for a short time, with
 * little memory each; the daemon never blocks on one.
 */
#ifndef TSCTRACED_CONTROL_H
#define TSCTRACED_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#define CONTROL_SOCKET	"control.sock"

struct control_ops {
	void *ctx;
	/* Prints the metrics. */
	void (*metrics)(void *ctx, FILE *to);
	/* Begins an epoch and prints the outcome. 0 or -errno. */
	int (*fake_disruption)(void *ctx, FILE *to);
	/* Any other request, from any user; false: it is unknown */
	bool (*other)(void *ctx, const char *request, FILE *to);
};

struct control;

/* control_open - listen in @dir_path, which belongs to this daemon: a socket
 * left there is removed. 0 or -errno. */
int control_open(const char *dir_path, const struct control_ops *ops,
		 struct control **ret_control);

/* Closes all connections and removes the socket. NULL is fine. */
void control_close(struct control *control);

/* A descriptor that is readable while control_dispatch() has work, of which
 * that does a bounded amount */
int control_fd(const struct control *control);
void control_dispatch(struct control *control);

/* To be called once in a while: closes connections that take too long. */
void control_tick(struct control *control);

#endif /* TSCTRACED_CONTROL_H */
