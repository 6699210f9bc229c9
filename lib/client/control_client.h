/* SPDX-License-Identifier: MIT */
/* Requests to the daemon over the control socket of its run-time directory. */
#ifndef TSCT_CONTROL_CLIENT_H
#define TSCT_CONTROL_CLIENT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime_paths.h"

/* Prefix of an answer that rejects the request */
#define TSCT_CONTROL_ERROR	"error: "

/*
 * tsct_control_request - send one request and receive the whole answer
 * @path: path of the control socket
 * @request: text of one line without a newline, at most 62 bytes
 * @until_ns: deadline as a time of tsct_monotonic_ns(), at most 5 s from now; INT64_MAX: 5 s
 * @ret_answer: the answer, allocated by malloc(), with a NUL after it
 * @ret_len: NULL, or bytes of the answer before that NUL
 * @ret_fd: NULL; or, for a request whose connection stays open after an answer of one line:
 *	the connection, which the caller closes
 *
 * Returns 0; -ETIMEDOUT; -ECONNRESET: the daemon closed without an answer; -EMSGSIZE:
 * more than 8 MiB; or another -errno of the connection. Thread safe, not signal safe.
 */
int tsct_control_request(const char *path, const char *request, __s64 until_ns,
			 char **ret_answer, size_t *ret_len, int *ret_fd);

/* A request that never blocks. One thread at a time may use it. Not signal safe */
struct tsct_control_call {
	const char *path;
	char request[64];	/* line to send, with its newline; "": no request */
	int fd;			/* connection; -1: not connected yet */
	__s64 until_ns;		/* deadline of the request, ns of CLOCK_MONOTONIC */
	char *answer;		/* bytes received so far; a NUL follows when complete */
	size_t len, size;	/* bytes of @answer: received, allocated */
	bool one_line;		/* true: a newline also completes the answer */
};

/*
 * Prepares a request, without system calls. @path has to stay valid. @request: text of
 * one line without a newline, at most 62 bytes. The struct's old contents are not
 * released.
 */
void tsct_control_call_begin(struct tsct_control_call *call, const char *path,
			     const char *request, __s64 until_ns);

/*
 * Continues a control request, without waiting. Returns 1: call->answer is complete; 0:
 * call again; -ETIMEDOUT; -ECONNRESET: the daemon closed without an answer;
 * -EMSGSIZE: more than 8 MiB; or another -errno of the connection.
 */
int tsct_control_call_step(struct tsct_control_call *call);

/* Closes the connection, frees the answer, and zeroes the struct. @call may be a zeroed struct. */
void tsct_control_call_end(struct tsct_control_call *call);

static inline bool tsct_control_call_pending(const struct tsct_control_call *call)
{
	return call->request[0];
}

#endif /* TSCT_CONTROL_CLIENT_H */
