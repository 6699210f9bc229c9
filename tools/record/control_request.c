// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/client/control_client.h"
#include "control_request.h"
#include "lib/client/gettime.h"

#define ANSWER_MAX	(8 << 20)

const char *asking_path(void)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/" TSCT_CONTROL_SOCKET, tsct_run_dir());
	return path;
}

void asking_end(struct asking *asking)
{
	if (asking_is(asking) && asking->fd >= 0)
		close(asking->fd);
	free(asking->text);
	memset(asking, 0, sizeof(*asking));
}

void asking_begin(struct asking *asking, const char *request, __s64 limit_ns)
{
	asking_end(asking);
	snprintf(asking->request, sizeof(asking->request), "%s", request);
	asking->fd = -1;
	asking->until_ns = tsct_monotonic_ns() + limit_ns;
}

/* The queue of a daemon that is busy is full for a moment: then not yet. */
static int send_request(struct asking *asking)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *path = asking_path();
	char line[sizeof(asking->request) + 1];
	int err = 0;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	asking->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			    0);
	if (asking->fd < 0)
		return -errno;
	snprintf(line, sizeof(line), "%s\n", asking->request);
	if (connect(asking->fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    send(asking->fd, line, strlen(line), MSG_NOSIGNAL) < 0)
		err = -errno;
	if (!err)
		return 0;
	close(asking->fd);
	asking->fd = -1;
	return err == -EAGAIN || err == -EINTR ? 0 : err;
}

static int make_room(struct asking *asking)
{
	char *more;

	if (asking->used + 4096 <= asking->size)
		return 0;
	asking->size += 65536;
	if (asking->size > ANSWER_MAX)
		return -EMSGSIZE;
	more = realloc(asking->text, asking->size);
	if (!more)
		return -ENOMEM;
	asking->text = more;
	return 0;
}

/* Until the daemon hangs up: 1 */
static int read_some(struct asking *asking)
{
	ssize_t len;
	int err;

	for (;;) {
		err = make_room(asking);
		if (err)
			return err;
		len = read(asking->fd, asking->text + asking->used,
			   asking->size - asking->used - 1);
		if (len > 0) {
			asking->used += (size_t)len;
			continue;
		}
		asking->text[asking->used] = '\0';
		if (!len)
			return asking->used ? 1 : -ECONNRESET;
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
}

int asking_step(struct asking *asking)
{
	int ret = 0;

	if (asking->fd < 0)
		ret = send_request(asking);
	if (!ret && asking->fd >= 0)
		ret = read_some(asking);
	if (!ret && tsct_monotonic_ns() >= asking->until_ns)
		ret = -ETIMEDOUT;
	return ret;
}
