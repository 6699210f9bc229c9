/* SPDX-License-Identifier: MIT */
/* Requests on the control socket of tsctraced, with error messages and JSON */
#ifndef CONTROL_H
#define CONTROL_H

#include <jansson.h>
#include <stddef.h>

/* Path of the control socket, in a static buffer */
const char *control_path(void);

/*
 * control_call - send one request and receive the whole answer, for up to 5 s
 * @verb: command name in messages
 * @ret_answer: malloc'ed, NUL-terminated
 *
 * Prints errors. Returns 0 or -errno; -EREMOTEIO: the daemon rejected it.
 */
int control_call(const char *verb, const char *request, char **ret_answer,
		 size_t *ret_len);

/* control_call() for a request whose answer is JSON. Prints errors. NULL: failed */
json_t *control_call_json(const char *verb, const char *request);

/*
 * control_error - the message for a failed request: "PATH: reason; advice"
 * @err: -errno of a request; -EPROTO: the answer is not valid; -EINTR: a signal
 *
 * Returns @err.
 */
int control_error(int err, char *text, size_t size);

/* Returns 0, or -EREMOTEIO with the reason in @text: the daemon rejected the request. */
int control_check(const char *answer, char *text, size_t size);

#endif /* CONTROL_H */
