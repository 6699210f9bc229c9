/* SPDX-License-Identifier: MIT */
/* Requests to the daemon over the control socket of its run-time directory. */
#ifndef TSCT_CONTROL_CLIENT_H
#define TSCT_CONTROL_CLIENT_H

#include <linux/types.h>
#include <stddef.h>

#include "runtime_paths.h"

/* Prefix of an answer that refuses the request */
#define TSCT_CONTROL_ERROR	"error: "

/*
 * tsct_control_request - send one request and receive the whole answer
 * @path: of the socket
 * @request: one line without a newline, at most 62 bytes
 * @ret_answer: allocated by malloc(), with a NUL behind it
 * @ret_len: bytes before that NUL
 *
 * Takes 5 s at most. Returns 0; -ETIMEDOUT; -ECONNRESET: closed without an answer;
 * -EMSGSIZE: more than 8 MiB; or another -errno of the connection. Thread safe, not
 * signal safe.
 *
 * tsct_control_request_until - the same, also limited to @until_ns, a time of
 * tsct_monotonic_ns()
 */
int tsct_control_request(const char *path, const char *request, char **ret_answer,
			 size_t *ret_len);
int tsct_control_request_until(const char *path, const char *request,
			       __s64 until_ns, char **ret_answer, size_t *ret_len);

#endif /* TSCT_CONTROL_CLIENT_H */
