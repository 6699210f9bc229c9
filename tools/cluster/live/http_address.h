/* SPDX-License-Identifier: MIT */
/* Addresses of a live view: the machine itself, and nothing else */
#ifndef TSCT_TOOLS_LIVE_HTTP_ADDRESS_H
#define TSCT_TOOLS_LIVE_HTTP_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * live_http_listen - open a listening socket
 * @listen: "unix:PATH", a new socket of mode 0600; or "127.0.0.1:PORT", "[::1]:PORT",
 *	"localhost:PORT"; port 0: any
 * @url: becomes the first part of its address, without a slash at the end
 * Returns a descriptor; -EINVAL: no such address; or another -errno
 */
int live_http_listen(const char *listen, char *url, size_t size);

/* Returns true if @host, of a header, is the machine itself, with or without a port */
bool live_http_host_valid(const char *host);

#endif /* TSCT_TOOLS_LIVE_HTTP_ADDRESS_H */
