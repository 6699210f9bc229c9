// SPDX-License-Identifier: GPL-2.0-only OR MIT
#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#endif

#include "request.h"

/* Type, direction and number of a request: all but the size of its argument */
#define IDENTITY(cmd)	((cmd) & ~((__u32)_IOC_SIZEMASK << _IOC_SIZESHIFT))

/*
 * The size of each argument in the first version of its request, bytes. Sizes are numbers,
 * not sizeof, since they stay the same when a structure grows. Reserved fields at the end
 * of the first version do not count: a caller that leaves them out passes zeros.
 */
static const struct {
	__u32 cmd;
	__u32 size_min;
} requests[] = {
	{ TSCT_IOC_INFO, 104 },
	{ TSCT_IOC_CHECK, 64 },
	{ TSCT_IOC_CHECK_RUN, 64 },
	{ TSCT_IOC_THREAD, 24 },
	{ TSCT_IOC_CLOCK_SNAPSHOT, 64 },
	{ TSCT_IOC_CLOCK_STORE, 40 },
	{ TSCT_IOC_CHANNEL_CREATE, 56 },
	{ TSCT_IOC_CHANNEL_ATTACH, 48 },
	{ TSCT_IOC_CHANNEL_NEXT, 176 },
	{ TSCT_IOC_DEFINE, TSCT_EVENT_DEF_SIZE(0) },
	{ TSCT_IOC_WRITE, 16 },
	{ TSCT_IOC_CHANNEL_REMOVE, 8 },
	{ TSCT_IOC_CHANNEL_CPU, 112 },
	{ TSCT_IOC_WATERMARK, 8 },
	{ TSCT_IOC_EVENT_SWITCH, 8 },
#ifndef __KERNEL__		/* a request of sockets */
	{ TSCT_IOC_CHANNEL_ADOPT, 8 },
#endif
	{ TSCT_IOC_PREVIOUS, 32 },
	{ TSCT_IOC_PREVIOUS_READ, 24 },
};

int tsct_request_find(__u32 cmd, __u32 *ret_known)
{
	unsigned int i;

	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (IDENTITY(cmd) != IDENTITY(requests[i].cmd))
			continue;
		if (_IOC_SIZE(cmd) < requests[i].size_min)
			return -ENOTTY;
		if (_IOC_SIZE(cmd) > TSCT_ARG_MAX)
			return -E2BIG;
		*ret_known = requests[i].cmd;
		return 0;
	}
	return -ENOTTY;
}
