// SPDX-License-Identifier: MIT
/* Requests on the daemon's control socket, asynchronous and blocking */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "lib/client/control_client.h"
#include "lib/client/gettime.h"
#include "view.h"

#define ANSWER_MAX	(8 << 20)	/* bytes */

const char *control_path(void)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/" TSCT_CONTROL_SOCKET, tsct_run_dir());
	return path;
}

/* ---- asynchronous -------------------------------------------------------- */

void control_request_end(struct control_request *r)
{
	if (control_request_pending(r) && r->fd >= 0)
		close(r->fd);
	free(r->answer);
	memset(r, 0, sizeof(*r));
}

void control_request_begin(struct control_request *r, const char *request,
			   __s64 limit_ns)
{
	control_request_end(r);
	snprintf(r->request, sizeof(r->request), "%s", request);
	r->fd = -1;
	r->until_ns = tsct_monotonic_ns() + limit_ns;
}

/* Connects and sends. 0 without a connection: the daemon's backlog is full. */
static int send_request(struct control_request *r)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *path = control_path();
	char line[sizeof(r->request) + 1];
	int err = 0;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	r->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (r->fd < 0)
		return -errno;
	snprintf(line, sizeof(line), "%s\n", r->request);
	if (connect(r->fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    send(r->fd, line, strlen(line), MSG_NOSIGNAL) < 0)
		err = -errno;
	if (!err)
		return 0;
	close(r->fd);
	r->fd = -1;
	return err == -EAGAIN || err == -EINTR ? 0 : err;
}

static int reserve_answer(struct control_request *r)
{
	char *more;

	if (r->used + 4096 <= r->size)
		return 0;
	r->size += 65536;
	if (r->size > ANSWER_MAX)
		return -EMSGSIZE;
	more = realloc(r->answer, r->size);
	if (!more)
		return -ENOMEM;
	r->answer = more;
	return 0;
}

/* Receives what is available. Returns 1 if the daemon closed the connection. */
static int receive_answer(struct control_request *r)
{
	ssize_t len;
	int err;

	for (;;) {
		err = reserve_answer(r);
		if (err)
			return err;
		len = read(r->fd, r->answer + r->used, r->size - r->used - 1);
		if (len > 0) {
			r->used += (size_t)len;
			continue;
		}
		r->answer[r->used] = '\0';
		if (!len)
			return r->used ? 1 : -ECONNRESET;
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
}

int control_request_step(struct control_request *r)
{
	int ret = 0;

	if (r->fd < 0)
		ret = send_request(r);
	if (!ret && r->fd >= 0)
		ret = receive_answer(r);
	if (!ret && tsct_monotonic_ns() >= r->until_ns)
		ret = -ETIMEDOUT;
	return ret;
}

/* ---- errors -------------------------------------------------------------- */

int control_error(int err, char *text, size_t size)
{
	const char *reason = strerror(-err), *advice = "";

	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
		reason = "tsctraced is not running";
		advice = "; start it";
		break;
	case -ETIMEDOUT:
		reason = "no answer";
		advice = "; check whether tsctraced is stopped";
		break;
	case -EACCES:
	case -EPERM:
		advice = "; run as root";
		break;
	case -ENAMETOOLONG:
	case -ENOTDIR:
		advice = "; set $TSCTRACE_RUN_DIR to tsctraced's --run-dir";
		break;
	case -EINTR:
		reason = "interrupted";
		break;
	case -EPROTO:
		reason = "invalid answer";
		advice = "; use tsctraced and trace-ctl of the same version";
		break;
	}
	snprintf(text, size, "%s: %s%s", control_path(), reason, advice);
	return err;
}

int control_check(const char *answer, char *text, size_t size)
{
	const char *reason = answer + strlen(TSCT_CONTROL_ERROR);

	if (strncmp(answer, TSCT_CONTROL_ERROR, strlen(TSCT_CONTROL_ERROR)))
		return 0;
	snprintf(text, size, "%s: request rejected: %.*s", control_path(),
		 (int)strcspn(reason, "\n"), reason);
	return -EREMOTEIO;
}

/* ---- blocking ------------------------------------------------------------ */

static void print_control_error(const char *verb, const char *text)
{
	fprintf(stderr, "trace-ctl %s: ", verb);
	view_print_escaped(stderr, text);
	fputc('\n', stderr);
}

int control_call(const char *verb, const char *request, char **ret_answer,
		 size_t *ret_len)
{
	char text[512];
	int err = tsct_control_request(control_path(), request, ret_answer, ret_len);

	if (err) {
		control_error(err, text, sizeof(text));
	} else {
		err = control_check(*ret_answer, text, sizeof(text));
		if (!err)
			return 0;
		free(*ret_answer);
	}
	print_control_error(verb, text);
	return err;
}

json_t *control_call_json(const char *verb, const char *request)
{
	char *answer, text[512];
	json_t *json;
	size_t len;

	if (control_call(verb, request, &answer, &len))
		return NULL;
	json = json_loadb(answer, len, 0, NULL);
	free(answer);
	if (!json) {
		control_error(-EPROTO, text, sizeof(text));
		print_control_error(verb, text);
	}
	return json;
}
