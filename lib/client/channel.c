// SPDX-License-Identifier: MIT
/* A channel: requests, creating or attaching, checking, mapping, definitions */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tsctrace/version.h>

#include "lib/core/event_def.h"
#include "channel.h"
#include "gettime.h"

/*
 * Maximum number of tries to attach a channel or else create it: another process may
 * create the channel before this one can, and remove it before the next try.
 */
#define BIND_TRIES		8
#define NEXT_REASON		"; also tried "
#define NO_ROOM			"no room left within the provider's limits: "
#define MODULE_PARAMETERS	"/sys/module/tsctrace/parameters/"

/* ---- the public handle ------------------------------------------------- */

const char *tsct_version(void)
{
	return TSCT_VERSION;
}

static const char *const provider_names[] = {
	[TSCT_PROVIDER_NONE] = "none",
	[TSCT_PROVIDER_MODULE] = "module",
	[TSCT_PROVIDER_DAEMON] = "daemon",
	[TSCT_PROVIDER_EMBEDDED] = "embedded",
};

const char *tsct_provider_name(enum tsct_provider provider)
{
	if ((unsigned int)provider > TSCT_PROVIDER_EMBEDDED)
		return "?";
	return provider_names[provider];
}

enum tsct_provider tsct_channel_provider(const struct tsct_channel *channel)
{
	return tsct_channel_target(channel)->provider;
}

const char *tsct_channel_error(const struct tsct_channel *channel)
{
	return tsct_channel_target(channel)->error;
}

const struct tsct_channel_header *
tsct_channel_info(const struct tsct_channel *channel)
{
	channel = tsct_channel_target(channel);
	return channel->head_map ? &channel->header : NULL;
}

uint64_t tsct_channel_dropped(const struct tsct_channel *channel)
{
	const struct tsct_channel *target = tsct_channel_target(channel);
	uint64_t sum = __atomic_load_n(&channel->dropped, __ATOMIC_RELAXED);

	for (; target && target != channel; target = target->replaced)
		sum += __atomic_load_n(&target->dropped, __ATOMIC_RELAXED);
	return sum;
}

int tsct_channel_request(struct tsct_channel *channel, unsigned int cmd, void *arg)
{
	return channel->ops ? channel->ops->ctl(channel, cmd, arg) : -ENODEV;
}

const char *tsct_channel_socket_path(const struct tsct_channel *channel)
{
	return channel->socket_path;
}

int tsct_channel_fd(const struct tsct_channel *channel)
{
	return channel->fd;
}

/* Channel ids must increase: else a broken provider could keep the caller in a loop. */
int tsct_channels_next(struct tsct_channel *channel, struct tsct_channel_info *info)
{
	const __u32 last = info->id;
	int err;

	memset(info, 0, sizeof(*info));
	info->id = last;
	err = tsct_channel_request(channel, TSCT_IOC_CHANNEL_NEXT, info);
	if (err)
		return err;
	/* Any program may be the provider, so the channel's name may lack its NUL. */
	info->name[TSCT_NAME_MAX - 1] = '\0';
	return info->id > last ? 0 : -EPROTO;
}

int tsct_channel_own_info(struct tsct_channel *channel, struct tsct_channel_info *ret_info)
{
	const __u32 id = tsct_channel_info(channel)->id;
	int err;

	ret_info->id = id - 1;
	err = tsct_channels_next(channel, ret_info);
	return !err && ret_info->id != id ? -ENOENT : err;
}

int tsct_channel_cpu_stat(struct tsct_channel *channel, __u32 id, __u32 cpu,
			  struct tsct_channel_cpu *ret_stat)
{
	struct tsct_channel_cpu arg = { .id = id, .cpu = cpu };
	int err = tsct_channel_request(channel, TSCT_IOC_CHANNEL_CPU, &arg);

	if (!err)
		*ret_stat = arg;
	return err;
}

int tsct_channel_remove(struct tsct_channel *channel, __u32 id)
{
	struct tsct_channel_remove arg = { .id = id };

	return tsct_channel_request(channel, TSCT_IOC_CHANNEL_REMOVE, &arg);
}

const void *tsct_channel_defs(const struct tsct_channel *channel, size_t *ret_size)
{
	const struct tsct_channel_header *header = (void *)channel->head_map;
	/* acquire: pairs with the provider's release; definitions below are complete */
	__u64 used = __atomic_load_n(&header->defs_used, __ATOMIC_ACQUIRE);

	*ret_size = used < channel->header.defs_size ? used : channel->header.defs_size;
	return channel->head_map + channel->header.defs_offset;
}

__u64 tsct_channel_lost_no_ring(const struct tsct_channel *channel)
{
	const struct tsct_channel_header *header = (void *)channel->head_map;

	return __atomic_load_n(&header->lost_no_ring, __ATOMIC_RELAXED);
}

/* ---- checking ---------------------------------------------------------- */

/* Each offset is limited before it is used in a sum, so no sum can wrap. */
int tsct_channel_check(const struct tsct_channel_header *h, __u64 file_size)
{
	const __u64 cpus = h->nr_cpus, max = 1ULL << 44;

	if (h->magic != TSCT_CHANNEL_MAGIC || h->size < sizeof(*h) ||
	    h->size > TSCT_PAGE_SIZE || !h->id || !h->nr_cpus ||
	    h->nr_cpus > TSCT_CPUS_MAX || h->source >= TSCT_SOURCE_NR ||
	    !memchr(h->name, 0, sizeof(h->name)))
		return -EINVAL;
	if (tsct_geometry_check(h->policy, h->block_size, h->blocks) ||
	    h->data_size != (__u64)h->block_size * h->blocks)
		return -EINVAL;
	if (h->file_size > max || h->ring_stride > max / TSCT_CPUS_MAX ||
	    (file_size && h->file_size != file_size))
		return -EINVAL;
	if ((h->consumer_offset | h->ring_offset | h->ring_stride | h->file_size) %
	    TSCT_PAGE_SIZE || h->defs_offset % 8)
		return -EINVAL;
	if (h->consumer_offset > h->file_size ||
	    h->ring_offset > h->file_size ||
	    h->defs_offset > h->consumer_offset ||
	    h->cpu_state_offset < h->size ||
	    h->cpu_state_offset > h->defs_offset)
		return -EINVAL;
	if (h->cpu_state_offset + cpus > h->defs_offset ||
	    h->defs_size > h->consumer_offset - h->defs_offset ||
	    h->consumer_offset + cpus * TSCT_PAGE_SIZE > h->ring_offset)
		return -EINVAL;
	if (h->ring_stride < TSCT_PAGE_SIZE + h->data_size ||
	    h->ring_offset + cpus * h->ring_stride > h->file_size)
		return -EINVAL;
	return 0;
}

static int read_header(struct tsct_channel *channel)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW;
	struct stat st = { .st_size = 0 };
	void *page;

	/* Rejects a memfd without the seals SHRINK and GROW: if its owner shrank the
	 * memfd, access beyond its end would raise SIGBUS. */
	if (channel->map_fd != channel->fd &&
	    (channel->map_fd < 0 || fstat(channel->map_fd, &st) < 0 || !st.st_size ||
	     (fcntl(channel->map_fd, F_GET_SEALS) & seals) != seals))
		return -EPROTO;
	page = mmap(NULL, TSCT_PAGE_SIZE, PROT_READ, MAP_SHARED, channel->map_fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	memcpy(&channel->header, page, sizeof(channel->header));
	munmap(page, TSCT_PAGE_SIZE);
	return tsct_channel_check(&channel->header, st.st_size) ? -EPROTO : 0;
}

/* ---- mapping ----------------------------------------------------------- */

static int map_region(const struct tsct_channel *channel, __u64 from, __u64 to,
		      bool writable, char **ret_map)
{
	int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	void *map = mmap(NULL, to - from, prot, MAP_SHARED, channel->map_fd, from);

	if (map == MAP_FAILED)
		return -errno;
	*ret_map = map;
	return 0;
}

void tsct_channel_unmap(struct tsct_channel *channel)
{
	const struct tsct_channel_header *h = &channel->header;

	if (channel->head_map)
		munmap(channel->head_map, h->consumer_offset);
	if (channel->consumer_map)
		munmap(channel->consumer_map, h->ring_offset - h->consumer_offset);
	if (channel->ring_map)
		munmap(channel->ring_map, h->file_size - h->ring_offset);
	channel->head_map = channel->consumer_map = channel->ring_map = NULL;
	free(channel->fast.refs);
	channel->fast.refs = NULL;
}

void tsct_channel_use_header(struct tsct_channel *channel)
{
	const struct tsct_channel_header *h = &channel->header;

	channel->geo = (struct tsct_geometry) {
		.data_size = h->data_size,
		.block_size = h->block_size,
		.policy = h->policy,
	};
	channel->source = h->source;
}

/* Maps a channel that the provider has bound to the connection. Returns 0 or -errno. */
static int map_bound(struct tsct_channel *channel)
{
	const struct tsct_channel_header *h = &channel->header;
	int err = read_header(channel);

	if (!err)
		err = map_region(channel, 0, h->consumer_offset, false,
				 &channel->head_map);
	if (!err)
		err = map_region(channel, h->consumer_offset, h->ring_offset,
				 channel->roles & TSCT_ROLE_READ,
				 &channel->consumer_map);
	if (!err)
		err = map_region(channel, h->ring_offset, h->file_size,
				 channel->roles & TSCT_ROLE_WRITE,
				 &channel->ring_map);
	tsct_channel_use_header(channel);
	if (!err && channel->roles & TSCT_ROLE_WRITE) {
		channel->fast.refs = calloc(h->nr_cpus, sizeof(*channel->fast.refs));
		err = channel->fast.refs ? 0 : -ENOMEM;
	}
	if (err) {
		tsct_channel_unmap(channel);
		return err;
	}
	if (!(channel->roles & TSCT_ROLE_WRITE))
		return 0;
	channel->rseq = tsct_rseq_offset();
	/* tsct_tsc_forbidden() is called for channels of every source, because it also
	 * makes tsct_gettime() read clocks by system calls if the TSC is forbidden. */
	if (tsct_tsc_forbidden() && channel->source == TSCT_SOURCE_TSC)
		channel->rseq = 0;
	tsct_emit_enable_fast(channel);
	return 0;
}

/* ---- error texts ------------------------------------------------------- */

void tsct_channel_add_error(struct tsct_channel *channel, const char *format, ...)
{
	const size_t size = sizeof(channel->error);
	size_t used = strlen(channel->error);
	va_list args;

	if (used)
		used += snprintf(channel->error + used, size - used, NEXT_REASON);
	if (used >= size)
		return;
	va_start(args, format);
	vsnprintf(channel->error + used, size - used, format, args);
	va_end(args);
}

/* Returns a sentence about the option that the provider rejected with -EINVAL. */
static const char *explain_options(const struct tsct_channel_options *options)
{
	const __u32 size = options->block_size ?: TSCT_BLOCK_SIZE_DEFAULT;

	if (options->policy > TSCT_POLICY_OVERWRITE)
		return "invalid policy; use TSCT_POLICY_DISCARD or "
			"TSCT_POLICY_OVERWRITE";
	if (options->channel_flags & ~(TSCT_CHANNEL_KERNEL | TSCT_CHANNEL_KEEP))
		return "invalid channel_flags; use TSCT_CHANNEL_KERNEL and "
			"TSCT_CHANNEL_KEEP only";
	if (tsct_geometry_check(options->policy, size, TSCT_BLOCKS_DEFAULT))
		return "invalid block_size; use a power of two of 4096 to 65536";
	if (tsct_geometry_check(options->policy, size,
				options->blocks ?: TSCT_BLOCKS_DEFAULT))
		return "invalid number of blocks; use a power of two, 2 (overwrite: 4) to "
			"65536; all blocks of a ring have at most 256 MiB";
	return "rejected by the provider; use library and provider of one "
		"release";
}

static unsigned long long mib(__u64 bytes)
{
	return (bytes + (1 << 20) - 1) >> 20;
}

/* Advice to raise a module parameter; "" if the provider is not the module */
static const char *advise_raise(const struct tsct_channel *channel,
				const char *parameter, char *text, size_t size)
{
	if (channel->provider != TSCT_PROVIDER_MODULE)
		return "";
	snprintf(text, size, ", or raise " MODULE_PARAMETERS "%s", parameter);
	return text;
}

static void explain_bytes(char *text, __u64 need, const char *owner, __u64 used,
			  __u64 max, const char *advice)
{
	snprintf(text, TSCT_ERROR_TEXT_SIZE, NO_ROOM "the channel needs %llu MiB, "
		 "and %s use %llu of the %llu MiB allowed; use fewer blocks, "
		 "close or remove channels%s", mib(need), owner, mib(used),
		 mib(max), advice);
}

/* Writes to @text which limit a failed request exceeded. The provider's channels and
 * limits are read after the failure, and may have changed since. */
static void explain_quota(struct tsct_channel *channel,
			  const struct tsct_channel_options *options, char *text)
{
	struct tsct_channel_info other = { 0 };
	const __u64 block = options->block_size ?: TSCT_BLOCK_SIZE_DEFAULT;
	struct tsct_info info = { 0 };
	__u64 need, mine = 0;
	__u32 my_channels = 0;
	char advice[96];

	while (!tsct_channels_next(channel, &other)) {
		if (other.uid != geteuid())
			continue;
		mine += other.bytes;
		my_channels++;
	}
	if (tsct_channel_request(channel, TSCT_IOC_INFO, &info))
		info.bytes_max = info.bytes_user_max = ~0ULL;
	else if (geteuid())
		info.bytes_max -= info.bytes_reserved;
	/* Approximate size of the requested channel's file, bytes */
	need = info.nr_cpus * (block * (options->blocks ?: TSCT_BLOCKS_DEFAULT) +
			       2 * TSCT_PAGE_SIZE) + TSCT_DEFS_SIZE +
		2 * TSCT_PAGE_SIZE;
	if (need > info.bytes_user_max || mine > info.bytes_user_max - need)
		explain_bytes(text, need, "this user's channels", mine,
			      info.bytes_user_max,
			      advise_raise(channel, "bytes_user_max", advice,
					   sizeof(advice)));
	else if (need > info.bytes_max || info.bytes > info.bytes_max - need)
		explain_bytes(text, need, "all channels together", info.bytes,
			      info.bytes_max,
			      advise_raise(channel, "bytes_max", advice,
					   sizeof(advice)));
	else
		snprintf(text, TSCT_ERROR_TEXT_SIZE, NO_ROOM "this user has %u of "
			 "%llu channels, the most allowed; close or remove some%s",
			 my_channels, (unsigned long long)info.channels,
			 channel->provider == TSCT_PROVIDER_MODULE ?
			 advise_raise(channel, "channels_user_max", advice,
				      sizeof(advice)) :
			 ", or raise the server's descriptor limit "
			 "(LimitNOFILE=, ulimit -n)");
}

/*
 * Returns the reason for a provider's error, with advice. @text: a buffer of
 * TSCT_ERROR_TEXT_SIZE bytes, which the result may point to
 */
static const char *explain(struct tsct_channel *channel, int err,
			   const struct tsct_channel_options *options, char *text)
{
	switch (err) {
	case -ENOENT:
		return "no such channel; start its writer or trace-ctl record "
			"first";
	case -EEXIST:
		return "exists already; close it or take another name";
	case -EACCES:
		return "belongs to another user; run as that user or as root";
	case -EPERM:
		return "only root may create a channel that the kernel writes; "
			"run as root (or with CAP_PERFMON)";
	case -EBUSY:
		return "has a reader already; stop that reader first";
	case -EINVAL:
		return explain_options(options);
	case -EOPNOTSUPP:
		return "not supported by this provider; kernel channels need "
			"the module";
	case -EFBIG:
		return "larger than the file size limit of the provider (the daemon,"
			" trace-ctl record or this process); raise its 'ulimit -f'";
	case -EPROTO:
		return "invalid answer from the provider; use library and "
			"provider of one release";
	case -EDQUOT:
		explain_quota(channel, options, text);
		return text;
	}
	return strerror(-err);
}

/* ---- binding ----------------------------------------------------------- */

/* Other processes may create and remove the same channel at the same time. */
static int attach_or_create(struct tsct_channel *channel, const char *name,
			    const struct tsct_channel_options *options)
{
	struct tsct_channel_attach attach = {
		.uid = TSCT_UID_SELF, .roles = channel->roles,
	};
	struct tsct_channel_create create = {
		.policy = options->policy,
		.flags = options->channel_flags,
		.block_size = options->block_size ?: TSCT_BLOCK_SIZE_DEFAULT,
		.blocks = options->blocks ?: TSCT_BLOCKS_DEFAULT,
		.roles = channel->roles,
	};
	int tries, err = -EAGAIN;

	memcpy(attach.name, name, strlen(name));
	memcpy(create.name, name, strlen(name));
	if (options->flags & TSCT_OPEN_CREATE)
		return tsct_channel_request(channel, TSCT_IOC_CHANNEL_CREATE, &create);
	for (tries = 0; tries < BIND_TRIES; tries++) {
		err = tsct_channel_request(channel, TSCT_IOC_CHANNEL_ATTACH, &attach);
		if (err != -ENOENT || options->flags & TSCT_OPEN_ATTACH)
			break;
		err = tsct_channel_request(channel, TSCT_IOC_CHANNEL_CREATE, &create);
		if (err != -EEXIST)
			break;
	}
	return err;
}

int tsct_channel_bind_id(struct tsct_channel *channel, __u32 id, __u32 roles)
{
	const struct tsct_channel_options options = { .roles = roles };
	struct tsct_channel_attach arg = {
		.id = id, .uid = TSCT_UID_SELF, .roles = roles,
	};
	char text[TSCT_ERROR_TEXT_SIZE];
	int err;

	channel->roles = roles;
	err = tsct_channel_request(channel, TSCT_IOC_CHANNEL_ATTACH, &arg);
	if (!err)
		err = map_bound(channel);
	if (err)
		tsct_channel_add_error(channel, "%s: channel %u: %s",
				       tsct_provider_name(channel->provider), id,
				       explain(channel, err, &options, text));
	return err;
}

/*
 * A warning if events of this process are lost: emitting needs rseq, or the module,
 * which can write events in the kernel.
 */
static const char *emit_warning(const struct tsct_channel *channel)
{
	if (!(channel->roles & TSCT_ROLE_WRITE) || channel->rseq ||
	    channel->provider == TSCT_PROVIDER_MODULE)
		return "";
	if (tsct_rseq_offset())
		return ", but events of this process are lost: it may not read "
			"the TSC; see PR_SET_TSC in prctl(2)";
	return ", but events of this process are lost: it has no rseq; use "
		"glibc 2.35 or later with glibc.pthread.rseq=1";
}

/*
 * Sets channel->error to "using PROVIDER (REASONS)". REASONS, the previous text, says
 * why other providers were skipped; each reason is cut at its `;`, before its advice.
 */
static void set_success_text(struct tsct_channel *channel, const char *name)
{
	static const char *const servers[] = {
		[TSCT_PROVIDER_MODULE] = "the module tsctrace",
		[TSCT_PROVIDER_DAEMON] = "tsctraced",
		[TSCT_PROVIDER_EMBEDDED] = "trace-ctl record",
	};
	char skipped[sizeof(channel->error) + 8], *to = skipped;
	const char *at = channel->error, *next;

	while (*at) {
		to += sprintf(to, "%s%.*s", to == skipped ? " (" : "; ",
			      (int)strcspn(at, ";"), at);
		next = strstr(at, NEXT_REASON);
		at = next ? next + strlen(NEXT_REASON) : "";
	}
	strcpy(to, to == skipped ? "" : ")");
	snprintf(channel->error, sizeof(channel->error),
		 "channel %s: using %s%s%s%.640s%s", name, servers[channel->provider],
		 channel->socket_path ? " at " : "", channel->socket_path ?: "",
		 skipped, emit_warning(channel));
}

int tsct_channel_bind(struct tsct_channel *channel,
		      const struct tsct_channel_options *options)
{
	const char *name = options->name;
	char text[TSCT_ERROR_TEXT_SIZE];
	int err;

	/* The provider's -EINVAL would not say which option is wrong. */
	if (!tsct_channel_name_valid(name)) {
		tsct_channel_add_error(channel, "'%.64s' cannot be a channel's "
				       "name; use 1 to %d of A-Z a-z 0-9 _ . -",
				       name, TSCT_NAME_MAX - 1);
		return -EINVAL;
	}
	channel->roles = options->roles ?: TSCT_ROLE_WRITE;
	err = attach_or_create(channel, name, options);
	if (!err)
		err = map_bound(channel);
	if (err)
		tsct_channel_add_error(channel, "%s: channel %s: %s",
				       tsct_provider_name(channel->provider), name,
				       explain(channel, err, options, text));
	else
		set_success_text(channel, name);
	return err;
}

/* ---- definitions, and the ids of handles -------------------------------- */

/*
 * Of a handle: what this program has defined by it, `def`. Definition i has the id
 * TSCT_ID_FIRST + i. These are the channel's ids, until the handle has a target: a program
 * gets the handle's ids, because it may define events before there is a channel, and may get
 * another channel later. Of a target: `id`, the ids there of the handle's definitions.
 * The array is replaced when it is full, and the old one stays: signal handlers may be
 * reading it.
 */
struct tsct_handle_ids {
	struct tsct_handle_ids *replaced;
	unsigned int nr;		/* highest i + 1; stored with release */
	unsigned int room;
	struct {
		struct tsct_event_def *def;	/* NULL: none */
		__u32 id;			/* 0: none */
	} at[];
};

unsigned int tsct_channel_id(const struct tsct_channel *target, unsigned int id)
{
	const struct tsct_handle_ids *ids =
		__atomic_load_n(&target->ids, __ATOMIC_ACQUIRE);

	if (!ids || id - TSCT_ID_FIRST >= __atomic_load_n(&ids->nr, __ATOMIC_ACQUIRE))
		return 0;
	return __atomic_load_n(&ids->at[id - TSCT_ID_FIRST].id, __ATOMIC_RELAXED);
}

static const struct tsct_event_def *ids_def(const struct tsct_channel *channel,
					    unsigned int i)
{
	return channel->ids && i < channel->ids->nr ? channel->ids->at[i].def : NULL;
}

static int ids_grow(struct tsct_channel *channel, unsigned int nr)
{
	struct tsct_handle_ids *old = channel->ids, *ids;
	unsigned int room = old ? old->room : 32;

	while (room < nr)
		room *= 2;
	if (old && room == old->room)
		return 0;
	ids = calloc(1, sizeof(*ids) + room * sizeof(ids->at[0]));
	if (!ids)
		return -ENOMEM;
	if (old) {
		memcpy(ids->at, old->at, old->nr * sizeof(ids->at[0]));
		ids->nr = old->nr;
	}
	ids->room = room;
	ids->replaced = old;
	__atomic_store_n(&channel->ids, ids, __ATOMIC_RELEASE);
	return 0;
}

/* Stores definition @i of a handle, if @def is set, or its @id in a target. The caller
 * holds the handle's ids_lock. Returns the handle's id or -errno. */
static int ids_put(struct tsct_channel *channel, unsigned int i,
		   const struct tsct_event_def *def, __u32 id)
{
	struct tsct_event_def *copy = def ? malloc(def->size) : NULL;
	int err = i > TSCT_ID_MAX - TSCT_ID_FIRST ? -ENOSPC : 0;

	if (!err)
		err = def && !copy ? -ENOMEM : ids_grow(channel, i + 1);
	if (err) {
		free(copy);
		return err;
	}
	if (copy) {
		memcpy(copy, def, def->size);
		copy->id = 0;
		channel->ids->at[i].def = copy;
	}
	__atomic_store_n(&channel->ids->at[i].id, id, __ATOMIC_RELAXED);
	if (i >= channel->ids->nr)
		__atomic_store_n(&channel->ids->nr, i + 1, __ATOMIC_RELEASE);
	return TSCT_ID_FIRST + i;
}

void tsct_channel_ids_free(struct tsct_channel *channel)
{
	struct tsct_handle_ids *ids = channel->ids, *replaced;

	while (ids && ids->nr)
		free(ids->at[--ids->nr].def);
	for (; ids; ids = replaced) {
		replaced = ids->replaced;
		free(ids);
	}
	channel->ids = NULL;
}

/* Adds what other handles and programs have defined in the handle's channel: ids are the
 * same everywhere, so that the program may use these, too. The memory has none if a server
 * has freed it, because nobody was connected. */
static int ids_copy(struct tsct_channel *channel)
{
	const struct tsct_event_def *def;
	size_t used, pos = 0;
	const void *defs = tsct_channel_defs(channel, &used);
	void *copy = malloc(used + 1);
	int err = copy ? 0 : -ENOMEM, unused;
	unsigned int i;

	if (copy)
		memcpy(copy, defs, used);
	while (!err && (def = tsct_event_def_next(copy, used, pos, &pos, &unused))) {
		i = def->id - TSCT_ID_FIRST;
		if (i <= TSCT_ID_MAX - TSCT_ID_FIRST && !ids_def(channel, i))
			err = ids_put(channel, i, def, 0) < 0 ? -ENOMEM : 0;
	}
	free(copy);
	return err;
}

/* The server may change all of *def. */
int tsct_event_define_def(struct tsct_channel *channel, struct tsct_event_def *def)
{
	const struct tsct_event_def sent = *def;
	int err, id;

	if (channel->provider == TSCT_PROVIDER_NONE)
		return -ENODEV;
	err = tsct_channel_request(channel, TSCT_IOC_DEFINE, def);
	id = def->id;
	*def = sent;
	if (err)
		return err;
	def->id = id;
	return id < TSCT_ID_FIRST ? -EPROTO : id;
}

/* Defines a handle's definitions in a new target; those for which it has no room are not
 * recorded there. */
static int define_all(struct tsct_channel *channel, struct tsct_channel *target)
{
	const struct tsct_event_def *known;
	struct tsct_event_def def;
	unsigned int i;
	int id, err = 0;

	for (i = 0; !err && channel->ids && i < channel->ids->nr; i++) {
		known = ids_def(channel, i);
		if (!known)
			continue;
		memset(&def, 0, sizeof(def));
		memcpy(&def, known, known->size);
		id = tsct_event_define_def(target, &def);
		if (id > 0)
			id = ids_put(target, i, NULL, id);
		err = id < 0 && id != -ENOSPC ? id : 0;
	}
	return err;
}

/* The target has all ids before an event is written there. */
int tsct_channel_move(struct tsct_channel *channel, struct tsct_channel *target)
{
	int err = 0;

	pthread_mutex_lock(&channel->ids_lock);
	if (channel->head_map && !channel->target)
		err = ids_copy(channel);
	if (!err)
		err = define_all(channel, target);
	if (!err) {
		/* The handle's own fast path would miss the target: the slow path
		 * follows it. */
		tsct_emit_disable_fast(channel);
		target->replaced = channel->target;
		tsct_events_move(channel, target);
	}
	pthread_mutex_unlock(&channel->ids_lock);
	return err;
}

/* Defines an event for a handle that has no channel yet, or a target; the caller holds
 * ids_lock. */
static int define_by_handle(struct tsct_channel *channel, struct tsct_event_def *def)
{
	struct tsct_channel *target = tsct_channel_target(channel);
	const unsigned int nr = channel->ids ? channel->ids->nr : 0;
	const struct tsct_event_def *known;
	int id = 0, result;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		known = ids_def(channel, i);
		if (known && tsct_event_def_equal(known, def))
			break;
	}
	if (target != channel)
		id = tsct_event_define_def(target, def);
	if (id < 0)
		return id;
	result = i < nr ? (int)(TSCT_ID_FIRST + i) : ids_put(channel, i, def, 0);
	return result > 0 && id ? ids_put(target, i, NULL, id) : result;
}

/* Defines an event in the handle's own channel, and keeps the definition if the handle may
 * get a target. */
static int define_and_keep(struct tsct_channel *channel, struct tsct_event_def *def)
{
	int id = tsct_event_define_def(channel, def);

	if (id < 0 || !channel->opening)
		return id;
	pthread_mutex_lock(&channel->ids_lock);
	if (tsct_channel_target(channel) != channel) {	/* since this moment */
		def->id = 0;
		id = define_by_handle(channel, def);
	} else if (!ids_def(channel, id - TSCT_ID_FIRST)) {
		id = ids_put(channel, id - TSCT_ID_FIRST, def, 0);
	}
	pthread_mutex_unlock(&channel->ids_lock);
	return id;
}

int tsct_event_define(struct tsct_channel *channel, const char *name,
		      unsigned int kind, const char *fields)
{
	struct tsct_event_def def;
	int err;

	if (!name)
		return -EINVAL;
	err = tsct_event_def_parse(name, kind, fields ? fields : "", &def, NULL);
	if (err)
		return err;
	if (channel->provider != TSCT_PROVIDER_NONE && tsct_channel_target(channel) == channel)
		return define_and_keep(channel, &def);
	pthread_mutex_lock(&channel->ids_lock);
	err = define_by_handle(channel, &def);
	pthread_mutex_unlock(&channel->ids_lock);
	return err;
}
