// SPDX-License-Identifier: MIT
/* A channel of a provider: make or find it, check it, map it, define events. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/core/event_def.h"
#include "channel.h"
#include "lib/clock/tsc_check.h"
#include "gettime.h"

/* Somebody may delete a channel between our look and our attach */
#define BIND_TRIES		8

static bool is_page_aligned(__u64 offset)
{
	return offset % TSCT_PAGE_SIZE == 0;
}

static int check_values(const struct tsct_channel_header *h)
{
	if (h->magic != TSCT_CHANNEL_MAGIC || h->size < sizeof(*h) ||
	    h->size > TSCT_PAGE_SIZE)
		return -EINVAL;
	if (!memchr(h->name, 0, sizeof(h->name)) || !h->id)
		return -EINVAL;
	if (tsct_geometry_check(h->policy, h->block_size, h->blocks))
		return -EINVAL;
	if (h->data_size != (__u64)h->block_size * h->blocks)
		return -EINVAL;
	if (!h->nr_cpus || h->nr_cpus > TSCT_CPUS_MAX)
		return -EINVAL;
	return h->source < TSCT_SOURCE_NR ? 0 : -EINVAL;
}

/* Each offset is bounded before it is added to, so nothing can wrap. */
int tsct_channel_check(const struct tsct_channel_header *h, __u64 file_size)
{
	const __u64 cpus = h->nr_cpus, most = 1ULL << 44;

	if (check_values(h))
		return -EINVAL;
	if (h->file_size > most || h->ring_stride > most / TSCT_CPUS_MAX ||
	    (file_size && h->file_size != file_size))
		return -EINVAL;
	if (!is_page_aligned(h->consumer_offset) ||
	    !is_page_aligned(h->ring_offset) ||
	    !is_page_aligned(h->ring_stride) ||
	    !is_page_aligned(h->file_size) || h->defs_offset % 8)
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

/* A memfd that can shrink could raise SIGBUS in us: we take none such. */
static int check_memfd(const struct tsct_channel *t, __u64 *ret_size)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW;
	struct stat st;

	*ret_size = 0;
	if (t->map_fd == t->fd)
		return 0;
	if (t->map_fd < 0 || fstat(t->map_fd, &st) < 0 || !st.st_size ||
	    (fcntl(t->map_fd, F_GET_SEALS) & seals) != seals)
		return -EPROTO;
	*ret_size = st.st_size;
	return 0;
}

static int read_header(struct tsct_channel *t)
{
	__u64 size;
	void *page;
	int error;

	error = check_memfd(t, &size);
	if (error)
		return error;
	page = mmap(NULL, TSCT_PAGE_SIZE, PROT_READ, MAP_SHARED, t->map_fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	memcpy(&t->header, page, sizeof(t->header));
	munmap(page, TSCT_PAGE_SIZE);
	return tsct_channel_check(&t->header, size) ? -EPROTO : 0;
}

static int map_region(const struct tsct_channel *t, __u64 from, __u64 to,
		      bool writable, char **ret_map)
{
	int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	void *map = mmap(NULL, to - from, prot, MAP_SHARED, t->map_fd, from);

	if (map == MAP_FAILED)
		return -errno;
	*ret_map = map;
	return 0;
}

static int map_all(struct tsct_channel *t)
{
	const struct tsct_channel_header *h = &t->header;
	int error;

	error = map_region(t, 0, h->consumer_offset, false, &t->head_map);
	if (!error)
		error = map_region(t, h->consumer_offset, h->ring_offset,
				   t->roles & TSCT_ROLE_READ, &t->consumer_map);
	if (!error)
		error = map_region(t, h->ring_offset, h->file_size,
				   t->roles & TSCT_ROLE_WRITE, &t->ring_map);
	return error;
}

void tsct_channel_unmap(struct tsct_channel *t)
{
	const struct tsct_channel_header *h = &t->header;

	if (t->head_map)
		munmap(t->head_map, h->consumer_offset);
	if (t->consumer_map)
		munmap(t->consumer_map, h->ring_offset - h->consumer_offset);
	if (t->ring_map)
		munmap(t->ring_map, h->file_size - h->ring_offset);
	t->head_map = t->consumer_map = t->ring_map = NULL;
	free(t->fast.refs);
	t->fast.refs = NULL;
}

/* What the critical section needs, from what was checked. */
static int prepare_emit(struct tsct_channel *t)
{
	const struct tsct_channel_header *h = &t->header;

	t->geo = (struct tsct_geometry) {
		.data_size = h->data_size,
		.block_size = h->block_size,
		.policy = h->policy,
	};
	t->source = h->source;
	if (!(t->roles & TSCT_ROLE_WRITE))
		return 0;
	t->fast.refs = calloc(h->nr_cpus, sizeof(*t->fast.refs));
	if (!t->fast.refs)
		return -ENOMEM;
	t->rseq = tsct_rseq_offset();
	/* Asked of any source: it decides how clocks are read, too. */
	if (tsct_tsc_forbidden() && t->source == TSCT_SOURCE_TSC)
		t->rseq = 0;
	tsct_emit_enable_fast(t);
	return 0;
}

static int attach(struct tsct_channel *t, const char *name)
{
	struct tsct_channel_attach arg = {
		.uid = TSCT_UID_SELF, .roles = t->roles,
	};

	memcpy(arg.name, name, strlen(name));
	return t->ops->ctl(t, TSCT_IOC_CHANNEL_ATTACH, &arg);
}

static int create(struct tsct_channel *t, const char *name,
		  const struct tsct_channel_options *options)
{
	struct tsct_channel_create arg = {
		.policy = options->policy,
		.flags = options->channel_flags,
		.block_size = options->block_size ?: TSCT_BLOCK_SIZE_DEFAULT,
		.blocks = options->blocks ?: TSCT_BLOCKS_DEFAULT,
		.roles = t->roles,
	};

	memcpy(arg.name, name, strlen(name));
	return t->ops->ctl(t, TSCT_IOC_CHANNEL_CREATE, &arg);
}

/* Attach or create; the other side may do the same at the same time. */
static int attach_or_create(struct tsct_channel *t, const char *name,
			    const struct tsct_channel_options *options)
{
	int tries, error = -EAGAIN;

	if (options->flags & TSCT_OPEN_CREATE)
		return create(t, name, options);
	if (options->flags & TSCT_OPEN_ATTACH)
		return attach(t, name);
	for (tries = 0; tries < BIND_TRIES; tries++) {
		error = attach(t, name);
		if (error != -ENOENT)
			break;
		error = create(t, name, options);
		if (error != -EEXIST)
			break;
	}
	return error;
}

/* Emitting needs rseq, or a kernel that writes for us. */
static const char *caveat(const struct tsct_channel *t)
{
	if (!(t->roles & TSCT_ROLE_WRITE) || t->rseq ||
	    t->provider == TSCT_PROVIDER_MODULE)
		return "";
	if (tsct_rseq_offset())
		return ", but its events will be lost, as this process may "
			"not read the TSC: see PR_SET_TSC in prctl(2)";
	return ", but its events will be lost, as this process has no rseq: "
		"needs glibc 2.35 and glibc.pthread.rseq=1";
}

static const char *channel_name(const struct tsct_channel_options *options)
{
	const char *name = options->name;

	if (!name)
		name = secure_getenv("TSCTRACE_CHANNEL");
	return name && *name ? name : "default";
}

static int map_bound(struct tsct_channel *t)
{
	int error = read_header(t);

	if (!error)
		error = map_all(t);
	if (!error)
		error = prepare_emit(t);
	if (error)
		tsct_channel_unmap(t);
	return error;
}

int tsct_channel_bind_id(struct tsct_channel *t, __u32 id, __u32 roles)
{
	const struct tsct_channel_options options = { .roles = roles };
	struct tsct_channel_attach arg = {
		.id = id, .uid = TSCT_UID_SELF, .roles = roles,
	};
	char why[TSCT_ERROR_TEXT_SIZE];
	int error;

	t->roles = roles;
	error = t->ops->ctl(t, TSCT_IOC_CHANNEL_ATTACH, &arg);
	if (!error)
		error = map_bound(t);
	if (error)
		tsct_channel_add_error(t, "%s: channel %u: %s",
			     tsct_provider_name(t->provider), id,
			     tsct_channel_explain(t, error, &options, why));
	return error;
}

int tsct_channel_bind(struct tsct_channel *t, const struct tsct_channel_options *options)
{
	const char *name = channel_name(options);
	char why[TSCT_ERROR_TEXT_SIZE];
	int error;

	/* Every provider sees it so; only we can say it in words. */
	if (!tsct_channel_name_valid(name)) {
		tsct_channel_add_error(t, "'%.64s' cannot be a channel's name; use 1 to %d "
			     "of A-Z a-z 0-9 _ . -", name, TSCT_NAME_MAX - 1);
		return -EINVAL;
	}
	t->roles = options->roles ?: TSCT_ROLE_WRITE;
	error = attach_or_create(t, name, options);
	if (!error)
		error = map_bound(t);
	if (error) {
		tsct_channel_add_error(t, "%s: channel %s: %s",
			     tsct_provider_name(t->provider), name,
			     tsct_channel_explain(t, error, options, why));
		return error;
	}
	tsct_channel_add_error(t, "channel %s of provider %s%s%s%s", name,
		     tsct_provider_name(t->provider),
		     t->socket_path ? " at " : "", t->socket_path ?: "",
		     caveat(t));
	return 0;
}

int tsct_event_define_def(struct tsct_channel *t, struct tsct_event_def *def)
{
	int error;

	if (t->provider == TSCT_PROVIDER_NONE)
		return TSCT_ID_FIRST;
	error = t->ops->ctl(t, TSCT_IOC_DEFINE, def);
	if (error)
		return error;
	return def->id < TSCT_ID_FIRST ? -EPROTO : def->id;
}

int tsct_event_define(struct tsct_channel *t, const char *name, unsigned int kind,
		const char *fields)
{
	struct tsct_event_def def;
	int error;

	if (!name)
		return -EINVAL;
	error = tsct_event_def_parse(name, kind, fields ? fields : "", &def, NULL);
	return error ? error : tsct_event_define_def(t, &def);
}
