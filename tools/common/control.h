/* SPDX-License-Identifier: MIT */
/* Requests to tsctraced on its control socket, with error messages and JSON answers */
#ifndef CONTROL_H
#define CONTROL_H

#include <jansson.h>
#include <stddef.h>

/* Returns the path of the control socket, in a static buffer. */
const char *control_path(void);

/*
 * control_call - send one request to tsctraced, and receive the whole answer within 5 s
 * @ret_answer: the answer, malloc'ed, NUL-terminated
 *
 * Prints errors. Returns 0 or -errno; -EREMOTEIO: the daemon rejected the request.
 */
int control_call(const char *request, char **ret_answer, size_t *ret_len);

/* Sends a request like control_call(). Returns the answer, which is JSON; or prints an error
 * and returns NULL. */
json_t *control_call_json(const char *request);

/*
 * control_error - write the message for a failed request: "PATH: reason; advice"
 * @err: -errno of the request; -EPROTO: the answer is not valid; -EINTR: a signal was received
 *
 * Returns @err.
 */
int control_error(int err, char *text, size_t size);

/* Checks an answer. Returns 0; or, if the daemon rejected the request, -EREMOTEIO, with the
 * reason in @text. */
int control_check(const char *answer, char *text, size_t size);

#endif /* CONTROL_H */
