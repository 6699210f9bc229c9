/* SPDX-License-Identifier: MIT */
/*
 * The control socket: a stream socket of the run-time directory. A client sends
 * one line, gets one answer, and is hung up on. Anybody may ask; what changes
 * something is for root and for the daemon's own user.
 *
 * Clients are taken as hostile: few at a time, for a short time, with little
 * memory each, and nobody is waited for.
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
	/* Begins an epoch; prints what came of it. 0 or -errno. */
	int (*fake)(void *ctx, FILE *to);
	/* Any other request, of anybody; false: there is no such. */
	bool (*other)(void *ctx, const char *request, FILE *to);
};

struct control;

/*
 * control_open - listen in @dir_path, which is ours alone: what is left there
 * of a predecessor is removed. 0 or -errno.
 */
int control_open(const char *dir_path, const struct control_ops *ops,
		 struct control **ret_control);

/* Hangs up on everybody, and removes the socket. NULL is fine. */
void control_close(struct control *control);

/* Readable when control_dispatch() has work, which it does a bounded amount of. */
int control_fd(const struct control *control);
void control_dispatch(struct control *control);

/* Now and then: hangs up on who is too slow. */
void control_tick(struct control *control);

#endif /* TSCTRACED_CONTROL_H */
