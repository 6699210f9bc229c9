// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control_socket.h"
#include "daemon/config/log.h"
#include "lib/client/gettime.h"

#define CLIENTS_MAX	32
#define CLIENT_NS	2000000000LL	/* from the first byte to the last */
#define REQUEST_MAX	128
#define PER_DISPATCH	16
#define REFUSED_NS	10000000000LL	/* anybody may fill the log, slowly */

struct client {
	int fd;				/* -1: nobody */
	struct ucred cred;
	__s64 until_ns;
	char request[REQUEST_MAX];
	size_t got;
	char *answer;			/* NULL: still listening */
	size_t len, sent;
};

struct control {
	struct control_ops ops;
	int epoll, listener;
	bool bound;			/* the path is ours to remove */
	bool deaf;			/* no room for new clients just now */
	__s64 refused_ns;		/* when that was logged last */
	struct client clients[CLIENTS_MAX];
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* ---- clients come and go -------------------------------------------------- */

static int watch(struct control *control, int op, int fd, __u32 events,
		 void *who)
{
	struct epoll_event event = { .events = events, .data.ptr = who };

	return epoll_ctl(control->epoll, op, fd, &event) ? -errno : 0;
}

static void hang_up(struct client *client)
{
	close(client->fd);
	free(client->answer);
	*client = (struct client) { .fd = -1 };
}

/* A place for one more: a free one, or that of who came first. */
static struct client *find_place(struct control *control)
{
	struct client *first = &control->clients[0], *client;
	int i;

	for (i = 0; i < CLIENTS_MAX; i++) {
		client = &control->clients[i];
		if (client->fd < 0)
			return client;
		if (client->until_ns < first->until_ns)
			first = client;
	}
	hang_up(first);
	return first;
}

static void welcome(struct control *control, int fd)
{
	struct client *client = find_place(control);
	socklen_t len = sizeof(client->cred);

	client->fd = fd;
	client->until_ns = tsct_monotonic_ns() + CLIENT_NS;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &client->cred, &len) ||
	    watch(control, EPOLL_CTL_ADD, fd, EPOLLIN, client))
		hang_up(client);
}

static void accept_some(struct control *control)
{
	int i, fd;

	for (i = 0; i < PER_DISPATCH; i++) {
		fd = accept4(control->listener, NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			welcome(control, fd);
			continue;
		}
		if (errno != EAGAIN && errno != EINTR &&
		    errno != ECONNABORTED) {
			/*
			 * Out of descriptors or memory: who waits would keep
			 * epoll awake, so later.
			 */
			control->deaf = true;
			watch(control, EPOLL_CTL_DEL, control->listener, 0,
			      NULL);
		}
		return;
	}
}

/* ---- what they want -------------------------------------------------------- */

static void refuse(struct control *control, const struct client *client,
		   FILE *to)
{
	__s64 now = tsct_monotonic_ns();

	fprintf(to, "error: only root may ask for that\n");
	if (control->refused_ns && now - control->refused_ns < REFUSED_NS)
		return;
	control->refused_ns = now;
	log_warning("process %d of user %u asked for a fake disruption, and is "
		    "not root", (int)client->cred.pid,
		    (unsigned int)client->cred.uid);
}

/* The process may be any by now, as may its name: the number is all there is. */
static void fake(struct control *control, const struct client *client, FILE *to)
{
	if (client->cred.uid != 0 && client->cred.uid != geteuid()) {
		refuse(control, client, to);
		return;
	}
	log_warning("process %d of user %u asked for a fake disruption",
		    (int)client->cred.pid, (unsigned int)client->cred.uid);
	control->ops.fake(control->ops.ctx, to);
}

static void answer(struct control *control, struct client *client)
{
	FILE *to = open_memstream(&client->answer, &client->len);

	if (!to)
		return;
	if (!strcmp(client->request, "metrics"))
		control->ops.metrics(control->ops.ctx, to);
	else if (!strcmp(client->request, "fake-disruption"))
		fake(control, client, to);
	else if (!control->ops.other(control->ops.ctx, client->request, to))
		fprintf(to, "error: no such request; there are metrics, peers, "
			"exchanges, samples, sync, timesync and "
			"fake-disruption\n");
	if (fclose(to)) {
		free(client->answer);
		client->answer = NULL;
	}
}

/* True: there is something to say. */
static bool take_request(struct control *control, struct client *client)
{
	size_t room = sizeof(client->request) - 1 - client->got;
	ssize_t len = recv(client->fd, client->request + client->got, room, 0);
	char *end;

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (len <= 0) {
		hang_up(client);
		return false;
	}
	end = memchr(client->request + client->got, '\n', (size_t)len);
	client->got += (size_t)len;
	if (end) {
		*end = '\0';
		if (end > client->request && end[-1] == '\r')
			end[-1] = '\0';
	} else if (client->got < sizeof(client->request) - 1) {
		return false;
	} else {
		client->request[0] = '\0';	/* too long for any */
	}
	answer(control, client);
	if (client->answer)
		return true;
	hang_up(client);
	return false;
}

/* As much as it takes now; the rest when it takes more. */
static void say(struct control *control, struct client *client)
{
	ssize_t len = send(client->fd, client->answer + client->sent,
			   client->len - client->sent, MSG_NOSIGNAL);

	if (len < 0 && errno != EAGAIN && errno != EINTR) {
		hang_up(client);
		return;
	}
	if (len > 0)
		client->sent += (size_t)len;
	if (client->sent == client->len ||
	    watch(control, EPOLL_CTL_MOD, client->fd, EPOLLOUT, client))
		hang_up(client);
}

static void serve(struct control *control, struct client *client)
{
	if (client->fd < 0)
		return;			/* its place was needed just now */
	if (client->answer || take_request(control, client))
		say(control, client);
}

/* ---- the socket ------------------------------------------------------------- */

int control_fd(const struct control *control)
{
	return control->epoll;
}

void control_dispatch(struct control *control)
{
	struct epoll_event events[PER_DISPATCH];
	int i, nr = epoll_wait(control->epoll, events, PER_DISPATCH, 0);

	/* Clients first: who comes may take the place of who has just asked. */
	for (i = 0; i < nr; i++)
		if (events[i].data.ptr)
			serve(control, events[i].data.ptr);
	for (i = 0; i < nr; i++)
		if (!events[i].data.ptr)
			accept_some(control);
}

void control_tick(struct control *control)
{
	__s64 now = tsct_monotonic_ns();
	int i;

	for (i = 0; i < CLIENTS_MAX; i++)
		if (control->clients[i].fd >= 0 &&
		    control->clients[i].until_ns < now)
			hang_up(&control->clients[i]);
	if (control->deaf)
		control->deaf = watch(control, EPOLL_CTL_ADD, control->listener,
				      EPOLLIN, NULL);
}

static int listen_at(struct control *control)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct stat there;

	memcpy(addr.sun_path, control->path, sizeof(addr.sun_path));
	if (!lstat(control->path, &there) && S_ISSOCK(there.st_mode))
		unlink(control->path);
	control->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
				   SOCK_NONBLOCK, 0);
	if (control->listener < 0 ||
	    bind(control->listener, (struct sockaddr *)&addr, sizeof(addr)))
		return -errno;
	control->bound = true;
	if (chmod(control->path, 0666) || listen(control->listener, SOMAXCONN))
		return -errno;
	return watch(control, EPOLL_CTL_ADD, control->listener, EPOLLIN, NULL);
}

int control_open(const char *dir_path, const struct control_ops *ops,
		 struct control **ret_control)
{
	struct control *control = calloc(1, sizeof(*control));
	int i, err;

	if (!control)
		return -ENOMEM;
	control->ops = *ops;
	control->listener = -1;
	for (i = 0; i < CLIENTS_MAX; i++)
		control->clients[i].fd = -1;
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
	for (i = 0; i < CLIENTS_MAX; i++)
		if (control->clients[i].fd >= 0)
			hang_up(&control->clients[i]);
	if (control->bound)
		unlink(control->path);
	if (control->listener >= 0)
		close(control->listener);
	if (control->epoll >= 0)
		close(control->epoll);
	free(control);
}
