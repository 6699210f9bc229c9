// SPDX-License-Identifier: MIT
/*
 * Serves the requests of tsctrace/abi.h (create, open, define ...) in user space, for
 * channels whose memory is a memfd. Checks the client's permissions, and the limits of
 * channels and memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tsctrace/version.h>

#include "lib/abi/request.h"
#include "lib/core/event_def.h"
#include "lib/core/ring.h"
#include "lib/clock/clock_sample.h"
#include "store.h"

/* Largest limit of one user's channels, in bytes, on machines of up to 256 CPUs */
#define USER_BYTES_MAX		(1ULL << 30)
/* largest id that a channel keeps when a client gives it back */
#define FORMER_ID_MAX		(1U << 24)
#define INVALID_ROLES		(~(TSCT_ROLE_WRITE | TSCT_ROLE_READ))
/*
 * Channels of all users together may take a quarter of the memory, those of one user an
 * eighth, up to 1 GiB. The limit of a user also bounds the time of one request: the
 * memory is zeroed.
 */
void tsct_store_init(struct tsct_store *store, const char *kind, __u32 source)
{
	__u64 memory = (__u64)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	size_t len = strnlen(kind, sizeof(store->kind) - 1);

	memset(store, 0, sizeof(*store));
	TAILQ_INIT(&store->channels);
	memcpy(store->kind, kind, len);
	store->source = source;
	store->nr_cpus = tsct_cpus_possible();
	store->channels_max = TSCT_STORE_CHANNELS_MAX;
	store->channels_user_max = TSCT_STORE_CHANNELS_USER_MAX;
	store->bytes_max = memory / 4;
	store->bytes_user_max = tsct_user_bytes_default(store->nr_cpus);
	if (store->bytes_user_max < USER_BYTES_MAX)
		store->bytes_user_max = USER_BYTES_MAX;
	if (store->bytes_user_max > memory / 8)
		store->bytes_user_max = memory / 8;
}

static bool may_access(const struct tsct_store_peer *peer,
		       const struct tsct_store_channel *channel)
{
	return !peer->uid || peer->uid == channel->header.uid;
}

static bool is_zero(const __u64 *reserved, size_t nr)
{
	__u64 any = 0;

	while (nr--)
		any |= reserved[nr];
	return !any;
}

static struct tsct_store_channel *find_by_name(const struct tsct_store *store,
					       uid_t uid, const char *name)
{
	struct tsct_store_channel *channel;

	TAILQ_FOREACH(channel, &store->channels, list)
		if (channel->header.uid == uid && !channel->nameless &&
		    !strcmp(channel->header.name, name))
			break;
	return channel;
}

static struct tsct_store_channel *find_by_id(const struct tsct_store *store,
					     __u32 id)
{
	struct tsct_store_channel *channel;

	TAILQ_FOREACH(channel, &store->channels, list)
		if (channel->header.id == id)
			break;
	return channel;
}

static int check_limits(const struct tsct_store *store, uid_t uid, __u64 bytes)
{
	const struct tsct_store_channel *channel;
	__u64 user_bytes = 0;
	__u32 nr = 0;

	TAILQ_FOREACH(channel, &store->channels, list) {
		if (channel->header.uid != uid)
			continue;
		user_bytes += channel->header.file_size;
		nr++;
	}
	if (store->nr_channels >= store->channels_max ||
	    nr >= store->channels_user_max ||
	    bytes > store->bytes_max - store->bytes ||
	    user_bytes + bytes > store->bytes_user_max)
		return -EDQUOT;
	return 0;
}

/* Returns true if the READ role is in @roles, and the channel has its one consumer. */
static bool has_consumer(const struct tsct_store_channel *channel, __u32 roles)
{
	return roles & TSCT_ROLE_READ && channel->consumers &&
		channel->header.policy == TSCT_POLICY_DISCARD;
}

static void bind_peer(struct tsct_store_peer *peer,
		      struct tsct_store_channel *channel, __u32 roles)
{
	peer->channel = channel;
	peer->roles = roles;
	channel->holders++;
	channel->consumers += !!(roles & TSCT_ROLE_READ);
	channel->was_read |= !!(roles & TSCT_ROLE_READ);
}

/* ---- channels that survive the provider ---------------------------------- */

/* Reports to the fd store that a channel has become, or is no longer, a kept one. */
static void report_kept(const struct tsct_store *store,
			const struct tsct_store_channel *channel, bool kept)
{
	char label[TSCT_STORE_LABEL_MAX];

	if (!store->fd_store.keep)
		return;
	snprintf(label, sizeof(label), "channel-%u-%u-%s", channel->header.id,
		 channel->header.uid, channel->header.name);
	store->fd_store.keep(store->fd_store.arg, label, channel->memfd, kept);
}

/* Adds a channel. The list is in the order of ids, by which CHANNEL_NEXT goes on. */
static void insert_channel(struct tsct_store *store,
			   struct tsct_store_channel *channel)
{
	struct tsct_store_channel *after;

	TAILQ_FOREACH_REVERSE(after, &store->channels, tsct_store_list, list)
		if (after->header.id < channel->header.id)
			break;
	if (after)
		TAILQ_INSERT_AFTER(&store->channels, after, channel, list);
	else
		TAILQ_INSERT_HEAD(&store->channels, channel, list);
	if (channel->header.id > store->last_id)
		store->last_id = channel->header.id;
	channel->kept = !!(channel->header.flags & TSCT_CHANNEL_KEEP);
	store->nr_channels++;
	store->bytes += channel->header.file_size;
}

int tsct_store_restore(struct tsct_store *store, const char *label, int memfd)
{
	struct tsct_store_channel *channel;
	struct tsct_channel_header h;
	unsigned int id, uid;
	char name[TSCT_NAME_MAX];
	int end = 0, err;

	if (sscanf(label, "channel-%u-%u-%31s%n", &id, &uid, name, &end) != 3 ||
	    label[end] || !id || id == ~0U || !tsct_channel_name_valid(name))
		return -EPROTO;
	if (find_by_id(store, id) || find_by_name(store, uid, name))
		return -EEXIST;
	err = tsct_store_channel_peek(memfd, &h);
	if (!err)
		err = check_limits(store, uid, h.file_size);
	if (!err)
		err = tsct_store_channel_adopt(store, memfd, id, uid, name,
					       TSCT_CHANNEL_KEEP, &channel);
	if (!err)
		insert_channel(store, channel);
	return err;
}

static struct tsct_store_channel *find_by_memory(const struct tsct_store *store, int fd)
{
	struct tsct_store_channel *channel;
	struct stat st, known;

	if (fstat(fd, &st))
		return NULL;
	TAILQ_FOREACH(channel, &store->channels, list)
		if (!fstat(channel->memfd, &known) && known.st_ino == st.st_ino &&
		    known.st_dev == st.st_dev)
			break;
	return channel;
}

/*
 * Makes a channel of memory that a client sent. The header is the client's, but a user
 * could have created the same channel, so it can do no more than name and measure it.
 */
static int take_memory(struct tsct_store *store, const struct tsct_store_peer *peer,
		       int fd, struct tsct_store_channel **ret_channel)
{
	struct tsct_channel_header h;
	int err = tsct_store_channel_peek(fd, &h);

	if (err)
		return err;
	if (h.uid != peer->uid)
		return -EACCES;
	if (!tsct_channel_name_valid(h.name))
		return -EPROTO;
	if (find_by_name(store, peer->uid, h.name))
		return -EEXIST;
	err = check_limits(store, peer->uid, h.file_size);
	/* A former id is used again, but ids that a client made up must not use up all
	 * ids. */
	if (h.id > FORMER_ID_MAX || find_by_id(store, h.id))
		h.id = store->last_id + 1;
	if (!err && !h.id)
		err = -EDQUOT;
	if (!err)
		err = tsct_store_channel_adopt(store, fd, h.id, peer->uid, h.name,
					       h.flags & TSCT_CHANNEL_KEEP,
					       ret_channel);
	if (err)
		return err;
	insert_channel(store, *ret_channel);
	if ((*ret_channel)->kept)
		report_kept(store, *ret_channel, true);
	return 0;
}

static int adopt_channel(struct tsct_store *store, struct tsct_store_peer *peer,
			 struct tsct_channel_adopt *arg, int fd)
{
	struct tsct_store_channel *channel;
	int err = 0;

	if (!arg->roles || arg->roles & INVALID_ROLES || fd < 0 ||
	    !is_zero(arg->reserved, 4))
		return -EINVAL;
	if (peer->channel)
		return -EBUSY;
	channel = find_by_memory(store, fd);
	if (!channel)
		err = take_memory(store, peer, fd, &channel);
	else if (!may_access(peer, channel))
		err = -EACCES;
	else if (has_consumer(channel, arg->roles))
		err = -EBUSY;
	if (err)
		return err;
	arg->id = channel->header.id;
	bind_peer(peer, channel, arg->roles);
	return 0;
}

static int create_channel(struct tsct_store *store, struct tsct_store_peer *peer,
			  struct tsct_channel_create *arg, int *ret_fd)
{
	const __u32 flags = TSCT_CHANNEL_KERNEL | TSCT_CHANNEL_KEEP;
	struct tsct_store_channel *channel;
	int err;

	if (!tsct_channel_name_valid(arg->name) || !arg->roles ||
	    arg->roles & INVALID_ROLES || !is_zero(arg->reserved, 4) ||
	    arg->flags & ~flags ||
	    tsct_geometry_check(arg->policy, arg->block_size, arg->blocks))
		return -EINVAL;
	/*
	 * The kernel cannot write to a memfd. Only the recorder that has a server of its
	 * own writes kernel events to such a channel, as its creator (ring_fill.h).
	 */
	if (arg->flags & TSCT_CHANNEL_KERNEL && strcmp(store->kind, "embedded"))
		return -EOPNOTSUPP;
	if (peer->channel)
		return -EBUSY;
	if (find_by_name(store, peer->uid, arg->name))
		return -EEXIST;
	err = check_limits(store, peer->uid,
			     tsct_store_channel_size(store, arg));
	if (!err && store->last_id == ~0U)
		err = -EDQUOT;
	if (!err)
		err = tsct_store_channel_make(store, store->last_id + 1,
						peer->uid, arg, &channel);
	if (err)
		return err;
	/*
	 * Channel ids only increase: CHANNEL_NEXT can list while channels come and go.
	 */
	arg->id = channel->header.id;
	insert_channel(store, channel);
	if (channel->kept)
		report_kept(store, channel, true);
	bind_peer(peer, channel, arg->roles);
	*ret_fd = channel->memfd;
	return 0;
}

static int attach_peer(struct tsct_store *store, struct tsct_store_peer *peer,
		       struct tsct_channel_attach *arg, int *ret_fd)
{
	const uid_t uid = arg->uid == TSCT_UID_SELF ? peer->uid : arg->uid;
	struct tsct_store_channel *channel;

	if (!arg->roles || arg->roles & INVALID_ROLES || arg->reserved0 ||
	    !is_zero(arg->reserved, 4))
		return -EINVAL;
	if (peer->channel)
		return -EBUSY;
	if (arg->id) {
		channel = find_by_id(store, arg->id);
	} else {
		if (!tsct_channel_name_valid(arg->name))
			return -EINVAL;
		if (peer->uid && uid != peer->uid)
			return -EACCES;
		channel = find_by_name(store, uid, arg->name);
	}
	if (!channel)
		return -ENOENT;
	if (!may_access(peer, channel) ||
	    (arg->roles & TSCT_ROLE_WRITE &&
	     channel->header.flags & TSCT_CHANNEL_KERNEL))
		return -EACCES;
	if (has_consumer(channel, arg->roles))
		return -EBUSY;
	arg->id = channel->header.id;
	bind_peer(peer, channel, arg->roles);
	*ret_fd = channel->memfd;
	return 0;
}

static int next_channel(const struct tsct_store *store,
			const struct tsct_store_peer *peer,
			struct tsct_channel_info *arg)
{
	const struct tsct_store_channel *channel;

	if (!is_zero(arg->reserved, 3))
		return -EINVAL;
	TAILQ_FOREACH(channel, &store->channels, list)
		if (channel->header.id > arg->id && may_access(peer, channel))
			break;
	if (!channel)
		return -ENOENT;
	tsct_store_channel_describe(channel, arg);
	return 0;
}

static int cpu_figures(const struct tsct_store *store,
		       const struct tsct_store_peer *peer,
		       struct tsct_channel_cpu *arg)
{
	const struct tsct_store_channel *channel = find_by_id(store, arg->id);

	if (arg->reserved0 || !is_zero(arg->reserved, 4))
		return -EINVAL;
	if (!channel || !may_access(peer, channel))
		return -ENOENT;
	if (arg->cpu >= channel->header.nr_cpus)
		return -EINVAL;
	tsct_store_channel_figures(channel, arg);
	return 0;
}

/* Adds the channel's events to @unread if it was never read. */
static void add_unread(const struct tsct_store_channel *channel,
		       struct tsct_store_unread *unread)
{
	struct tsct_channel_info info;

	if (channel->was_read)
		return;
	tsct_store_channel_describe(channel, &info);
	if (!info.events)
		return;
	if (!unread->channels++)
		memcpy(unread->name, info.name, sizeof(unread->name));
	unread->events += info.events;
}

void tsct_store_unread(const struct tsct_store *store,
		       struct tsct_store_unread *ret_unread)
{
	const struct tsct_store_channel *channel;

	*ret_unread = store->unread;
	TAILQ_FOREACH(channel, &store->channels, list)
		add_unread(channel, ret_unread);
}

/*
 * Frees a channel. @reclaim: also free the memory that processes with its memfd still
 * refer to.
 */
static void drop_channel(struct tsct_store *store,
			 struct tsct_store_channel *channel, bool reclaim)
{
	add_unread(channel, &store->unread);
	TAILQ_REMOVE(&store->channels, channel, list);
	store->nr_channels--;
	store->bytes -= channel->header.file_size;
	if (reclaim)
		fallocate(channel->memfd,
			  FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			  (off_t)channel->header.file_size);
	tsct_store_channel_free(channel);
}

static int remove_kept(struct tsct_store *store,
		       const struct tsct_store_peer *peer,
		       const struct tsct_channel_remove *arg)
{
	struct tsct_store_channel *channel = find_by_id(store, arg->id);

	if (arg->reserved0 || !is_zero(arg->reserved, 3))
		return -EINVAL;
	if (!channel)
		return -ENOENT;
	if (!may_access(peer, channel))
		return -EACCES;
	if (!(channel->header.flags & TSCT_CHANNEL_KEEP))
		return -EINVAL;
	if (channel->nameless)
		return -ENOENT;
	report_kept(store, channel, false);
	channel->kept = 0;
	channel->nameless = 1;
	/* A program that maps the channel gives it back after a restart, without this
	 * flag. */
	((struct tsct_channel_header *)(void *)channel->map)->flags &= ~TSCT_CHANNEL_KEEP;
	if (!channel->holders)
		drop_channel(store, channel, true);
	return 0;
}

static int define_event(const struct tsct_store_peer *peer,
			struct tsct_event_def *def)
{
	if (!peer->channel)
		return -ENOTCONN;
	if (def->id || tsct_event_def_check(def, sizeof(*def)))
		return -EINVAL;
	return tsct_store_channel_define(peer->channel, def);
}

static int store_info(const struct tsct_store *store, struct tsct_info *ret_info)
{
	memset(ret_info, 0, sizeof(*ret_info));
	memcpy(ret_info->provider, store->kind, sizeof(store->kind));
	memcpy(ret_info->version, TSCT_VERSION, sizeof(TSCT_VERSION));
	ret_info->nr_cpus = store->nr_cpus;
	ret_info->source = store->source;
	ret_info->channels = store->nr_channels;
	ret_info->bytes = store->bytes;
	ret_info->bytes_max = store->bytes_max;
	ret_info->bytes_user_max = store->bytes_user_max;
	return 0;
}

/*
 * Makes an argument of @size bytes, of an older or newer client, one of the size that
 * @known has. Returns 0, or -E2BIG: the client uses fields that are not known here.
 */
static int convert_argument(__u32 known, char *arg, size_t size)
{
	const size_t size_known = _IOC_SIZE(known);

	if (size < size_known)
		memset(arg + size, 0, size_known - size);
	else if (!(_IOC_DIR(known) & _IOC_WRITE))
		memset(arg + size_known, 0, size - size_known);
	for (; size > size_known; size--)
		if (arg[size - 1])
			return -E2BIG;
	return 0;
}

int tsct_store_request(struct tsct_store *store, struct tsct_store_peer *peer,
		       __u32 cmd, void *arg, size_t size, int fd, int *ret_fd)
{
	__u32 known;
	int err;

	*ret_fd = -1;
	err = tsct_request_find(cmd, &known);
	if (!err && size != _IOC_SIZE(cmd))
		err = -EINVAL;
	if (err)
		return err;
	err = convert_argument(known, arg, size);
	switch (known) {
	case TSCT_IOC_INFO:
		return err ?: store_info(store, arg);
	case TSCT_IOC_CHANNEL_CREATE:
		return err ?: create_channel(store, peer, arg, ret_fd);
	case TSCT_IOC_CHANNEL_ATTACH:
		return err ?: attach_peer(store, peer, arg, ret_fd);
	case TSCT_IOC_CHANNEL_ADOPT:
		return err ?: adopt_channel(store, peer, arg, fd);
	case TSCT_IOC_CHANNEL_NEXT:
		return err ?: next_channel(store, peer, arg);
	case TSCT_IOC_CHANNEL_REMOVE:
		return err ?: remove_kept(store, peer, arg);
	case TSCT_IOC_CHANNEL_CPU:
		return err ?: cpu_figures(store, peer, arg);
	case TSCT_IOC_DEFINE:
		return err ?: define_event(peer, arg);
	}
	return -EOPNOTSUPP;
}

void tsct_store_release(struct tsct_store *store, struct tsct_store_peer *peer,
			bool reclaim)
{
	struct tsct_store_channel *channel = peer->channel;

	if (!channel)
		return;
	peer->channel = NULL;
	channel->consumers -= !!(peer->roles & TSCT_ROLE_READ);
	if (!--channel->holders && !channel->kept)
		drop_channel(store, channel, reclaim);
}

void tsct_store_clear(struct tsct_store *store)
{
	struct tsct_store_channel *channel, *next;

	for (channel = TAILQ_FIRST(&store->channels); channel; channel = next) {
		next = TAILQ_NEXT(channel, list);
		/* The fd store holds this memory: its contents must stay. */
		if (!channel->holders)
			drop_channel(store, channel,
				     !channel->kept || !store->fd_store.keep);
	}
}
