// SPDX-License-Identifier: MIT
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clockpage.h"
#include "control.h"
#include "now.h"
#include "view.h"

#define SOCKET_NAME	"control.sock"
#define ANSWER_NS	5000000000LL
#define ANSWER_MAX	(1 << 20)

static void complain(const char *verb, const char *path, int err)
{
	const char *fix = "";

	if (err == -ENOENT || err == -ECONNREFUSED)
		fix = "; start tsctraced";
	else if (err == -EACCES || err == -EPERM)
		fix = "; run as root";
	else if (err == -ETIMEDOUT)
		fix = "; is tsctraced stopped?";
	fprintf(stderr, "trace-ctl %s: %s: %s%s\n", verb, path,
		err == -ENOENT || err == -ECONNREFUSED ?
		"no daemon is there" : strerror(-err), fix);
}

static int open_socket(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	/* Non-blocking: a daemon that is stopped has a queue that fills up. */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		int err = errno == EAGAIN ? -ETIMEDOUT : -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int wait_for(int fd, __s64 until)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	__s64 left = until - tsct_now_ns();
	int ready = poll(&poll_fd, 1, left > 0 ? (int)(left / 1000000) + 1 : 0);

	if (ready < 0)
		return errno == EINTR ? 0 : -errno;
	return ready || left > 0 ? 0 : -ETIMEDOUT;
}

/* Until the daemon hangs up. */
static int read_all(int fd, char **ret_text, size_t *ret_len)
{
	__s64 until = tsct_now_ns() + ANSWER_NS;
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
		err = errno == EAGAIN || errno == EINTR ? wait_for(fd, until) :
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

static int ask(const char *path, const char *request, char **ret_answer,
	       size_t *ret_len)
{
	int fd = open_socket(path), err;
	char line[64];

	if (fd < 0)
		return fd;
	snprintf(line, sizeof(line), "%s\n", request);
	err = send(fd, line, strlen(line), MSG_NOSIGNAL) < 0 ? -errno :
		read_all(fd, ret_answer, ret_len);
	close(fd);
	return err;
}

int ctl_control_ask(const char *verb, const char *request, char **ret_answer,
		    size_t *ret_len)
{
	static const char refusal[] = "error: ";
	char path[256];
	int err;

	snprintf(path, sizeof(path), "%s/" SOCKET_NAME, tsct_run_dir());
	err = ask(path, request, ret_answer, ret_len);
	if (!err && !*ret_len) {
		free(*ret_answer);
		err = -ECONNRESET;
	}
	if (err) {
		complain(verb, path, err);
		return err;
	}
	if (strncmp(*ret_answer, refusal, sizeof(refusal) - 1))
		return 0;
	(*ret_answer)[strcspn(*ret_answer, "\n")] = '\0';
	fprintf(stderr, "trace-ctl %s: %s refuses: ", verb, path);
	view_print_plain(stderr, *ret_answer + sizeof(refusal) - 1);
	fprintf(stderr, "\n");
	free(*ret_answer);
	return -EREMOTEIO;
}
