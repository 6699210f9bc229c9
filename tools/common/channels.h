/* SPDX-License-Identifier: MIT */
/* The providers of channels, and the channels of all providers */
#ifndef CHANNELS_H
#define CHANNELS_H

#include <stdbool.h>
#include <tsctrace/tsctrace.h>

#include "lib/client/channel_admin.h"

/* ---- providers ----------------------------------------------------------- */

/* Providers of channels, in the order in which a program tries them */
enum channel_provider {
	CHANNEL_PROVIDER_EMBEDDED,	/* server in the `trace-ctl record` that started the
					 * program */
	CHANNEL_PROVIDER_MODULE,
	CHANNEL_PROVIDER_DAEMON,
	CHANNEL_PROVIDERS,
};

extern const char *const channel_provider_names[CHANNEL_PROVIDERS];

/* A connection to one provider, without an open channel */
struct provider_connection {
	struct tsct_channel *channel;	/* connection; NULL: not connected */
	bool answers;
	/* answer to TSCT_IOC_INFO, valid if `answers` */
	struct tsct_info info;
};

/* Connects to a provider. The caller closes p->channel with tsct_channel_close(), even if the
 * connection failed. */
void provider_connect(struct provider_connection *p, enum channel_provider provider);

/* Returns the reason why a provider does not answer, valid while @p is open; "": unknown. */
const char *provider_error(const struct provider_connection *p);

/* Sends the request @cmd, a TSCT_IOC_* number. Returns 0; -ENODEV: not connected; or -errno. */
int provider_request(struct provider_connection *p, unsigned int cmd, void *arg);

/* Name of an embedded server's directory in $XDG_RUNTIME_DIR, $TMPDIR or /tmp. X stands for
 * any character. */
#define RECORDER_DIR	"tsctrace-XXXXXX"
/* Largest length of the parent directory's path, bytes: the path of a socket has a limit */
#define RECORDER_PARENT_MAX	72

/* Gets the parent directories, in the order in which a recorder tries them; NULL: the environment
 * variable is not set */
#define RECORDER_PARENTS	3
void channel_recorder_parents(const char *ret_dirs[RECORDER_PARENTS]);

/* Finds recorders of this user whose embedded servers have flight recorders with kernel events.
 * Returns their number. @path: set to the path of one recorder's socket; "": none */
unsigned int channel_find_recorders(char *path, size_t size);

/* ---- channels ------------------------------------------------------------ */

struct listed_channel {
	enum channel_provider provider;
	struct tsct_channel_info info;
};

struct channel_list {
	struct provider_connection providers[CHANNEL_PROVIDERS];
	struct listed_channel *at;
	size_t nr;
};

/*
 * Connects to the providers that $TSCTRACE_PROVIDER permits or, if @every is true, to
 * all providers. The list of channels is empty until channel_list_read().
 */
void channel_list_open(struct channel_list *all, bool every);
void channel_list_close(struct channel_list *all);

/* Returns the first provider that answers and that $TSCTRACE_PROVIDER permits, or -ENODEV. */
int channel_list_default(const struct channel_list *all);

/* Returns true if a permitted provider answers; else prints why each provider does not answer. */
bool channel_list_check(const struct channel_list *all);

/*
 * Reads the channels of all providers, sorted by provider and id. If a provider fails,
 * prints the error and continues with the next provider. Returns 0 or -ENOMEM.
 */
int channel_list_read(struct channel_list *all);

/*
 * Reads the counters of the next ring of a channel. @nr: CPU from which to search, 0
 * for the first call; set to the CPU after the found ring. Rings that are not READY
 * are skipped. Returns false if there are no more rings.
 */
bool channel_list_next_cpu(struct channel_list *all, const struct listed_channel *c,
			   __u32 *nr, struct tsct_channel_cpu *ret_cpu);

/*
 * Compares a channel with a name or id. Returns 3 if the name matches and the caller
 * owns the channel, 2 if the name matches and another user owns the channel, 1 if the
 * id matches, 0 if nothing matches.
 */
int channel_list_rank(const struct listed_channel *c, const char *name);

/*
 * Finds a channel: by name among the caller's own channels, else (root only) by name
 * among other users' channels, else by id. Prints an error and returns NULL if no
 * channel or more than one matches.
 */
const struct listed_channel *channel_list_find(const struct channel_list *all, const char *name);

/* Writes the name of user @uid, or @uid if the user has no name, to @text. Returns @text. */
const char *channel_owner_name(__u32 uid, char *text, size_t size);

#endif /* CHANNELS_H */
