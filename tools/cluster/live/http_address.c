// SPDX-License-Identifier: MIT
/* Addresses on which a live view listens, and those that its readers may name */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "http_address.h"

/* Splits "HOST:PORT" or "HOST". *ret_port: -1: none. False: no such form */
static bool split(const char *text, char *host, size_t size, int *ret_port)
{
	const char *end = *text == '[' ? strchr(text, ']') : strchrnul(text, ':');
	char *last;
	long port = -1;
	size_t len;

	if (end && *end == ']')
		end++;
	len = end ? (size_t)(end - text) : size;
	if (!len || len >= size)
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	if (*end) {
		port = end[1] >= '0' && end[1] <= '9' ? strtol(end + 1, &last, 10) : -1;
		if (*end != ':' || port < 0 || port > 65535 || *last)
			return false;
	}
	*ret_port = (int)port;
	return true;
}

bool live_http_host_valid(const char *host)
{
	char name[16];
	int port;

	return split(host, name, sizeof(name), &port) &&
		(!strcasecmp(name, "localhost") || !strcmp(name, "127.0.0.1") ||
		 !strcmp(name, "[::1]"));
}

/* Returns a descriptor or -errno. The socket belongs to this user alone from the start. */
static int listen_unix(const char *path, char *url, size_t size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, err = 0;
	mode_t mask;

	if (!*path || strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	mask = umask(0177);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		err = -errno;
	umask(mask);
	if (!err && listen(fd, 16)) {
		err = -errno;
		unlink(path);
	}
	if (err) {
		close(fd);
		return err;
	}
	snprintf(url, size, "http://localhost");
	return fd;
}

static int listen_tcp(const char *host, int port, char *url, size_t size)
{
	const bool six = !strcmp(host, "[::1]");
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = v4.sin_port,
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr *address = six ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
	socklen_t len = six ? sizeof(v6) : sizeof(v4);
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err;

	if (fd < 0)
		return -errno;
	if (bind(fd, address, len) || listen(fd, 16) || getsockname(fd, address, &len)) {
		err = -errno;
		close(fd);
		return err;
	}
	snprintf(url, size, "http://%s:%u", host, ntohs(six ? v6.sin6_port : v4.sin_port));
	return fd;
}

int live_http_listen(const char *listen, char *url, size_t size)
{
	char host[16];
	int port;

	if (!strncmp(listen, "unix:", 5))
		return listen_unix(listen + 5, url, size);
	if (!live_http_host_valid(listen) || !split(listen, host, sizeof(host), &port) ||
	    port < 0)
		return -EINVAL;
	return listen_tcp(strcasecmp(host, "localhost") ? host : "127.0.0.1", port, url, size);
}
