// SPDX-License-Identifier: MIT
/*
 * Binds a handle to a channel: connects to the first provider that works, creates the channel
 * or attaches to it, checks and maps the channel's memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "gettime.h"
#include "lib/base/cpus.h"

/*
 * Maximum number of attempts to attach to a channel, or to create it if it does not exist:
 * another process may create the channel just before this process does, and remove the
 * channel before the next attempt.
 */
#define BIND_TRIES		8
#define CHILD_STACK		(256 << 10)	/* stack of a child, bytes */
#define BLOCKS_LEAST		4	/* least blocks per ring that the library chooses */
#define NO_ROOM			"no room left within the provider's limits: "

/* ---- handles ------------------------------------------------------------- */

/* Handle that tsct_channel_open() returns when there is no memory for a new handle */
static struct tsct_channel no_memory = {
	.fast.fork_mark = &tsct_no_mark,
	.fd = -1,
	.map_fd = -1,
	.error = "out of memory; events are dropped",
};

int tsct_channel_alloc(struct tsct_channel **ret_channel)
{
	struct tsct_channel *channel = tsct_channel_new();

	*ret_channel = channel ? channel : &no_memory;
	return channel ? 0 : -ENOMEM;
}

/* Disconnects from the provider. The error text and the count of dropped events remain. */
static void release_provider(struct tsct_channel *channel)
{
	const struct tsct_channel_header *h = &channel->header;

	if (channel->head_map)
		munmap(channel->head_map, tsct_channel_head_size(h));
	if (channel->defs_map)
		munmap(channel->defs_map, h->consumer_offset);
	if (channel->consumer_map)
		munmap(channel->consumer_map, h->ring_offset - h->consumer_offset);
	if (channel->ring_map)
		munmap(channel->ring_map, h->file_size - h->ring_offset);
	channel->head_map = channel->defs_map = channel->consumer_map = NULL;
	channel->ring_map = NULL;
	free(channel->fast.refs);
	channel->fast.refs = NULL;
	if (channel->map_fd >= 0 && channel->map_fd != channel->fd)
		close(channel->map_fd);
	if (channel->fd >= 0)
		close(channel->fd);
	free(channel->socket_path);
	channel->fd = channel->map_fd = -1;
	channel->socket_path = NULL;
	channel->request = NULL;
	channel->provider = TSCT_PROVIDER_NONE;
	channel->roles = 0;
	channel->rseq = 0;
	tsct_emit_disable_fast(channel);
}

void tsct_channel_free(struct tsct_channel *channel)
{
	unsigned int high;

	if (channel == &no_memory)
		return;
	release_provider(channel);
	if (channel->refusals)
		munmap(channel->refusals, TSCT_PAGE_SIZE);
	tsct_channel_ids_free(channel);
	pthread_mutex_destroy(&channel->ids_lock);
	pthread_mutex_destroy(&channel->lock);
	free(channel->opening);
	for (high = 0; high < sizeof(channel->wide) / sizeof(channel->wide[0]); high++)
		free(channel->wide[high]);
	free(channel);
}

/* ---- mapping ------------------------------------------------------------- */

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

/*
 * Maps a region that is too large to lock, in a process that locks all its memory,
 * also future mappings (mlockall): maps one page, unlocks this page, and enlarges
 * the mapping, which stays unlocked. Returns the address, or MAP_FAILED with errno.
 */
static void *map_unlocked(const struct tsct_channel *channel, __u64 from, __u64 len, int prot)
{
	void *page = mmap(NULL, TSCT_PAGE_SIZE, prot, MAP_SHARED, channel->map_fd, from), *map;

	if (page == MAP_FAILED)
		return page;
	munlock(page, TSCT_PAGE_SIZE);
	map = mremap(page, TSCT_PAGE_SIZE, len, MREMAP_MAYMOVE);
	if (map == MAP_FAILED) {
		munmap(page, TSCT_PAGE_SIZE);
		errno = EAGAIN;
	}
	return map;
}

static int map_region(const struct tsct_channel *channel, __u64 from, __u64 to,
		      bool writable, char **ret_map)
{
	int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	void *map = mmap(NULL, to - from, prot, MAP_SHARED, channel->map_fd, from);

	if (map == MAP_FAILED && errno == EAGAIN)
		map = map_unlocked(channel, from, to - from, prot);
	if (map == MAP_FAILED)
		return -errno;
	*ret_map = map;
	return 0;
}

/* Maps the counters of one ring if the rings cannot be mapped. The events of
 * this handle are counted as refused there, and the recorder reports them. */
static void map_refusals(struct tsct_channel *channel)
{
	const struct tsct_channel_header *h = &channel->header;
	void *page;

	if (!(channel->roles & TSCT_ROLE_WRITE) || !h->file_size || channel->refusals)
		return;
	page = mmap(NULL, TSCT_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, channel->map_fd,
		    h->ring_offset);
	if (page != MAP_FAILED)
		channel->refusals = page;
}

/* Maps a channel that the provider has bound to the connection. Returns 0 or -errno.
 * After an error, the caller calls release_provider(), which unmaps the mapped parts. */
static int map_bound(struct tsct_channel *channel)
{
	const struct tsct_channel_header *h = &channel->header;
	const __u32 roles = channel->roles;
	int err = read_header(channel) ?:
		map_region(channel, 0, tsct_channel_head_size(h), false, &channel->head_map) ?:
		map_region(channel, h->consumer_offset, h->ring_offset,
			   roles & TSCT_ROLE_READ, &channel->consumer_map) ?:
		map_region(channel, h->ring_offset, h->file_size,
			   roles & TSCT_ROLE_WRITE, &channel->ring_map);

	if (err)
		return err;
	tsct_channel_use_header(channel);
	if (!(roles & TSCT_ROLE_WRITE))
		return 0;
	channel->fast.refs = calloc(h->nr_cpus, sizeof(*channel->fast.refs));
	if (!channel->fast.refs)
		return -ENOMEM;
	channel->rseq = tsct_rseq_offset();
	/* tsct_tsc_forbidden() is called for channels of every source, because it also
	 * makes tsct_gettime() read clocks by system calls if the TSC is forbidden. */
	if (tsct_tsc_forbidden() && channel->source == TSCT_SOURCE_TSC)
		channel->rseq = 0;
	tsct_emit_enable_fast(channel);
	return 0;
}

/* ---- error texts ------------------------------------------------------- */

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
		return "invalid number of blocks; use a power of two from 2 (overwrite: 4) to "
			"65536, with at most 256 MiB in all blocks of a ring";
	return "rejected by the provider; use library and provider of one "
		"release";
}

static unsigned long long mib(__u64 bytes)
{
	return (bytes + (1 << 20) - 1) >> 20;
}

/* Explains in @text that @need more bytes exceed the limit @max, of which @used are in use.
 * @parameter: the module's parameter that sets the limit */
static void explain_bytes(char *text, __u64 need, const char *owner, __u64 used,
			  __u64 max, const char *raise, const char *parameter)
{
	snprintf(text, TSCT_ERROR_TEXT_SIZE, NO_ROOM "the channel needs %llu MiB, "
		 "and %s use %llu of the %llu MiB allowed; use fewer blocks, "
		 "close or remove channels%s%s", mib(need), owner, mib(used),
		 mib(max), raise, *raise ? parameter : "");
}

/* Writes to @text the limit that a failed request exceeded. The provider's channels
 * and limits are read after the failure, and may have changed since the request. */
static void explain_quota(struct tsct_channel *channel,
			  const struct tsct_channel_options *options, char *text)
{
	struct tsct_channel_info other = { 0 };
	const __u64 block = options->block_size ?: TSCT_BLOCK_SIZE_DEFAULT;
	struct tsct_info info = { 0 };
	__u64 need, mine = 0;
	__u32 my_channels = 0;
	cpu_set_t cpus;
	const char *raise = channel->provider == TSCT_PROVIDER_MODULE ?
		", or raise /sys/module/tsctrace/parameters/" : "";

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
	tsct_cpus_usable(false, &cpus);
	need = CPU_COUNT(&cpus) * (block * (options->blocks ?: TSCT_BLOCKS_DEFAULT) +
			       2 * TSCT_PAGE_SIZE) + TSCT_CHANNEL_DEFS_SIZE +
		2 * TSCT_PAGE_SIZE;
	if (need > info.bytes_user_max || mine > info.bytes_user_max - need)
		explain_bytes(text, need, "this user's channels", mine,
			      info.bytes_user_max, raise, "bytes_user_max");
	else if (need > info.bytes_max || info.bytes > info.bytes_max - need)
		explain_bytes(text, need, "all channels together", info.bytes,
			      info.bytes_max, raise, "bytes_max");
	else
		snprintf(text, TSCT_ERROR_TEXT_SIZE, NO_ROOM "this user has %u of all %llu "
			 "channels, and may have no more; close or remove channels%s%s",
			 my_channels, (unsigned long long)info.channels, raise,
			 *raise ? "channels_user_max" :
			 ", or raise the server's descriptor limit "
			 "(LimitNOFILE=, ulimit -n)");
}

/* Appends the reason for a provider's error, with advice, to the error text. Returns @err. */
static int explain_failure(struct tsct_channel *channel, int err, const char *name,
			   const struct tsct_channel_options *options)
{
	static const struct tsct_reason reasons[] = {
		{ -ENOENT, 0, "no such channel; start its writer or trace-ctl record "
			"first", NULL },
		{ -EEXIST, 0, "exists already; close it or take another name", NULL },
		{ -EACCES, 0, "belongs to another user; run as that user or as root", NULL },
		{ -EPERM, 0, "only root may create a channel that the kernel writes; "
			"run as root (or with CAP_PERFMON)", NULL },
		{ -EBUSY, 0, "has a reader already; stop that reader first", NULL },
		{ -EOPNOTSUPP, 0, "not supported by this provider; kernel channels "
			"need the module", NULL },
		{ -EAGAIN, 0, "needs more memory than may be locked, but this process locks all "
			"its memory (mlockall); raise its 'ulimit -l'", NULL },
		{ -EFBIG, 0, "larger than the file size limit of the provider (the "
			"daemon, trace-ctl record or this process); raise its 'ulimit "
			"-f'", NULL },
		{ -EMFILE, 0, TSCT_NO_DESCRIPTOR, NULL },
		{ -ENOMEM, 0, "not enough memory for its rings, or for mapping them; use fewer "
			"blocks, or raise the limits of memory (ulimit -v, cgroup)", NULL },
		{ -EPROTO, 0, "invalid answer from the provider; use library and "
			"provider of one release", NULL },
		{ 0 },
	};
	char where[TSCT_NAME_MAX + 32], text[TSCT_ERROR_TEXT_SIZE];

	snprintf(where, sizeof(where), "%s: channel %s",
		 tsct_provider_name(channel->provider), name);
	if (err != -EINVAL && err != -EDQUOT)
		return tsct_channel_explain(channel, reasons, where, NULL, err);
	if (err == -EDQUOT)
		explain_quota(channel, options, text);
	tsct_channel_add_error(channel, "%s: %s", where, err == -EDQUOT ? text :
			       explain_options(options));
	return err;
}

/* ---- binding ----------------------------------------------------------- */

/* Creates the channel. Sets *ret_blocks to the number of blocks per ring; 0: failed. */
static int create_channel(struct tsct_channel *channel, struct tsct_channel_create *create,
			  __u32 *ret_blocks)
{
	int err = tsct_channel_request(channel, TSCT_IOC_CHANNEL_CREATE, create);

	/* Earlier versions of the module accept only defs_size 0. */
	if (err == -EINVAL && create->defs_size) {
		create->defs_size = 0;
		err = tsct_channel_request(channel, TSCT_IOC_CHANNEL_CREATE, create);
	}
	*ret_blocks = err ? 0 : create->blocks;
	return err;
}

/* Attaches to the channel or creates it, as the options say. Tries again, because other
 * processes may create and remove the same channel meanwhile. Sets *ret_blocks
 * to the number of blocks per ring if the channel is new, else to 0. */
static int attach_or_create(struct tsct_channel *channel, const char *name,
			    const struct tsct_channel_options *options, __u32 *ret_blocks)
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
		.defs_size = TSCT_CHANNEL_DEFS_SIZE,
	};
	int tries, err = -EAGAIN;

	memcpy(attach.name, name, strlen(name));
	memcpy(create.name, name, strlen(name));
	*ret_blocks = 0;
	if (options->flags & TSCT_OPEN_CREATE)
		return create_channel(channel, &create, ret_blocks);
	for (tries = 0; tries < BIND_TRIES; tries++) {
		err = tsct_channel_request(channel, TSCT_IOC_CHANNEL_ATTACH, &attach);
		if (err != -ENOENT || options->flags & TSCT_OPEN_ATTACH)
			break;
		err = create_channel(channel, &create, ret_blocks);
		/* If the program chose no number of blocks, try fewer blocks. */
		while (err == -EDQUOT && !options->blocks && create.blocks > BLOCKS_LEAST) {
			create.blocks /= 2;
			err = create_channel(channel, &create, ret_blocks);
		}
		if (err != -EEXIST)
			break;
	}
	return err;
}

/* Bytes per fallocate(): tmpfs frees all bytes of a call that a signal interrupts. */
#define ALLOCATED_AT_ONCE	(256ULL << 10)

/*
 * Allocates rings of a server's new channel: those of all CPUs that are online
 * or, with an embedded server, of the CPUs on which this process may run, as
 * all its writers are children of that server. Returns 0 or -ENOMEM.
 */
static int allocate_rings(const struct tsct_channel *channel)
{
	const struct tsct_channel_header *h = &channel->header;
	cpu_set_t cpus;
	__u64 at, end;
	__u32 cpu;
	int result;

	tsct_cpus_usable(channel->provider == TSCT_PROVIDER_EMBEDDED, &cpus);
	for (cpu = 0; cpu < h->nr_cpus && cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		end = h->ring_offset + (cpu + 1ULL) * h->ring_stride;
		for (at = end - h->ring_stride; at < end; at += ALLOCATED_AT_ONCE) {
			result = TEMP_FAILURE_RETRY(fallocate(channel->map_fd, 0, (off_t)at,
				(off_t)min(end - at, ALLOCATED_AT_ONCE)));
			if (result && (errno == ENOMEM || errno == ENOSPC))
				return -ENOMEM;
		}
	}
	return 0;
}

/*
 * Returns a warning if events of this process are lost, else "". An emit needs rseq, or
 * the module as the provider, which can write the event in the kernel.
 */
static const char *emit_warning(const struct tsct_channel *channel)
{
	if (!(channel->roles & TSCT_ROLE_WRITE) || channel->rseq ||
	    channel->provider == TSCT_PROVIDER_MODULE)
		return "";
	if (tsct_rseq_offset())
		return ", but events of this process are lost: the process may not read "
			"the TSC; see PR_SET_TSC in prctl(2)";
	return ", but events of this process are lost: the process has no rseq; use "
		"glibc 2.35 or later with glibc.pthread.rseq=1";
}

/*
 * Sets channel->error to "using PROVIDER (REASONS)". REASONS is the previous error text, which
 * states why other providers were skipped. Omits the advice that follows the `;` of each reason.
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
		next = strstr(at, TSCT_NEXT_REASON);
		at = next ? next + strlen(TSCT_NEXT_REASON) : "";
	}
	strcpy(to, to == skipped ? "" : ")");
	snprintf(channel->error, sizeof(channel->error),
		 "channel %s: using %s%s%s%.640s%s", name, servers[channel->provider],
		 channel->socket_path ? " at " : "", channel->socket_path ?: "",
		 skipped, emit_warning(channel));
}

/*
 * Creates the channel or attaches to it, as the options say, and maps its memory. Returns 0,
 * or -errno with the reason in the error text.
 */
static int bind_channel(struct tsct_channel *channel,
			const struct tsct_channel_options *options)
{
	const char *name = options->name;
	__u32 blocks;
	int err;

	/* Check the name here: the provider's -EINVAL does not show which option is wrong. */
	if (!tsct_channel_name_valid(name)) {
		tsct_channel_add_error(channel, "'%.64s' cannot be a channel's "
				       "name; use 1 to %d characters of A-Z a-z 0-9 _ . -",
				       name, TSCT_NAME_MAX - 1);
		return -EINVAL;
	}
	channel->roles = options->roles ?: TSCT_ROLE_WRITE;
	err = attach_or_create(channel, name, options, &blocks) ?: map_bound(channel);
	/* Do not allocate rings of a wrong size, which a broken server could have made. */
	if (!err && channel->provider != TSCT_PROVIDER_MODULE &&
	    channel->header.blocks == blocks)
		err = allocate_rings(channel);
	if (err == -ENOMEM || err == -EAGAIN)
		map_refusals(channel);
	if (err)
		return explain_failure(channel, err, name, options);
	set_success_text(channel, name);
	return 0;
}

/* ---- the kernel module as the provider: requests are ioctls --------------- */

static int module_request(struct tsct_channel *channel, unsigned int cmd, void *arg)
{
	return ioctl(channel->fd, cmd, arg) < 0 ? -errno : 0;
}

/* Connects to the module's device. Returns 0, or -errno with the reason in the error text. */
static int open_module(struct tsct_channel *channel)
{
	static const struct tsct_reason reasons[] = {
		{ -ENOENT, -ENODEV, "module not loaded; load the module tsctrace", NULL },
		{ -ENXIO, -ENODEV, "module not loaded; load the module tsctrace", NULL },
		{ -ENODEV, 0, "module not loaded; load the module tsctrace", NULL },
		{ -EACCES, 0, "permission denied; join the group that owns it or run "
			"as root", NULL },
		{ -EPERM, -EACCES, "permission denied; join the group that owns it or "
			"run as root", NULL },
		{ -EMFILE, 0, TSCT_NO_DESCRIPTOR, NULL },
		{ -ENOTTY, -ENODEV, "not a tsctrace device; remove it and load the "
			"module again", NULL },
		{ 0 },
	};
	struct tsct_info info = { 0 };
	int err;

	channel->fd = open(TSCT_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	err = channel->fd < 0 ? -errno : module_request(channel, TSCT_IOC_INFO, &info);
	if (err) {
		if (channel->fd >= 0)
			close(channel->fd);
		channel->fd = -1;
		return tsct_channel_explain(channel, reasons, TSCT_DEVICE_PATH, NULL,
					    err);
	}
	channel->request = module_request;
	channel->provider = TSCT_PROVIDER_MODULE;
	channel->map_fd = channel->fd;
	return 0;
}

/* Connects to the server @server at @socket_path, or to the module if that path is NULL. */
static int connect_to(struct tsct_channel *channel, const char *socket_path,
		      const char *server)
{
	return socket_path ? tsct_socket_open(channel, socket_path, server) :
		open_module(channel);
}

/* ---- choice of the provider ------------------------------------------------ */

/*
 * Tries one provider. @connected: 0 if the handle is connected to the provider, else -errno.
 * Returns true if the caller is to try the next provider: if the connection failed, the
 * provider has no such channel, or the module refuses a channel without channel_flags because
 * this user has reached a limit. *ret_error keeps the first error other than -ENODEV.
 */
static bool try_provider(struct tsct_channel *channel,
			 const struct tsct_channel_options *options,
			 int connected, int *ret_error)
{
	const bool is_module = channel->provider == TSCT_PROVIDER_MODULE;
	int err = connected;

	if (!connected)
		err = bind_channel(channel, options);
	if (!err) {
		*ret_error = 0;
		return false;
	}
	release_provider(channel);
	if (*ret_error == 0 || *ret_error == -ENODEV)
		*ret_error = err;
	return connected || err == -ENOENT ||
		(is_module && err == -EDQUOT && !options->channel_flags);
}

/* Tries the server at $TSCTRACE_SOCKET first, because trace-ctl record, which
 * sets this variable for a program, reads only the rings of that server. */
int tsct_channel_bind(struct tsct_channel *channel, const struct tsct_opening *opening)
{
	const struct tsct_channel_options *options = &opening->options;
	const bool has_embedded = *opening->embedded;
	unsigned int mask = ~0U, i;	/* set of providers to try, as bits 1 << TSCT_PROVIDER_* */
	size_t used;
	int err = 0;

	if (opening->is_only) {
		try_provider(channel, options, connect_to(channel, opening->socket_path,
							  "its server"), &err);
		return err;
	}
	if (*opening->only) {
		for (i = 0; i <= TSCT_PROVIDER_EMBEDDED; i++)
			if (!strcmp(opening->only, tsct_provider_name(i)))
				mask = 1U << i;
		if (mask == ~0U) {
			tsct_channel_add_error(channel, "TSCTRACE_PROVIDER=%.64s: "
					       "unknown; unset it, or set it to module, "
					       "daemon, embedded or none", opening->only);
			return -EINVAL;
		}
	}
	if (mask == 1U << TSCT_PROVIDER_NONE) {
		tsct_channel_add_error(channel, "TSCTRACE_PROVIDER=none: tracing is "
				       "off; unset it");
		return -ENODEV;
	}
	if (mask == 1U << TSCT_PROVIDER_EMBEDDED && !has_embedded)
		tsct_channel_add_error(channel, "TSCTRACE_SOCKET: not set; run the "
				       "program under trace-ctl record");
	if (mask & 1U << TSCT_PROVIDER_EMBEDDED && has_embedded &&
	    !try_provider(channel, options, tsct_socket_open(channel, opening->embedded,
			  "trace-ctl record"), &err))
		return err;
	if (mask & 1U << TSCT_PROVIDER_MODULE &&
	    !try_provider(channel, options, open_module(channel), &err))
		return err;
	if (mask & 1U << TSCT_PROVIDER_DAEMON &&
	    !try_provider(channel, options, tsct_socket_open(channel, opening->daemon,
			  "tsctraced"), &err))
		return err;
	/* Without a provider, advise to run a program that writes events under
	 * trace-ctl record, which is then the provider. */
	if (err == -ENODEV && mask == ~0U && !has_embedded &&
	    (!options->roles || options->roles & TSCT_ROLE_WRITE)) {
		used = strlen(channel->error);
		snprintf(channel->error + used, sizeof(channel->error) - used,
			 ", or run the program under trace-ctl record");
	}
	return err ? err : -ENODEV;
}

/* The arguments of tsct_channel_refuse_all() */
struct refusal {
	struct tsct_channel *channel;
	const struct tsct_opening *opening;
};

static int refuse_in_child(void *arg)
{
	const struct refusal *refusal = arg;
	struct tsct_channel *own = tsct_channel_new();

	if (!own || syscall(SYS_close_range, 0, ~0U, 0))
		return 0;
	if (!tsct_channel_bind(own, refusal->opening))
		map_refusals(own);
	refusal->channel->refusals = own->refusals;
	own->refusals = NULL;
	tsct_channel_free(own);
	return 0;
}

/* A child maps the counters of refused events: it shares this process's memory, but has its own
 * descriptors (CLONE_VM without CLONE_FILES). The mapping stays when the child has ended. */
void tsct_channel_refuse_all(struct tsct_channel *channel, const struct tsct_opening *opening)
{
	struct refusal refusal = { channel, opening };
	char *stack = mmap(NULL, CHILD_STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigset_t all, before;
	int pid;

	if (stack == MAP_FAILED)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = clone(refuse_in_child, stack + CHILD_STACK, CLONE_VM | CLONE_VFORK, &refusal);
	if (pid > 0)
		waitpid(pid, NULL, __WCLONE);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	munmap(stack, CHILD_STACK);
}

int tsct_channel_open_later(struct tsct_channel *channel)
{
	struct tsct_channel *target = tsct_channel_new();
	int err = (target ? tsct_channel_bind(target, channel->opening) : -ENOMEM) ?:
		tsct_channel_move(channel, target);

	if (err)
		tsct_channel_free(target);
	return err;
}

int tsct_channel_connect(const char *socket_path, const char *server,
			 struct tsct_channel **ret_channel)
{
	return tsct_channel_alloc(ret_channel) ?:
		connect_to(*ret_channel, socket_path, server);
}

int tsct_channel_open_id(const char *socket_path, __u32 id, __u32 roles,
			 struct tsct_channel **ret_channel)
{
	const struct tsct_channel_options options = { .roles = roles };
	struct tsct_channel_attach arg = {
		.id = id, .uid = TSCT_UID_SELF, .roles = roles,
	};
	int err = tsct_channel_connect(socket_path, "its server", ret_channel);
	struct tsct_channel *channel = *ret_channel;
	char name[16];

	if (err)
		return err;
	channel->roles = roles;
	err = tsct_channel_request(channel, TSCT_IOC_CHANNEL_ATTACH, &arg) ?:
		map_bound(channel);
	if (err) {
		snprintf(name, sizeof(name), "%u", id);
		explain_failure(channel, err, name, &options);
		release_provider(channel);
	}
	return err;
}
