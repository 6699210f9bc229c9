// SPDX-License-Identifier: MIT
/* Opening and closing channels: the first provider that works is used. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tsctrace/event.h>

#include "channel.h"
#include "helper.h"
#include "runtime_paths.h"

/* Handle that tsct_channel_open() returns when there is no memory for a new handle */
static struct tsct_channel no_memory = {
	.fast.fork_mark = &tsct_no_mark,
	.fd = -1,
	.map_fd = -1,
	.error = "out of memory; events are dropped",
};

struct tsct_channel *tsct_channel_new(void)
{
	struct tsct_channel *channel =
		aligned_alloc(64, (sizeof(*channel) + 63) & ~63UL);

	if (!channel)
		return NULL;
	memset(channel, 0, sizeof(*channel));
	channel->fd = channel->map_fd = -1;
	tsct_emit_disable_fast(channel);
	pthread_mutex_init(&channel->lock, NULL);
	pthread_mutex_init(&channel->ids_lock, NULL);
	return channel;
}

/* Disconnects from the provider. Error text and count of dropped events remain. */
static void release(struct tsct_channel *channel)
{
	tsct_channel_unmap(channel);
	if (channel->map_fd >= 0 && channel->map_fd != channel->fd)
		close(channel->map_fd);
	if (channel->fd >= 0)
		close(channel->fd);
	free(channel->socket_path);
	channel->fd = channel->map_fd = -1;
	channel->socket_path = NULL;
	channel->ops = NULL;
	channel->provider = TSCT_PROVIDER_NONE;
	channel->roles = 0;
	channel->rseq = 0;
	tsct_emit_disable_fast(channel);
}

void tsct_channel_close(struct tsct_channel *channel)
{
	struct tsct_channel *target, *replaced;

	if (!channel || channel == &no_memory)
		return;
	tsct_helper_forget(channel);
	tsct_events_disable(channel);
	for (target = channel->target; target; target = replaced) {
		replaced = target->replaced;
		target->target = NULL;
		tsct_channel_close(target);
	}
	release(channel);
	tsct_channel_ids_free(channel);
	pthread_mutex_destroy(&channel->ids_lock);
	pthread_mutex_destroy(&channel->lock);
	free(channel->opening);
	free(channel);
}

/*
 * Tries one provider; @connected is the result of the connection to it. Returns true if
 * it is not running, has no such channel, or is the module, this user is over one of its
 * limits and the channel is an ordinary one, so that the next one is to be tried.
 * *ret_error keeps the first error other than -ENODEV.
 */
static bool try_provider(struct tsct_channel *channel,
			 const struct tsct_channel_options *options,
			 int connected, int *ret_error)
{
	const bool is_module = channel->provider == TSCT_PROVIDER_MODULE;
	int err = connected;

	if (!connected)
		err = tsct_channel_bind(channel, options);
	if (!err) {
		*ret_error = 0;
		return false;
	}
	release(channel);
	if (*ret_error == 0 || *ret_error == -ENODEV)
		*ret_error = err;
	return connected || err == -ENOENT ||
		(is_module && err == -EDQUOT && !options->channel_flags);
}

static void copy_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

/* Copies the options, and what the environment adds to them. */
static void opening_init(struct tsct_opening *opening,
			 const struct tsct_channel_options *options)
{
	const char *name = options->name ?: secure_getenv("TSCTRACE_CHANNEL");

	opening->options = *options;
	copy_text(opening->name, sizeof(opening->name),
		  options->name || (name && *name) ? name : "default");
	opening->options.name = opening->name;
	copy_text(opening->only, sizeof(opening->only), secure_getenv("TSCTRACE_PROVIDER"));
	copy_text(opening->embedded, sizeof(opening->embedded),
		  secure_getenv("TSCTRACE_SOCKET"));
	snprintf(opening->daemon, sizeof(opening->daemon), "%s/" TSCT_SOCKET_FILE,
		 tsct_run_dir());
}

/*
 * Tries the providers that $TSCTRACE_PROVIDER allows. $TSCTRACE_SOCKET comes first: the
 * program that set this variable reads from its own rings only.
 */
static int try_providers(struct tsct_channel *channel, const struct tsct_opening *opening)
{
	const struct tsct_channel_options *options = &opening->options;
	const bool has_embedded = *opening->embedded;
	unsigned int mask = ~0U, i;	/* set of providers to try, as bits 1 <<
					 * TSCT_PROVIDER_* */
	size_t used;
	int err = 0;

	if (*opening->only) {
		for (i = 0; i <= TSCT_PROVIDER_EMBEDDED; i++)
			if (!strcmp(opening->only, tsct_provider_name(i)))
				mask = 1U << i;
		if (mask == ~0U) {
			tsct_channel_add_error(channel, "TSCTRACE_PROVIDER=%.64s: "
					       "unknown; unset it, or set it to module, "
					       "daemon, embedded or none", opening->only);
			return -EINVAL;
		}
	}
	if (mask == 1U << TSCT_PROVIDER_NONE) {
		tsct_channel_add_error(channel, "TSCTRACE_PROVIDER=none: tracing is "
				       "off; unset it");
		return -ENODEV;
	}
	if (mask == 1U << TSCT_PROVIDER_EMBEDDED && !has_embedded)
		tsct_channel_add_error(channel, "TSCTRACE_SOCKET: not set; run the "
				       "program under trace-ctl record");
	if (mask & 1U << TSCT_PROVIDER_EMBEDDED && has_embedded &&
	    !try_provider(channel, options, tsct_socket_open(channel, opening->embedded,
			  "trace-ctl record"), &err))
		return err;
	if (mask & 1U << TSCT_PROVIDER_MODULE &&
	    !try_provider(channel, options, tsct_module_open(channel), &err))
		return err;
	if (mask & 1U << TSCT_PROVIDER_DAEMON &&
	    !try_provider(channel, options, tsct_socket_open(channel, opening->daemon,
			  "tsctraced"), &err))
		return err;
	/* Without a provider, a program that writes events is advised to run under
	 * trace-ctl record, which is then its provider. */
	if (err == -ENODEV && mask == ~0U && !has_embedded &&
	    (!options->roles || options->roles & TSCT_ROLE_WRITE)) {
		used = strlen(channel->error);
		snprintf(channel->error + used, sizeof(channel->error) - used,
			 ", or run the program under trace-ctl record");
	}
	return err ? err : -ENODEV;
}

/*
 * Lets the helper thread open the channel later, or connect to its daemon again, if
 * that may help. $TSCTRACE_PROVIDER=none remains in force.
 */
static void watch(struct tsct_channel *channel, const struct tsct_opening *opening, int err)
{
	const struct tsct_channel_options *options = &opening->options;

	if ((options->roles && !(options->roles & TSCT_ROLE_WRITE)) ||
	    channel->no_thread || !strcmp(opening->only, "none") ||
	    err == -EINVAL || err == -ENOMEM ||
	    (!err && channel->provider != TSCT_PROVIDER_DAEMON))
		return;
	channel->opening = malloc(sizeof(*channel->opening));
	if (!channel->opening)
		return;
	*channel->opening = *opening;
	channel->opening->options.name = channel->opening->name;
	tsct_helper_watch(channel);
}

static int open_handle(const char *only_socket,
		       const struct tsct_channel_options *options,
		       struct tsct_channel **ret_channel)
{
	static const struct tsct_channel_options defaults;
	const __u32 flags = TSCT_OPEN_ATTACH | TSCT_OPEN_CREATE | TSCT_OPEN_NO_THREAD;
	const __u32 exclusive = TSCT_OPEN_ATTACH | TSCT_OPEN_CREATE;
	const __u32 roles = TSCT_ROLE_WRITE | TSCT_ROLE_READ;
	struct tsct_channel *channel = tsct_channel_new();
	struct tsct_opening opening;
	int err = 0;
	size_t i;

	*ret_channel = channel ? channel : &no_memory;
	if (!channel)
		return -ENOMEM;
	if (!options)
		options = &defaults;
	for (i = 0; i < 4; i++)
		if (options->reserved[i])
			break;
	if (i < 4 || options->flags & ~flags ||
	    (options->flags & exclusive) == exclusive || options->roles & ~roles) {
		tsct_channel_add_error(channel, "unknown or contradicting options; use "
				       "header and library of one release");
		return -EINVAL;
	}
	channel->no_thread = options->flags & TSCT_OPEN_NO_THREAD;
	opening_init(&opening, options);
	if (only_socket) {
		try_provider(channel, &opening.options,
			     tsct_socket_open(channel, only_socket, "its server"),
			     &err);
		return err;
	}
	err = try_providers(channel, &opening);
	watch(channel, &opening, err);
	return err;
}

int tsct_channel_open_later(struct tsct_channel *channel)
{
	struct tsct_channel *target = tsct_channel_new();
	int err = target ? try_providers(target, channel->opening) : -ENOMEM;

	if (!err)
		err = tsct_channel_move(channel, target);
	if (err)
		tsct_channel_close(target);
	return err;
}

int tsct_channel_open(const struct tsct_channel_options *options,
		      struct tsct_channel **ret_channel)
{
	return open_handle(NULL, options, ret_channel);
}

int tsct_channel_open_at(const char *socket_path,
			 const struct tsct_channel_options *options,
			 struct tsct_channel **ret_channel)
{
	return open_handle(socket_path, options, ret_channel);
}

int tsct_channel_connect(const char *socket_path, const char *server,
			 struct tsct_channel **ret_channel)
{
	struct tsct_channel *channel = tsct_channel_new();

	*ret_channel = channel ? channel : &no_memory;
	if (!channel)
		return -ENOMEM;
	return socket_path ? tsct_socket_open(channel, socket_path, server) :
		tsct_module_open(channel);
}

int tsct_channel_open_id(const char *socket_path, __u32 id, __u32 roles,
			 struct tsct_channel **ret_channel)
{
	int err = tsct_channel_connect(socket_path, "its server", ret_channel);

	if (err)
		return err;
	err = tsct_channel_bind_id(*ret_channel, id, roles);
	if (err)
		release(*ret_channel);
	return err;
}
