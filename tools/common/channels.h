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
	CHANNEL_PROVIDER_EMBEDDED,	/* the parent trace-ctl record */
	CHANNEL_PROVIDER_MODULE,
	CHANNEL_PROVIDER_DAEMON,
	CHANNEL_PROVIDERS,
};

extern const char *const channel_provider_names[CHANNEL_PROVIDERS];

/* A connection to one provider, without an open channel */
struct provider_connection {
	struct tsct_channel *channel;	/* NULL: not connected */
	bool answers;
	struct tsct_info info;		/* valid if answers */
};

/* Connects to a provider. tsct_channel_close(p->channel) is required in any case. */
void provider_connect(struct provider_connection *p, enum channel_provider provider);

/* The reason why the provider does not answer, or "". Valid while @p is open. */
const char *provider_error(const struct provider_connection *p);

/* Sends a TSCT_IOC_* request. Returns 0, -errno, or -ENODEV: not connected. */
int provider_request(struct provider_connection *p, unsigned int cmd, void *arg);

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
 * Connects to the providers that $TSCTRACE_PROVIDER permits, or to @every provider.
 * The list of channels is empty until channel_list_read().
 */
void channel_list_open(struct channel_list *all, bool every);
void channel_list_close(struct channel_list *all);

/* Returns the first permitted provider that answers, or -ENODEV. */
int channel_list_default(const struct channel_list *all);

/* True if a provider answers; else prints for each the reason why it does not. */
bool channel_list_check(const struct channel_list *all, const char *verb);

/*
 * Reads the channels of all providers, sorted by provider and id. Prints the error of
 * a provider, and continues with the next one. Returns 0 or -ENOMEM.
 */
int channel_list_read(struct channel_list *all, const char *verb);

/*
 * Reads the counters of the next ring that is READY. @nr is the first CPU to try, and
 * is advanced; 0 at first. Returns false if there are no more rings.
 */
bool channel_list_next_cpu(struct channel_list *all, const struct listed_channel *c,
			   __u32 *nr, struct tsct_channel_cpu *ret_cpu);

/*
 * Compares a channel with a name or id. Returns 3 if it has the name and is the
 * caller's, 2 if it has the name and is another user's, 1 for its id, 0: no match.
 */
int channel_list_rank(const struct listed_channel *c, const char *name);

/*
 * Finds a channel by a name of the caller's own channels, else by a name of another
 * user's (root only), else by id. Prints an error and returns NULL if none or several
 * match.
 */
const struct listed_channel *channel_list_find(const struct channel_list *all,
					       const char *verb, const char *name);

/* Writes the name of a user, or else its number, to @text. Returns @text. */
const char *channel_owner_name(__u32 uid, char *text, size_t size);

#endif /* CHANNELS_H */
