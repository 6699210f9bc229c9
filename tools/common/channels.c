// SPDX-License-Identifier: MIT
/* The providers of channels, and the channels of all of them */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channels.h"
#include "lib/client/runtime_paths.h"
#include "lib/core/ring.h"

/* ---- providers ----------------------------------------------------------- */

const char *const channel_provider_names[CHANNEL_PROVIDERS] = {
	[CHANNEL_PROVIDER_EMBEDDED] = "embedded",
	[CHANNEL_PROVIDER_MODULE] = "module",
	[CHANNEL_PROVIDER_DAEMON] = "daemon",
};

bool channel_provider_allowed(enum channel_provider provider)
{
	const char *only = getenv("TSCTRACE_PROVIDER");

	return !only || !*only || !strcmp(only, channel_provider_names[provider]);
}

static void connect_provider(struct provider_connection *p, const char *path,
			     const char *server)
{
	memset(p, 0, sizeof(*p));
	p->answers = !tsct_channel_connect(path, server, &p->channel) &&
		!tsct_channel_request(p->channel, TSCT_IOC_INFO, &p->info);
	/* The server is not trusted to terminate its strings. */
	p->info.provider[sizeof(p->info.provider) - 1] = '\0';
	p->info.version[sizeof(p->info.version) - 1] = '\0';
}

void provider_connect_module(struct provider_connection *p)
{
	connect_provider(p, NULL, NULL);
}

static void connect_daemon(struct provider_connection *p)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/" TSCT_SOCKET_FILE, tsct_run_dir());
	connect_provider(p, path, "tsctraced");
}

static void connect_embedded(struct provider_connection *p)
{
	const char *path = getenv("TSCTRACE_SOCKET");

	if (path && *path)
		connect_provider(p, path, "trace-ctl record");
}

const char *provider_error(const struct provider_connection *p)
{
	return p->channel ? tsct_channel_error(p->channel) : "";
}

int provider_request(struct provider_connection *p, unsigned int cmd, void *arg)
{
	return p->answers ? tsct_channel_request(p->channel, cmd, arg) : -ENODEV;
}

void provider_disconnect(struct provider_connection *p)
{
	tsct_channel_close(p->channel);
}

void channel_list_open(struct channel_list *all, bool every)
{
	void (*const connect[])(struct provider_connection *) = {
		[CHANNEL_PROVIDER_EMBEDDED] = connect_embedded,
		[CHANNEL_PROVIDER_MODULE] = provider_connect_module,
		[CHANNEL_PROVIDER_DAEMON] = connect_daemon,
	};
	int i;

	memset(all, 0, sizeof(*all));
	for (i = 0; i < CHANNEL_PROVIDERS; i++)
		if (every || channel_provider_allowed(i))
			connect[i](&all->providers[i]);
}

void channel_list_close(struct channel_list *all)
{
	int i;

	free(all->at);
	all->at = NULL;
	all->nr = 0;
	for (i = 0; i < CHANNEL_PROVIDERS; i++)
		provider_disconnect(&all->providers[i]);
}

int channel_list_default(const struct channel_list *all)
{
	int i;

	for (i = 0; i < CHANNEL_PROVIDERS; i++)
		if (all->providers[i].answers && channel_provider_allowed(i))
			return i;
	return -ENODEV;
}

bool channel_list_check(const struct channel_list *all, const char *verb)
{
	const char *only = getenv("TSCTRACE_PROVIDER"), *gap = "";
	int i;

	if (channel_list_default(all) >= 0)
		return true;
	fprintf(stderr, "trace-ctl %s: no provider of channels (", verb);
	for (i = 0; i < CHANNEL_PROVIDERS; i++) {
		if (!*provider_error(&all->providers[i]))
			continue;
		fprintf(stderr, "%s%s", gap, provider_error(&all->providers[i]));
		gap = "; ";
	}
	if (only && *only)
		fprintf(stderr, "%s$TSCTRACE_PROVIDER is '%s'", gap, only);
	fputs("); load the module or start tsctraced\n", stderr);
	return false;
}

/* ---- listing ------------------------------------------------------------- */

static int append_channel(struct channel_list *all, enum channel_provider provider,
			  const struct tsct_channel_info *info)
{
	struct listed_channel *more = all->at;

	/* The capacity is nr rounded up to a power of two. */
	if (!(all->nr & (all->nr - 1)))
		more = reallocarray(more, all->nr ? 2 * all->nr : 1,
				    sizeof(*more));
	if (!more)
		return -ENOMEM;
	all->at = more;
	more += all->nr++;
	more->provider = provider;
	more->info = *info;
	more->info.name[TSCT_NAME_MAX - 1] = '\0';
	return 0;
}

static int read_provider(struct channel_list *all, enum channel_provider provider)
{
	struct tsct_channel_info info = { 0 };
	int err = 0;

	if (!all->providers[provider].answers)
		return 0;
	while (!err) {
		err = tsct_channels_next(all->providers[provider].channel, &info);
		if (err)
			return err == -ENOENT || err == -ENODEV ? 0 : err;
		err = append_channel(all, provider, &info);
	}
	return err;
}

int channel_list_read(struct channel_list *all, const char *verb)
{
	int i, err;

	free(all->at);
	all->at = NULL;
	all->nr = 0;
	for (i = 0; i < CHANNEL_PROVIDERS; i++) {
		err = read_provider(all, i);
		if (err)
			fprintf(stderr, "trace-ctl %s: listing the channels of the"
				" %s failed: %s\n", verb, channel_provider_names[i],
				strerror(-err));
		if (err == -ENOMEM)
			return err;
	}
	return 0;
}

int channel_list_read_one(struct channel_list *all, enum channel_provider provider,
			  __u32 id, struct tsct_channel_info *ret_info)
{
	int err;

	memset(ret_info, 0, sizeof(*ret_info));
	ret_info->id = id - 1;
	err = provider_request(&all->providers[provider], TSCT_IOC_CHANNEL_NEXT,
			       ret_info);
	if (!err && ret_info->id != id)
		err = -ENOENT;
	ret_info->name[TSCT_NAME_MAX - 1] = '\0';
	return err;
}

__u32 channel_list_nr_cpus(const struct channel_list *all,
			   const struct listed_channel *c)
{
	__u32 nr = all->providers[c->provider].info.nr_cpus;

	return nr < TSCT_CPUS_MAX ? nr : TSCT_CPUS_MAX;
}

int channel_list_read_cpu(struct channel_list *all, const struct listed_channel *c,
			  __u32 cpu, struct tsct_channel_cpu *ret_cpu)
{
	return tsct_channel_cpu_stat(all->providers[c->provider].channel,
				     c->info.id, cpu, ret_cpu);
}

/* ---- lookup -------------------------------------------------------------- */

const char *channel_owner_name(__u32 uid, char *text, size_t size)
{
	const struct passwd *pw = getpwuid(uid);

	if (pw)
		snprintf(text, size, "%s", pw->pw_name);
	else
		snprintf(text, size, "%u", uid);
	return text;
}

/* Rank of a match: 0: none, 1: id, 2: another user's name, 3: a name of our own */
static int match_rank(const struct listed_channel *c, const char *name)
{
	char id[16];

	if (!strcmp(c->info.name, name))
		return c->info.uid == geteuid() ? 3 : 2;
	snprintf(id, sizeof(id), "%u", c->info.id);
	return !strcmp(id, name);
}

static void print_ambiguous(const struct channel_list *all, const char *verb,
			    const char *name, int rank)
{
	const char *gap = "";
	char owner[64];
	size_t i;

	fprintf(stderr, "trace-ctl %s: %s: more than one channel of this name (",
		verb, name);
	for (i = 0; i < all->nr; i++) {
		if (match_rank(&all->at[i], name) != rank)
			continue;
		fprintf(stderr, "%s%s of %s, id %u, in the %s", gap,
			all->at[i].info.name,
			channel_owner_name(all->at[i].info.uid, owner,
					   sizeof(owner)), all->at[i].info.id,
			channel_provider_names[all->at[i].provider]);
		gap = "; ";
	}
	fputs("); use the id, and set $TSCTRACE_PROVIDER if it is ambiguous, too\n",
	      stderr);
}

/*
 * A removed channel is listed until its last holder closes it. If its owner has
 * made a new one of the same name since, with a higher id, the new one is meant.
 */
static bool replaces(const struct listed_channel *c,
		     const struct listed_channel *before)
{
	return before && before->provider == c->provider &&
		before->info.uid == c->info.uid &&
		!strcmp(before->info.name, c->info.name);
}

const struct listed_channel *channel_list_find(const struct channel_list *all,
					       const char *verb, const char *name)
{
	const struct listed_channel *found = NULL;
	int best = 0, nr = 0, rank;
	size_t i;

	for (i = 0; i < all->nr; i++) {
		rank = match_rank(&all->at[i], name);
		if (!rank || rank < best)
			continue;
		nr = rank == best && !replaces(&all->at[i], found) ? nr + 1 : 1;
		best = rank;
		found = &all->at[i];
	}
	if (nr == 1)
		return found;
	if (nr)
		print_ambiguous(all, verb, name, best);
	else
		fprintf(stderr, "trace-ctl %s: '%s': no such channel%s; 'trace-ctl"
			" channel list' lists all channels\n", verb, name,
			geteuid() ? " of yours" : "");
	return NULL;
}
