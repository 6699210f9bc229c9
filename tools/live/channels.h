/* SPDX-License-Identifier: MIT */
/* The channels there are, of all providers: for status, channel, snapshot, top. */
#ifndef CHANNELS_H
#define CHANNELS_H

#include <stdbool.h>
#include <tsctrace/tsctrace.h>

#include "tools/common/state.h"

/* In the order in which a program looks for one. */
enum channels_from {
	CHANNELS_EMBEDDED,	/* of the trace-ctl that we run under */
	CHANNELS_MODULE,
	CHANNELS_DAEMON,
	CHANNELS_FROM,
};

extern const char *const channels_from_names[CHANNELS_FROM];

/* A channel, and who holds it. */
struct listed {
	enum channels_from from;
	struct tsct_channel_info info;
};

struct channels {
	struct state_provider from[CHANNELS_FROM];
	struct listed *at;
	size_t nr;
};

/*
 * Asks all providers, or those that $TSCTRACE_PROVIDER leaves. Who does not
 * answer is no failure. channels_close() takes what it leaves.
 */
void channels_open(struct channels *all, bool every);
void channels_close(struct channels *all);

/* Does any provider answer? If not, complains as @verb, with each one's reason. */
bool channels_found(const struct channels *all, const char *verb);

/* Whom a program that starts now would ask; -ENODEV: nobody. */
int channels_first(const struct channels *all);

/* Does $TSCTRACE_PROVIDER leave it? */
bool channels_allowed(enum channels_from from);

/*
 * Fills at and nr, by provider and id. Complains as @verb of providers that
 * fail half way. 0 or -ENOMEM.
 */
int channels_list(struct channels *all, const char *verb);

/* One channel's figures as they are now. 0 or -errno. */
int channels_ask(struct channels *all, enum channels_from from, __u32 id,
		 struct tsct_channel_info *ret_info);

/* CPUs of its rings, the READY ones and others. */
__u32 channels_cpus(const struct channels *all, const struct listed *c);

/* One CPU's figures. 0 or -errno. */
int channels_ask_cpu(struct channels *all, const struct listed *c, __u32 cpu,
		     struct tsct_channel_cpu *ret_cpu);

/*
 * The channel that a user means by @name: a name of their own, of anybody's
 * (root), or an id. Complains as @verb where there is none, or more than one.
 */
const struct listed *channels_find(const struct channels *all, const char *verb,
				   const char *name);

/* A user's name, or number. */
const char *channels_owner(__u32 uid, char *text, size_t size);

#endif /* CHANNELS_H */
