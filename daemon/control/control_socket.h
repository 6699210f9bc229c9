/* SPDX-License-Identifier: MIT */
/*
 * The control socket: a stream socket in the run-time directory. A client sends
 * a request of one line and receives one answer, after which the connection is
 * closed. Any user may send requests; only root and the daemon's own user may
 * request a fake disruption.
 *
 * Clients may be hostile: the number, lifetime and memory of connections are
 * limited, and the daemon never blocks on one.
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
	void (*metrics)(void *ctx, FILE *to);
	/* Begins an epoch and prints the outcome. */
	void (*fake_disruption)(void *ctx, FILE *to);
	/* Answers another request, of any user. False: the request is unknown. */
	bool (*other)(void *ctx, const char *request, FILE *to);
};

struct control;

/* Listens in @dir_path, after removing a socket that a daemon left there. Returns
 * 0 or -errno. */
int control_open(const char *dir_path, const struct control_ops *ops,
		 struct control **ret_control);

/* Closes all connections and removes the socket. NULL is fine. */
void control_close(struct control *control);

/* A descriptor that is readable while control_dispatch() has work */
int control_fd(const struct control *control);

/* Does a bounded amount of work. */
void control_dispatch(struct control *control);

/* Call about once a second: closes connections that take too long. */
void control_tick(struct control *control);

#endif /* TSCTRACED_CONTROL_H */
