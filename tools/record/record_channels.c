// SPDX-License-Identifier: MIT
/* Who holds the rings of a recording: the channels, and a server if need be. */
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
/* Whoever makes such a directory has locked it long before */
#define STALE_S		10

/* The lock of a server of ours that is dead; -1: it is none. */
static int lock_stale(int dir)
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

static void remove_stale(int parent, const char *name)
{
	int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			 O_CLOEXEC);
	int lock;

	if (dir < 0)
		return;
	lock = lock_stale(dir);
	if (lock >= 0) {
		unlinkat(dir, "socket", 0);
		unlinkat(dir, "socket.lock", 0);
		unlinkat(parent, name, AT_REMOVEDIR);
		close(lock);
	}
	close(dir);
}

/* A recorder that was killed could not take its directory away. */
static void sweep(const char *parent)
{
	DIR *d = opendir(parent);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)))
		if (strlen(e->d_name) == strlen(SERVER_DIR) &&
		    !strncmp(e->d_name, SERVER_DIR, strcspn(SERVER_DIR, "X")))
			remove_stale(dirfd(d), e->d_name);
	closedir(d);
}

/* A directory for our socket that only this user can enter. */
static int make_server_dir(struct record_session *s)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");

	if (!dir || strlen(dir) > 40 || access(dir, W_OK))
		dir = "/tmp";
	sweep(dir);
	snprintf(s->server_dir, sizeof(s->server_dir), "%s/" SERVER_DIR, dir);
	if (mkdtemp(s->server_dir))
		return 0;
	record_complain("%s: %s", s->server_dir, strerror(errno));
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
		record_complain("%s: %s", s->socket, strerror(-err));
	return err;
}

/* May record serve the rings itself, given why nobody else did? */
static bool may_embed(int err)
{
	const char *only = getenv("TSCTRACE_PROVIDER");

	if (only && *only)
		return !strcmp(only, "embedded");
	return err != -EBUSY && err != -EINVAL && err != -EEXIST &&
		err != -ENOSPC && err != -ENOMEM;
}

static int complain_channel(const char *name, const struct tsct_channel *t, int err)
{
	if (err == -EBUSY)
		record_complain("channel %s: is being recorded already; stop"
				" that recording, or name another channel with"
				" -c", name);
	else
		record_complain("channel %s: %s", name, tsct_channel_error(t));
	return err;
}

/*
 * Blocks of a ring, if nobody says: 16 MiB hold what a CPU emits in bursts, and
 * what a program that had to wait for its CPU makes up for at once, until we
 * look. All rings together: 64 MiB, or a 64th of memory, if that is less; but
 * not less than 1 MiB each.
 */
static uint32_t choose_blocks(const struct record_session *s)
{
	const struct record_options *o = s->o;
	uint32_t block_size = o->block_size ? o->block_size : 16384;
	uint64_t rings = (uint64_t)sysconf(_SC_NPROCESSORS_CONF) *
		(s->nr_programs + !!o->nr_events);
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) *
		sysconf(_SC_PAGESIZE);
	uint64_t most = memory / 64 < 64U << 20 ? memory / 64 : 64U << 20;
	uint32_t bytes = 16U << 20;

	if (o->blocks)
		return o->blocks;
	while (bytes > 1U << 20 && rings * bytes > most)
		bytes /= 2;
	return bytes / block_size;
}

/*
 * Rings of our own are known to the command only. Kernel events come through
 * others, but without them all would wait for nothing.
 */
static bool can_be_reached(const struct record_session *s)
{
	return s->o->command || s->o->nr_events;
}

/* Nobody else holds rings: then we do, or say why not. */
static int serve(struct record_session *s, int err)
{
	const struct tsct_channel *t = s->channels[0];

	if (!can_be_reached(s)) {
		record_complain("nobody could reach these rings; start"
				" tsctraced, load the module, or name a command"
				" (%s)", tsct_channel_error(t));
		return err;
	}
	if (s->o->verbose)
		fprintf(stderr, "trace-ctl record: serving the rings: %s\n",
			tsct_channel_error(t));
	tsct_channel_close(s->channels[0]);
	s->channels[0] = NULL;
	return start_server(s);
}

/* All are with whoever has the first one: a program finds them in one place. */
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
		err = serve(s, err);
		if (err)
			return err;
	}
	if (s->server)
		err = tsct_channel_open_at(s->socket, &options, t);
	if (err)
		return complain_channel(s->names[i], *t, err);
	if (s->o->flight && tsct_channel_info(*t)->policy != TSCT_POLICY_OVERWRITE) {
		record_complain("channel %s: is there already, and is no flight"
				" recorder: it loses new events; name another"
				" with -c", s->names[i]);
		return -EEXIST;
	}
	if (!i || tsct_channel_provider(*t) == tsct_channel_provider(s->channels[0]))
		return 0;
	record_complain("channel %s: is held by the %s, but %s by the %s; set"
			" $TSCTRACE_PROVIDER to one of them", s->names[i],
			tsct_provider_name(tsct_channel_provider(*t)), s->names[0],
			tsct_provider_name(tsct_channel_provider(s->channels[0])));
	return -EXDEV;
}

/* Who asked for a size is told if the channel was there and has another. */
static void compare_sizes(const struct record_session *s, unsigned int i)
{
	const struct tsct_channel_header *header = tsct_channel_info(s->channels[i]);
	const struct record_options *o = s->o;

	if (o->quiet || ((!o->blocks || o->blocks == header->blocks) &&
			 (!o->block_size || o->block_size == header->block_size)))
		return;
	record_complain("channel %s: is there already, with %u blocks of %u"
			" bytes, and keeps them", s->names[i], header->blocks,
			header->block_size);
}

/* The kernel's events: a channel of our own, which only the module has. */
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
		record_complain("kernel events: %s", tsct_channel_error(*t));
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
		compare_sizes(s, i);
	}
	s->nr_channels = s->nr_programs;
	if (!s->o->nr_events)
		return 0;
	err = open_kernel(s);
	if (!err)
		s->nr_channels++;
	return err;
}
