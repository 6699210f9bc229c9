// SPDX-License-Identifier: MIT
/* Opens the channels of a recording, and starts the embedded server if needed */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd_record.h"
#include "lib/client/channel_admin.h"
#include "lib/client/programs.h"
#include "lib/base/cpus.h"
#include "lib/provider/ring_size.h"
#include "record_statedump.h"
#include "tools/common/prerequisites.h"
#include "tools/common/channels.h"
#include "tools/common/error.h"
#include "tools/common/near_name.h"

/* age from which a directory without a lock is stale: a starting server has no lock yet, s */
#define STALE_S		10

/* Removes the directory @name of a server's socket if this user owns it and the server has
 * ended. */
static void remove_stale_dir(int parent, const char *name)
{
	int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int lock = -1;
	struct stat st;

	if (dir < 0)
		return;
	if (!fstat(dir, &st) && st.st_uid == geteuid() && time(NULL) - st.st_mtime >= STALE_S)
		lock = openat(dir, "socket.lock", O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	/* A running server holds a lock on the directory. */
	if (lock >= 0 && !fstat(lock, &st) && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && !flock(lock, LOCK_EX | LOCK_NB)) {
		unlinkat(dir, "socket", 0);
		unlinkat(dir, "socke~", 0);	/* made by tsct_unix_listen() */
		unlinkat(dir, "socket.lock", 0);
		unlinkat(parent, name, AT_REMOVEDIR);
	}
	if (lock >= 0)
		close(lock);
	close(dir);
}

/* Starts the embedded server, with the recorder's clock source. Its socket is in a new
 * directory of mode 0700. Prints errors. Returns 0 or -errno. */
static int start_server(struct record_session *s)
{
	const char *dirs[RECORDER_PARENTS], *dir;
	struct dirent *e;
	int err = record_clock_open(s);
	unsigned int i;
	DIR *d;

	if (err)
		return err;
	channel_recorder_parents(dirs);
	for (i = 0; i < RECORDER_PARENTS - 1; i++)
		if (dirs[i] && *dirs[i] == '/' && strlen(dirs[i]) <= RECORDER_PARENT_MAX &&
		    !access(dirs[i], W_OK | X_OK))
			break;
	dir = dirs[i];
	d = opendir(dir);
	while (d && (e = readdir(d)))
		if (strlen(e->d_name) == strlen(RECORDER_DIR) &&
		    !strncmp(e->d_name, RECORDER_DIR, strcspn(RECORDER_DIR, "X")))
			remove_stale_dir(dirfd(d), e->d_name);
	if (d)
		closedir(d);
	snprintf(s->server_dir, sizeof(s->server_dir), "%s/" RECORDER_DIR, dir);
	if (!mkdtemp(s->server_dir)) {
		err = -errno;
		ctl_error("%s: %s; set TMPDIR to a directory that you can write to, with a path"
			  " of at most %d characters", dir, strerror(-err), RECORDER_PARENT_MAX);
		s->server_dir[0] = '\0';
		return err;
	}
	snprintf(s->socket, sizeof(s->socket), "%s/socket", s->server_dir);
	err = tsct_server_start(s->socket, "embedded", s->clock->source, &s->server);
	if (!err) {
		tsct_server_on_thread(s->server, record_statedump_on_thread, s);
		err = tsct_server_run(s->server);
	}
	if (err)
		ctl_error("%s: %s", s->socket, strerror(-err));
	return err;
}

/* Returns true if only kernel events of the command are recorded. */
static bool is_of_command(const struct record_options *o)
{
	return o->command && !o->all && !o->nr_pids && !o->cgroup;
}

/*
 * Chooses the size of the rings. All limits of this process apply to rings of the embedded server
 * and of BPF, only the machine's memory to rings of other providers. Prints an error if the user's
 * size exceeds a limit. Prints once which limit made the rings smaller. Returns 0 or -ENOMEM.
 */
static int choose_size(struct record_session *s, bool is_own,
		       struct tsct_channel_options *options)
{
	const struct record_options *o = s->o;
	struct tsct_ring_demand demand = {
		.channels = s->nr_programs + !!o->nr_events, .copies = is_own && o->nr_events,
		.block_size = o->block_size, .blocks = o->blocks,
	};
	struct tsct_memory_limits limits;
	struct tsct_ring_choice choice;

	tsct_cpus_usable(is_own && is_of_command(o), &s->ring_cpus);
	demand.cpus = (__u32)CPU_COUNT(&s->ring_cpus);
	tsct_memory_limits_read(&limits);
	if (!is_own)
		limits.at[TSCT_LIMIT_CGROUP].bytes = limits.at[TSCT_LIMIT_LOCKED].bytes =
			UINT64_MAX;
	tsct_ring_choose(&limits, &demand, &choice);
	if (choice.refused)
		return ctl_fail(-ENOMEM, "rings of %llu MiB in all: more than 1/%u of the"
				" %s of %.1f MiB; use fewer --blocks, or raise that limit",
				choice.bytes >> 20, choice.part, choice.limit->name,
				choice.limit->bytes / 1048576.0);
	options->blocks = choice.blocks;
	if (!choice.limit)
		return 0;
	if (!*s->ring_limit && !o->quiet)
		ctl_error("smaller rings: %u KiB for each CPU and channel, %.1f MiB in all: 1/%u of"
			  " the %s of %.1f MiB is for rings; --blocks sets another size",
			  choice.blocks * choice.block_size >> 10, choice.bytes / 1048576.0,
			  choice.part, choice.limit->name, choice.limit->bytes / 1048576.0);
	snprintf(s->ring_limit, sizeof(s->ring_limit), "%s of %llu bytes",
		 choice.limit->name, choice.limit->bytes);
	return 0;
}

/* Returns true if a filter omits some events of the selected processes. */
static bool hides_events(const struct record_options *o)
{
	return o->comm || o->cgroup || o->rate_limit || o->requests[TSCT_REQUEST_CPUS].nr ||
		o->requests[TSCT_REQUEST_WHERE].nr;
}

/* Starts an embedded server because opening channel 0 failed with @err. Returns 0 or -errno. */
static int embed_server(struct record_session *s, int err)
{
	const struct tsct_channel *t = s->channels[0];

	/* Only kernel events and the command, which gets the path of the server's
	 * socket, can use the server's rings. */
	if (!s->o->command && !s->o->nr_events)
		return ctl_fail(err, "nothing to record: no command, daemon or module"
				" (%s); name a command, start tsctraced or load the"
				" module", tsct_channel_error(t));
	if (s->o->verbose)
		ctl_error("using an embedded server: %s", tsct_channel_error(t));
	tsct_channel_close(s->channels[0]);
	s->channels[0] = NULL;
	s->embedded = true;
	return start_server(s);
}

/* Checks that open channel @i is a flight recorder if --flight-recorder is given, and has the
 * provider of channel 0. Prints errors. Returns 0 or -errno. */
static int check_program(const struct record_session *s, unsigned int i)
{
	struct tsct_channel *const *t = &s->channels[i];

	if (s->o->flight && tsct_channel_info(*t)->policy != TSCT_POLICY_OVERWRITE)
		return ctl_fail(-EEXIST, "channel %s: exists and is not a flight recorder"
				" (it discards new events); use another with -c", s->names[i]);
	if (!i || tsct_channel_provider(*t) == tsct_channel_provider(s->channels[0]))
		return 0;
	return ctl_fail(-EXDEV, "channel %s: provided by the %s, but channel %s by the %s;"
			" set $TSCTRACE_PROVIDER to one of them", s->names[i],
			tsct_provider_name(tsct_channel_provider(*t)), s->names[0],
			tsct_provider_name(tsct_channel_provider(s->channels[0])));
}

/* Opens a channel of another provider. If the rings exceed the provider's limit, and
 * the user gave no size, tries smaller rings. Returns 0 or -errno. */
static int open_smaller(struct record_session *s, struct tsct_channel_options *options,
			struct tsct_channel **ret)
{
	const uint32_t least = TSCT_RING_BYTES_LEAST / (s->o->block_size ?: 16384);
	const uint32_t wanted = options->blocks;
	int err;

	while ((err = tsct_channel_open(options, ret)) == -EDQUOT && !s->o->blocks &&
	       options->blocks / 2 >= least && options->blocks / 2 >= 4) {
		options->blocks /= 2;
		tsct_channel_close(*ret);
		*ret = NULL;
	}
	if (!err && options->blocks != wanted && !*s->ring_limit) {
		snprintf(s->ring_limit, sizeof(s->ring_limit), "limits of the %s",
			 tsct_provider_name(tsct_channel_provider(*ret)));
		if (!s->o->quiet)
			ctl_error("smaller rings: %u blocks instead of %u for each CPU: the %s"
				  " would be exceeded; 'trace-ctl status' shows them",
				  options->blocks, wanted, s->ring_limit);
	}
	return err;
}

/* Opens program channel @i. All program channels must have the provider of channel 0. */
static int open_program(struct record_session *s, unsigned int i)
{
	struct tsct_channel_options options = {
		.name = s->names[i],
		.policy = record_policy(s->o),
		.block_size = s->o->block_size,
		.roles = TSCT_ROLE_READ,
	};
	struct tsct_channel **t = &s->channels[i];
	const char *only = getenv("TSCTRACE_PROVIDER");
	bool may_embed;
	int err = choose_size(s, s->embedded, &options);

	if (err)
		return err;
	err = -ENODEV;
	if (!s->embedded)
		err = open_smaller(s, &options, t);
	/*
	 * An embedded server is permitted unless $TSCTRACE_PROVIDER names another
	 * provider, or a provider refused to create the channel.
	 */
	may_embed = only && *only ? !strcmp(only, "embedded") :
		err != -EBUSY && err != -EINVAL && err != -EEXIST &&
		err != -ENOSPC && err != -ENOMEM;
	if (err && !i && may_embed) {
		err = embed_server(s, err);
		if (err)
			return err;
	}
	if (s->embedded)
		err = choose_size(s, true, &options) ?:
			tsct_channel_open_at(s->socket, &options, t);
	if (err && !*t)
		return err;
	if (err == -EBUSY)
		ctl_error("channel %s: already being recorded; stop that"
			     " recording, or use another channel with -c", s->names[i]);
	else if (err)
		ctl_error("channel %s: %s", s->names[i], tsct_channel_error(*t));
	return err ? err : check_program(s, i);
}

/* Creates the channel for kernel events in the module. If BPF programs cannot call the
 * module, or $TSCTRACE_PROVIDER names another provider, creates it in the embedded server. */
static int open_kernel(struct record_session *s)
{
	char name[TSCT_NAME_MAX];
	struct tsct_channel_options options = {
		.name = name,
		.policy = record_policy(s->o),
		.block_size = s->o->block_size,
		.roles = TSCT_ROLE_READ,
		.flags = TSCT_OPEN_CREATE,
		.channel_flags = TSCT_CHANNEL_KERNEL,
	};
	struct tsct_channel **t = &s->channels[s->nr_programs];
	const char *only = getenv("TSCTRACE_PROVIDER"), *why;
	int err;

	snprintf(name, sizeof(name), "record-%d", getpid());
	why = only && *only && strcmp(only, "module") ? "$TSCTRACE_PROVIDER" :
		prerequisites_check_module(s->o->events, s->o->nr_events);
	if (!why) {
		err = choose_size(s, false, &options) ?: tsct_channel_open_at(NULL, &options, t);
	} else {
		if (s->o->verbose)
			ctl_error("recording kernel events without "
				"the module: %s", why);
		err = (s->server ? 0 : start_server(s)) ?: choose_size(s, true, &options);
		options.roles |= TSCT_ROLE_WRITE;
		if (!err)
			err = tsct_channel_open_at(s->socket, &options, t);
	}
	if (!err && s->o->flight && hides_events(s->o))
		err = tsct_event_define(*t, TSCT_FILTERED_EVENT, TSCT_KIND_INSTANT, "");
	if (err < 0 && *t)
		ctl_error("kernel events: %s", tsct_channel_error(*t));
	return err < 0 ? err : 0;
}

/* ---- the channels of -c -------------------------------------------------- */

/* Returns the name of a channel that is similar to @name, or NULL. */
static const char *find_near(const struct channel_list *all, const char *name)
{
	size_t i;

	for (i = 0; i < all->nr; i++)
		if (near_name(name, all->at[i].info.name))
			return all->at[i].info.name;
	return NULL;
}

/* Opens channel @i, if its name is the id of a channel, or the name of another user's
 * channel. open_program() opens the user's own channels. Returns 1, or -errno. */
static int open_listed(struct record_session *s, unsigned int i, const struct channel_list *all)
{
	const struct listed_channel *c = channel_list_find(all, s->names[i]);
	int err;

	if (!c)
		return -ENOENT;
	err = tsct_channel_open_id(tsct_channel_socket_path(all->providers[c->provider].channel),
		c->info.id, TSCT_ROLE_READ, &s->channels[i]);
	snprintf(s->names[i], sizeof(s->names[i]), "%s", c->info.name);
	if (err == -EBUSY)
		ctl_error("channel %s: already being recorded; stop that recording",
			     s->names[i]);
	else if (err)
		ctl_error("channel %s: %s", s->names[i], tsct_channel_error(s->channels[i]));
	return err ? err : 1;
}

static int check_new(const struct record_session *s, const struct channel_list *all,
		     const char *name)
{
	const char *near = find_near(all, name);

	if (s->o->create || s->o->command)
		return 0;
	if (near)
		ctl_error("channel %s: does not exist; did you mean '%s'? To record"
			     " programs that will create it, add --create", name, near);
	else if (name[strspn(name, "0123456789")] == '\0')
		ctl_error("channel %s: no such id or name; 'trace-ctl channel list' lists"
			     " all channels. To record programs that will create a channel"
			     " of this name, add --create", name);
	else
		return 0;
	return -ENOENT;
}

/* Opens channel @i if -c gives an id or, for root, the name of another user's channel. Prints
 * errors. Returns 1 if opened, 0 if the caller must open it by its name, or -errno. */
static int find_channel(struct record_session *s, unsigned int i)
{
	struct channel_list all;
	int best = 0, rank, ret = 0;
	size_t j;

	if (i >= s->o->nr_channels)
		return 0;
	channel_list_open(&all, false);
	if (channel_list_default(&all) >= 0 && !channel_list_read(&all)) {
		for (j = 0; j < all.nr; j++) {
			rank = channel_list_rank(&all.at[j], s->names[i]);
			best = rank > best ? rank : best;
		}
		if (best == 1 || best == 2)
			ret = open_listed(s, i, &all);
		else if (!best)
			ret = check_new(s, &all, s->names[i]);
	}
	channel_list_close(&all);
	return ret;
}

/* ---- all channels ----------------------------------------------------------- */

int record_channels_open(struct record_session *s)
{
	const struct tsct_channel_header *header;
	const struct record_options *o = s->o;
	unsigned int i;
	int err;

	for (i = 0; i < s->nr_programs; i++) {
		err = find_channel(s, i);
		err = err == 1 ? check_program(s, i) : err ? err : open_program(s, i);
		if (err)
			return err;
		/* A channel that existed before may have rings of another size than requested. */
		header = tsct_channel_info(s->channels[i]);
		if (!o->quiet && ((o->blocks && o->blocks != header->blocks) ||
				  (o->block_size && o->block_size != header->block_size)))
			ctl_error("channel %s: exists; its %u blocks of %u bytes are"
				     " not changed by --blocks and --block-size",
				     s->names[i], header->blocks, header->block_size);
	}
	/* Programs that were started before their provider connect now. */
	tsct_programs_notify();
	s->nr_channels = s->nr_programs;
	if (!s->o->nr_events)
		return 0;
	err = open_kernel(s);
	if (!err)
		s->nr_channels++;
	return err;
}
