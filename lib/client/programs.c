// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "programs.h"

/* Each line of @list ends with a socket's name. '@' stands for the NUL of an abstract name. */
int tsct_programs_next(FILE *list, struct tsct_program_addr *ret_addr)
{
	const size_t prefix = strlen(TSCT_PROGRAM_SOCKET);
	struct sockaddr_un *addr = &ret_addr->addr;
	char line[512], *name;
	size_t len;

	while (fgets(line, sizeof(line), list)) {
		name = strstr(line, " @" TSCT_PROGRAM_SOCKET);
		if (!name)
			continue;
		name += 2;
		len = strcspn(name, "\n");
		if (len >= sizeof(addr->sun_path) || len <= prefix ||
		    strspn(name + prefix, "0123456789abcdef.") != len - prefix)
			continue;
		memset(addr, 0, sizeof(*addr));
		addr->sun_family = AF_UNIX;
		memcpy(addr->sun_path + 1, name, len);
		ret_addr->len = offsetof(struct sockaddr_un, sun_path) + 1 + len;
		return 1;
	}
	return 0;
}

/* Connects to the socket of each program and sends nothing: the connection alone makes the
 * program look for a provider. */
unsigned int tsct_programs_notify(void)
{
	FILE *list = fopen("/proc/self/net/unix", "re");
	struct tsct_program_addr to;
	unsigned int nr = 0;
	int fd;

	while (list && tsct_programs_next(list, &to)) {
		fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			break;
		nr += !connect(fd, (struct sockaddr *)&to.addr, to.len);
		close(fd);
	}
	if (list)
		fclose(list);
	return nr;
}

int tsct_program_connect(const struct tsct_program_addr *to, int timeout_ms,
			 struct ucred *ret_cred)
{
	const struct timeval timeout = {
		.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000,
	};
	socklen_t len = sizeof(*ret_cred);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (!connect(fd, (struct sockaddr *)&to->addr, to->len) &&
	    !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_cred, &len))
		return fd;
	err = -errno;
	close(fd);
	return err;
}
