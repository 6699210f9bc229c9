// SPDX-License-Identifier: MIT
/* The control socket: connections, requests and answers */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control_socket.h"
#include "daemon/config/log.h"
#include "daemon/sync/peers.h"
#include "lib/client/gettime.h"
#include "lib/client/programs.h"

#define CONNECTIONS_MAX	32
#define CONNECTION_NS	2000000000LL	/* longest life of a connection, ns */
/* Size of the request buffer, bytes, including a newline or NUL */
#define REQUEST_MAX	128
/* Maximum number of events, and of new connections, per control_dispatch() */
#define PER_DISPATCH	16
/* Time between log lines of refused requests, which any user can cause, ns */
#define REFUSED_NS	10000000000LL

struct control_connection {
	int fd;				/* descriptor of the connection; -1: free */
	struct ucred cred;		/* credentials of the client process */
	__s64 until_ns;			/* time of closing, CLOCK_MONOTONIC, ns */
	char request[REQUEST_MAX];
	size_t got;			/* received bytes of the request */
	char *answer;			/* answer to send; NULL: request incomplete */
	size_t len, sent;
	__u32 participant;		/* id of the participant that joined by
					 * the request; 0: no participant */
};

struct control {
	struct control_ops ops;
	struct peers *peers;
	int epoll, listener;
	bool paused;			/* true: the listening socket is not polled,
					 * because descriptors or memory ran out */
	__s64 refused_ns;		/* time of the last log line about a refused
					 * request, CLOCK_MONOTONIC, ns */
	struct control_connection connections[CONNECTIONS_MAX];
	/* connections of participants whose request to join was answered */
	struct control_connection participants[PEERS_PARTICIPANTS_MAX];
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* ---- connections --------------------------------------------------------- */

static int watch_fd(struct control *control, int op, int fd, __u32 events,
		    void *owner)
{
	struct epoll_event event = { .events = events, .data.ptr = owner };

	return epoll_ctl(control->epoll, op, fd, &event) ? -errno : 0;
}

/* Frees the entry of a connection whose descriptor was closed, or moved to another entry. */
static void free_connection(struct control_connection *connection)
{
	free(connection->answer);
	*connection = (struct control_connection) { .fd = -1 };
}

static void close_connection(struct control *control,
			     struct control_connection *connection)
{
	__u32 id = connection->participant;

	close(connection->fd);
	free_connection(connection);
	if (id)
		peers_leave(control->peers, id);
}

/* Moves a connection to control->participants, after a participant's request to join was answered.
 * There, the connection has no time limit, and add_connection() does not close the connection. */
static void keep_participant(struct control *control,
			     struct control_connection *connection)
{
	struct control_connection *at = control->participants;

	/* A free entry exists: there are as many entries as participants. */
	while (at->fd >= 0)
		at++;
	*at = (struct control_connection) {
		.fd = connection->fd, .cred = connection->cred,
		.participant = connection->participant,
	};
	free_connection(connection);
	if (watch_fd(control, EPOLL_CTL_MOD, at->fd, EPOLLIN, at))
		close_connection(control, at);
}

static bool is_participant(const struct control *control,
			   const struct control_connection *connection)
{
	return connection >= control->participants &&
		connection < control->participants + PEERS_PARTICIPANTS_MAX;
}

/* Stores a connection in a free entry, or else closes the oldest connection and uses its entry. */
static void add_connection(struct control *control, int fd)
{
	struct control_connection *connection = &control->connections[0];
	socklen_t len = sizeof(connection->cred);
	int i;

	for (i = 0; i < CONNECTIONS_MAX && connection->fd >= 0; i++)
		if (control->connections[i].fd < 0 ||
		    control->connections[i].until_ns < connection->until_ns)
			connection = &control->connections[i];
	if (connection->fd >= 0)
		close_connection(control, connection);
	connection->fd = fd;
	connection->until_ns = tsct_monotonic_ns() + CONNECTION_NS;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &connection->cred, &len) ||
	    watch_fd(control, EPOLL_CTL_ADD, fd, EPOLLIN, connection))
		close_connection(control, connection);
}

static void accept_connections(struct control *control)
{
	int i, fd;

	for (i = 0; i < PER_DISPATCH; i++) {
		fd = accept4(control->listener, NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			break;
		add_connection(control, fd);
	}
	if (i == PER_DISPATCH || errno == EAGAIN || errno == EINTR ||
	    errno == ECONNABORTED)
		return;
	/*
	 * Descriptors or memory are exhausted: the listening socket is not polled until
	 * control_tick(), as waiting connections would make each epoll_wait() return at
	 * once.
	 */
	control->paused = true;
	watch_fd(control, EPOLL_CTL_DEL, control->listener, 0, NULL);
}

/* ---- requests ------------------------------------------------------------ */

/* Log lines name the client process by pid only: the process may have
 * ended, and a process can choose any name. */
static void fake_disruption(struct control *control,
			    const struct control_connection *connection, FILE *to)
{
	const struct ucred *cred = &connection->cred;
	__s64 now = tsct_monotonic_ns();

	if (cred->uid == 0 || cred->uid == geteuid()) {
		log_warning("process %d of user %u requested a fake disruption of the clock",
			    (int)cred->pid, (unsigned int)cred->uid);
		control->ops.fake_disruption(control->ops.ctx, to);
		return;
	}
	fprintf(to, "error: only root may request this, or the daemon's user\n");
	if (control->refused_ns && now - control->refused_ns < REFUSED_NS)
		return;
	control->refused_ns = now;
	log_warning("process %d of user %u requested a fake disruption: refused: "
		    "the process is not root", (int)cred->pid, (unsigned int)cred->uid);
}

/* Returns true if the request is "timesync NUMBER ID CALL" with the id of
 * another process: ids are easy to guess, and no process may call in another's
 * name. Compares pids, because a process may change its user after it joined.
 * If both pids are 0 (processes of another pid namespace), compares users. */
static bool is_for_another(const struct control *control,
			   const struct control_connection *connection)
{
	const struct control_connection *at = control->participants;
	unsigned int id;

	if (sscanf(connection->request, "timesync %*u %u", &id) != 1 || !id)
		return false;
	for (; at < control->participants + PEERS_PARTICIPANTS_MAX; at++)
		if (at->fd >= 0 && at->participant == id)
			return at->cred.pid != connection->cred.pid ||
				(!at->cred.pid && at->cred.uid != connection->cred.uid);
	return false;
}

static void answer_request(struct control *control,
			   struct control_connection *connection)
{
	FILE *to = open_memstream(&connection->answer, &connection->len);

	if (!to)
		return;
	if (!strcmp(connection->request, "metrics"))
		control->ops.metrics(control->ops.ctx, to);
	else if (!strcmp(connection->request, "fake-disruption"))
		fake_disruption(control, connection, to);
	else if (!strncmp(connection->request, "join ", 5) && !peers_join)
		fputs(PEERS_NO_COLLECTIVES, to);
	else if (!strncmp(connection->request, "join ", 5))
		connection->participant = peers_join(control->peers,
			connection->request + 5, connection->cred.pid, to);
	else if (is_for_another(control, connection))
		fprintf(to, "unknown 0\n");
	else if (!peers_answer(control->peers, connection->request, to))
		fprintf(to,
			"error: unknown request; use metrics, peers, exchanges, "
			"samples, sync, timesync, join or fake-disruption\n");
	if (fclose(to)) {
		free(connection->answer);
		connection->answer = NULL;
	}
}

/* Reads a request from a connection. Returns true if the request is complete, and
 * connection->answer is ready to be sent. */
static bool read_request(struct control *control,
			 struct control_connection *connection)
{
	size_t room = sizeof(connection->request) - 1 - connection->got;
	ssize_t len = recv(connection->fd,
			   connection->request + connection->got, room, 0);
	char *end;

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (len <= 0) {
		close_connection(control, connection);
		return false;
	}
	end = memchr(connection->request + connection->got, '\n', (size_t)len);
	connection->got += (size_t)len;
	if (end) {
		*end = '\0';
		if (end > connection->request && end[-1] == '\r')
			end[-1] = '\0';
	} else if (connection->got < sizeof(connection->request) - 1) {
		return false;
	} else {
		/* The received text is longer than any valid request:
		 * treats the text as an empty request. */
		connection->request[0] = '\0';
	}
	answer_request(control, connection);
	if (connection->answer)
		return true;
	close_connection(control, connection);
	return false;
}

/* Sends as much of an answer as the socket accepts now; EPOLLOUT reports when the
 * socket accepts more. */
static void send_answer(struct control *control,
			struct control_connection *connection)
{
	ssize_t len = send(connection->fd, connection->answer + connection->sent,
			   connection->len - connection->sent, MSG_NOSIGNAL);

	if (len < 0 && errno != EAGAIN && errno != EINTR) {
		close_connection(control, connection);
		return;
	}
	if (len > 0)
		connection->sent += (size_t)len;
	if (connection->sent == connection->len && connection->participant)
		keep_participant(control, connection);
	else if (connection->sent == connection->len ||
		 watch_fd(control, EPOLL_CTL_MOD, connection->fd, EPOLLOUT, connection))
		close_connection(control, connection);
}

/* ---- the listening socket ------------------------------------------------ */

int control_fd(const struct control *control)
{
	return control->epoll;
}

void control_dispatch(struct control *control)
{
	struct epoll_event events[PER_DISPATCH];
	int i, nr = epoll_wait(control->epoll, events, PER_DISPATCH, 0);

	/* New connections are accepted last, because they may evict a connection whose
	 * request has just arrived. */
	for (i = 0; i < nr; i++) {
		struct control_connection *connection = events[i].data.ptr;

		if (!connection || connection->fd < 0)
			continue;
		/* A participant's connection is readable when the participant has ended or
		 * left. A participant must not send data: data end the connection, too. */
		if (is_participant(control, connection))
			close_connection(control, connection);
		else if (connection->answer || read_request(control, connection))
			send_answer(control, connection);
	}
	for (i = 0; i < nr; i++)
		if (!events[i].data.ptr)
			accept_connections(control);
}

void control_tick(struct control *control)
{
	__s64 now = tsct_monotonic_ns();
	int i;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (control->connections[i].fd >= 0 &&
		    control->connections[i].until_ns < now)
			close_connection(control, &control->connections[i]);
	if (control->paused)
		control->paused = watch_fd(control, EPOLL_CTL_ADD, control->listener,
					   EPOLLIN, NULL);
}

static int listen_at(struct control *control)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	memcpy(addr.sun_path, control->path, sizeof(addr.sun_path));
	control->listener = tsct_unix_listen(&addr, SOCK_STREAM | SOCK_NONBLOCK, 0666, SOMAXCONN);
	return control->listener < 0 ? control->listener :
		watch_fd(control, EPOLL_CTL_ADD, control->listener, EPOLLIN, NULL);
}

int control_open(const char *dir_path, const struct control_ops *ops,
		 struct peers *peers, struct control **ret_control)
{
	struct control *control = calloc(1, sizeof(*control));
	int i, err;

	if (!control)
		return -ENOMEM;
	control->ops = *ops;
	control->peers = peers;
	control->listener = -1;
	for (i = 0; i < CONNECTIONS_MAX; i++)
		control->connections[i].fd = -1;
	for (i = 0; i < PEERS_PARTICIPANTS_MAX; i++)
		control->participants[i].fd = -1;
	if (snprintf(control->path, sizeof(control->path), "%s/" CONTROL_SOCKET,
		     dir_path) >= (int)sizeof(control->path)) {
		free(control);
		return -ENAMETOOLONG;
	}
	control->epoll = epoll_create1(EPOLL_CLOEXEC);
	err = control->epoll < 0 ? -errno : listen_at(control);
	if (err) {
		control_close(control);
		return err;
	}
	*ret_control = control;
	return 0;
}

void control_close(struct control *control)
{
	int i;

	if (!control)
		return;
	/* Drops the participants: their processes join again if another daemon is started. */
	for (i = 0; i < PEERS_PARTICIPANTS_MAX; i++)
		if (control->participants[i].fd >= 0)
			close(control->participants[i].fd);
	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (control->connections[i].fd >= 0) {
			close(control->connections[i].fd);
			free_connection(&control->connections[i]);
		}
	if (control->listener >= 0) {
		unlink(control->path);
		close(control->listener);
	}
	if (control->epoll >= 0)
		close(control->epoll);
	free(control);
}
