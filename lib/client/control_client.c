// SPDX-License-Identifier: MIT
/* The control socket's client: sends one line, reads until the daemon closes. */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control_client.h"
#include "gettime.h"

#define ANSWER_NS	5000000000LL	/* from connect() to the last byte */
#define RETRY_MS	5
#define ANSWER_MAX	(8 << 20)	/* bytes */

/*
 * A busy daemon's queue of connections is full for a moment, a stopped one's for
 * good. No event reports room in it, so connect() is repeated.
 */
static int connect_until(int fd, const struct sockaddr_un *addr, __s64 until)
{
	while (connect(fd, (const struct sockaddr *)addr, sizeof(*addr))) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (tsct_monotonic_ns() > until)
			return -ETIMEDOUT;
		poll(NULL, 0, RETRY_MS);
	}
	return 0;
}

static int open_socket(const char *path, __s64 until)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = connect_until(fd, &addr, until);
	if (err)
		close(fd);
	return err ? err : fd;
}

static int wait_readable(int fd, __s64 until)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	__s64 left = until - tsct_monotonic_ns();

	if (left <= 0)
		return -ETIMEDOUT;	/* also while bytes still arrive */
	if (poll(&poll_fd, 1, (int)(left / 1000000) + 1) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

/* Reads until the daemon closes the connection. */
static int read_all(int fd, __s64 until, char **ret_text, size_t *ret_len)
{
	size_t size = 0, used = 0;
	char *text = NULL, *more;
	ssize_t len;
	int err;

	for (;;) {
		if (used + 4096 > size) {
			size += 65536;
			more = size > ANSWER_MAX ? NULL : realloc(text, size);
			err = size > ANSWER_MAX ? -EMSGSIZE : -ENOMEM;
			if (!more)
				goto free_text;
			text = more;
		}
		len = read(fd, text + used, size - used - 1);
		if (!len)
			break;
		if (len > 0) {
			used += (size_t)len;
			continue;
		}
		err = errno == EAGAIN || errno == EINTR ? wait_readable(fd, until) :
			-errno;
		if (err)
			goto free_text;
	}
	text[used] = '\0';
	*ret_text = text;
	*ret_len = used;
	return 0;
free_text:
	free(text);
	return err;
}

int tsct_control_request(const char *path, const char *request, char **ret_answer,
			 size_t *ret_len)
{
	return tsct_control_request_until(path, request, INT64_MAX, ret_answer,
					  ret_len);
}

int tsct_control_request_until(const char *path, const char *request,
			       __s64 until_ns, char **ret_answer, size_t *ret_len)
{
	__s64 until = tsct_monotonic_ns() + ANSWER_NS;
	char line[64];
	int fd, err;

	if (until > until_ns)
		until = until_ns;
	fd = open_socket(path, until);
	if (fd < 0)
		return fd;
	snprintf(line, sizeof(line), "%s\n", request);
	err = send(fd, line, strlen(line), MSG_NOSIGNAL) < 0 ? -errno :
		read_all(fd, until, ret_answer, ret_len);
	close(fd);
	if (!err && !*ret_len) {
		free(*ret_answer);
		err = -ECONNRESET;
	}
	return err;
}
