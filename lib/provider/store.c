// SPDX-License-Identifier: MIT
/* The requests of tsctrace/abi.h on channels in memfds: permissions and limits. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tsctrace/version.h>

#include "lib/clock/clock_source.h"
#include "lib/clock/tsc_check.h"
#include "lib/core/event_def.h"
#include "lib/core/ring.h"
#include "lib/clock/clock_sample.h"
#include "store.h"

#define USER_BYTES_MAX		(1ULL << 30)
#define ROLES			(TSCT_ROLE_WRITE | TSCT_ROLE_READ)

/*
 * A quarter of memory for all users, an eighth, at most 1 GiB, for one of them. A
 * user's limit also bounds one request, which takes the time to zero that memory.
 */
void tsct_store_init(struct tsct_store *store, const char *kind)
{
	__u64 memory = (__u64)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	size_t len = strnlen(kind, sizeof(store->kind) - 1);

	memset(store, 0, sizeof(*store));
	memcpy(store->kind, kind, len);
	store->source = tsct_source_choose(tsct_tsc_check_run, NULL, 0);
	store->nr_cpus = tsct_cpus_possible();
	store->channels_max = TSCT_STORE_CHANNELS_MAX;
	store->channels_user_max = TSCT_STORE_CHANNELS_USER_MAX;
	store->bytes_max = memory / 4;
	store->bytes_user_max = memory / 8 < USER_BYTES_MAX ? memory / 8 :
		USER_BYTES_MAX;
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

static int check_roles(__u32 roles)
{
	return !roles || roles & ~ROLES ? -EINVAL : 0;
}

static struct tsct_store_channel *find_by_name(const struct tsct_store *store,
					       uid_t uid, const char *name)
{
	struct tsct_store_channel *channel;

	for (channel = store->channels; channel; channel = channel->next)
		if (channel->header.uid == uid && !channel->nameless &&
		    !strcmp(channel->header.name, name))
			return channel;
	return NULL;
}

static struct tsct_store_channel *find_by_id(const struct tsct_store *store,
					     __u32 id)
{
	struct tsct_store_channel *channel = store->channels;

	while (channel && channel->header.id != id)
		channel = channel->next;
	return channel;
}

static int check_limits(const struct tsct_store *store, uid_t uid, __u64 bytes)
{
	const struct tsct_store_channel *channel;
	__u64 user_bytes = 0;
	__u32 nr = 0;

	for (channel = store->channels; channel; channel = channel->next) {
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

static void bind_peer(struct tsct_store_peer *peer,
		      struct tsct_store_channel *channel, __u32 roles)
{
	peer->channel = channel;
	peer->roles = roles;
	channel->holders++;
	channel->consumers += !!(roles & TSCT_ROLE_READ);
	channel->was_read |= !!(roles & TSCT_ROLE_READ);
}

/* Ids only increase, so that CHANNEL_NEXT can list while channels come and go. */
static void append_channel(struct tsct_store *store,
			   struct tsct_store_channel *channel)
{
	struct tsct_store_channel **at = &store->channels;

	while (*at)
		at = &(*at)->next;
	*at = channel;
	store->nr_channels++;
	store->bytes += channel->header.file_size;
}

static int check_create(const struct tsct_channel_create *arg)
{
	const __u32 flags = TSCT_CHANNEL_KERNEL | TSCT_CHANNEL_KEEP;

	if (!tsct_channel_name_valid(arg->name) || check_roles(arg->roles) ||
	    !is_zero(arg->reserved, 4) || arg->flags & ~flags ||
	    tsct_geometry_check(arg->policy, arg->block_size, arg->blocks))
		return -EINVAL;
	/* The kernel cannot write to a memfd of user space */
	return arg->flags & TSCT_CHANNEL_KERNEL ? -EOPNOTSUPP : 0;
}

static int create_channel(struct tsct_store *store, struct tsct_store_peer *peer,
			  struct tsct_channel_create *arg, int *ret_fd)
{
	struct tsct_store_channel *channel;
	int err;

	err = check_create(arg);
	if (err)
		return err;
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
	arg->id = ++store->last_id;
	channel->kept = !!(arg->flags & TSCT_CHANNEL_KEEP);
	append_channel(store, channel);
	bind_peer(peer, channel, arg->roles);
	*ret_fd = channel->memfd;
	return 0;
}

static int find_channel(const struct tsct_store *store,
			const struct tsct_store_peer *peer,
			const struct tsct_channel_attach *arg,
			struct tsct_store_channel **ret_channel)
{
	uid_t uid = arg->uid == TSCT_UID_SELF ? peer->uid : arg->uid;

	if (arg->id) {
		*ret_channel = find_by_id(store, arg->id);
	} else {
		if (!tsct_channel_name_valid(arg->name))
			return -EINVAL;
		if (peer->uid && uid != peer->uid)
			return -EACCES;
		*ret_channel = find_by_name(store, uid, arg->name);
	}
	if (!*ret_channel)
		return -ENOENT;
	return may_access(peer, *ret_channel) ? 0 : -EACCES;
}

static int attach_peer(struct tsct_store *store, struct tsct_store_peer *peer,
		       struct tsct_channel_attach *arg, int *ret_fd)
{
	struct tsct_store_channel *channel;
	int err;

	if (check_roles(arg->roles) || arg->reserved0 ||
	    !is_zero(arg->reserved, 4))
		return -EINVAL;
	if (peer->channel)
		return -EBUSY;
	err = find_channel(store, peer, arg, &channel);
	if (err)
		return err;
	if (arg->roles & TSCT_ROLE_READ && channel->consumers &&
	    channel->header.policy == TSCT_POLICY_DISCARD)
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
	for (channel = store->channels; channel; channel = channel->next)
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

/* Adds a channel that was never read. */
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
	for (channel = store->channels; channel; channel = channel->next)
		add_unread(channel, ret_unread);
}

/*
 * Frees a channel, which no longer counts for any limit; with @reclaim also the
 * memory that processes with its memfd still refer to.
 */
static void drop_channel(struct tsct_store *store,
			 struct tsct_store_channel *channel, bool reclaim)
{
	struct tsct_store_channel **at;

	add_unread(channel, &store->unread);
	for (at = &store->channels; *at != channel; at = &(*at)->next)
		;
	*at = channel->next;
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
	/* Removed already: it exists only for its holders. */
	if (channel->nameless)
		return -ENOENT;
	channel->kept = 0;
	channel->nameless = 1;
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

int tsct_store_request(struct tsct_store *store, struct tsct_store_peer *peer,
		       __u32 cmd, void *arg, size_t size, int *ret_fd)
{
	*ret_fd = -1;
	switch (cmd) {
	case TSCT_IOC_CHECK:
	case TSCT_IOC_CHECK_RUN:
	case TSCT_IOC_CLOCK_SET:
	case TSCT_IOC_CLOCK_SNAPSHOT:
	case TSCT_IOC_WRITE:
	case TSCT_IOC_WATERMARK:
		return -EOPNOTSUPP;
	case TSCT_IOC_INFO:
	case TSCT_IOC_CHANNEL_CREATE:
	case TSCT_IOC_CHANNEL_ATTACH:
	case TSCT_IOC_CHANNEL_NEXT:
	case TSCT_IOC_CHANNEL_REMOVE:
	case TSCT_IOC_CHANNEL_CPU:
	case TSCT_IOC_DEFINE:
		break;
	default:
		return -ENOTTY;
	}
	if (size != _IOC_SIZE(cmd))
		return -EINVAL;
	switch (cmd) {
	case TSCT_IOC_INFO:
		return store_info(store, arg);
	case TSCT_IOC_CHANNEL_CREATE:
		return create_channel(store, peer, arg, ret_fd);
	case TSCT_IOC_CHANNEL_ATTACH:
		return attach_peer(store, peer, arg, ret_fd);
	case TSCT_IOC_CHANNEL_NEXT:
		return next_channel(store, peer, arg);
	case TSCT_IOC_CHANNEL_REMOVE:
		return remove_kept(store, peer, arg);
	case TSCT_IOC_CHANNEL_CPU:
		return cpu_figures(store, peer, arg);
	}
	return define_event(peer, arg);
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

	for (channel = store->channels; channel; channel = next) {
		next = channel->next;
		if (!channel->holders)
			drop_channel(store, channel, true);
	}
}
