/* SPDX-License-Identifier: MIT */
/* The providers of channels, and the channels of all of them */
#ifndef CHANNELS_H
#define CHANNELS_H

#include <stdbool.h>
#include <tsctrace/tsctrace.h>

#include "lib/client/channel_admin.h"

/* ---- providers ----------------------------------------------------------- */

/* In the order in which a program tries them */
enum channel_provider {
	CHANNEL_PROVIDER_EMBEDDED,	/* the trace-ctl record that runs us */
	CHANNEL_PROVIDER_MODULE,
	CHANNEL_PROVIDER_DAEMON,
	CHANNEL_PROVIDERS,
};

extern const char *const channel_provider_names[CHANNEL_PROVIDERS];

/* Does $TSCTRACE_PROVIDER permit this provider? */
bool channel_provider_allowed(enum channel_provider provider);

/* A connection to one provider, without an open channel */
struct provider_connection {
	struct tsct_channel *channel;	/* NULL: not connected */
	bool answers;
	struct tsct_info info;		/* if answers */
};

/* Connects to the module. provider_disconnect() is required in any case. */
void provider_connect_module(struct provider_connection *p);
void provider_disconnect(struct provider_connection *p);

/*
 * The reason why the provider does not answer; "": unknown. Valid while @p is
 * open.
 */
const char *provider_error(const struct provider_connection *p);

/*
 * Sends one TSCT_IOC_* request. @arg: its struct. Returns 0 or -errno; -ENODEV:
 * the provider does not answer.
 */
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
 * Connects to all providers (@every), or to those that $TSCTRACE_PROVIDER
 * permits. A provider that does not answer is no error. Lists no channels yet.
 */
void channel_list_open(struct channel_list *all, bool every);
void channel_list_close(struct channel_list *all);

/* The provider that a program started now would use; -ENODEV: none answers */
int channel_list_default(const struct channel_list *all);

/* Returns false, and prints the reason of each provider, if none answers. */
bool channel_list_check(const struct channel_list *all, const char *verb);

/*
 * Reads the channels of all providers, sorted by provider and id. Prints errors
 * of single providers. Returns 0 or -ENOMEM.
 */
int channel_list_read(struct channel_list *all, const char *verb);

/* Reads the current counters of one channel. Returns 0 or -errno. */
int channel_list_read_one(struct channel_list *all, enum channel_provider provider,
			  __u32 id, struct tsct_channel_info *ret_info);

/* Number of the channel's rings, whether in use (TSCT_CPU_READY) or not */
__u32 channel_list_nr_cpus(const struct channel_list *all,
			   const struct listed_channel *c);

/* Reads the counters of one ring. Returns 0 or -errno. */
int channel_list_read_cpu(struct channel_list *all, const struct listed_channel *c,
			  __u32 cpu, struct tsct_channel_cpu *ret_cpu);

/*
 * Finds a channel by a name of the caller's own channels, by a name of any
 * (root), or by id, in this order. Returns NULL, and prints an error, if there is
 * none or more than one.
 */
const struct listed_channel *channel_list_find(const struct channel_list *all,
					       const char *verb, const char *name);

/* A user's name, or number, written to @text */
const char *channel_owner_name(__u32 uid, char *text, size_t size);

#endif /* CHANNELS_H */
