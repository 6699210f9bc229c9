/* SPDX-License-Identifier: MIT */
/* Asking the daemon, over the control socket of its run-time directory. */
#ifndef TSCT_ASK_H
#define TSCT_ASK_H

#include <linux/types.h>
#include <stddef.h>

#define TSCT_CONTROL_SOCKET	"control.sock"

/* What a daemon's answer begins with that refuses */
#define TSCT_CONTROL_ERROR	"error: "

/*
 * tsct_control_request - send one request, get the whole answer
 * @path: of the socket
 * @ret_answer: malloc'ed, with a NUL behind it
 *
 * Returns 0 or -errno; -ECONNRESET: it hung up without a word. Takes 5 s at most.
 *
 * tsct_control_request_until - and no longer than that, of tsct_monotonic_ns()
 */
int tsct_control_request(const char *path, const char *request, char **ret_answer,
		     size_t *ret_len);
int tsct_control_request_until(const char *path, const char *request,
			   __s64 until_ns, char **ret_answer, size_t *ret_len);

#endif /* TSCT_ASK_H */
