// SPDX-License-Identifier: MIT
/* Requests to a provider beyond the channel that is open. */
#include <errno.h>
#include <string.h>

#include "channel.h"

int tsct_channel_request(struct tsct_channel *channel, unsigned int cmd, void *arg)
{
	return channel->ops ? channel->ops->ctl(channel, cmd, arg) : -ENODEV;
}

const char *tsct_channel_socket_path(const struct tsct_channel *channel)
{
	return channel->socket_path;
}

int tsct_channel_fd(const struct tsct_channel *channel)
{
	return channel->fd;
}

/* Ids must increase: else a broken provider would keep the caller in a loop. */
int tsct_channels_next(struct tsct_channel *channel, struct tsct_channel_info *info)
{
	const __u32 last = info->id;
	int err;

	memset(info, 0, sizeof(*info));
	info->id = last;
	err = tsct_channel_request(channel, TSCT_IOC_CHANNEL_NEXT, info);
	if (err)
		return err;
	/* The provider may be any program: it need not have terminated the name. */
	info->name[TSCT_NAME_MAX - 1] = '\0';
	return info->id > last ? 0 : -EPROTO;
}

int tsct_channel_cpu_stat(struct tsct_channel *channel, __u32 id, __u32 cpu,
			  struct tsct_channel_cpu *ret_stat)
{
	struct tsct_channel_cpu arg = { .id = id, .cpu = cpu };
	int err = tsct_channel_request(channel, TSCT_IOC_CHANNEL_CPU, &arg);

	if (!err)
		*ret_stat = arg;
	return err;
}

int tsct_channel_remove(struct tsct_channel *channel, __u32 id)
{
	struct tsct_channel_remove arg = { .id = id };

	return tsct_channel_request(channel, TSCT_IOC_CHANNEL_REMOVE, &arg);
}

__u64 tsct_channel_lost_no_ring(const struct tsct_channel *channel)
{
	const struct tsct_channel_header *header = (void *)channel->head_map;

	return __atomic_load_n(&header->lost_no_ring, __ATOMIC_RELAXED);
}
