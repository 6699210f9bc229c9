/* SPDX-License-Identifier: MIT */
/*
 * The provider without a module: serves channels in memfds over a Unix socket, for
 * tsctraced and for trace-ctl record.
 *
 * Clients are taken as hostile. A channel belongs to the user who created it, and
 * is freed when the last connection that is bound to it closes. A process that has a
 * channel's memfd can write to all of it, so the server keeps a private copy of
 * everything that it decides by, and reads only statistics from the memfd.
 *
 * The memory of a ring is allocated when the channel is created (fallocate) for CPUs
 * that are online, so that no writer on them can meet SIGBUS for want of memory.
 * CPUs that are merely possible are READY too, but their data is left sparse: it
 * costs nothing until they come up.
 *
 * Functions on a server are for one thread at a time. None is async-signal-safe.
 */
#ifndef TSCT_SERVER_H
#define TSCT_SERVER_H

#include <linux/types.h>

struct tsct_server;
struct tsct_store_unread;	/* store.h */

/*
 * tsct_server_start - listen on a socket
 * @socket_path: in an existing directory, whose mode decides who may connect. The
 *	socket of a server that has ended is replaced.
 * @kind: "daemon" or "embedded", reported to clients
 *
 * Returns 0; -EADDRINUSE: another server runs there; -ENAMETOOLONG; -ENOMEM; or
 * another -errno of a system call.
 */
int tsct_server_start(const char *socket_path, const char *kind,
		      struct tsct_server **ret_server);

/* An epoll descriptor: readable when tsct_server_dispatch() has work. */
int tsct_server_fd(const struct tsct_server *server);

/*
 * tsct_server_dispatch - handle pending events without blocking, 2 ms of them at
 * most: the descriptor stays readable if there are more
 */
void tsct_server_dispatch(struct tsct_server *server);

/* Number of channels, and their memory in bytes. Not while tsct_server_run() runs. */
void tsct_server_count(const struct tsct_server *server, __u64 *ret_channels,
		       __u64 *ret_bytes);

/*
 * tsct_server_run - dispatch in a thread of the server's own, with all signals
 * blocked, until tsct_server_stop()
 *
 * The same process may then open channels of its own server by
 * tsct_channel_open_at(). The caller must not dispatch. Returns 0 or -errno.
 */
int tsct_server_run(struct tsct_server *server);

/*
 * tsct_server_unread - events emitted into channels that were never read
 *
 * Ends the server's thread, then handles the clients that have disconnected; no
 * others are served any more. Only tsct_server_stop() may follow.
 */
void tsct_server_unread(struct tsct_server *server,
			struct tsct_store_unread *ret_unread);

/* Closes all connections, removes the socket and frees @server. NULL is allowed. */
void tsct_server_stop(struct tsct_server *server);

#endif /* TSCT_SERVER_H */
