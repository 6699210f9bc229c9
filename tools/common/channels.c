// SPDX-License-Identifier: MIT
#include <errno.h>
#include <glob.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "lib/base/array.h"
#include "channels.h"
#include "lib/client/runtime_paths.h"
#include "lib/core/ring.h"

/* ---- providers ----------------------------------------------------------- */

const char *const channel_provider_names[CHANNEL_PROVIDERS] = {
	[CHANNEL_PROVIDER_EMBEDDED] = "embedded",
	[CHANNEL_PROVIDER_MODULE] = "module",
	[CHANNEL_PROVIDER_DAEMON] = "daemon",
};

/* Returns true if the user permits trace-ctl to use the channels of @provider: the
 * environment variable TSCTRACE_PROVIDER is unset, empty or the name of @provider */
static bool is_allowed(enum channel_provider provider)
{
	const char *only = getenv("TSCTRACE_PROVIDER");

	return !only || !*only || !strcmp(only, channel_provider_names[provider]);
}

void provider_connect(struct provider_connection *p, enum channel_provider provider)
{
	const char *path = NULL, *server = NULL;
	char daemon[256];

	memset(p, 0, sizeof(*p));
	if (provider == CHANNEL_PROVIDER_DAEMON) {
		snprintf(daemon, sizeof(daemon), "%s/" TSCT_SOCKET_FILE,
			 tsct_run_dir());
		path = daemon;
		server = "tsctraced";
	} else if (provider == CHANNEL_PROVIDER_EMBEDDED) {
		path = getenv("TSCTRACE_SOCKET");
		server = "trace-ctl record";
		if (!path || !*path)
			return;
	}
	p->answers = !tsct_channel_connect(path, server, &p->channel) &&
		!tsct_channel_request(p->channel, TSCT_IOC_INFO, &p->info);
	/* Limit strings and numbers, because a server is not trusted. */
	p->info.provider[sizeof(p->info.provider) - 1] = '\0';
	p->info.version[sizeof(p->info.version) - 1] = '\0';
	if (p->info.nr_cpus > TSCT_CPUS_MAX)
		p->info.nr_cpus = TSCT_CPUS_MAX;
}

const char *provider_error(const struct provider_connection *p)
{
	return p->channel ? tsct_channel_error(p->channel) : "";
}

int provider_request(struct provider_connection *p, unsigned int cmd, void *arg)
{
	return p->answers ? tsct_channel_request(p->channel, cmd, arg) : -ENODEV;
}

/* Returns true if the server at a socket of this user has a flight recorder of kernel events. */
static bool has_kernel_events(const char *path)
{
	struct tsct_channel_info info = { .id = 0 };
	struct tsct_channel *channel = NULL;
	bool found = false;
	struct stat st;

	if (lstat(path, &st) || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return false;
	if (!tsct_channel_connect(path, "trace-ctl record", &channel))
		while (!found && !tsct_channels_next(channel, &info))
			found = info.flags & TSCT_CHANNEL_KERNEL &&
				info.policy == TSCT_POLICY_OVERWRITE;
	tsct_channel_close(channel);
	return found;
}

void channel_recorder_parents(const char *ret_dirs[RECORDER_PARENTS])
{
	ret_dirs[0] = getenv("XDG_RUNTIME_DIR");
	ret_dirs[1] = getenv("TMPDIR");
	ret_dirs[2] = "/tmp";
}

unsigned int channel_find_recorders(char *path, size_t size)
{
	const char *dirs[RECORDER_PARENTS];
	unsigned int nr = 0, dir, before;
	glob_t sockets;
	char pattern[512], *at;
	size_t i;

	*path = '\0';
	channel_recorder_parents(dirs);
	for (dir = 0; dir < RECORDER_PARENTS; dir++) {
		for (before = 0; dirs[dir] && before < dir; before++)
			if (dirs[before] && !strcmp(dirs[dir], dirs[before]))
				dirs[dir] = NULL;
		if (!dirs[dir] || strlen(dirs[dir]) > RECORDER_PARENT_MAX)
			continue;
		snprintf(pattern, sizeof(pattern), "%s/" RECORDER_DIR "/socket", dirs[dir]);
		for (at = pattern + strlen(dirs[dir]); (at = strchr(at, 'X')); )
			*at = '?';
		if (glob(pattern, GLOB_NOSORT, NULL, &sockets))
			continue;
		for (i = 0; i < sockets.gl_pathc; i++) {
			if (!has_kernel_events(sockets.gl_pathv[i]))
				continue;
			nr++;
			snprintf(path, size, "%s", sockets.gl_pathv[i]);
		}
		globfree(&sockets);
	}
	return nr;
}

void channel_list_open(struct channel_list *all, bool every)
{
	int i;

	memset(all, 0, sizeof(*all));
	for (i = 0; i < CHANNEL_PROVIDERS; i++)
		if (every || is_allowed(i))
			provider_connect(&all->providers[i], i);
}

void channel_list_close(struct channel_list *all)
{
	int i;

	free(all->at);
	all->at = NULL;
	all->nr = 0;
	for (i = 0; i < CHANNEL_PROVIDERS; i++)
		tsct_channel_close(all->providers[i].channel);
}

int channel_list_default(const struct channel_list *all)
{
	int i;

	for (i = 0; i < CHANNEL_PROVIDERS; i++)
		if (all->providers[i].answers && is_allowed(i))
			return i;
	return -ENODEV;
}

bool channel_list_check(const struct channel_list *all)
{
	const char *only = getenv("TSCTRACE_PROVIDER"), *gap = "";
	FILE *to;
	int i;

	if (channel_list_default(all) >= 0)
		return true;
	to = ctl_error_start();
	fputs("no provider of channels (", to);
	for (i = 0; i < CHANNEL_PROVIDERS; i++) {
		if (!*provider_error(&all->providers[i]))
			continue;
		fprintf(to, "%s%s", gap, provider_error(&all->providers[i]));
		gap = "; ";
	}
	if (only && *only)
		fprintf(to, "%s$TSCTRACE_PROVIDER is '%s'", gap, only);
	fputs("); load the module or start tsctraced", to);
	ctl_error_finish();
	return false;
}

/* ---- list of channels -------------------------------------------------- */

static int append_channel(struct channel_list *all, enum channel_provider provider,
			  const struct tsct_channel_info *info)
{
	struct listed_channel *more = tsct_array_next(&all->at, all->nr, sizeof(*more));

	if (!more)
		return -ENOMEM;
	all->nr++;
	more->provider = provider;
	more->info = *info;
	more->info.name[TSCT_NAME_MAX - 1] = '\0';
	return 0;
}

int channel_list_read(struct channel_list *all)
{
	struct tsct_channel_info info;
	int i, err;

	free(all->at);
	all->at = NULL;
	all->nr = 0;
	for (i = 0; i < CHANNEL_PROVIDERS; i++) {
		memset(&info, 0, sizeof(info));
		err = all->providers[i].answers ? 0 : -ENODEV;
		while (!err) {
			err = tsct_channels_next(all->providers[i].channel, &info) ?:
				append_channel(all, i, &info);
		}
		if (err == -ENOENT || err == -ENODEV)
			continue;	/* end of the list; this provider does not answer */
		ctl_error("provider %s: cannot list its channels: %s",
			  channel_provider_names[i], strerror(-err));
		if (err == -ENOMEM)
			return err;
	}
	return 0;
}

bool channel_list_next_cpu(struct channel_list *all, const struct listed_channel *c,
			   __u32 *nr, struct tsct_channel_cpu *ret_cpu)
{
	const struct provider_connection *p = &all->providers[c->provider];

	while (*nr < p->info.nr_cpus)
		if (!tsct_channel_cpu_stat(p->channel, c->info.id, (*nr)++, ret_cpu) &&
		    ret_cpu->state == TSCT_CPU_READY)
			return true;
	return false;
}

/* ---- finding a channel -------------------------------------------------- */

const char *channel_owner_name(__u32 uid, char *text, size_t size)
{
	const struct passwd *pw = getpwuid(uid);

	if (pw)
		snprintf(text, size, "%s", pw->pw_name);
	else
		snprintf(text, size, "%u", uid);
	return text;
}

int channel_list_rank(const struct listed_channel *c, const char *name)
{
	char id[16];

	if (!strcmp(c->info.name, name))
		return c->info.uid == geteuid() ? 3 : 2;
	snprintf(id, sizeof(id), "%u", c->info.id);
	return !strcmp(id, name);
}

static void print_ambiguous(const struct channel_list *all,
			    const char *name, int rank)
{
	FILE *to = ctl_error_start();
	const char *gap = "";
	char owner[64];
	size_t i;

	fprintf(to, "%s: more than one channel of this name (", name);
	for (i = 0; i < all->nr; i++) {
		if (channel_list_rank(&all->at[i], name) != rank)
			continue;
		fprintf(to, "%s%s of %s, id %u, in the %s", gap,
			all->at[i].info.name,
			channel_owner_name(all->at[i].info.uid, owner,
					   sizeof(owner)), all->at[i].info.id,
			channel_provider_names[all->at[i].provider]);
		gap = "; ";
	}
	fputs("); use the id, and set $TSCTRACE_PROVIDER if it is ambiguous, too", to);
	ctl_error_finish();
}

const struct listed_channel *channel_list_find(const struct channel_list *all, const char *name)
{
	const struct listed_channel *found = NULL, *c;
	int best = 0, nr = 0, rank;
	bool replaced;

	for (c = all->at; c < all->at + all->nr; c++) {
		rank = channel_list_rank(c, name);
		if (!rank || rank < best)
			continue;
		/*
		 * A removed channel stays in the list until its last holder closes it.
		 * If a new channel has the same owner and name, choose the new channel,
		 * which has a higher id and is later in the list.
		 */
		replaced = found && found->provider == c->provider &&
			found->info.uid == c->info.uid &&
			!strcmp(found->info.name, c->info.name);
		nr = rank == best && !replaced ? nr + 1 : 1;
		best = rank;
		found = c;
	}
	if (nr == 1)
		return found;
	if (nr)
		print_ambiguous(all, name, best);
	else
		ctl_error("'%s': no such channel%s; 'trace-ctl"
			" channel list' lists all channels", name,
			geteuid() ? " of yours" : "");
	return NULL;
}
