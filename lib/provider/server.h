/* SPDX-License-Identifier: MIT */
/*
 * The provider without a module: serves channels in memfds over a Unix
 * socket, for tsctraced and for `trace-ctl record`.
 *
 * Clients are taken as hostile. A channel belongs to the user who made it and
 * goes when the last connection that is bound to it goes. Whoever holds a
 * channel's memfd can write to all of it, so the server keeps its own copy of
 * everything it decides by and reads from the memfd only figures it reports.
 *
 * A ring's memory is allocated when the channel is made (fallocate) for CPUs
 * that are online, so that no writer of theirs can ever meet SIGBUS for want
 * of memory. CPUs that are merely possible are READY too, but their data is
 * left sparse: they cost nothing until they come up.
 */
#ifndef TSCT_PROVIDER_H
#define TSCT_PROVIDER_H

#include <linux/types.h>

struct tsct_server;
struct tsct_store_unread;	/* store.h */

/*
 * tsct_server_start - listen
 * @socket_path: in a directory that the caller made; the directory's mode says
 *	who may connect. A dead server's socket is replaced.
 * @kind: "daemon" or "embedded", told to clients
 *
 * Returns 0, -EADDRINUSE: another server lives there, -ENAMETOOLONG, or what
 * the system says.
 */
int tsct_server_start(const char *socket_path, const char *kind,
		      struct tsct_server **ret_server);

/* An epoll descriptor: readable when tsct_server_dispatch() has work. */
int tsct_server_fd(const struct tsct_server *server);

/*
 * tsct_server_dispatch - handle what is ready, without blocking. A bounded
 * amount per call: the descriptor stays readable if there is more.
 */
void tsct_server_dispatch(struct tsct_server *server);

/* What it holds: channels, and their memory. For who calls dispatch. */
void tsct_server_count(const struct tsct_server *server, __u64 *ret_channels,
		       __u64 *ret_bytes);

/*
 * tsct_server_run - serve from a thread of the server's own, with all signals
 * blocked, until tsct_server_stop(). The same process may then open channels
 * of its own server with tsct_channel_open_at() (handle.h). Do not call dispatch too.
 */
int tsct_server_run(struct tsct_server *server);

/*
 * tsct_server_unread - what was emitted into channels that nobody ever read
 *
 * Ends the server's own thread: clients are served no more, and what they left
 * behind is looked at. Only tsct_server_stop() may follow.
 */
void tsct_server_unread(struct tsct_server *server,
			struct tsct_store_unread *ret_unread);

/* Closes everything and removes the socket. NULL is fine. */
void tsct_server_stop(struct tsct_server *server);

#endif /* TSCT_PROVIDER_H */
