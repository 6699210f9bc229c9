// SPDX-License-Identifier: MIT
/* The memory of a channel: a sealed memfd with the layout of tsctrace/abi.h */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/client/channel.h"
#include "lib/core/event_def.h"
#include "lib/core/ring.h"
#include "store.h"

#define CPU_STATE_OFFSET	256
#define CPU_DIR			"/sys/devices/system/cpu/"

/* Reads a CPU list such as "0-3,8" from a file. Returns false if it cannot be read. */
static bool read_cpu_list(const char *path, char *list, size_t size)
{
	FILE *file = fopen(path, "re");
	bool found = file && fgets(list, size, file);

	if (file)
		fclose(file);
	return found;
}

/* Removes one range from the front of a CPU list. Returns false at the list's end. */
static bool next_range(char **list, unsigned long *first, unsigned long *last)
{
	char *end;

	*first = *last = strtoul(*list, &end, 10);
	if (end == *list)
		return false;
	if (*end == '-')
		*last = strtoul(end + 1, &end, 10);
	*list = *end == ',' ? end + 1 : end;
	return true;
}

__u32 tsct_cpus_possible(void)
{
	unsigned long first, last = 0, highest = 0;
	char list[4096], *at = list;

	if (!read_cpu_list(CPU_DIR "possible", list, sizeof(list)))
		return sysconf(_SC_NPROCESSORS_CONF);
	while (next_range(&at, &first, &last))
		if (last > highest)
			highest = last;
	return highest + 1;
}

static __u64 page_align(__u64 value)
{
	return (value + TSCT_PAGE_SIZE - 1) & ~(__u64)(TSCT_PAGE_SIZE - 1);
}

static void set_layout(struct tsct_channel_header *h, __u32 nr_cpus,
		       __u32 block_size, __u32 blocks)
{
	h->nr_cpus = nr_cpus;
	h->block_size = block_size;
	h->blocks = blocks;
	h->data_size = (__u64)block_size * blocks;
	h->cpu_state_offset = CPU_STATE_OFFSET;
	h->defs_offset = page_align(CPU_STATE_OFFSET + nr_cpus);
	h->defs_size = TSCT_DEFS_SIZE;
	h->consumer_offset = page_align(h->defs_offset + h->defs_size);
	h->ring_offset = h->consumer_offset + (__u64)nr_cpus * TSCT_PAGE_SIZE;
	h->ring_stride = TSCT_PAGE_SIZE + h->data_size;
	h->file_size = h->ring_offset + nr_cpus * h->ring_stride;
}

__u64 tsct_store_channel_size(const struct tsct_store *store,
			      const struct tsct_channel_create *create)
{
	struct tsct_channel_header h;

	set_layout(&h, store->nr_cpus, create->block_size, create->blocks);
	return h.file_size;
}

static int allocate(int fd, __u64 offset, __u64 len)
{
	int result;

	do
		result = fallocate(fd, 0, offset, len);
	while (result < 0 && errno == EINTR);
	return result < 0 ? -ENOMEM : 0;
}

/*
 * Allocates the whole rings of online CPUs. Of the rings of other CPUs, allocates the
 * counters and the first block's header, which readers access while a ring is empty.
 */
static int allocate_rings(const struct tsct_store_channel *channel)
{
	const struct tsct_channel_header *h = &channel->header;
	unsigned long first, last, cpu;
	char list[4096], *at = list;
	int err;

	err = allocate(channel->memfd, 0, h->ring_offset);
	for (cpu = 0; !err && cpu < h->nr_cpus; cpu++)
		err = allocate(channel->memfd,
				 h->ring_offset + cpu * h->ring_stride,
				 2 * TSCT_PAGE_SIZE);
	if (err || !read_cpu_list(CPU_DIR "online", list, sizeof(list)))
		return err;
	while (!err && next_range(&at, &first, &last) && last < h->nr_cpus &&
	       first <= last)
		err = allocate(channel->memfd,
				 h->ring_offset + first * h->ring_stride,
				 (last - first + 1) * h->ring_stride);
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
	err = allocate_rings(channel);
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

int tsct_store_channel_make(const struct tsct_store *store, __u32 id,
			    uid_t uid, const struct tsct_channel_create *create,
			    struct tsct_store_channel **ret_channel)
{
	struct tsct_store_channel *channel = calloc(1, sizeof(*channel));
	struct tsct_channel_header *h;
	int err = -ENOMEM;
	__u32 cpu;

	if (!channel)
		return -ENOMEM;
	channel->memfd = -1;
	h = &channel->header;
	h->magic = TSCT_CHANNEL_MAGIC;
	h->size = sizeof(*h);
	h->id = id;
	memcpy(h->name, create->name, strlen(create->name));
	h->uid = uid;
	h->policy = create->policy;
	h->flags = create->flags;
	h->source = store->source;
	set_layout(h, store->nr_cpus, create->block_size, create->blocks);
	channel->defs = malloc(TSCT_DEFS_SIZE);
	if (channel->defs)
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

/* ---- memory that comes back ---------------------------------------------- */

int tsct_store_channel_peek(int memfd, struct tsct_channel_header *ret_header)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW, fixed = F_SEAL_WRITE |
		F_SEAL_FUTURE_WRITE;
	int has = fcntl(memfd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	/* Only the memory of a memfd is always there: pages of a file on another file
	 * system, or of one that can be truncated, may raise SIGBUS. */
	if (has < 0 || (has & seals) != seals || has & fixed || fstat(memfd, &st) ||
	    fstatfs(memfd, &fs) || fs.f_type != TMPFS_MAGIC ||
	    pread(memfd, ret_header, sizeof(*ret_header), 0) != sizeof(*ret_header) ||
	    tsct_channel_check(ret_header, st.st_size))
		return -EPROTO;
	return 0;
}

/* Copies the definitions from the memory, up to the first that is not valid. */
static void adopt_defs(struct tsct_store_channel *channel)
{
	struct tsct_channel_header *h = &channel->header;
	const struct tsct_event_def *def;
	__u64 used = h->defs_used < h->defs_size ? h->defs_used : h->defs_size;
	size_t pos = 0, end = 0;
	int err;

	memcpy(channel->defs, channel->map + h->defs_offset, used);
	while ((def = tsct_event_def_next(channel->defs, used, pos, &pos, &err))) {
		if (def->id != TSCT_ID_FIRST + channel->nr_defs)
			break;
		channel->nr_defs++;
		end = pos;
	}
	h->defs_used = end;
}

int tsct_store_channel_adopt(const struct tsct_store *store, int memfd, __u32 id,
			     uid_t uid, const char *name, __u32 flags,
			     struct tsct_store_channel **ret_channel)
{
	struct tsct_store_channel *channel = calloc(1, sizeof(*channel));
	struct tsct_channel_header *h, layout = { 0 };
	int err = -ENOMEM;

	if (!channel)
		return -ENOMEM;
	h = &channel->header;
	channel->defs = malloc(TSCT_DEFS_SIZE);
	channel->memfd = fcntl(memfd, F_DUPFD_CLOEXEC, 3);
	if (channel->defs)
		err = channel->memfd < 0 ? -errno : tsct_store_channel_peek(memfd, h);
	if (!err) {
		set_layout(&layout, store->nr_cpus, h->block_size, h->blocks);
		if (h->nr_cpus != layout.nr_cpus || h->defs_size != layout.defs_size ||
		    h->cpu_state_offset != layout.cpu_state_offset ||
		    h->defs_offset != layout.defs_offset ||
		    h->consumer_offset != layout.consumer_offset ||
		    h->ring_offset != layout.ring_offset ||
		    h->ring_stride != layout.ring_stride ||
		    h->file_size != layout.file_size)
			err = -EPROTO;
	}
	if (!err)
		err = allocate_rings(channel);
	if (!err)
		err = map_memfd(channel);
	if (err) {
		tsct_store_channel_free(channel);
		return err;
	}
	adopt_defs(channel);
	h->size = sizeof(*h);
	h->id = id;
	h->uid = uid;
	h->flags = flags;
	memset(h->name, 0, sizeof(h->name));
	memcpy(h->name, name, strlen(name));
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
	free(channel);
}

int tsct_store_channel_define(struct tsct_store_channel *channel,
			      struct tsct_event_def *def)
{
	struct tsct_channel_header *mapped = (void *)channel->map;
	struct tsct_channel_header *h = &channel->header;
	const struct tsct_event_def *known;
	size_t pos = 0;
	int err;

	while ((known = tsct_event_def_next(channel->defs, h->defs_used, pos, &pos,
					    &err))) {
		if (tsct_event_def_equal(known, def)) {
			def->id = known->id;
			return 0;
		}
	}
	if (def->size > h->defs_size - h->defs_used)
		return -ENOSPC;
	def->id = TSCT_ID_FIRST + channel->nr_defs++;
	memcpy(channel->defs + h->defs_used, def, def->size);
	memcpy(channel->map + h->defs_offset + h->defs_used, def, def->size);
	h->defs_used += def->size;
	/* release: pairs with the acquire in tsct_reader_def() */
	__atomic_store_n(&mapped->defs_used, h->defs_used, __ATOMIC_RELEASE);
	return 0;
}

void tsct_store_channel_figures(const struct tsct_store_channel *channel,
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
	struct tsct_ring_count now;
	unsigned int i;
	__u64 unread;

	unread = tsct_ring_count_unread(&geo, producer, consumer,
					data_of(channel, cpu), &now);
	*figures = (struct tsct_channel_cpu) {
		.id = h->id, .cpu = cpu, .state = TSCT_CPU_READY,
		.events = now.events, .written = now.head,
		.overwritten = now.overwritten,
	};
	if (h->policy == TSCT_POLICY_DISCARD)
		figures->unread = unread;
	for (i = 0; i < TSCT_LOST_MAX; i++)
		figures->lost[i] = READ_ONCE(producer->lost[i]);
}

void tsct_store_channel_describe(const struct tsct_store_channel *channel,
				 struct tsct_channel_info *ret_info)
{
	const struct tsct_channel_header *h = &channel->header;
	struct tsct_channel_cpu ring = { 0 };
	unsigned int i;

	*ret_info = (struct tsct_channel_info) {
		.id = h->id, .uid = h->uid, .policy = h->policy,
		.flags = channel->kept ? h->flags :
			h->flags & ~TSCT_CHANNEL_KEEP, .source = h->source,
		.block_size = h->block_size, .blocks = h->blocks,
		.nr_cpus_ready = h->nr_cpus, .holders = channel->holders,
		.consumers = channel->consumers, .bytes = h->file_size,
	};
	memcpy(ret_info->name, h->name, sizeof(h->name));
	for (; ring.cpu < h->nr_cpus; ring.cpu++) {
		tsct_store_channel_figures(channel, &ring);
		ret_info->events += ring.events;
		ret_info->written += ring.written;
		ret_info->unread += ring.unread;
		for (i = 0; i < TSCT_LOST_MAX; i++)
			ret_info->lost[i] += ring.lost[i];
	}
}
