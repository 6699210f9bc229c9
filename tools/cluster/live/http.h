/* SPDX-License-Identifier: MIT */
/*
 * The page of a live view, and its events as a stream, by HTTP on loopback or a Unix
 * socket. A random token in the path keeps other users of the machine away; the Host
 * header must name the machine itself, so that no page of a foreign name can be resolved
 * to it (DNS rebinding).
 */
#ifndef TSCT_TOOLS_LIVE_HTTP_H
#define TSCT_TOOLS_LIVE_HTTP_H

#include "feed.h"

struct live_http;

#define LIVE_HTTP_READERS	8	/* streams at a time */

/*
 * live_http_open - listen
 * @listen: "unix:PATH", a new socket of mode 0600; or "127.0.0.1:PORT", "[::1]:PORT",
 *	"localhost:PORT"; port 0: any
 * @text: becomes the address of the page, for people; on failure, the reason
 * Returns a descriptor that is readable if live_http_run() has something to do; -EINVAL: no
 * such address; -ENOSYS: built without libmicrohttpd; -ENOPKG: it is not installed; -errno
 */
int live_http_open(const char *listen, const struct live_feed *feed, struct live_http **ret,
		   char *text, size_t size);
void live_http_close(struct live_http *h);

/* Receives requests and sends what is new, without waiting. */
void live_http_run(struct live_http *h);

/* Returns true if all readers have got all */
bool live_http_is_idle(const struct live_http *h);

/* Listens, see live_http_open(). Writes the first part of the address, without a slash at the
 * end, to @url. Returns a descriptor; -EINVAL: no such address; or another -errno */
int live_http_listen(const char *listen, char *url, size_t size);

/* Returns true if @host, of a header, is the machine itself, with or without a port */
bool live_http_host_valid(const char *host);

#endif /* TSCT_TOOLS_LIVE_HTTP_H */
