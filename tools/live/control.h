/* SPDX-License-Identifier: MIT */
/* Asking the daemon, over its control socket. */
#ifndef CONTROL_H
#define CONTROL_H

#include <stddef.h>

/*
 * ctl_control_ask - send one request, get the whole answer
 * @verb: for complaints
 * @ret_answer: malloc'ed, with a NUL behind it
 *
 * Says what is wrong. Returns 0 or -errno; -EREMOTEIO: the daemon refused.
 */
int ctl_control_ask(const char *verb, const char *request, char **ret_answer,
		    size_t *ret_len);

#endif /* CONTROL_H */
