// SPDX-License-Identifier: MIT
/* Channels of a provider that we are not bound to: what there is, how it is. */
#include <errno.h>
#include <string.h>

#include "channel.h"

/* Ids must rise, or a wrong provider could keep a caller here for ever. */
int tsct_channels_next(struct tsct_channel *t, struct tsct_channel_info *info)
{
	const __u32 last = info->id;
	int error;

	memset(info, 0, sizeof(*info));
	info->id = last;
	error = t->ops->ctl(t, TSCT_IOC_CHANNEL_NEXT, info);
	if (error)
		return error;
	/* Text of the other side: it may be a program we do not know. */
	info->name[TSCT_NAME_MAX - 1] = '\0';
	return info->id > last ? 0 : -EPROTO;
}

int tsct_channel_cpu_stat(struct tsct_channel *t, __u32 id, __u32 cpu,
			 struct tsct_channel_cpu *ret_figures)
{
	struct tsct_channel_cpu arg = { .id = id, .cpu = cpu };
	int error = t->ops->ctl(t, TSCT_IOC_CHANNEL_CPU, &arg);

	if (!error)
		*ret_figures = arg;
	return error;
}

int tsct_channel_remove(struct tsct_channel *t, __u32 id)
{
	struct tsct_channel_remove arg = { .id = id };

	return t->ops->ctl(t, TSCT_IOC_CHANNEL_REMOVE, &arg);
}
