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
 * @listen: as for live_http_listen()
 * @why: on failure, the reason
 * Returns 0; -EINVAL: no such address; -ENOSYS: built without libmicrohttpd; -ENOPKG: it
 * is not installed; -errno
 */
int live_http_open(const char *listen, const struct live_feed *feed, struct live_http **ret,
		   char *why, size_t why_size);
void live_http_close(struct live_http *h);

/* Address of the page, for people */
const char *live_http_url(const struct live_http *h);

/* A descriptor that is readable if live_http_run() has something to do */
int live_http_fd(const struct live_http *h);

/* Receives requests and sends what is new, without waiting. */
void live_http_run(struct live_http *h);

/* Returns true if all readers have got all */
bool live_http_is_idle(const struct live_http *h);

#endif /* TSCT_TOOLS_LIVE_HTTP_H */
