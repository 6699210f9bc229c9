/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Requests of programs that were compiled with another version of the binary interface */
#ifndef TSCT_ABI_REQUEST_H
#define TSCT_ABI_REQUEST_H

#include <tsctrace/abi.h>

/*
 * tsct_request_find - find a request by type, direction and number
 * @cmd: the request's number as sent, which has the sender's size of the argument
 * @ret_known: the request's number in this version, TSCT_IOC_*
 *
 * Returns 0; -ENOTTY: unknown request, or the argument is shorter than in the first
 * version of the request; -E2BIG: the argument is longer than TSCT_ARG_MAX.
 */
int tsct_request_find(__u32 cmd, __u32 *ret_known);

#endif /* TSCT_ABI_REQUEST_H */
