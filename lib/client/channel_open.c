// SPDX-License-Identifier: MIT
/* Which provider? The first that works, and a sentence about the others. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tsctrace/event.h>

#include "lib/clock/clock_page.h"
#include "channel.h"

/* What tsct_channel_open() hands out when there is no memory even for a handle. */
static struct tsct_channel no_memory = {
	.fast.fork_mark = &tsct_no_mark,
	.fd = -1,
	.map_fd = -1,
	.why = "out of memory; events are dropped",
};

static struct tsct_channel *new_handle(void)
{
	struct tsct_channel *t = aligned_alloc(64, (sizeof(*t) + 63) & ~63UL);

	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->fd = t->map_fd = -1;
	tsct_emit_disable_fast(t);
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

/* Back to a handle of no provider; the sentence and the count stay. */
static void release(struct tsct_channel *t)
{
	tsct_channel_unmap(t);
	if (t->map_fd >= 0 && t->map_fd != t->fd)
		close(t->map_fd);
	if (t->fd >= 0)
		close(t->fd);
	free(t->socket_path);
	t->fd = t->map_fd = -1;
	t->socket_path = NULL;
	t->ops = NULL;
	t->provider = TSCT_PROVIDER_NONE;
	t->roles = 0;
	t->rseq = 0;
	tsct_emit_disable_fast(t);
}

void tsct_channel_close(struct tsct_channel *t)
{
	if (!t || t == &no_memory)
		return;
	tsct_events_disable(t);
	release(t);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static int check_options(struct tsct_channel *t, const struct tsct_channel_options *options)
{
	const __u32 flags = TSCT_OPEN_ATTACH | TSCT_OPEN_CREATE;
	const __u32 roles = TSCT_ROLE_WRITE | TSCT_ROLE_READ;
	size_t i;

	for (i = 0; i < 4; i++)
		if (options->reserved[i])
			break;
	if (i == 4 && !(options->flags & ~flags) && options->flags != flags &&
	    !(options->roles & ~roles))
		return 0;
	tsct_channel_add_error(t, "unknown or contradicting options; the program's "
		     "header and library differ, or it has a bug");
	return -EINVAL;
}

/* Remember the error that says most: an absent provider says least. */
static void note(int *worst, int error)
{
	if (*worst == 0 || *worst == -ENODEV)
		*worst = error;
}

/*
 * Try one provider. Its word about the channel is final (`false`: look no
 * further), save that a channel it does not have may be with the next one.
 */
static bool go_on(struct tsct_channel *t, const struct tsct_channel_options *options,
		  int opened, int *ret_error)
{
	int error = opened;

	if (!opened)
		error = tsct_channel_bind(t, options);
	if (!error) {
		*ret_error = 0;
		return false;
	}
	release(t);
	note(ret_error, error);
	return opened || error == -ENOENT;
}

/* Which providers may be tried: a mask of 1 << TSCT_PROVIDER_*. */
static int allowed(struct tsct_channel *t, unsigned int *ret_mask)
{
	const char *only = secure_getenv("TSCTRACE_PROVIDER");
	unsigned int i;

	*ret_mask = ~0U;
	if (!only || !*only)
		return 0;
	for (i = 0; i <= TSCT_PROVIDER_EMBEDDED; i++) {
		if (!strcmp(only, tsct_provider_name(i))) {
			*ret_mask = 1U << i;
			return 0;
		}
	}
	tsct_channel_add_error(t, "TSCTRACE_PROVIDER=%.64s: unknown; unset it, or set it to "
		     "module, daemon, embedded or none", only);
	return -EINVAL;
}

/*
 * Nobody was there: the module and the daemon have each said how to change
 * that, and a program that writes need not wait for either.
 */
static void add_way_out(struct tsct_channel *t, const struct tsct_channel_options *options)
{
	size_t used = strlen(t->why);

	if (options->roles && !(options->roles & TSCT_ROLE_WRITE))
		return;
	snprintf(t->why + used, sizeof(t->why) - used,
		 ", or run the program under trace-ctl record");
}

/*
 * $TSCTRACE_SOCKET comes first: who set it will read there and nowhere else.
 */
static int search(struct tsct_channel *t, const struct tsct_channel_options *options,
		  unsigned int mask)
{
	const char *embedded = secure_getenv("TSCTRACE_SOCKET");
	char path[256];
	int error = 0;

	if (mask == 1U << TSCT_PROVIDER_NONE) {
		tsct_channel_add_error(t, "TSCTRACE_PROVIDER=none; unset it to be traced");
		return -ENODEV;
	}
	if (mask == 1U << TSCT_PROVIDER_EMBEDDED && !(embedded && *embedded))
		tsct_channel_add_error(t, "TSCTRACE_SOCKET is not set; run the program "
			     "under trace-ctl record");
	if (mask & 1U << TSCT_PROVIDER_EMBEDDED && embedded && *embedded &&
	    !go_on(t, options, tsct_socket_open(t, embedded, "trace-ctl record"),
		   &error))
		return error;
	if (mask & 1U << TSCT_PROVIDER_MODULE &&
	    !go_on(t, options, tsct_module_open(t), &error))
		return error;
	snprintf(path, sizeof(path), "%s/" TSCT_SOCKET_FILE, tsct_run_dir());
	if (mask & 1U << TSCT_PROVIDER_DAEMON &&
	    !go_on(t, options, tsct_socket_open(t, path, "tsctraced"), &error))
		return error;
	if (error == -ENODEV && mask == ~0U && !(embedded && *embedded))
		add_way_out(t, options);
	return error ? error : -ENODEV;
}

static int open_handle(const char *only_socket,
		       const struct tsct_channel_options *options, struct tsct_channel **ret_t)
{
	static const struct tsct_channel_options defaults;
	struct tsct_channel *t = new_handle();
	unsigned int mask;
	int error;

	*ret_t = t ? t : &no_memory;
	if (!t)
		return -ENOMEM;
	if (!options)
		options = &defaults;
	error = check_options(t, options);
	if (error)
		return error;
	if (only_socket) {
		go_on(t, options, tsct_socket_open(t, only_socket, "its server"),
		      &error);
		return error;
	}
	error = allowed(t, &mask);
	return error ? error : search(t, options, mask);
}

int tsct_channel_open(const struct tsct_channel_options *options, struct tsct_channel **ret_t)
{
	return open_handle(NULL, options, ret_t);
}

int tsct_channel_open_at(const char *path, const struct tsct_channel_options *options,
		 struct tsct_channel **ret_t)
{
	return open_handle(path, options, ret_t);
}

int tsct_channel_connect(const char *socket_path, const char *server,
			 struct tsct_channel **ret_channel)
{
	struct tsct_channel *channel = new_handle();

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
