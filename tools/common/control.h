/* SPDX-License-Identifier: MIT */
/*
 * Requests on the control socket of tsctraced: one line of text, answered by
 * text until the daemon closes the connection.
 */
#ifndef CONTROL_H
#define CONTROL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/core/port.h"

/* Path of the control socket; static, the same in each call */
const char *control_path(void);

/* ---- asynchronous: for a recorder that has rings to drain ---------------- */

struct control_request {
	char request[64];	/* "": no request in progress */
	int fd;			/* -1: not connected yet */
	__s64 until_ns;		/* CLOCK_MONOTONIC */
	char *answer;		/* received so far; NUL-terminated once complete */
	size_t used, size;	/* bytes of @answer: received, allocated */
};

/*
 * Begins a request, and drops a previous one. Fails with -ETIMEDOUT if the answer
 * is not complete after @limit_ns.
 */
void control_request_begin(struct control_request *r, const char *request,
			   __s64 limit_ns);

/*
 * Continues a request. Never blocks. Returns 1: r->answer is complete; 0: call
 * again; or -errno, -ECONNRESET: closed without an answer.
 */
int control_request_step(struct control_request *r);

/* Releases a request, in progress or not; a zeroed struct is fine. */
void control_request_end(struct control_request *r);

static inline bool control_request_pending(const struct control_request *r)
{
	return r->request[0];
}

/* ---- blocking ------------------------------------------------------------ */

/*
 * control_call - send one request and receive the whole answer, for up to 5 s
 * @verb: command name in messages
 * @ret_answer: malloc'ed, NUL-terminated
 *
 * Prints errors. Returns 0 or -errno; -EREMOTEIO: the daemon rejected it.
 */
int control_call(const char *verb, const char *request, char **ret_answer,
		 size_t *ret_len);

/* control_call() with an answer in JSON. Prints errors. NULL: failed. */
json_t *control_call_json(const char *verb, const char *request);

/* ---- errors -------------------------------------------------------------- */

/*
 * control_error - the message for a failed request: "PATH: reason; advice"
 * @err: -errno of the functions above; -EPROTO: the answer is not valid
 *
 * Returns @err.
 */
int control_error(int err, char *text, size_t size);

/* If the daemon rejected the request, its reason into @text. 0 or -EREMOTEIO. */
int control_check(const char *answer, char *text, size_t size);

#endif /* CONTROL_H */
