// SPDX-License-Identifier: MIT
/* The control socket's client: sends one line, reads until the daemon closes the connection. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/core/port.h"
#include "control_client.h"
#include "gettime.h"

/* time limit from connect() to the last byte of the answer, ns */
#define ANSWER_NS	5000000000LL
#define RETRY_MS	5
#define ANSWER_MAX	(8 << 20)	/* largest answer in bytes */

void tsct_control_call_begin(struct tsct_control_call *call, const char *path,
			     const char *request, __s64 until_ns)
{
	memset(call, 0, sizeof(*call));
	call->path = path;
	snprintf(call->request, sizeof(call->request), "%s\n", request);
	call->fd = -1;
	call->until_ns = until_ns;
}

void tsct_control_call_end(struct tsct_control_call *call)
{
	if (tsct_control_call_pending(call) && call->fd >= 0)
		close(call->fd);
	free(call->answer);
	memset(call, 0, sizeof(*call));
}

/*
 * Connects and sends the request. Returns 0 or -errno. If the daemon's queue of connections
 * is full, returns 0 with call->fd -1, and the next step repeats connect(): poll() does not
 * report room in that queue.
 */
static int send_request(struct tsct_control_call *call)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int err = 0;

	if (strlen(call->path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, call->path);
	call->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (call->fd < 0)
		return -errno;
	if (connect(call->fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    send(call->fd, call->request, strlen(call->request), MSG_NOSIGNAL) < 0)
		err = -errno;
	if (!err)
		return 0;
	close(call->fd);
	call->fd = -1;
	return err == -EAGAIN || err == -EINTR ? 0 : err;
}

/* Reads all bytes that have arrived. Returns 1: the answer is complete; 0: more bytes are to
 * come; or -errno. */
static int read_answer(struct tsct_control_call *call)
{
	ssize_t len;
	char *more;

	for (;;) {
		if (call->len + 4096 > call->size) {
			if (call->size + 65536 > ANSWER_MAX)
				return -EMSGSIZE;
			more = realloc(call->answer, call->size + 65536);
			if (!more)
				return -ENOMEM;
			call->answer = more;
			call->size += 65536;
		}
		len = read(call->fd, call->answer + call->len,
			   call->size - call->len - 1);
		if (len > 0) {
			call->len += (size_t)len;
			continue;
		}
		call->answer[call->len] = '\0';
		if (call->one_line && call->len &&
		    call->answer[call->len - 1] == '\n')
			return 1;
		if (!len)
			return call->len ? 1 : -ECONNRESET;
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
}

int tsct_control_call_step(struct tsct_control_call *call)
{
	int ret = 0;

	if (call->fd < 0)
		ret = send_request(call);
	if (!ret && call->fd >= 0)
		ret = read_answer(call);
	if (!ret && tsct_monotonic_ns() >= call->until_ns)
		ret = -ETIMEDOUT;
	return ret;
}

int tsct_control_request(const char *path, const char *request, __s64 until_ns,
			 char **ret_answer, size_t *ret_len, int *ret_fd)
{
	__s64 until = tsct_monotonic_ns() + ANSWER_NS, left_ms;
	struct pollfd fd = { .events = POLLIN };
	struct tsct_control_call call;
	int ret;

	tsct_control_call_begin(&call, path, request, min(until, until_ns));
	call.one_line = ret_fd != NULL;
	while (!(ret = tsct_control_call_step(&call))) {
		/* Waits until the next step of the request can make progress. */
		fd.fd = call.fd;
		left_ms = (call.until_ns - tsct_monotonic_ns()) / 1000000 + 1;
		if (call.fd < 0)
			left_ms = RETRY_MS;
		if (left_ms > 0 && poll(&fd, 1, (int)left_ms) < 0 && errno != EINTR) {
			ret = -errno;
			break;
		}
	}
	if (ret > 0) {
		*ret_answer = call.answer;
		if (ret_len)
			*ret_len = call.len;
		call.answer = NULL;
	}
	if (ret > 0 && ret_fd) {
		*ret_fd = call.fd;
		call.fd = -1;
	}
	tsct_control_call_end(&call);
	return ret > 0 ? 0 : ret;
}
