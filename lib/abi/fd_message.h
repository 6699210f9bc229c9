/* SPDX-License-Identifier: MIT */
/* A descriptor in a message of a Unix socket (SCM_RIGHTS). Async-signal-safe. */
#ifndef TSCT_FD_MESSAGE_H
#define TSCT_FD_MESSAGE_H

#include <string.h>
#include <sys/socket.h>

/* Control data of a socket message that has one descriptor */
union tsct_fd_control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* Adds @fd to a message, unless it is -1. @control is in use until the message is sent. */
static inline void tsct_fd_message_put(struct msghdr *msg, union tsct_fd_control *control,
				       int fd)
{
	if (fd < 0)
		return;
	memset(control, 0, sizeof(*control));
	control->header.cmsg_level = SOL_SOCKET;
	control->header.cmsg_type = SCM_RIGHTS;
	control->header.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&control->header), &fd, sizeof(fd));
	msg->msg_control = control;
	msg->msg_controllen = sizeof(*control);
}

/* Returns the descriptor in a received message; -1: the message has none, or several. */
static inline int tsct_fd_message_get(const struct msghdr *msg)
{
	const struct cmsghdr *header = CMSG_FIRSTHDR(msg);
	int fd = -1;

	if (header && header->cmsg_level == SOL_SOCKET &&
	    header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

/*
 * Receives a message, and at most one descriptor: the control buffer has no room for more, so
 * the kernel closes the rest. *ret_fd: the descriptor; -1: none. Returns the result of recvmsg(2).
 */
static inline ssize_t tsct_fd_message_receive(int from, void *to, size_t size, int flags,
					      int *ret_fd)
{
	union tsct_fd_control control;
	struct iovec iov = { to, size };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = CMSG_LEN(sizeof(int)),
	};
	const ssize_t len = recvmsg(from, &msg, flags | MSG_CMSG_CLOEXEC);

	*ret_fd = len < 0 ? -1 : tsct_fd_message_get(&msg);
	return len;
}

#endif /* TSCT_FD_MESSAGE_H */
