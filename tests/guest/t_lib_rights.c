// SPDX-License-Identifier: MIT
/* Without access rights a program gets the error and advice, and runs untraced. */
#include <sys/stat.h>

#include "lib.h"

static void as_nobody(void)
{
	struct tsct_channel *channel;

	t_check(!setgid(65534) && !setuid(65534), "%m");
	t_check(tsct_channel_open(NULL, &channel) == -EACCES);
	t_check(strstr(tsct_channel_error(channel), "/dev/tsctrace: permission denied; join"),
		"%s", tsct_channel_error(channel));
	t_check(tsct_channel_provider(channel) == TSCT_PROVIDER_NONE);
	t_check(tsct_event_define(channel, "e", 0, "a:u8") >= TSCT_ID_FIRST);
	t_check(tsct_emit(channel, 16, "x", 1) == -ENODEV);
	t_check(tsct_channel_dropped(channel) == 1);
	tsct_channel_close(channel);
}

static void in_child(void (*run)(void))
{
	pid_t pid = fork();

	if (!pid) {
		run();
		_exit(t_status());
	}
	t_check(!lib_status_of(pid));
}

/* A user with rights on the device sees its own channels only. */
static void as_user(void)
{
	struct tsct_channel_options attach = { .flags = TSCT_OPEN_ATTACH };
	struct tsct_channel *channel;

	t_check(!setgid(1000) && !setuid(1000), "%m");
	t_check(tsct_channel_open(&attach, &channel) == -ENOENT);
	t_check(strstr(tsct_channel_error(channel), "no such channel"), "%s", tsct_channel_error(channel));
	tsct_channel_close(channel);
	channel = lib_open(NULL);
	t_check(tsct_channel_info(channel)->uid == 1000);
	tsct_channel_close(channel);
}

static void try_flags(void)
{
	struct tsct_channel_options options = { .flags = TSCT_OPEN_CREATE };
	struct tsct_channel *channel;

	t_check(tsct_channel_open(&options, &channel) == -EEXIST);
	t_check(strstr(tsct_channel_error(channel), "another name"), "%s", tsct_channel_error(channel));
	tsct_channel_close(channel);
	options.name = "no/slash";
	t_check(tsct_channel_open(&options, &channel) == -EINVAL);
	tsct_channel_close(channel);
	options.name = "odd";
	options.block_size = 5000;
	t_check(tsct_channel_open(&options, &channel) == -EINVAL);
	tsct_channel_close(channel);
	options.block_size = 0;
	options.reserved[3] = 1;
	t_check(tsct_channel_open(&options, &channel) == -EINVAL);
	tsct_channel_close(channel);
}

/* Only the kernel may write: a program's event is rejected and counted. */
static void try_kernel_channel(void)
{
	struct tsct_channel_options options = {
		.name = "kernel", .roles = TSCT_ROLE_READ,
		.channel_flags = TSCT_CHANNEL_KERNEL,
	};
	struct tsct_channel *channel = lib_open(&options);
	int id = tsct_event_define(channel, "e", 0, "");

	t_check(id >= TSCT_ID_FIRST);
	t_check(tsct_emit(channel, id, NULL, 0) == -EACCES);
	t_check(tsct_channel_dropped(channel) == 1);
	tsct_channel_close(channel);
}

int main(void)
{
	struct tsct_channel *channel = lib_open(NULL);

	t_check(strstr(tsct_channel_error(channel), "module"), "%s", tsct_channel_error(channel));
	t_check(!chmod("/dev/tsctrace", 0600), "%m");
	in_child(as_nobody);
	t_check(!chmod("/dev/tsctrace", 0666), "%m");
	in_child(as_user);
	t_check(!chmod("/dev/tsctrace", 0660), "%m");
	try_flags();
	try_kernel_channel();
	tsct_channel_close(channel);
	return t_status();
}
