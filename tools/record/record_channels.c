// SPDX-License-Identifier: MIT
/* Opening the channels of a recording, and the embedded server */
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

#define SERVER_DIR	"tsctrace-XXXXXX"
#define STALE_S		10	/* a live server locks its directory earlier */

/*
 * Locks the directory of a server of this user that was killed. Returns the
 * lock's descriptor, or -1: the server runs, is another user's, or is none.
 */
static int lock_stale_dir(int dir)
{
	struct stat st;
	int fd;

	if (fstat(dir, &st) || st.st_uid != geteuid() ||
	    time(NULL) - st.st_mtime < STALE_S)
		return -1;
	fd = openat(dir, "socket.lock",
		    O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && !flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	close(fd);
	return -1;
}

static void remove_stale_dir(int parent, const char *name)
{
	int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			 O_CLOEXEC);
	int lock;

	if (dir < 0)
		return;
	lock = lock_stale_dir(dir);
	if (lock >= 0) {
		unlinkat(dir, "socket", 0);
		unlinkat(dir, "socket.lock", 0);
		unlinkat(parent, name, AT_REMOVEDIR);
		close(lock);
	}
	close(dir);
}

/* Removes the directories of recorders that were killed. */
static void remove_stale_dirs(const char *parent)
{
	DIR *d = opendir(parent);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)))
		if (strlen(e->d_name) == strlen(SERVER_DIR) &&
		    !strncmp(e->d_name, SERVER_DIR, strcspn(SERVER_DIR, "X")))
			remove_stale_dir(dirfd(d), e->d_name);
	closedir(d);
}

/* Creates a directory for the socket, mode 0700. */
static int make_server_dir(struct record_session *s)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");

	if (!dir || strlen(dir) > 40 || access(dir, W_OK))
		dir = "/tmp";
	remove_stale_dirs(dir);
	snprintf(s->server_dir, sizeof(s->server_dir), "%s/" SERVER_DIR, dir);
	if (mkdtemp(s->server_dir))
		return 0;
	record_error("%s: %s", s->server_dir, strerror(errno));
	s->server_dir[0] = '\0';
	return -errno;
}

static int start_server(struct record_session *s)
{
	int err = make_server_dir(s);

	if (err)
		return err;
	snprintf(s->socket, sizeof(s->socket), "%s/socket", s->server_dir);
	err = tsct_server_start(s->socket, "embedded", &s->server);
	if (!err)
		err = tsct_server_run(s->server);
	if (err)
		record_error("%s: %s", s->socket, strerror(-err));
	return err;
}

/*
 * Is an embedded server permitted, after opening a channel failed with @err? Not
 * if $TSCTRACE_PROVIDER names another, or a provider answered and refused.
 */
static bool may_embed(int err)
{
	const char *only = getenv("TSCTRACE_PROVIDER");

	if (only && *only)
		return !strcmp(only, "embedded");
	return err != -EBUSY && err != -EINVAL && err != -EEXIST &&
		err != -ENOSPC && err != -ENOMEM;
}

static int print_channel_error(const char *name, const struct tsct_channel *t, int err)
{
	if (err == -EBUSY)
		record_error("channel %s: already being recorded; stop that"
				" recording, or use another channel with -c",
				name);
	else
		record_error("channel %s: %s", name, tsct_channel_error(t));
	return err;
}

/*
 * Blocks of a ring without --blocks. 16 MiB hold the burst of events of a program
 * that was not scheduled for a while, until the next pass. The limit for all rings
 * is 64 MiB or 1/64 of memory, whichever is less, but at least 1 MiB each.
 */
static uint32_t choose_blocks(const struct record_session *s)
{
	const struct record_options *o = s->o;
	uint32_t block_size = o->block_size ? o->block_size : 16384;
	uint64_t rings = (uint64_t)sysconf(_SC_NPROCESSORS_CONF) *
		(s->nr_programs + !!o->nr_events);
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) *
		sysconf(_SC_PAGESIZE);
	uint64_t max = memory / 64 < 64U << 20 ? memory / 64 : 64U << 20;
	uint32_t bytes = 16U << 20;

	if (o->blocks)
		return o->blocks;
	while (bytes > 1U << 20 && rings * bytes > max)
		bytes /= 2;
	return bytes / block_size;
}

/* Starts an embedded server, after opening channel 0 failed with @err. */
static int embed_server(struct record_session *s, int err)
{
	const struct tsct_channel *t = s->channels[0];

	/* Only the command would know the embedded server's socket. */
	if (!s->o->command && !s->o->nr_events) {
		record_error("nothing to record: no command, daemon or module"
				" (%s); name a command, start tsctraced or load the"
				" module", tsct_channel_error(t));
		return err;
	}
	if (s->o->verbose)
		fprintf(stderr, "trace-ctl record: using an embedded server: %s\n",
			tsct_channel_error(t));
	tsct_channel_close(s->channels[0]);
	s->channels[0] = NULL;
	return start_server(s);
}

/* Opens program channel @i. All must be in the provider of the first one. */
static int open_program(struct record_session *s, unsigned int i)
{
	struct tsct_channel_options options = {
		.name = s->names[i],
		.policy = record_policy(s->o),
		.block_size = s->o->block_size,
		.blocks = choose_blocks(s),
		.roles = TSCT_ROLE_READ,
	};
	struct tsct_channel **t = &s->channels[i];
	int err = -ENODEV;

	if (!s->server)
		err = tsct_channel_open(&options, t);
	if (err && !i && may_embed(err)) {
		err = embed_server(s, err);
		if (err)
			return err;
	}
	if (s->server)
		err = tsct_channel_open_at(s->socket, &options, t);
	if (err)
		return print_channel_error(s->names[i], *t, err);
	if (s->o->flight && tsct_channel_info(*t)->policy != TSCT_POLICY_OVERWRITE) {
		record_error("channel %s: exists and is not a flight recorder"
				" (it discards new events); use another with -c",
				s->names[i]);
		return -EEXIST;
	}
	if (!i || tsct_channel_provider(*t) == tsct_channel_provider(s->channels[0]))
		return 0;
	record_error("channel %s: provided by the %s, but channel %s by the %s;"
			" set $TSCTRACE_PROVIDER to one of them", s->names[i],
			tsct_provider_name(tsct_channel_provider(*t)), s->names[0],
			tsct_provider_name(tsct_channel_provider(s->channels[0])));
	return -EXDEV;
}

/* Warns if an existing channel has another size than requested. */
static void check_size(const struct record_session *s, unsigned int i)
{
	const struct tsct_channel_header *header = tsct_channel_info(s->channels[i]);
	const struct record_options *o = s->o;

	if (o->quiet || ((!o->blocks || o->blocks == header->blocks) &&
			 (!o->block_size || o->block_size == header->block_size)))
		return;
	record_error("channel %s: exists; its %u blocks of %u bytes are not"
			" changed", s->names[i], header->blocks,
			header->block_size);
}

/* Creates a channel for kernel events in the module. */
static int open_kernel(struct record_session *s)
{
	char name[TSCT_NAME_MAX];
	struct tsct_channel_options options = {
		.name = name,
		.policy = record_policy(s->o),
		.block_size = s->o->block_size,
		.blocks = choose_blocks(s),
		.roles = TSCT_ROLE_READ,
		.flags = TSCT_OPEN_CREATE,
		.channel_flags = TSCT_CHANNEL_KERNEL,
	};
	struct tsct_channel **t = &s->channels[s->nr_programs];
	const char *only = getenv("TSCTRACE_PROVIDER");
	char *keep = only ? strdup(only) : NULL;
	int err;

	snprintf(name, sizeof(name), "record-%d", getpid());
	setenv("TSCTRACE_PROVIDER", "module", 1);
	err = tsct_channel_open(&options, t);
	if (keep)
		setenv("TSCTRACE_PROVIDER", keep, 1);
	else
		unsetenv("TSCTRACE_PROVIDER");
	free(keep);
	if (err)
		record_error("kernel events: %s", tsct_channel_error(*t));
	return err;
}

int record_channels_open(struct record_session *s)
{
	unsigned int i;
	int err;

	for (i = 0; i < s->nr_programs; i++) {
		err = open_program(s, i);
		if (err)
			return err;
		check_size(s, i);
	}
	s->nr_channels = s->nr_programs;
	if (!s->o->nr_events)
		return 0;
	err = open_kernel(s);
	if (!err)
		s->nr_channels++;
	return err;
}
