// SPDX-License-Identifier: MIT
/*
 * A server as the provider: tsctraced, or the trace-ctl record that runs this program. A
 * request is a message on a SOCK_SEQPACKET socket. The connection of tsct_channel_open() is
 * bound to the channel and keeps it alive. It also carries later requests, which therefore need
 * neither the socket's path nor permission to connect. A forked child makes a new connection
 * for each request: on the shared connection, its replies would mix with those of its parent. A
 * program also makes a new connection for each request after a request that was not answered.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/abi/fd_message.h"
#include "channel.h"
#include "programs.h"

#define REPLY_TIMEOUT_S		5

static int connect_to(const char *path, int *ret_fd)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path));
	fd = tsct_seqpacket_connect(&addr, sizeof(addr), REPLY_TIMEOUT_S * 1000);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

/* Returns the time in ns, from a clock that can also be read if the TSC is forbidden. */
static __s64 coarse_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Returns true if a signal interrupted a call that is to be repeated. Each repetition has the
 * full timeout of the socket, so repetitions end REPLY_TIMEOUT_S after @begin_ns. */
static bool is_interrupted(ssize_t result, __s64 begin_ns)
{
	return result < 0 && errno == EINTR &&
		coarse_ns() - begin_ns < REPLY_TIMEOUT_S * 1000000000LL;
}

/* Receives the reply to a request. Returns 0 with the server's result in *ret_result, or
 * -errno: no valid reply. *ret_fd: a descriptor that came with the reply; -1: none */
static int receive_reply(int fd, unsigned int cmd, void *arg, int *ret_fd,
			 int *ret_result)
{
	union tsct_fd_control control;
	struct tsct_reply reply = { 0 };
	struct iovec iov[] = {
		{ &reply, sizeof(reply) }, { arg, _IOC_SIZE(cmd) },
	};
	struct msghdr msg = {
		.msg_iov = iov, .msg_iovlen = 2,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	const __s64 begin_ns = coarse_ns();
	ssize_t len;

	do
		len = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	while (is_interrupted(len, begin_ns));
	if (len < 0)
		return errno == EAGAIN || errno == EINTR ? -ETIMEDOUT : -errno;
	*ret_fd = tsct_fd_message_get(&msg);
	if (msg.msg_flags & MSG_CTRUNC)
		return -EMFILE;
	if (!len)
		return -ECONNRESET;
	if (len < (ssize_t)sizeof(reply) || reply.result > 0 ||
	    reply.result < -4095 || (!reply.result &&
	     len != (ssize_t)(sizeof(reply) + _IOC_SIZE(cmd))))
		return -EPROTO;
	*ret_result = reply.result;
	return 0;
}

static int send_request(int fd, unsigned int cmd, void *arg, int sent_fd)
{
	struct tsct_request request = { .cmd = cmd, .size = _IOC_SIZE(cmd) };
	struct iovec iov[] = {
		{ &request, sizeof(request) }, { arg, _IOC_SIZE(cmd) },
	};
	union tsct_fd_control control;
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	const __s64 begin_ns = coarse_ns();
	ssize_t len;

	tsct_fd_message_put(&msg, &control, sent_fd);
	do
		len = sendmsg(fd, &msg, MSG_NOSIGNAL);
	while (is_interrupted(len, begin_ns));
	if (len < 0)	/* EPIPE: the server had closed the connection before the request */
		return errno == EAGAIN || errno == EINTR ? -ETIMEDOUT :
			errno == EPIPE ? -ECONNRESET : -errno;
	return 0;
}

/*
 * Sends a request, together with the descriptor @sent_fd unless it is -1, and receives
 * the reply. Sets *ret_map_fd to the memfd in the reply, if there is one; @ret_map_fd may
 * be NULL. Returns 0 with the server's result in *ret_result, or -errno: no valid reply.
 */
static int send_and_receive(int fd, unsigned int cmd, void *arg, int sent_fd, int *ret_map_fd,
			    int *ret_result)
{
	int map_fd = -1, err = send_request(fd, cmd, arg, sent_fd);

	if (!err)
		err = receive_reply(fd, cmd, arg, &map_fd, ret_result);
	if (!err && !*ret_result && map_fd >= 0 && ret_map_fd)
		*ret_map_fd = map_fd;
	else if (map_fd >= 0)
		close(map_fd);
	return err;
}

static ino_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

/* Binds a new connection to the channel. Names the channel by its memory, not by its id, which
 * may be the id of another channel by now. */
static int bind_memory(const struct tsct_channel *channel, int fd, __u32 roles,
		       __u32 *ret_id)
{
	struct tsct_channel_adopt adopt = { .roles = roles };
	int result = 0, err = -EBADF;

	if (inode_of(channel->map_fd) == channel->map_inode)
		err = send_and_receive(fd, TSCT_IOC_CHANNEL_ADOPT, &adopt, channel->map_fd, NULL,
				       &result);
	if (!err && !result)
		*ret_id = adopt.id;
	return err ? err : result;
}

/* Returns true if the server has closed the channel's connection. */
static bool is_hung_up(const struct tsct_channel *channel)
{
	struct pollfd hangup = { .fd = channel->fd, .events = POLLRDHUP };

	return inode_of(channel->fd) == channel->fd_inode && poll(&hangup, 1, 0) == 1;
}

/* Sends one request on a new connection to the channel. Fails if the server has hung up: a
 * restarted server would adopt the memory for this connection only, and free it afterwards. */
static int request_apart(const struct tsct_channel *channel, unsigned int cmd, void *arg)
{
	int fd, err, result = 0;
	__u32 id;

	if (is_hung_up(channel))
		return -EPIPE;
	err = connect_to(channel->socket_path, &fd);
	if (err)
		return err;
	err = bind_memory(channel, fd, TSCT_ROLE_WRITE, &id) ?:
		send_and_receive(fd, cmd, arg, -1, NULL, &result);
	close(fd);
	return err ? err : result;
}

/*
 * A forked child must not touch the lock: a thread of its parent may have held it at the
 * fork. A connection on which an answer did not come in time stays open, as it
 * may be the last connection that keeps the channel. No more requests are sent
 * on it, as the late answer would be taken for the answer to the next request.
 */
static int socket_request(struct tsct_channel *channel, unsigned int cmd, void *arg)
{
	int err = 0, result = 0;
	bool broken;

	if (channel->pid != getpid())
		return request_apart(channel, cmd, arg);
	pthread_mutex_lock(&channel->lock);
	broken = channel->broken;
	if (!broken) {
		err = send_and_receive(channel->fd, cmd, arg, -1, &channel->map_fd, &result);
		channel->broken = err != 0;
		if (cmd == TSCT_IOC_CHANNEL_CREATE || cmd == TSCT_IOC_CHANNEL_ATTACH)
			channel->map_inode = inode_of(channel->map_fd);
	}
	pthread_mutex_unlock(&channel->lock);
	if (broken)
		return request_apart(channel, cmd, arg);
	return err ? err : result;
}

/* Returns true if the server is neither in this thread's pid namespace nor in one below. */
static bool is_foreign(const struct tsct_channel *channel)
{
	struct ucred server;
	socklen_t len = sizeof(server);

	/* If the program has closed the connection, the server's namespace is not known. */
	return channel->request == socket_request &&
		(inode_of(channel->fd) != channel->fd_inode ||
		 getsockopt(channel->fd, SOL_SOCKET, SO_PEERCRED, &server, &len) ||
		 !server.pid);
}

/*
 * Async-signal-safe: takes no lock, and therefore makes its own connection. The
 * server answers in identify_thread().
 */
int tsct_socket_thread(const struct tsct_channel *channel, __u32 *ret_tid)
{
	const struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = gettid() };
	struct tsct_thread_info thread = { 0 };
	int fd, named, result = 0, err;

	*ret_tid = (__u32)gettid();
	if (!is_foreign(channel))
		return 0;
	err = connect_to(channel->socket_path, &fd);
	if (err)
		return err;
	named = eventfd(0, EFD_CLOEXEC);
	if (named < 0 || fcntl(named, F_SETOWN_EX, &owner) < 0)
		err = -errno;
	if (!err)
		err = send_and_receive(fd, TSCT_IOC_THREAD, &thread, named, NULL, &result);
	if (named >= 0)
		close(named);
	close(fd);
	if (!err && !result)
		*ret_tid = thread.tid;
	return err ? err : result;
}

bool tsct_provider_gone(const struct tsct_channel *channel)
{
	/* The program may also have closed the connection, together with all its descriptors. */
	return channel->request == socket_request && (is_hung_up(channel) ||
		inode_of(channel->fd) != channel->fd_inode);
}

/* The new connection gets the old descriptor's number, which other threads use. */
int tsct_channel_resume(struct tsct_channel *channel)
{
	int fd, err;
	__u32 id;

	if (channel->request != socket_request)
		return -ENODEV;
	err = connect_to(channel->socket_path, &fd);
	if (err)
		return err == -ENOENT || err == -ECONNREFUSED ? -ENODEV : err;
	err = bind_memory(channel, fd, channel->roles, &id);
	if (!err) {
		pthread_mutex_lock(&channel->lock);
		if (inode_of(channel->fd) != channel->fd_inode) {
			/* The program closed channel->fd, and may be using this number. */
			channel->fd = fd;
			fd = -1;
		} else if (dup3(fd, channel->fd, O_CLOEXEC) < 0) {
			err = -errno;
		}
		channel->fd_inode = inode_of(channel->fd);
		channel->broken = err != 0;
		channel->pid = getpid();
		channel->header.id = id;
		pthread_mutex_unlock(&channel->lock);
	}
	if (fd >= 0)
		close(fd);
	return err;
}

static const struct tsct_reason reasons[] = {
	{ -ENOENT, -ENODEV, "no such socket; start ", "" },
	{ -ENOTDIR, -ENODEV, "no such socket; start ", "" },
	{ -ECONNREFUSED, -ENODEV, "connection refused; start ", " again" },
	{ -EACCES, 0, "permission denied; run as the user that runs ", ", or as root" },
	{ -EPERM, -EACCES, "permission denied; run as the user that runs ",
		", or as root" },
	{ -EMFILE, 0, TSCT_NO_DESCRIPTOR, NULL },
	{ -ENAMETOOLONG, 0, "path too long for a socket; use a shorter one", NULL },
	{ -ECONNRESET, 0, "connection closed without an answer; close channels if this "
		"user has very many, raise the server's 'ulimit -n', or restart ", "" },
	{ -ETIMEDOUT, 0, "no answer within " TSCT_TEXT_(REPLY_TIMEOUT_S) " s; restart ", "" },
	{ 0 },
};

int tsct_socket_open(struct tsct_channel *channel, const char *path,
		     const char *server)
{
	struct tsct_info info = { 0 };
	int err, result = 0;

	channel->map_fd = -1;
	err = connect_to(path, &channel->fd);
	if (err)
		return tsct_channel_explain(channel, reasons, path, server, err);
	err = send_and_receive(channel->fd, TSCT_IOC_INFO, &info, -1, NULL, &result) ?:
		result;
	if (!err) {
		channel->socket_path = strdup(path);
		err = channel->socket_path ? 0 : -ENOMEM;
	}
	if (err) {
		close(channel->fd);
		channel->fd = -1;
		return tsct_channel_explain(channel, reasons, path, server, err);
	}
	channel->request = socket_request;
	channel->fd_inode = inode_of(channel->fd);
	channel->pid = getpid();
	channel->provider = strncmp(info.provider, "embedded",
				    sizeof(info.provider)) ?
		TSCT_PROVIDER_DAEMON : TSCT_PROVIDER_EMBEDDED;
	return 0;
}
