// SPDX-License-Identifier: MIT
/*
 * The daemon, or the trace-ctl that runs us, as the provider: a request is a
 * message on a SOCK_SEQPACKET socket. tsct_channel_open()'s connection is bound to
 * the channel and keeps it alive. It also carries the later requests, so that
 * they need neither the path nor the rights of the start. Only a forked
 * child, which would mix its replies with its parent's, makes a connection
 * for each.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "channel.h"

/* A server that says nothing for so long is as good as dead. */
#define REPLY_TIMEOUT_S		5

static int connect_to(const char *path, int *ret_fd)
{
	const struct timeval timeout = { .tv_sec = REPLY_TIMEOUT_S };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, error;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		error = -errno;
		close(fd);
		return error;
	}
	*ret_fd = fd;
	return 0;
}

static int send_request(int fd, unsigned int cmd, const void *arg)
{
	struct tsct_request request = { .cmd = cmd, .size = _IOC_SIZE(cmd) };
	struct iovec iov[] = {
		{ &request, sizeof(request) },
		{ (void *)arg, _IOC_SIZE(cmd) },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t len;

	do
		len = sendmsg(fd, &msg, MSG_NOSIGNAL);
	while (len < 0 && errno == EINTR);
	return len < 0 ? -errno : 0;
}

static int take_fd(struct msghdr *msg)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	int fd = -1;

	if (cmsg && cmsg->cmsg_level == SOL_SOCKET &&
	    cmsg->cmsg_type == SCM_RIGHTS &&
	    cmsg->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

/* *ret_result is the server's answer, the return value whether there is one. */
static int receive_reply(int fd, unsigned int cmd, void *arg, int *ret_fd,
			 int *ret_result)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct tsct_reply reply = { 0 };
	struct iovec iov[] = {
		{ &reply, sizeof(reply) }, { arg, _IOC_SIZE(cmd) },
	};
	struct msghdr msg = {
		.msg_iov = iov, .msg_iovlen = 2,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	ssize_t len;

	do
		len = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	*ret_fd = take_fd(&msg);
	if (!len)
		return -ECONNRESET;
	if (len < (ssize_t)sizeof(reply) || reply.result > 0 ||
	    reply.result < -4095 || (!reply.result &&
	     len != (ssize_t)(sizeof(reply) + _IOC_SIZE(cmd))))
		return -EPROTO;
	*ret_result = reply.result;
	return 0;
}

static int exchange(int fd, unsigned int cmd, void *arg, int *ret_map_fd,
		    int *ret_result)
{
	int map_fd = -1, error;

	error = send_request(fd, cmd, arg);
	if (!error)
		error = receive_reply(fd, cmd, arg, &map_fd, ret_result);
	if (!error && !*ret_result && map_fd >= 0 && ret_map_fd)
		*ret_map_fd = map_fd;
	else if (map_fd >= 0)
		close(map_fd);
	return error;
}

/* A request on a connection of its own, bound to our channel. */
static int ask_anew(struct tsct_channel *t, unsigned int cmd, void *arg)
{
	struct tsct_channel_attach attach = {
		.id = t->header.id, .uid = TSCT_UID_SELF, .roles = TSCT_ROLE_WRITE,
	};
	int fd, error, result = 0;

	error = connect_to(t->socket_path, &fd);
	if (error)
		return error;
	error = exchange(fd, TSCT_IOC_CHANNEL_ATTACH, &attach, NULL, &result);
	if (!error && !result)
		error = exchange(fd, cmd, arg, NULL, &result);
	close(fd);
	return error ? error : result;
}

static int ctl(struct tsct_channel *t, unsigned int cmd, void *arg)
{
	int error = -EPIPE, result = 0;

	/* A child must not even look at the lock: who held it at the fork? */
	if (t->pid != getpid())
		return ask_anew(t, cmd, arg);
	pthread_mutex_lock(&t->lock);
	if (!t->broken) {
		error = exchange(t->fd, cmd, arg, &t->map_fd, &result);
		t->broken = error != 0;
	}
	pthread_mutex_unlock(&t->lock);
	return error ? error : result;
}

static const struct tsct_provider_ops socket_ops = { .ctl = ctl };

bool tsct_provider_gone(const struct tsct_channel *t)
{
	struct pollfd there = { .fd = t->fd, .events = POLLRDHUP };

	return t->ops == &socket_ops && poll(&there, 1, 0) == 1;
}

static int explain(struct tsct_channel *t, const char *path, const char *server,
		   int error)
{
	switch (error) {
	case -ENOENT:
	case -ENOTDIR:
		tsct_channel_add_error(t, "%s: not there; start %s", path, server);
		return -ENODEV;
	case -ECONNREFUSED:
		tsct_channel_add_error(t, "%s: nobody listens; start %s again", path,
			     server);
		return -ENODEV;
	case -EACCES:
	case -EPERM:
		tsct_channel_add_error(t, "%s: permission denied; ask who runs it, or "
			     "run as that user", path);
		return -EACCES;
	case -ENAMETOOLONG:
		tsct_channel_add_error(t, "%s: path too long for a socket; use a "
			     "shorter one", path);
		return error;
	case -ECONNRESET:
		tsct_channel_add_error(t, "%s: it hung up without an answer; close "
			     "channels if this user has very many, else restart "
			     "%s", path, server);
		return error;
	case -ETIMEDOUT:
		tsct_channel_add_error(t, "%s: no answer within %d s; restart %s",
			     path, REPLY_TIMEOUT_S, server);
		return error;
	}
	tsct_channel_add_error(t, "%s: %s", path, strerror(-error));
	return error;
}

int tsct_socket_open(struct tsct_channel *t, const char *path, const char *server)
{
	struct tsct_info info = { 0 };
	int error, result = 0;

	t->map_fd = -1;
	error = connect_to(path, &t->fd);
	if (error)
		return explain(t, path, server, error);
	error = exchange(t->fd, TSCT_IOC_INFO, &info, NULL, &result);
	if (!error)
		error = result;
	if (!error) {
		t->socket_path = strdup(path);
		error = t->socket_path ? 0 : -ENOMEM;
	}
	if (error) {
		close(t->fd);
		t->fd = -1;
		return explain(t, path, server, error);
	}
	t->ops = &socket_ops;
	t->pid = getpid();
	t->provider = strncmp(info.provider, "embedded",
			      sizeof(info.provider)) ?
		TSCT_PROVIDER_DAEMON : TSCT_PROVIDER_EMBEDDED;
	return 0;
}
