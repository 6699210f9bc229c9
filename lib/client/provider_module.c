// SPDX-License-Identifier: MIT
/* The kernel module as the provider: requests are ioctls. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "channel.h"

static int ctl(struct tsct_channel *t, unsigned int cmd, void *arg)
{
	return ioctl(t->fd, cmd, arg) < 0 ? -errno : 0;
}

static const struct tsct_provider_ops module_ops = { .ctl = ctl };

static int explain(struct tsct_channel *t, int error)
{
	switch (error) {
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
		tsct_channel_add_error(t, "%s: not there; load the module tsctrace",
			     TSCT_DEVICE_PATH);
		return -ENODEV;
	case -EACCES:
	case -EPERM:
		tsct_channel_add_error(t, "%s: permission denied; join the group that "
			     "owns it or run as root", TSCT_DEVICE_PATH);
		return -EACCES;
	case -ENOTTY:
		tsct_channel_add_error(t, "%s: not a tsctrace device; remove it and "
			     "load the module again", TSCT_DEVICE_PATH);
		return -ENODEV;
	}
	tsct_channel_add_error(t, "%s: %s", TSCT_DEVICE_PATH, strerror(-error));
	return error;
}

int tsct_module_open(struct tsct_channel *t)
{
	struct tsct_info info = { 0 };
	int error;

	t->fd = open(TSCT_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	if (t->fd < 0)
		return explain(t, -errno);
	error = ctl(t, TSCT_IOC_INFO, &info);
	if (error) {
		close(t->fd);
		t->fd = -1;
		return explain(t, error);
	}
	t->ops = &module_ops;
	t->provider = TSCT_PROVIDER_MODULE;
	t->map_fd = t->fd;
	return 0;
}
