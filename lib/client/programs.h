/* SPDX-License-Identifier: MIT */
/*
 * The sockets of programs, and threads that serve sockets. The helper thread of a program
 * (helper.c) listens on an abstract Unix socket: providers connect to it when they start, and
 * trace-ctl sends requests to it. All names begin with TSCT_PROGRAM_SOCKET. Any process can use
 * such a name; the connection's credentials show which process and user have it.
 */
#ifndef TSCT_PROGRAMS_H
#define TSCT_PROGRAMS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

/* A socket's name is this text, the process id in the program's pid namespace, '.', and a
 * random number. Programs and providers of different releases find each other by this name. */
#define TSCT_PROGRAM_SOCKET	"tsctrace/program/"

struct tsct_program_addr {
	struct sockaddr_un addr;
	socklen_t len;
};

/*
 * tsct_programs_next - get the next program's socket in this network namespace
 * @list: NULL at first, and again after the last socket
 *
 * Returns true with *ret_addr set; false: no more sockets.
 */
bool tsct_programs_next(FILE **list, struct tsct_program_addr *ret_addr);

/*
 * tsct_programs_notify - let all programs of this network namespace look for a provider
 *
 * Does not block. Returns the number of programs that were notified.
 */
unsigned int tsct_programs_notify(void);

/* Connects to a socket of type SOCK_SEQPACKET. @timeout_ms: limit of each later send and receive.
 * Returns a descriptor or -errno. */
int tsct_seqpacket_connect(const struct sockaddr_un *addr, socklen_t len, int timeout_ms);

/*
 * tsct_unix_listen - listen on a socket at a path, and replace a socket that exists there
 * @addr: with a path in the file system, which is not empty
 * @type: SOCK_STREAM or SOCK_SEQPACKET, and flags
 * @mode: permissions of the path; @backlog: as of listen(2)
 *
 * Until it listens, the socket is at the path with '~' in place of the last character; this is the
 * path that getsockname() and ss(8) show. Returns a descriptor; -EADDRINUSE: another file than a
 * socket exists at one of the two paths; or another -errno.
 */
int tsct_unix_listen(const struct sockaddr_un *addr, int type, mode_t mode, int backlog);

/*
 * tsct_thread_start - start a thread with signals blocked
 * @thread: NULL: nobody joins the thread; @stack: bytes; 0: the default
 *
 * Returns 0 or -errno.
 */
int tsct_thread_start(pthread_t *thread, size_t stack, void *(*run)(void *arg), void *arg);

/*
 * tsct_program_connect - connect to a program's socket
 * @timeout_ms: limit of each later send and receive
 * @ret_cred: the program's process and user, from the kernel
 *
 * Returns a descriptor or -errno.
 */
int tsct_program_connect(const struct tsct_program_addr *to, int timeout_ms,
			 struct ucred *ret_cred);

#endif /* TSCT_PROGRAMS_H */
