// SPDX-License-Identifier: GPL-2.0-only OR MIT
#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/stddef.h>
#else
#include <errno.h>
#include <stddef.h>
#endif

#include "request.h"

/* Keeps a request's type, direction and number; drops the size of its argument. */
#define IDENTITY(cmd)	((cmd) & ~((__u32)_IOC_SIZEMASK << _IOC_SIZESHIFT))

/* Sizes are numbers, not sizeof(): a size must stay the same when its structure grows. */
static const struct tsct_request_type request_types[] = {
	{ TSCT_IOC_INFO, 104, 0 },
	{ TSCT_IOC_CHECK, 64, offsetof(struct tsct_check, reserved) },
	{ TSCT_IOC_CHECK_RUN, 64, offsetof(struct tsct_check, reserved) },
	{ TSCT_IOC_THREAD, 24, 0 },
	{ TSCT_IOC_CLOCK_SNAPSHOT, 64, 0 },
	{ TSCT_IOC_CLOCK_STORE, 40, offsetof(struct tsct_clock_store, reserved) },
	{ TSCT_IOC_CHANNEL_CREATE, 56, offsetof(struct tsct_channel_create, reserved0) },
	{ TSCT_IOC_CHANNEL_ATTACH, 48, offsetof(struct tsct_channel_attach, reserved0) },
	{ TSCT_IOC_CHANNEL_NEXT, 176, offsetof(struct tsct_channel_info, reserved) },
	{ TSCT_IOC_DEFINE, TSCT_EVENT_DEF_SIZE(0), 0 },
	{ TSCT_IOC_WRITE, 16, 0 },
	{ TSCT_IOC_CHANNEL_REMOVE, 8, offsetof(struct tsct_channel_remove, reserved0) },
	{ TSCT_IOC_CHANNEL_CPU, 112, offsetof(struct tsct_channel_cpu, reserved) },
	{ TSCT_IOC_WATERMARK, 8, offsetof(struct tsct_watermark, reserved) },
	{ TSCT_IOC_EVENT_SWITCH, 8, offsetof(struct tsct_event_switch, reserved) },
#ifndef __KERNEL__		/* The module does not serve this request. */
	{ TSCT_IOC_CHANNEL_ADOPT, 8, offsetof(struct tsct_channel_adopt, reserved) },
#endif
	{ TSCT_IOC_PREVIOUS, 32, offsetof(struct tsct_previous, reserved0) },
	{ TSCT_IOC_PREVIOUS_READ, 24, offsetof(struct tsct_previous_read, reserved0) },
};

int tsct_request_find(__u32 cmd, const struct tsct_request_type **ret_type)
{
	const struct tsct_request_type *type = request_types;

	for (; type < request_types + sizeof(request_types) / sizeof(*type); type++) {
		if (IDENTITY(cmd) != IDENTITY(type->cmd))
			continue;
		if (_IOC_SIZE(cmd) < type->size_min)
			return -ENOTTY;
		if (_IOC_SIZE(cmd) > TSCT_ARG_MAX)
			return -E2BIG;
		*ret_type = type;
		return 0;
	}
	return -ENOTTY;
}

int tsct_request_check(const struct tsct_request_type *type, const void *arg)
{
	const char *at = (const char *)arg + type->reserved_offset;
	const char *end = (const char *)arg + _IOC_SIZE(type->cmd);

	for (; type->reserved_offset && at < end; at++)
		if (*at)
			return -EINVAL;
	return 0;
}
