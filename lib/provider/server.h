/* SPDX-License-Identifier: MIT */
/*
 * The provider without a module: serves channels in memfds over a Unix socket, for
 * tsctraced and for trace-ctl record.
 *
 * Clients may be hostile. A channel belongs to the user who created it, and is freed
 * when the last connection that is bound to it closes. A process that has a
 * channel's memfd can write to the whole memfd. So the server relies on a private
 * copy of the header and the definitions, and reads only statistics from the memfd.
 *
 * The client that creates a channel allocates the rings of the CPUs that are online, so that a
 * writer does not get SIGBUS when memory is short, and so that the memory counts to
 * the client's memory cgroup, not to the server's. CPUs that are possible but offline
 * are READY, too, but most memory of their rings is allocated when these CPUs write.
 *
 * One thread at a time may call functions on a server. None is async-signal-safe.
 */
#ifndef TSCT_SERVER_H
#define TSCT_SERVER_H

#include <linux/types.h>

struct tsct_server;
struct tsct_store_unread;	/* counts of unread events, defined in store.h */

/*
 * tsct_server_start - listen on a socket
 * @socket_path: path of the socket, in an existing directory whose mode decides which
 *	users may connect. The socket of a server that has ended is replaced.
 * @kind: kind of the provider, "daemon" or "embedded", reported to clients
 * @source: TSCT_SOURCE_* of the channels. Pass the source of the clock that will convert
 *	the channels' cycles: if the source were chosen again, the choice might differ.
 *
 * Returns 0; -EADDRINUSE: another server runs at @socket_path; -ENAMETOOLONG;
 * -ENOMEM; or another -errno of a system call.
 */
int tsct_server_start(const char *socket_path, const char *kind, __u32 source,
		      struct tsct_server **ret_server);

/*
 * tsct_server_set_fd_store - set the fd store, which keeps memfds of kept channels at a restart
 * tsct_server_restore - take back a kept channel, see tsct_store_restore()
 *
 * Call them before the first tsct_server_dispatch().
 */
struct tsct_fd_store;
void tsct_server_set_fd_store(struct tsct_server *server,
			    const struct tsct_fd_store *fd_store);
int tsct_server_restore(struct tsct_server *server, const char *label, int memfd);

/*
 * tsct_server_on_thread - set a function that is called while a thread waits for an answer
 * @on_thread: called with the id of the process that connects, or of the thread
 *	that requests its id (TSCT_IOC_THREAD), in this process's pid namespace
 *
 * Call it before tsct_server_run().
 */
void tsct_server_on_thread(struct tsct_server *server,
			   void (*on_thread)(void *context, __u32 tid), void *context);

/* Returns an epoll descriptor: readable when tsct_server_dispatch() has work. */
int tsct_server_fd(const struct tsct_server *server);

/* Handles pending events for up to 2 ms, without blocking. */
void tsct_server_dispatch(struct tsct_server *server);

/* Returns the number of channels, and the bytes of memory of all channels. Must not be
 * called after tsct_server_run(). */
void tsct_server_count(const struct tsct_server *server, __u64 *ret_channels,
		       __u64 *ret_bytes);

/*
 * tsct_server_run - start a thread that dispatches until tsct_server_stop()
 *
 * The thread has all signals blocked. The process may then open channels of its own
 * server by tsct_channel_open_at(). The caller must not call tsct_server_dispatch() any
 * more. Returns 0 or -errno.
 */
int tsct_server_run(struct tsct_server *server);

/*
 * tsct_server_unread - count the events in channels that no reader has opened
 *
 * Ends the server's thread, then handles clients that have disconnected. Only
 * tsct_server_stop() may follow.
 */
void tsct_server_unread(struct tsct_server *server,
			struct tsct_store_unread *ret_unread);

/* Closes all connections, removes the socket and frees @server. NULL is allowed. */
void tsct_server_stop(struct tsct_server *server);

#endif /* TSCT_SERVER_H */
