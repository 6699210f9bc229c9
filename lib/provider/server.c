// SPDX-License-Identifier: MIT
/*
 * The socket server. The work that a client can cause is bounded: messages per turn,
 * connections per user, memory per connection. A send never blocks: a client whose
 * receive buffer is full is disconnected.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/client/gettime.h"
#include "lib/client/programs.h"
#include "server.h"
#include "lib/abi/fd_message.h"
#include "payer.h"
#include "store.h"

#define CONNECTIONS_MAX		6144
#define DESCRIPTORS_WANTED	(CONNECTIONS_MAX + TSCT_STORE_CHANNELS_MAX + \
				 DESCRIPTORS_SPARED + DESCRIPTORS_DAEMON)
/* number of file descriptors reserved for all uses other than connections and channels */
#define DESCRIPTORS_SPARED	64
/* number of file descriptors reserved for participants of collectives, in the daemon */
#define DESCRIPTORS_DAEMON	512
#define MESSAGES_PER_EVENT	16
#define CLOSING_STACK	65536	/* stack of a thread that closes a descriptor, bytes */
/* duration of a dispatch, ns, after which no more requests are read */
#define TURN_MAX_NS		2000000

struct connection {
	LIST_ENTRY(connection) list;
	struct tsct_store_peer peer;
	uid_t payer;		/* user to whose limit the connection counts */
	int fd;			/* socket; -1: disconnected, and a thread closes sent_fd */
	int sent_fd;		/* descriptor whose close() may block; -1: none */
	/* true: sent_fd was closed, or the server was stopped; atomic.
	 * Whichever of the two happens later frees the connection. */
	bool is_done;
};

struct tsct_server {
	struct tsct_store store;
	LIST_HEAD(, connection) connections;
	unsigned int nr_connections;
	unsigned int max_connections;
	unsigned int max_of_user;	/* connections that a non-root user may have */
	unsigned int reserved_connections;	/* connections that only root may have */
	__s64 turn_end_ns;		/* end of the dispatch, ns of CLOCK_MONOTONIC */
	int epoll;
	int listener;
	int lock;			/* descriptor of lock_path, locked by flock() */
	int spare;			/* descriptor to close at the limit of open files,
					 * so that accept4() can return a descriptor */
	int wake;			/* eventfd that ends the thread */
	void (*on_thread)(void *context, __u32 tid);	/* NULL: none */
	void *context;
	bool has_thread;
	bool is_stopping;
	pthread_t thread;
	struct sockaddr_un addr;
	char lock_path[sizeof(((struct sockaddr_un *)0)->sun_path) + 8];
};

/* Buffer of a request, with room for the argument of any command */
struct message {
	struct tsct_request request;
	char arg[TSCT_ARG_MAX] __attribute__((aligned(8)));
};

static int watch_fd(struct tsct_server *server, int fd, void *key)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = key };

	return epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ?
		-errno : 0;
}

static void *close_sent_fd(void *arg)
{
	struct connection *conn = arg;

	close(conn->sent_fd);
	if (__atomic_exchange_n(&conn->is_done, true, __ATOMIC_ACQ_REL))
		free(conn);
	return NULL;
}

static void forget_connection(struct tsct_server *server, struct connection *conn)
{
	LIST_REMOVE(conn, list);
	server->nr_connections--;
	free(conn);
}

static void disconnect_client(struct tsct_server *server, struct connection *conn)
{
	tsct_store_release(&server->store, &conn->peer, !server->is_stopping);
	/* close() does not remove a socket from the epoll set if a forked child has a copy. */
	epoll_ctl(server->epoll, EPOLL_CTL_DEL, conn->fd, NULL);
	close(conn->fd);
	conn->fd = -1;
	/* If no thread can be started, sent_fd remains open, and the connection
	 * still counts to its user's limit. */
	if (conn->sent_fd >= 0)
		tsct_thread_start(NULL, CLOSING_STACK, close_sent_fd, conn);
	else
		forget_connection(server, conn);
}

/* Counts a user's connections, including those whose sent_fd is still being closed. */
static unsigned int count_connections(struct tsct_server *server, uid_t payer)
{
	struct connection *conn, *next;
	unsigned int nr = 0;

	for (conn = LIST_FIRST(&server->connections); conn; conn = next) {
		next = LIST_NEXT(conn, list);
		if (__atomic_load_n(&conn->is_done, __ATOMIC_ACQUIRE))
			forget_connection(server, conn);
		else
			nr += conn->payer == payer;
	}
	return nr;
}

/*
 * Returns true if close() of a received descriptor cannot block: it is memory or an eventfd,
 * as clients send them. close() and fstat() of a file on a FUSE file system wait for an
 * answer of the program that serves the file system, which may be the client.
 */
static bool is_closed_at_once(int fd)
{
	static const char eventfd_link[] = "anon_inode:[eventfd]";
	char path[32], link[sizeof(eventfd_link)];

	if (fcntl(fd, F_GET_SEALS) >= 0)
		return true;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, link, sizeof(link)) == sizeof(eventfd_link) - 1 &&
		!memcmp(link, eventfd_link, sizeof(eventfd_link) - 1);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void accept_client(struct tsct_server *server, int fd)
{
	struct connection *conn;
	struct ucred cred;
	uid_t payer;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		goto close_fd;
	payer = tsct_payer(cred.uid);
	if ((count_connections(server, payer) >= server->max_of_user && cred.uid) ||
	    server->nr_connections + (cred.uid ? server->reserved_connections : 0) >=
	    server->max_connections)
		goto close_fd;
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		goto close_fd;
	conn->fd = fd;
	conn->sent_fd = -1;
	conn->peer.uid = cred.uid;
	conn->payer = payer;
	if (server->on_thread && cred.pid > 0)
		server->on_thread(server->context, (__u32)cred.pid);
	if (watch_fd(server, fd, conn))
		goto free_conn;
	LIST_INSERT_HEAD(&server->connections, conn, list);
	server->nr_connections++;
	return;
free_conn:
	free(conn);
close_fd:
	close(fd);
}

static void accept_clients(struct tsct_server *server)
{
	int i, fd;

	for (i = 0; i < MESSAGES_PER_EVENT; i++) {
		fd = accept4(server->listener, NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			accept_client(server, fd);
		} else if (errno == EMFILE || errno == ENFILE) {
			/*
			 * There is no free descriptor. A client that remained in
			 * the queue would keep epoll readable: accept the client by
			 * means of the spare descriptor, and disconnect the client.
			 */
			close(server->spare);
			close_fd(accept4(server->listener, NULL, NULL, SOCK_CLOEXEC));
			server->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
		} else if (errno != ECONNABORTED && errno != EINTR) {
			return;
		}
	}
}

/*
 * Answers TSCT_IOC_THREAD. A thread of another pid namespace sets its own id as the owner
 * of a descriptor, and sends the descriptor: the kernel translates the id to this server's
 * namespace. Returns 0; -ESRCH: the thread is not in a namespace below the server's; or -errno.
 */
static int identify_thread(struct tsct_server *server, int fd,
			   struct tsct_thread_info *thread)
{
	struct f_owner_ex owner;

	if (fd < 0)
		return -EINVAL;
	if (fcntl(fd, F_GETOWN_EX, &owner) < 0)
		return -errno;
	if (owner.type != F_OWNER_TID || owner.pid <= 0)
		return -ESRCH;
	*thread = (struct tsct_thread_info) { .tid = (__u32)owner.pid };
	if (server->on_thread)
		server->on_thread(server->context, thread->tid);
	return 0;
}

/*
 * Answers a request. @len: size of the message as sent; above sizeof(*message):
 * truncated.
 * @sent_fd: descriptor that was sent with the request, and is closed here; -1: none
 *
 * Returns 0, or -errno if the client is to be disconnected.
 */
static int answer_request(struct tsct_server *server, struct connection *conn,
			  struct message *message, size_t len, int sent_fd)
{
	const size_t size = len - sizeof(message->request);
	union tsct_fd_control control;
	struct tsct_reply reply = { .result = -EINVAL };
	struct iovec iov[] = { { &reply, sizeof(reply) }, { message->arg, 0 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	int fd = -1;

	if (sent_fd >= 0 && !is_closed_at_once(sent_fd)) {
		conn->sent_fd = sent_fd;
		return -EPROTO;
	}
	if (len >= sizeof(message->request) && message->request.size == size &&
	    message->request.cmd == TSCT_IOC_THREAD && size == sizeof(struct tsct_thread_info))
		reply.result = identify_thread(server, sent_fd, (void *)message->arg);
	else if (len >= sizeof(message->request) && message->request.size == size)
		reply.result = tsct_store_request(&server->store, &conn->peer,
						  message->request.cmd,
						  message->arg, size, sent_fd,
						  &fd);
	close_fd(sent_fd);
	if (len < sizeof(message->request))
		return -EPROTO;
	if (!reply.result)
		iov[1].iov_len = reply.size = size;
	tsct_fd_message_put(&msg, &control, fd);
	return sendmsg(conn->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ?
		-errno : 0;
}

static void serve_client(struct tsct_server *server, struct connection *conn)
{
	struct message message;
	ssize_t len;
	int i, fd;

	for (i = 0; i < MESSAGES_PER_EVENT; i++) {
		memset(&message, 0, sizeof(message));
		len = tsct_fd_message_receive(conn->fd, &message, sizeof(message),
					      MSG_DONTWAIT | MSG_TRUNC, &fd);
		if (len < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (!len)
			conn->sent_fd = fd;
		if (len <= 0 || answer_request(server, conn, &message, len, fd)) {
			disconnect_client(server, conn);
			return;
		}
		if (tsct_monotonic_ns() > server->turn_end_ns)
			return;
	}
}

/*
 * Fetches one event per epoll_wait(). The kernel then moves the client of that event to
 * the end of epoll's ready list, so a few busy clients cannot delay all other clients.
 */
void tsct_server_dispatch(struct tsct_server *server)
{
	struct epoll_event event;

	server->turn_end_ns = tsct_monotonic_ns() + TURN_MAX_NS;
	while (tsct_monotonic_ns() <= server->turn_end_ns &&
	       epoll_wait(server->epoll, &event, 1, 0) == 1) {
		if (event.data.ptr == &server->wake)
			return;
		if (event.data.ptr == &server->listener)
			accept_clients(server);
		else
			serve_client(server, event.data.ptr);
	}
}

void tsct_server_set_fd_store(struct tsct_server *server,
			    const struct tsct_fd_store *fd_store)
{
	server->store.fd_store = *fd_store;
}

void tsct_server_on_thread(struct tsct_server *server,
			   void (*on_thread)(void *context, __u32 tid), void *context)
{
	server->on_thread = on_thread;
	server->context = context;
}

int tsct_server_restore(struct tsct_server *server, const char *label, int memfd)
{
	return tsct_store_restore(&server->store, label, memfd);
}

int tsct_server_fd(const struct tsct_server *server)
{
	return server->epoll;
}

void tsct_server_count(const struct tsct_server *server, __u64 *ret_channels,
		       __u64 *ret_bytes)
{
	*ret_channels = server->store.nr_channels;
	*ret_bytes = server->store.bytes;
}

static void *server_thread(void *arg)
{
	struct tsct_server *server = arg;
	struct epoll_event event;
	uint64_t ended;

	while (read(server->wake, &ended, sizeof(ended)) < 0) {
		epoll_wait(server->epoll, &event, 1, -1);
		tsct_server_dispatch(server);
	}
	return NULL;
}

int tsct_server_run(struct tsct_server *server)
{
	const int err = tsct_thread_start(&server->thread, 0, server_thread, server);

	server->has_thread = !err;
	return err;
}

/*
 * Takes the lock of the socket's path; only the server that has this lock may
 * use the path. If a former server has removed the lock file between open() and
 * flock(), creates and locks the file again.
 */
static int take_lock(struct tsct_server *server)
{
	struct stat locked, named;
	int fd;

	for (;;) {
		fd = open(server->lock_path, O_RDWR | O_CREAT | O_CLOEXEC |
			  O_NOFOLLOW, 0600);
		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			close(fd);
			return -EADDRINUSE;
		}
		if (!fstat(fd, &locked) && !stat(server->lock_path, &named) &&
		    locked.st_ino == named.st_ino && locked.st_dev == named.st_dev)
			break;
		close(fd);
	}
	server->lock = fd;
	return 0;
}

/* Replaces an existing socket: as the caller holds the lock, that socket's server has ended. */
static int listen_at_path(struct tsct_server *server)
{
	server->listener = tsct_unix_listen(&server->addr, SOCK_SEQPACKET | SOCK_NONBLOCK, 0666,
					    SOMAXCONN);
	return server->listener < 0 ? server->listener :
		watch_fd(server, server->listener, &server->listener);
}

/*
 * A channel needs a descriptor, and so does a connection. Of the available descriptors, three
 * fifths are for connections, two fifths for channels. In the daemon, a user other than root may
 * use a quarter of each of these shares, and all such users together seven eighths. The daemon
 * raises its limit of descriptors, as it starts no programs that would inherit the limit.
 */
static void set_limits(struct tsct_server *server, bool is_daemon)
{
	unsigned long room, part = is_daemon ? 4 : 1;
	unsigned long spared = is_daemon ?
		DESCRIPTORS_SPARED + DESCRIPTORS_DAEMON : DESCRIPTORS_SPARED;
	struct tsct_store *store = &server->store;
	struct rlimit limit = { 1024, 1024 };

	getrlimit(RLIMIT_NOFILE, &limit);
	if (is_daemon && limit.rlim_cur < DESCRIPTORS_WANTED) {
		limit.rlim_cur = min(limit.rlim_max, DESCRIPTORS_WANTED);
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	room = limit.rlim_cur > 4 * spared ?
		limit.rlim_cur - spared : limit.rlim_cur / 2;
	room = min(room, CONNECTIONS_MAX + TSCT_STORE_CHANNELS_MAX);
	store->channels_max = room * 2 / 5;
	store->channels_user_max = store->channels_max / part;
	server->max_connections = room - store->channels_max;
	server->max_of_user = server->max_connections / part;
	server->reserved_connections =
		(unsigned int)tsct_store_reserve(store, server->max_connections);
}

static void end_thread(struct tsct_server *server)
{
	uint64_t one = 1;

	if (!server->has_thread)
		return;
	(void)TEMP_FAILURE_RETRY(write(server->wake, &one, sizeof(one)));
	pthread_join(server->thread, NULL);
	server->has_thread = false;
}

#define LAST_TURNS	1000	/* maximum dispatch calls in tsct_server_unread() */

void tsct_server_unread(struct tsct_server *server,
			struct tsct_store_unread *ret_unread)
{
	struct pollfd pollfd = { .fd = server->epoll, .events = POLLIN };
	int turns = LAST_TURNS;

	end_thread(server);
	while (turns-- && poll(&pollfd, 1, 0) > 0)
		tsct_server_dispatch(server);
	tsct_store_unread(&server->store, ret_unread);
}

void tsct_server_stop(struct tsct_server *server)
{
	struct connection *conn;

	if (!server)
		return;
	end_thread(server);
	/* A recorder may still read events from the memfd of a channel, so disconnect_client()
	 * does not free the memory while is_stopping is true. */
	server->is_stopping = true;
	while ((conn = LIST_FIRST(&server->connections)))
		if (conn->fd >= 0)
			disconnect_client(server, conn);
		else if (__atomic_exchange_n(&conn->is_done, true, __ATOMIC_ACQ_REL))
			forget_connection(server, conn);
		else	/* close_sent_fd() frees @conn. */
			LIST_REMOVE(conn, list);
	tsct_store_clear(&server->store);
	if (server->listener >= 0)
		unlink(server->addr.sun_path);
	close_fd(server->listener);
	if (server->lock >= 0)
		unlink(server->lock_path);
	close_fd(server->lock);
	close_fd(server->spare);
	close_fd(server->wake);
	close_fd(server->epoll);
	free(server);
}

int tsct_server_start(const char *socket_path, const char *kind, __u32 source,
		      struct tsct_server **ret_server)
{
	struct tsct_server *server;
	int err;

	if (strlen(socket_path) >= sizeof(server->addr.sun_path))
		return -ENAMETOOLONG;
	server = calloc(1, sizeof(*server));
	if (!server)
		return -ENOMEM;
	server->epoll = server->listener = server->lock = -1;
	server->spare = server->wake = -1;
	server->addr.sun_family = AF_UNIX;
	memcpy(server->addr.sun_path, socket_path, strlen(socket_path));
	snprintf(server->lock_path, sizeof(server->lock_path), "%s.lock",
		 socket_path);
	err = take_lock(server);
	if (err)
		goto stop;
	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	server->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	server->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	err = server->epoll < 0 || server->wake < 0 || server->spare < 0 ?
		-errno : watch_fd(server, server->wake, &server->wake);
	if (err)
		goto stop;
	tsct_store_init(&server->store, kind, source);
	set_limits(server, !strcmp(kind, "daemon"));
	err = listen_at_path(server);
	if (err)
		goto stop;
	*ret_server = server;
	return 0;
stop:
	tsct_server_stop(server);
	return err;
}
