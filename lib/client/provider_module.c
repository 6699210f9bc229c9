// SPDX-License-Identifier: MIT
/* The kernel module as the provider: requests are ioctls. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "channel.h"

static int module_ctl(struct tsct_channel *channel, unsigned int cmd, void *arg)
{
	return ioctl(channel->fd, cmd, arg) < 0 ? -errno : 0;
}

static const struct tsct_provider_ops module_ops = { .ctl = module_ctl };

/* Returns the errno of tsct_channel_open() for @err of the device. */
static int explain(struct tsct_channel *channel, int err)
{
	switch (err) {
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
		tsct_channel_add_error(channel, "%s: module not loaded; load the "
				       "module tsctrace", TSCT_DEVICE_PATH);
		return -ENODEV;
	case -EACCES:
	case -EPERM:
		tsct_channel_add_error(channel, "%s: permission denied; join the "
				       "group that owns it or run as root",
				       TSCT_DEVICE_PATH);
		return -EACCES;
	case -ENOTTY:
		tsct_channel_add_error(channel, "%s: not a tsctrace device; remove "
				       "it and load the module again",
				       TSCT_DEVICE_PATH);
		return -ENODEV;
	}
	tsct_channel_add_error(channel, "%s: %s", TSCT_DEVICE_PATH, strerror(-err));
	return err;
}

int tsct_module_open(struct tsct_channel *channel)
{
	struct tsct_info info = { 0 };
	int err;

	channel->fd = open(TSCT_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	if (channel->fd < 0)
		return explain(channel, -errno);
	err = module_ctl(channel, TSCT_IOC_INFO, &info);
	if (err) {
		close(channel->fd);
		channel->fd = -1;
		return explain(channel, err);
	}
	channel->ops = &module_ops;
	channel->provider = TSCT_PROVIDER_MODULE;
	channel->map_fd = channel->fd;
	return 0;
}
