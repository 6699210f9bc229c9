/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Checks requests of programs that were compiled with another version of the binary interface. */
#ifndef TSCT_ABI_REQUEST_H
#define TSCT_ABI_REQUEST_H

#include <tsctrace/abi.h>

/* A request in this version of the interface */
struct tsct_request_type {
	__u32 cmd;		/* TSCT_IOC_* */
	/*
	 * Size of the argument in the first version of the request, bytes, without reserved
	 * fields at the argument's end: fields that a caller leaves out count as zeros.
	 */
	__u16 size_min;
	__u16 reserved_offset;	/* offset of reserved fields at the end; 0: no fields are checked */
};

/*
 * tsct_request_find - find a request by type, direction and number
 * @cmd: the request's number as sent; its size bits are the sender's size of the argument
 *
 * Returns 0; -ENOTTY: unknown request, or the argument is shorter than in the first
 * version of the request; -E2BIG: the argument is longer than TSCT_ARG_MAX.
 */
int tsct_request_find(__u32 cmd, const struct tsct_request_type **ret_type);

/* Returns 0, or -EINVAL: reserved fields are not 0. @arg has the size of this version. */
int tsct_request_check(const struct tsct_request_type *type, const void *arg);

#endif /* TSCT_ABI_REQUEST_H */
