// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "programs.h"

/* Each line of the list ends with a socket's name. '@' stands for the NUL of an abstract name. */
bool tsct_programs_next(FILE **list, struct tsct_program_addr *ret_addr)
{
	const size_t prefix = strlen(TSCT_PROGRAM_SOCKET);
	struct sockaddr_un *addr = &ret_addr->addr;
	char line[512], *name;
	size_t len;

	if (!*list)
		*list = fopen("/proc/self/net/unix", "re");
	while (*list && fgets(line, sizeof(line), *list)) {
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
		return true;
	}
	if (*list)
		fclose(*list);
	*list = NULL;
	return false;
}

/* Connects to the socket of each program and sends nothing: the connection alone makes the
 * program look for a provider. */
unsigned int tsct_programs_notify(void)
{
	struct tsct_program_addr to;
	unsigned int nr = 0;
	FILE *list = NULL;
	int fd;

	while (tsct_programs_next(&list, &to)) {
		fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			continue;
		nr += !connect(fd, (struct sockaddr *)&to.addr, to.len);
		close(fd);
	}
	return nr;
}

int tsct_seqpacket_connect(const struct sockaddr_un *addr, socklen_t len, int timeout_ms)
{
	const struct timeval timeout = {
		.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000,
	};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (!connect(fd, (const struct sockaddr *)addr, len))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int tsct_unix_listen(const struct sockaddr_un *addr, int type, mode_t mode, int backlog)
{
	const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	struct sockaddr_un new = *addr;
	const char *path = new.sun_path;
	bool bound = false;
	struct stat old;
	int err;

	/* Binds to a path of the same length, and renames it when the socket listens. */
	new.sun_path[strlen(path) - 1] = '~';
	if (fd >= 0 && !lstat(path, &old) && S_ISSOCK(old.st_mode))
		unlink(path);
	bound = fd >= 0 && !bind(fd, (const struct sockaddr *)&new, sizeof(new));
	if (bound && !lstat(addr->sun_path, &old) && !S_ISSOCK(old.st_mode))
		errno = EADDRINUSE;
	else if (bound && !fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW) &&
		 !listen(fd, backlog) && !rename(path, addr->sun_path))
		return fd;
	err = -errno;
	if (bound)
		unlink(path);
	if (fd >= 0)
		close(fd);
	return err;
}

int tsct_thread_start(pthread_t *thread, size_t stack, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t unjoined;
	int err;

	pthread_attr_init(&attr);
	if (!thread)
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (stack)
		pthread_attr_setstacksize(&attr, stack);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(thread ?: &unjoined, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

int tsct_program_connect(const struct tsct_program_addr *to, int timeout_ms,
			 struct ucred *ret_cred)
{
	int fd = tsct_seqpacket_connect(&to->addr, to->len, timeout_ms);
	socklen_t len = sizeof(*ret_cred);

	if (fd >= 0)
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_cred, &len);
	return fd;
}
