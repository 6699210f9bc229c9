// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channels.h"
#include "lib/core/ring.h"

const char *const channels_from_names[CHANNELS_FROM] = {
	[CHANNELS_EMBEDDED] = "embedded",
	[CHANNELS_MODULE] = "module",
	[CHANNELS_DAEMON] = "daemon",
};

/* ---- who holds them ------------------------------------------------------ */

bool channels_allowed(enum channels_from from)
{
	const char *only = getenv("TSCTRACE_PROVIDER");

	return !only || !*only || !strcmp(only, channels_from_names[from]);
}

void channels_open(struct channels *all, bool every)
{
	void (*const open[])(struct state_provider *) = {
		[CHANNELS_EMBEDDED] = state_embedded_open,
		[CHANNELS_MODULE] = state_module_open,
		[CHANNELS_DAEMON] = state_daemon_open,
	};
	int from;

	memset(all, 0, sizeof(*all));
	for (from = 0; from < CHANNELS_FROM; from++)
		if (every || channels_allowed(from))
			open[from](&all->from[from]);
		else
			state_provider_none(&all->from[from]);
}

void channels_close(struct channels *all)
{
	int from;

	free(all->at);
	all->at = NULL;
	all->nr = 0;
	for (from = 0; from < CHANNELS_FROM; from++)
		state_provider_close(&all->from[from]);
}

int channels_first(const struct channels *all)
{
	int from;

	for (from = 0; from < CHANNELS_FROM; from++)
		if (all->from[from].answers && channels_allowed(from))
			return from;
	return -ENODEV;
}

bool channels_found(const struct channels *all, const char *verb)
{
	const char *only = getenv("TSCTRACE_PROVIDER"), *gap = "";
	int from;

	if (channels_first(all) >= 0)
		return true;
	fprintf(stderr, "trace-ctl %s: nobody holds channels here (", verb);
	for (from = 0; from < CHANNELS_FROM; from++) {
		if (!*state_provider_error(&all->from[from]))
			continue;
		fprintf(stderr, "%s%s", gap,
			state_provider_error(&all->from[from]));
		gap = "; ";
	}
	if (only && *only)
		fprintf(stderr, "%s$TSCTRACE_PROVIDER is '%s'", gap, only);
	fputs("); load the module or start tsctraced\n", stderr);
	return false;
}

/* ---- which there are ----------------------------------------------------- */

static int add(struct channels *all, enum channels_from from,
	       const struct tsct_channel_info *info)
{
	struct listed *more = all->at;

	/* A power of two is full. */
	if (!(all->nr & (all->nr - 1)))
		more = reallocarray(more, all->nr ? 2 * all->nr : 1,
				    sizeof(*more));
	if (!more)
		return -ENOMEM;
	all->at = more;
	more += all->nr++;
	more->from = from;
	more->info = *info;
	more->info.name[TSCT_NAME_MAX - 1] = '\0';
	return 0;
}

static int list(struct channels *all, enum channels_from from)
{
	struct tsct_channel_info info = { 0 };
	int error = 0;

	if (!all->from[from].answers)
		return 0;
	while (!error) {
		error = tsct_channels_next(all->from[from].channel, &info);
		if (error)
			return error == -ENOENT || error == -ENODEV ? 0 : error;
		error = add(all, from, &info);
	}
	return error;
}

int channels_list(struct channels *all, const char *verb)
{
	int from, error;

	free(all->at);
	all->at = NULL;
	all->nr = 0;
	for (from = 0; from < CHANNELS_FROM; from++) {
		error = list(all, from);
		if (error)
			fprintf(stderr, "trace-ctl %s: the channels of the %s:"
				" %s\n", verb, channels_from_names[from],
				strerror(-error));
		if (error == -ENOMEM)
			return error;
	}
	return 0;
}

int channels_ask(struct channels *all, enum channels_from from, __u32 id,
		 struct tsct_channel_info *ret_info)
{
	int error;

	memset(ret_info, 0, sizeof(*ret_info));
	ret_info->id = id - 1;
	error = state_provider_ask(&all->from[from], TSCT_IOC_CHANNEL_NEXT,
				   ret_info);
	if (!error && ret_info->id != id)
		error = -ENOENT;
	ret_info->name[TSCT_NAME_MAX - 1] = '\0';
	return error;
}

__u32 channels_cpus(const struct channels *all, const struct listed *c)
{
	__u32 nr = all->from[c->from].info.nr_cpus;

	return nr < TSCT_CPUS_MAX ? nr : TSCT_CPUS_MAX;
}

int channels_ask_cpu(struct channels *all, const struct listed *c, __u32 cpu,
		     struct tsct_channel_cpu *ret_cpu)
{
	return tsct_channel_cpu_stat(all->from[c->from].channel, c->info.id, cpu,
				     ret_cpu);
}

/* ---- which one is meant -------------------------------------------------- */

const char *channels_owner(__u32 uid, char *text, size_t size)
{
	const struct passwd *pw = getpwuid(uid);

	if (pw)
		snprintf(text, size, "%s", pw->pw_name);
	else
		snprintf(text, size, "%u", uid);
	return text;
}

/* How well @name fits: 0 not at all, 1 an id, 2 a name, 3 a name of our own. */
static int fits(const struct listed *c, const char *name)
{
	char id[16];

	if (!strcmp(c->info.name, name))
		return c->info.uid == geteuid() ? 3 : 2;
	snprintf(id, sizeof(id), "%u", c->info.id);
	return !strcmp(id, name);
}

static void complain_many(const struct channels *all, const char *verb,
			  const char *name, int best)
{
	const char *gap = "";
	char owner[64];
	size_t i;

	fprintf(stderr, "trace-ctl %s: %s: more than one channel is called so"
		" (", verb, name);
	for (i = 0; i < all->nr; i++) {
		if (fits(&all->at[i], name) != best)
			continue;
		fprintf(stderr, "%s%s of %s, id %u, by the %s", gap,
			all->at[i].info.name,
			channels_owner(all->at[i].info.uid, owner,
				       sizeof(owner)), all->at[i].info.id,
			channels_from_names[all->at[i].from]);
		gap = "; ";
	}
	fputs("); give its id, and set $TSCTRACE_PROVIDER if that is not"
	      " enough\n", stderr);
}

/*
 * The same user's name with the same provider: whoever has it now came later. One
 * that was removed is there until its holders close it.
 */
static bool follows(const struct listed *before, const struct listed *c)
{
	return before && before->from == c->from &&
		before->info.uid == c->info.uid &&
		!strcmp(before->info.name, c->info.name);
}

const struct listed *channels_find(const struct channels *all, const char *verb,
				   const char *name)
{
	const struct listed *found = NULL;
	int best = 0, nr = 0, fit;
	size_t i;

	for (i = 0; i < all->nr; i++) {
		fit = fits(&all->at[i], name);
		if (!fit || fit < best)
			continue;
		nr = fit == best && !follows(found, &all->at[i]) ? nr + 1 : 1;
		best = fit;
		found = &all->at[i];
	}
	if (nr == 1)
		return found;
	if (nr)
		complain_many(all, verb, name, best);
	else
		fprintf(stderr, "trace-ctl %s: %s: no such channel%s; 'trace-ctl"
			" channel list' names those there are\n", verb,
			*name ? name : "''",
			geteuid() ? " of yours" : "");
	return NULL;
}
