// SPDX-License-Identifier: MIT
/*
 * The public functions on handles: open a channel, possibly later by the helper thread;
 * enable typed events on a channel; close a channel
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tsctrace/event.h>

#include "channel.h"
#include "runtime_paths.h"

static void copy_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

/* Copies the options, and the environment variables that complete the options. */
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
 * Lets the helper thread open the channel later, or connect to a restarted daemon, if that
 * can succeed. $TSCTRACE_PROVIDER=none also prevents later connections. @err: result of
 * tsct_channel_bind()
 */
static void watch_handle(struct tsct_channel *channel, const struct tsct_opening *opening, int err)
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

/* Opens a handle. @is_only: true: try only the provider at @socket_path (NULL: the module) */
static int open_handle(bool is_only, const char *socket_path,
		       const struct tsct_channel_options *options,
		       struct tsct_channel **ret_channel)
{
	static const struct tsct_channel_options defaults;
	const __u32 flags = TSCT_OPEN_ATTACH | TSCT_OPEN_CREATE | TSCT_OPEN_NO_THREAD;
	const __u32 exclusive = TSCT_OPEN_ATTACH | TSCT_OPEN_CREATE;
	const __u32 roles = TSCT_ROLE_WRITE | TSCT_ROLE_READ;
	int err = tsct_channel_alloc(ret_channel);
	struct tsct_channel *channel = *ret_channel;
	const uint64_t *reserved;
	struct tsct_opening opening;

	if (err)
		return err;
	if (!options)
		options = &defaults;
	reserved = options->reserved;
	if (reserved[0] | reserved[1] | reserved[2] | reserved[3] ||
	    options->flags & ~flags ||
	    (options->flags & exclusive) == exclusive || options->roles & ~roles) {
		tsct_channel_add_error(channel, "unknown or contradicting options; use "
				       "header and library of one release");
		return -EINVAL;
	}
	channel->no_thread = options->flags & TSCT_OPEN_NO_THREAD;
	opening_init(&opening, options);
	opening.is_only = is_only;
	opening.socket_path = socket_path;
	err = tsct_channel_bind(channel, &opening);
	if (err == -EMFILE)
		tsct_channel_refuse_all(channel, &opening);
	if (!is_only)
		watch_handle(channel, &opening, err);
	return err;
}

int tsct_channel_open(const struct tsct_channel_options *options,
		      struct tsct_channel **ret_channel)
{
	return open_handle(false, NULL, options, ret_channel);
}

int tsct_channel_open_at(const char *socket_path,
			 const struct tsct_channel_options *options,
			 struct tsct_channel **ret_channel)
{
	return open_handle(true, socket_path, options, ret_channel);
}

void tsct_channel_close(struct tsct_channel *channel)
{
	struct tsct_channel *target, *replaced;

	if (!channel)
		return;
	tsct_helper_forget(channel);
	tsct_events_disable(channel);
	for (target = channel->target; target; target = replaced) {
		replaced = target->replaced;
		tsct_channel_free(target);
	}
	tsct_channel_free(channel);
}

/* ---- typed events -------------------------------------------------------- */

static struct tsct_channel *default_channel;

static void make_default(void)
{
	tsct_channel_open(NULL, &default_channel);
}

/* Opens the channel of tsct_events_enable(NULL), once. It is never closed. */
static struct tsct_channel *open_default(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_default);
	return default_channel;
}

int tsct_events_enable(struct tsct_channel *channel, const char *patterns)
{
	int err, on;

	if (!patterns) {
		patterns = secure_getenv("TSCTRACE_EVENTS");
		if (!patterns || !*patterns)
			patterns = "*";
	}
	if (tsct_patterns_check(patterns))
		return -EINVAL;
	channel = channel ? channel : open_default();
	err = tsct_events_use(channel, patterns, &on);
	if (err)
		return err;
	tsct_helper_start(channel);
	return on;
}
