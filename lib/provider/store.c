// SPDX-License-Identifier: MIT
/*
 * Serves the requests of tsctrace/abi.h (create, open, define ...) in user space, for
 * channels whose memory is a sealed memfd with the layout of tsctrace/abi.h. Checks the
 * client's permissions, and the limits of channels and memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <tsctrace/version.h>

#include "lib/abi/request.h"
#include "lib/base/array.h"
#include "lib/base/cpus.h"
#include "lib/base/hash.h"
#include "lib/client/channel.h"
#include "lib/core/event_def.h"
#include "lib/core/ring.h"
#include "payer.h"
#include "store.h"

/* Limit of one user's channels, bytes, on machines with up to 256 CPUs and enough memory */
#define USER_BYTES_MAX		(1ULL << 30)
/* largest id that a channel keeps when a client returns the channel after a restart */
#define FORMER_ID_MAX		(1U << 24)
/* size of the definitions' area of a new channel, bytes. Memory is allocated
 * for its first TSCT_DEFS_SIZE bytes, and for more as definitions are added. */
#define DEFS_SIZE		(512ULL * TSCT_DEFS_SIZE)
/* bytes of each ring that the server allocates: the counters, and the first block's header */
#define RING_HEAD_SIZE		(2ULL * TSCT_PAGE_SIZE)
/* largest id of a definition of kernel events; tools/bpf uses the ids above for system calls */
#define KERNEL_ID_MAX		0x7fff
#define INVALID_ROLES		(~(TSCT_ROLE_WRITE | TSCT_ROLE_READ))
#define CPU_STATE_OFFSET	256

/* ---- the memory of one channel ------------------------------------------- */

static bool is_embedded(const struct tsct_store *store)
{
	return !strcmp(store->kind, "embedded");
}

static __u64 page_align(__u64 value)
{
	return (value + TSCT_PAGE_SIZE - 1) & ~(__u64)(TSCT_PAGE_SIZE - 1);
}

static void set_layout(struct tsct_channel_header *h, __u32 nr_cpus,
		       __u32 block_size, __u32 blocks, __u64 defs_size)
{
	h->nr_cpus = nr_cpus;
	h->block_size = block_size;
	h->blocks = blocks;
	h->data_size = (__u64)block_size * blocks;
	h->cpu_state_offset = CPU_STATE_OFFSET;
	h->defs_offset = page_align(CPU_STATE_OFFSET + nr_cpus);
	h->defs_size = defs_size;
	h->consumer_offset = page_align(h->defs_offset + h->defs_size);
	h->ring_offset = h->consumer_offset + (__u64)nr_cpus * TSCT_PAGE_SIZE;
	h->ring_stride = TSCT_PAGE_SIZE + h->data_size;
	h->file_size = h->ring_offset + nr_cpus * h->ring_stride;
}

/* Returns the memory of a channel, bytes, including @defs_room bytes for
 * definitions and the rings of the online CPUs. */
static __u64 memory_of(const struct tsct_store *store, const struct tsct_channel_header *h,
		       __u64 defs_room)
{
	cpu_set_t cpus;
	__u64 whole;

	tsct_cpus_usable(is_embedded(store), &cpus);
	whole = min((__u64)CPU_COUNT(&cpus), h->nr_cpus);
	return h->ring_offset - h->defs_size + defs_room + whole * h->ring_stride +
		(h->nr_cpus - whole) * RING_HEAD_SIZE;
}

/* Returns the memory of a new channel, bytes. */
static __u64 channel_size(const struct tsct_store *store,
			  const struct tsct_channel_create *create)
{
	struct tsct_channel_header h;

	set_layout(&h, store->nr_cpus, create->block_size, create->blocks, DEFS_SIZE);
	return memory_of(store, &h, TSCT_DEFS_SIZE);
}

static int allocate_range(int fd, __u64 offset, __u64 len)
{
	return TEMP_FAILURE_RETRY(fallocate(fd, 0, offset, len)) < 0 ? -ENOMEM : 0;
}

/*
 * Allocates all but the rings. Of each ring, allocates only the counters and the first block's
 * header, which readers access while the ring is empty. The channel's creator
 * allocates the rest.
 */
static int allocate_head(const struct tsct_store_channel *channel)
{
	const struct tsct_channel_header *h = &channel->header;
	__u32 cpu;
	int err;

	err = allocate_range(channel->memfd, 0, h->defs_offset + channel->defs_room) ?:
		allocate_range(channel->memfd, h->consumer_offset,
			       h->ring_offset - h->consumer_offset);
	for (cpu = 0; !err && cpu < h->nr_cpus; cpu++)
		err = allocate_range(channel->memfd, h->ring_offset + cpu * h->ring_stride,
				     RING_HEAD_SIZE);
	return err;
}

static int map_memfd(struct tsct_store_channel *channel)
{
	channel->map = mmap(NULL, channel->header.file_size, PROT_READ | PROT_WRITE,
			    MAP_SHARED, channel->memfd, 0);
	if (channel->map == MAP_FAILED) {
		channel->map = NULL;
		return -errno;
	}
	return 0;
}

static int make_memfd(struct tsct_store_channel *channel)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	const __u64 size = channel->header.file_size;
	int err;

	channel->memfd = memfd_create("tsctrace", MFD_CLOEXEC |
				      MFD_ALLOW_SEALING);
	if (channel->memfd < 0 || ftruncate(channel->memfd, size) < 0)
		return -errno;
	err = allocate_head(channel);
	if (err)
		return err;
	if (fcntl(channel->memfd, F_ADD_SEALS, seals) < 0)
		return -errno;
	return map_memfd(channel);
}

static struct tsct_producer *
producer_of(const struct tsct_store_channel *channel, __u32 cpu)
{
	const struct tsct_channel_header *h = &channel->header;

	return (void *)(channel->map + h->ring_offset + cpu * h->ring_stride);
}

static void *data_of(const struct tsct_store_channel *channel, __u32 cpu)
{
	return (char *)producer_of(channel, cpu) + TSCT_PAGE_SIZE;
}

/* @defs_room: bytes of the definitions' area for which memory is to be allocated */
static struct tsct_store_channel *alloc_channel(__u64 defs_room)
{
	struct tsct_store_channel *channel = calloc(1, sizeof(*channel));

	if (!channel)
		return NULL;
	/* Without random numbers, a client could choose definitions with equal hashes. */
	if (getrandom(&channel->secret, sizeof(channel->secret), GRND_NONBLOCK) < 0)
		channel->secret = (uintptr_t)channel;
	channel->memfd = -1;
	channel->defs_room = defs_room;
	channel->defs = malloc(defs_room);
	if (channel->defs)
		return channel;
	free(channel);
	return NULL;
}

/*
 * Makes a channel that is READY on all possible CPUs. @create: validated by the
 * caller. Returns 0 or -errno.
 */
static int make_channel(const struct tsct_store *store, __u32 id, uid_t uid,
			const struct tsct_channel_create *create,
			struct tsct_store_channel **ret_channel)
{
	struct tsct_store_channel *channel = alloc_channel(TSCT_DEFS_SIZE);
	struct tsct_channel_header *h;
	struct rlimit limit;
	__u32 cpu;
	int err;

	if (!channel)
		return -ENOMEM;
	h = &channel->header;
	*h = (struct tsct_channel_header) {
		.magic = TSCT_CHANNEL_MAGIC, .size = sizeof(*h), .id = id, .uid = uid,
		.policy = create->policy, .flags = create->flags, .source = store->source,
	};
	memcpy(h->name, create->name, strlen(create->name));
	set_layout(h, store->nr_cpus, create->block_size, create->blocks, DEFS_SIZE);
	/* If the file would exceed the file size limit, uses a small definitions' area. */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && h->file_size > limit.rlim_cur)
		set_layout(h, store->nr_cpus, create->block_size, create->blocks,
			   TSCT_DEFS_SIZE);
	channel->bytes = memory_of(store, h, channel->defs_room);
	err = make_memfd(channel);
	if (err) {
		tsct_store_channel_free(channel);
		return err;
	}
	for (cpu = 0; cpu < h->nr_cpus; cpu++)
		tsct_ring_init(producer_of(channel, cpu), data_of(channel, cpu));
	memset(channel->map + CPU_STATE_OFFSET, TSCT_CPU_READY, h->nr_cpus);
	memcpy(channel->map, h, sizeof(*h));
	*ret_channel = channel;
	return 0;
}

/* ---- memory that is given back after a restart ---------------------------- */

/* Copies the header from a memfd, and checks it. Returns 0 or -EPROTO. */
static int peek_header(int memfd, struct tsct_channel_header *ret_header)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW, fixed = F_SEAL_WRITE |
		F_SEAL_FUTURE_WRITE;
	int has = fcntl(memfd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	/* Accept only a memfd that cannot be truncated: access beyond its end raises SIGBUS. */
	if (has < 0 || (has & seals) != seals || has & fixed || fstat(memfd, &st) ||
	    fstatfs(memfd, &fs) || fs.f_type != TMPFS_MAGIC ||
	    pread(memfd, ret_header, sizeof(*ret_header), 0) != sizeof(*ret_header) ||
	    tsct_channel_check(ret_header, st.st_size))
		return -EPROTO;
	return 0;
}

/* Returns the bytes of definitions that a header states, rounded up to whole TSCT_DEFS_SIZE. */
static __u64 room_for_defs(const struct tsct_channel_header *h)
{
	const __u64 used = h->defs_used < h->defs_size ? h->defs_used : h->defs_size;

	return used ? (used + TSCT_DEFS_SIZE - 1) / TSCT_DEFS_SIZE * TSCT_DEFS_SIZE :
		TSCT_DEFS_SIZE;
}

/* Returns the number of the definition @def; or -1, and an unused key in ret_key. */
static __s64 find_def(const struct tsct_store_channel *channel,
		      const struct tsct_event_def *def, __u64 ret_key[2])
{
	const __u64 *number;

	ret_key[0] = tsct_hash_event_def(channel->secret, def);
	for (ret_key[1] = 0; ; ret_key[1]++) {
		number = tsct_index_get(&channel->known, ret_key[0], ret_key[1]);
		if (!number)
			return -1;
		if (tsct_event_def_equal((void *)(channel->defs + channel->def_at[*number - 1]),
					 def))
			return (__s64)*number - 1;
	}
}

/* Gives the next number to the definition at offset @at of channel->defs. Returns 0 or -ENOMEM. */
static int number_def(struct tsct_store_channel *channel, __u32 at, const __u64 key[2])
{
	if (!tsct_array_next(&channel->def_at, channel->nr_defs, sizeof(at)) ||
	    !tsct_index_put(&channel->known, key[0], key[1], channel->nr_defs + 1))
		return -ENOMEM;
	channel->def_at[channel->nr_defs++] = at;
	return 0;
}

/* Copies the definitions from the memory, up to the first invalid definition.
 * Returns 0 or -ENOMEM. */
static int adopt_defs(struct tsct_store_channel *channel)
{
	struct tsct_channel_header *h = &channel->header;
	const struct tsct_event_def *def;
	__u64 used = h->defs_used < channel->defs_room ? h->defs_used : channel->defs_room;
	size_t pos = 0, end = 0;
	__u64 key[2];
	int err;

	memcpy(channel->defs, channel->map + h->defs_offset, used);
	while ((def = tsct_event_def_next(channel->defs, used, pos, &pos, &err))) {
		if (tsct_event_def_id(def) != TSCT_ID_FIRST + channel->nr_defs ||
		    find_def(channel, def, key) >= 0)
			break;
		if (number_def(channel, (__u32)end, key))
			return -ENOMEM;
		end = pos;
	}
	h->defs_used = end;
	return 0;
}

/*
 * Makes a channel from a memfd that other processes can write to. @header: result of
 * peek_header(), in which the caller has set the channel's identity (id, uid, name,
 * flags). Geometry and definitions are taken from the memfd, whose content may be hostile.
 * Returns 0; -EPROTO: @memfd is not the memory of a channel of this machine; or another -errno.
 */
static int adopt_memory(const struct tsct_store *store, int memfd,
			const struct tsct_channel_header *header,
			struct tsct_store_channel **ret_channel)
{
	struct tsct_channel_header layout = *header;
	struct tsct_store_channel *channel;
	struct tsct_channel_header *h;
	int err;

	set_layout(&layout, store->nr_cpus, header->block_size, header->blocks,
		   header->defs_size);
	if (memcmp(&layout, header, sizeof(layout)) || header->defs_size > DEFS_SIZE ||
	    !header->defs_size || header->defs_size % TSCT_DEFS_SIZE)
		return -EPROTO;
	channel = alloc_channel(room_for_defs(header));
	if (!channel)
		return -ENOMEM;
	h = &channel->header;
	*h = *header;
	channel->bytes = memory_of(store, h, channel->defs_room);
	channel->memfd = fcntl(memfd, F_DUPFD_CLOEXEC, 3);
	err = (channel->memfd < 0 ? -errno : allocate_head(channel)) ?:
		map_memfd(channel) ?: adopt_defs(channel);
	if (err) {
		tsct_store_channel_free(channel);
		return err;
	}
	h->size = sizeof(*h);
	memset(h->name, 0, sizeof(h->name));
	memcpy(h->name, header->name, strlen(header->name));
	memcpy(channel->map, h, sizeof(*h));
	memset(channel->map + h->cpu_state_offset, TSCT_CPU_READY, h->nr_cpus);
	*ret_channel = channel;
	return 0;
}

void tsct_store_channel_free(struct tsct_store_channel *channel)
{
	if (channel->map)
		munmap(channel->map, channel->header.file_size);
	if (channel->memfd >= 0)
		close(channel->memfd);
	free(channel->defs);
	free(channel->def_at);
	tsct_index_free(&channel->known);
	free(channel);
}

/* Fills in the statistics of the ring of CPU @figures->cpu, which is below nr_cpus. */
static void ring_figures(const struct tsct_store_channel *channel,
			 struct tsct_channel_cpu *figures)
{
	const struct tsct_channel_header *h = &channel->header;
	const __u32 cpu = figures->cpu;
	const struct tsct_producer *producer = producer_of(channel, cpu);
	const struct tsct_geometry geo = {
		.data_size = h->data_size, .block_size = h->block_size,
		.policy = h->policy,
	};
	const struct tsct_consumer *consumer =
		(void *)(channel->map + h->consumer_offset +
			 (size_t)cpu * TSCT_PAGE_SIZE);

	*figures = (struct tsct_channel_cpu) { .id = h->id, .cpu = cpu };
	tsct_ring_describe(&geo, producer, consumer, data_of(channel, cpu), figures);
}

/*
 * Fills in a channel's description. The statistics are from the rings: clients
 * can falsify them.
 */
static void describe_channel(const struct tsct_store_channel *channel,
			     struct tsct_channel_info *ret_info)
{
	const struct tsct_channel_header *h = &channel->header;
	struct tsct_channel_cpu ring = { 0 };

	tsct_channel_describe(h, ret_info);
	if (!channel->kept)
		ret_info->flags &= ~TSCT_CHANNEL_KEEP;
	ret_info->holders = channel->holders;
	ret_info->consumers = channel->consumers;
	ret_info->bytes = channel->bytes;
	for (; ring.cpu < h->nr_cpus; ring.cpu++) {
		ring_figures(channel, &ring);
		tsct_channel_describe_ring(ret_info, &ring);
	}
}

/* ---- the store ----------------------------------------------------------- */

/*
 * All channels together may have a quarter of the memory that the process may use; an eighth
 * of that quarter is only for root. The channels of one user may have an eighth of the
 * memory, at most 1 GiB (above 256 CPUs: 4 MiB per CPU). In an embedded server, channels may
 * have half of the memory, because the recorder has chosen or checked their sizes.
 */
void tsct_store_init(struct tsct_store *store, const char *kind, __u32 source)
{
	const __u64 memory = tsct_memory_usable();
	const bool embedded = !strcmp(kind, "embedded");
	const __u64 user_max = memory / (embedded ? 2 : 8);
	size_t len = strnlen(kind, sizeof(store->kind) - 1);

	memset(store, 0, sizeof(*store));
	TAILQ_INIT(&store->channels);
	memcpy(store->kind, kind, len);
	store->source = source;
	store->nr_cpus = tsct_cpus_possible();
	store->channels_max = TSCT_STORE_CHANNELS_MAX;
	store->channels_user_max = TSCT_STORE_CHANNELS_MAX / 4;
	store->bytes_max = memory / (embedded ? 2 : 4);
	store->bytes_user_max = tsct_user_bytes_default(store->nr_cpus);
	store->bytes_user_max = max(store->bytes_user_max, USER_BYTES_MAX);
	store->bytes_user_max = min(store->bytes_user_max, user_max);
}

static bool may_access(const struct tsct_store_peer *peer,
		       const struct tsct_store_channel *channel)
{
	return !peer->uid || peer->uid == channel->header.uid;
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

__u64 tsct_store_reserve(const struct tsct_store *store, __u64 limit)
{
	return is_embedded(store) ? 0 : limit / 8;
}

/* Returns up to how much of @limit, a limit of all users together, user @uid may use. */
static __u64 limit_for(const struct tsct_store *store, uid_t uid, __u64 limit)
{
	return uid ? limit - tsct_store_reserve(store, limit) : limit;
}

/* Checks whether a channel of @uid may have @bytes more memory, which count to
 * the limit of user @payer. Returns 0 or -EDQUOT. */
static int check_bytes(const struct tsct_store *store, uid_t uid, uid_t payer, __u64 bytes)
{
	const __u64 max = limit_for(store, uid, store->bytes_max);
	const struct tsct_store_channel *channel;
	__u64 user_bytes = 0;

	TAILQ_FOREACH(channel, &store->channels, list)
		if (channel->payer == payer)
			user_bytes += channel->bytes;
	return store->bytes > max || bytes > max - store->bytes ||
		user_bytes + bytes > store->bytes_user_max ? -EDQUOT : 0;
}

/* Counts memory that was allocated because a client wrote to parts of the file
 * without memory, such as the definitions' area. */
static void count_written(struct tsct_store *store, struct tsct_store_channel *channel)
{
	struct stat st;
	__u64 bytes;

	bytes = fstat(channel->memfd, &st) ? 0 : (__u64)st.st_blocks * 512;
	if (bytes <= channel->bytes)
		return;
	store->bytes += bytes - channel->bytes;
	channel->bytes = bytes;
}

static int check_limits(struct tsct_store *store, uid_t uid, __u64 bytes)
{
	struct tsct_store_channel *channel;
	const uid_t payer = tsct_payer(uid);
	__u32 nr = 0;

	TAILQ_FOREACH(channel, &store->channels, list) {
		if (channel->payer != payer)
			continue;
		nr++;
		count_written(store, channel);
	}
	if (store->nr_channels >= limit_for(store, uid, store->channels_max) ||
	    nr >= store->channels_user_max)
		return -EDQUOT;
	return check_bytes(store, uid, payer, bytes);
}

/* ---- definitions ----------------------------------------------------------- */

/* Allocates memory for more of the definitions' area. Returns 0 or -ENOSPC. */
static int grow_defs(struct tsct_store *store, struct tsct_store_channel *channel)
{
	const struct tsct_channel_header *h = &channel->header;
	char *more;

	if (channel->defs_room >= h->defs_size || check_bytes(store, h->uid, channel->payer,
								   TSCT_DEFS_SIZE))
		return -ENOSPC;
	more = realloc(channel->defs, channel->defs_room + TSCT_DEFS_SIZE);
	if (!more)
		return -ENOSPC;
	channel->defs = more;
	if (allocate_range(channel->memfd, h->defs_offset + channel->defs_room, TSCT_DEFS_SIZE))
		return -ENOSPC;
	channel->defs_room += TSCT_DEFS_SIZE;
	channel->bytes += TSCT_DEFS_SIZE;
	store->bytes += TSCT_DEFS_SIZE;
	return 0;
}

/* Finds or appends a definition and sets def->id. Returns 0 or -ENOSPC. */
static int define_in_channel(struct tsct_store *store, struct tsct_store_channel *channel,
			     struct tsct_event_def *def)
{
	struct tsct_channel_header *mapped = (void *)channel->map;
	struct tsct_channel_header *h = &channel->header;
	const __u32 max = h->flags & TSCT_CHANNEL_KERNEL ? KERNEL_ID_MAX : TSCT_ID_WIDE_MAX;
	__s64 number;
	__u64 key[2];

	number = find_def(channel, def, key);
	tsct_event_def_set_id(def, TSCT_ID_FIRST + (number < 0 ? channel->nr_defs : number));
	if (number >= 0)
		return 0;
	if (tsct_event_def_id(def) > max || (def->size > channel->defs_room - h->defs_used &&
					     grow_defs(store, channel)))
		return -ENOSPC;
	memcpy(channel->defs + h->defs_used, def, def->size);
	if (number_def(channel, (__u32)h->defs_used, key))
		return -ENOSPC;
	memcpy(channel->map + h->defs_offset + h->defs_used, def, def->size);
	h->defs_used += def->size;
	/* release: pairs with the acquire in tsct_channel_defs() */
	__atomic_store_n(&mapped->defs_used, h->defs_used, __ATOMIC_RELEASE);
	return 0;
}

/* Returns true if @roles has the READ role, but the channel already has the one consumer that
 * the discard policy allows. */
static bool has_consumer(const struct tsct_store_channel *channel, __u32 roles)
{
	return roles & TSCT_ROLE_READ && channel->consumers &&
		channel->header.policy == TSCT_POLICY_DISCARD;
}

static void bind_peer(struct tsct_store_peer *peer,
		      struct tsct_store_channel *channel, __u32 roles, __u32 *ret_id)
{
	*ret_id = channel->header.id;
	peer->channel = channel;
	peer->roles = roles;
	channel->holders++;
	channel->consumers += !!(roles & TSCT_ROLE_READ);
	channel->was_read |= !!(roles & TSCT_ROLE_READ);
}

/* ---- channels that survive the provider ---------------------------------- */

/* Reports a channel to the fd store. @kept: whether to keep the channel at a restart */
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

/* Adds a channel to the list, which is in the order of ids, for TSCT_IOC_CHANNEL_NEXT. */
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
	store->last_id = max(store->last_id, channel->header.id);
	channel->kept = !!(channel->header.flags & TSCT_CHANNEL_KEEP);
	channel->payer = tsct_payer(channel->header.uid);
	store->nr_channels++;
	store->bytes += channel->bytes;
}

int tsct_store_restore(struct tsct_store *store, const char *label, int memfd)
{
	struct tsct_store_channel *channel;
	struct tsct_channel_header h;
	unsigned int id, uid;
	char name[TSCT_NAME_MAX] = "";
	int end = 0, err;

	if (sscanf(label, "channel-%u-%u-%31s%n", &id, &uid, name, &end) != 3 ||
	    label[end] || !id || id == ~0U || !tsct_channel_name_valid(name))
		return -EPROTO;
	if (find_by_id(store, id) || find_by_name(store, uid, name))
		return -EEXIST;
	err = peek_header(memfd, &h) ?:
		check_limits(store, uid, memory_of(store, &h, room_for_defs(&h)));
	h.id = id;
	h.uid = uid;
	h.flags = TSCT_CHANNEL_KEEP;
	memcpy(h.name, name, sizeof(h.name));
	if (!err)
		err = adopt_memory(store, memfd, &h, &channel);
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
 * Makes a channel from memory that a client sent. The client may have written the
 * header, but only values that a client may also choose for a new channel are used.
 */
static int take_memory(struct tsct_store *store, const struct tsct_store_peer *peer,
		       int fd, struct tsct_store_channel **ret_channel)
{
	struct tsct_channel_header h;
	int err = peek_header(fd, &h);

	if (err)
		return err;
	if (h.uid != peer->uid)
		return -EACCES;
	if (!tsct_channel_name_valid(h.name))
		return -EPROTO;
	if (find_by_name(store, peer->uid, h.name))
		return -EEXIST;
	err = check_limits(store, peer->uid, memory_of(store, &h, room_for_defs(&h)));
	/* The channel gets its former id again, unless the id is high and may be
	 * invented by the client: as later ids are higher, ids would run out. */
	if (h.id > FORMER_ID_MAX || find_by_id(store, h.id))
		h.id = store->last_id + 1;
	if (!err && !h.id)
		err = -EDQUOT;
	h.flags &= TSCT_CHANNEL_KEEP;
	if (!err)
		err = adopt_memory(store, fd, &h, ret_channel);
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

	if (!arg->roles || arg->roles & INVALID_ROLES || fd < 0)
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
	bind_peer(peer, channel, arg->roles, &arg->id);
	return 0;
}

static int create_channel(struct tsct_store *store, struct tsct_store_peer *peer,
			  struct tsct_channel_create *arg, int *ret_fd)
{
	const __u32 flags = TSCT_CHANNEL_KERNEL | TSCT_CHANNEL_KEEP;
	struct tsct_store_channel *channel = NULL;
	int err;

	if (!tsct_channel_name_valid(arg->name) || !arg->roles ||
	    arg->roles & INVALID_ROLES ||
	    arg->defs_size % TSCT_PAGE_SIZE || arg->defs_size > TSCT_DEFS_SIZE_MAX ||
	    arg->flags & ~flags ||
	    tsct_geometry_check(arg->policy, arg->block_size, arg->blocks))
		return -EINVAL;
	/*
	 * The kernel cannot write to a memfd. Only a recorder with an embedded
	 * server writes kernel events to such a channel, which it has created
	 * (tools/wings/kernel/bpf_rings.c).
	 */
	if (arg->flags & TSCT_CHANNEL_KERNEL && !is_embedded(store))
		return -EOPNOTSUPP;
	if (peer->channel)
		return -EBUSY;
	if (find_by_name(store, peer->uid, arg->name))
		return -EEXIST;
	err = check_limits(store, peer->uid,
			     channel_size(store, arg));
	if (!err && store->last_id == ~0U)
		err = -EDQUOT;
	if (!err)
		err = make_channel(store, store->last_id + 1, peer->uid, arg, &channel);
	if (err)
		return err;
	/*
	 * Ids of new channels only increase, so that TSCT_IOC_CHANNEL_NEXT can
	 * list channels while channels are created and removed.
	 */
	insert_channel(store, channel);
	if (channel->kept)
		report_kept(store, channel, true);
	bind_peer(peer, channel, arg->roles, &arg->id);
	*ret_fd = channel->memfd;
	return 0;
}

static int attach_peer(struct tsct_store *store, struct tsct_store_peer *peer,
		       struct tsct_channel_attach *arg, int *ret_fd)
{
	const uid_t uid = arg->uid == TSCT_UID_SELF ? peer->uid : arg->uid;
	struct tsct_store_channel *channel;

	if (!arg->roles || arg->roles & INVALID_ROLES)
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
	bind_peer(peer, channel, arg->roles, &arg->id);
	*ret_fd = channel->memfd;
	return 0;
}

static int next_channel(const struct tsct_store *store,
			const struct tsct_store_peer *peer,
			struct tsct_channel_info *arg)
{
	const struct tsct_store_channel *channel;

	TAILQ_FOREACH(channel, &store->channels, list)
		if (channel->header.id > arg->id && may_access(peer, channel))
			break;
	if (!channel)
		return -ENOENT;
	describe_channel(channel, arg);
	return 0;
}

static int cpu_figures(const struct tsct_store *store,
		       const struct tsct_store_peer *peer,
		       struct tsct_channel_cpu *arg)
{
	const struct tsct_store_channel *channel = find_by_id(store, arg->id);

	if (arg->reserved0)
		return -EINVAL;
	if (!channel || !may_access(peer, channel))
		return -ENOENT;
	if (arg->cpu >= channel->header.nr_cpus)
		return -EINVAL;
	ring_figures(channel, arg);
	return 0;
}

/* Adds the channel's events to @unread if the channel was never read. */
static void add_unread(const struct tsct_store_channel *channel,
		       struct tsct_store_unread *unread)
{
	struct tsct_channel_info info;

	if (channel->was_read)
		return;
	describe_channel(channel, &info);
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

/* Frees a channel. @reclaim: free the memory even if processes keep the memfd */
static void drop_channel(struct tsct_store *store,
			 struct tsct_store_channel *channel, bool reclaim)
{
	add_unread(channel, &store->unread);
	TAILQ_REMOVE(&store->channels, channel, list);
	store->nr_channels--;
	store->bytes -= channel->bytes;
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
	/* Clear the flag in the memory, too: a program that maps the channel returns
	 * the memory after a restart, and then the channel must not be kept again. */
	((struct tsct_channel_header *)(void *)channel->map)->flags &= ~TSCT_CHANNEL_KEEP;
	if (!channel->holders)
		drop_channel(store, channel, true);
	return 0;
}

static int define_event(struct tsct_store *store, const struct tsct_store_peer *peer,
			struct tsct_event_def *def)
{
	__u32 id;
	int err;

	if (!peer->channel)
		return -ENOTCONN;
	if (tsct_event_def_id(def) || tsct_event_def_check(def, sizeof(*def)))
		return -EINVAL;
	err = define_in_channel(store, peer->channel, def);
	id = tsct_event_def_id(def);
	/* Clients that do not know wide ids interpret TSCT_ID_WIDE as an error. */
	if (!err && id > TSCT_ID_MAX) {
		def->id = TSCT_ID_WIDE;
		def->size = (__u16)id;
		def->id_high = (__u16)(id >> 16);
	}
	return err;
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
	ret_info->bytes_reserved = tsct_store_reserve(store, store->bytes_max);
	return 0;
}

/*
 * Converts an argument of @size bytes, of an older or newer client, to the size that the
 * request @known has here. Returns 0, or -E2BIG: the client uses fields that are unknown here.
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
	const struct tsct_request_type *type;
	int err;

	*ret_fd = -1;
	err = tsct_request_find(cmd, &type);
	if (!err && size != _IOC_SIZE(cmd))
		err = -EINVAL;
	if (err)
		return err;
	err = convert_argument(type->cmd, arg, size) ?: tsct_request_check(type, arg);
	switch (type->cmd) {
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
		return err ?: define_event(store, peer, arg);
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
		/* Keeps the memory of a kept channel if the fd store holds the memfd. */
		if (!channel->holders)
			drop_channel(store, channel,
				     !channel->kept || !store->fd_store.keep);
	}
}
