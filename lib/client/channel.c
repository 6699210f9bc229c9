// SPDX-License-Identifier: MIT
/* A handle of a channel: requests to the provider, properties of the channel, error text */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <tsctrace/version.h>

#include "channel.h"

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
	return channel->request ? channel->request(channel, cmd, arg) : -ENODEV;
}

const char *tsct_channel_socket_path(const struct tsct_channel *channel)
{
	return channel->socket_path;
}

int tsct_channel_fd(const struct tsct_channel *channel)
{
	return channel->fd;
}

/* Rejects an id that is not above the last one: a broken provider could repeat its ids, and
 * so keep the caller in a loop for ever. */
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
	*ret_stat = (struct tsct_channel_cpu) { .id = id, .cpu = cpu };
	return tsct_channel_request(channel, TSCT_IOC_CHANNEL_CPU, ret_stat);
}

int tsct_channel_remove(struct tsct_channel *channel, __u32 id)
{
	struct tsct_channel_remove arg = { .id = id };

	return tsct_channel_request(channel, TSCT_IOC_CHANNEL_REMOVE, &arg);
}

__u64 tsct_channel_head_size(const struct tsct_channel_header *h)
{
	const __u64 size = (h->defs_offset + TSCT_DEFS_SIZE + TSCT_PAGE_SIZE - 1) &
		~(__u64)(TSCT_PAGE_SIZE - 1);

	return size < h->consumer_offset ? size : h->consumer_offset;
}

/* Maps the whole definition area when it is first used, because few programs use it, and a program
 * that locks all its memory has to provide memory for all of it. Returns NULL on failure. */
static const char *map_defs(struct tsct_channel *channel)
{
	const __u64 size = channel->header.consumer_offset;
	char *map = __atomic_load_n(&channel->defs_map, __ATOMIC_ACQUIRE), *other = NULL;

	if (map)
		return map;
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, channel->map_fd, 0);
	if (map == MAP_FAILED)
		return NULL;
	if (__atomic_compare_exchange_n(&channel->defs_map, &other, map, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return map;
	munmap(map, size);	/* another thread has mapped it */
	return other;
}

const void *tsct_channel_defs(struct tsct_channel *channel, size_t *ret_size)
{
	const struct tsct_channel_header *header = (void *)channel->head_map;
	const struct tsct_channel_header *const h = &channel->header;
	const __u64 mapped = tsct_channel_head_size(h) - h->defs_offset;
	/* acquire: pairs with the provider's release of defs_used: the definitions in the
	 * first defs_used bytes are complete */
	__u64 used = __atomic_load_n(&header->defs_used, __ATOMIC_ACQUIRE);
	const char *map = used > mapped ? map_defs(channel) : NULL;
	const __u64 max = map ? h->defs_size : mapped;

	*ret_size = used < max ? used : max;
	return (map ? map : channel->head_map) + h->defs_offset;
}

__u64 tsct_channel_lost_no_ring(const struct tsct_channel *channel)
{
	const struct tsct_channel_header *header = (void *)channel->head_map;

	return __atomic_load_n(&header->lost_no_ring, __ATOMIC_RELAXED);
}

/* ---- handles --------------------------------------------------------------- */

const __u32 tsct_no_mark = 0;

/* Marks the ids of all threads as unknown, so that no event takes the fast path. */
void tsct_emit_disable_fast(struct tsct_channel *channel)
{
	__atomic_store_n(&channel->fast.fork_mark, &tsct_no_mark, __ATOMIC_RELAXED);
}

struct tsct_channel *tsct_channel_new(void)
{
	struct tsct_channel *channel =
		aligned_alloc(64, (sizeof(*channel) + 63) & ~63UL);

	if (!channel)
		return NULL;
	memset(channel, 0, sizeof(*channel));
	channel->fd = channel->map_fd = -1;
	tsct_emit_disable_fast(channel);
	pthread_mutex_init(&channel->lock, NULL);
	pthread_mutex_init(&channel->ids_lock, NULL);
	return channel;
}

struct tsct_channel *tsct_channel_wide(struct tsct_channel *channel, unsigned int high)
{
	struct tsct_channel **wide = &channel->wide[high];

	if (!*wide) {
		*wide = tsct_channel_new();
		if (*wide) {
			(*wide)->target = channel;
			(*wide)->id_high = high;
		}
	}
	return *wide;
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

/* Each offset of the header is checked before it is used in a sum, so no sum can wrap. */
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

/* ---- error texts ------------------------------------------------------- */

void tsct_channel_add_error(struct tsct_channel *channel, const char *format, ...)
{
	const size_t size = sizeof(channel->error);
	size_t used = strlen(channel->error);
	va_list args;

	if (used)
		used += snprintf(channel->error + used, size - used, TSCT_NEXT_REASON);
	if (used >= size)
		return;
	va_start(args, format);
	vsnprintf(channel->error + used, size - used, format, args);
	va_end(args);
}

int tsct_channel_explain(struct tsct_channel *channel, const struct tsct_reason *reason,
			 const char *path, const char *server, int err)
{
	while (reason->err && reason->err != err)
		reason++;
	if (!reason->err) {
		tsct_channel_add_error(channel, "%s: %s", path, strerror(-err));
		return err;
	}
	tsct_channel_add_error(channel, "%s: %s%s%s", path, reason->text,
			       reason->after ? server : "", reason->after ?: "");
	return reason->ret ?: err;
}
