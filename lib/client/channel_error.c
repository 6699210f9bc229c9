// SPDX-License-Identifier: MIT
/* Why there is no channel, in words: what is wrong, and what to do. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "channel.h"

#define NO_ROOM			"no room left within the provider's limits: "
#define MODULE_PARAMETERS	"/sys/module/tsctrace/parameters/"

/* Which option keeps a channel from being made? */
static const char *blame(const struct tsct_channel_options *options)
{
	const __u32 size = options->block_size ?: TSCT_BLOCK_SIZE_DEFAULT;

	if (options->policy > TSCT_POLICY_OVERWRITE)
		return "unknown policy; use TSCT_POLICY_DISCARD or "
			"TSCT_POLICY_OVERWRITE";
	if (options->channel_flags & ~(TSCT_CHANNEL_KERNEL | TSCT_CHANNEL_KEEP))
		return "unknown channel_flags; use TSCT_CHANNEL_KERNEL and "
			"TSCT_CHANNEL_KEEP only";
	if (tsct_geometry_check(options->policy, size, TSCT_BLOCKS_DEFAULT))
		return "wrong block_size; use a power of two of 4096 to 65536";
	if (tsct_geometry_check(options->policy, size,
				options->blocks ?: TSCT_BLOCKS_DEFAULT))
		return "wrong blocks; use a power of two, 2 (overwrite: 4) to "
			"65536, up to 256 MiB together";
	return "the provider refuses it; use programs of one release";
}

/* What its user's channels, or all, have already */
struct taken {
	__u64 bytes;
	__u32 channels;
};

static void count_mine(struct tsct_channel *t, struct taken *mine)
{
	struct tsct_channel_info info = { 0 };

	*mine = (struct taken) { 0 };
	while (!tsct_channels_next(t, &info)) {
		if (info.uid != geteuid())
			continue;
		mine->bytes += info.bytes;
		mine->channels++;
	}
}

static unsigned long long mib(__u64 bytes)
{
	return (bytes + (1 << 20) - 1) >> 20;
}

/* Where a limit can be raised, it is said how. */
static const char *raise_it(const struct tsct_channel *t, const char *parameter,
			    char *room, size_t size)
{
	if (t->provider != TSCT_PROVIDER_MODULE)
		return "";
	snprintf(room, size, ", or raise " MODULE_PARAMETERS "%s", parameter);
	return room;
}

/* About what the channel would have taken */
static __u64 needed(const struct tsct_info *info,
		    const struct tsct_channel_options *options)
{
	const __u64 block = options->block_size ?: TSCT_BLOCK_SIZE_DEFAULT;
	const __u64 data = block * (options->blocks ?: TSCT_BLOCKS_DEFAULT);

	return info->nr_cpus * (data + 2 * TSCT_PAGE_SIZE) + TSCT_DEFS_SIZE +
		2 * TSCT_PAGE_SIZE;
}

static void explain_bytes(char *why, __u64 need, const char *whose, __u64 taken,
			  __u64 most, const char *raise)
{
	snprintf(why, TSCT_ERROR_TEXT_SIZE, NO_ROOM "it takes %llu MiB, and %s have "
		 "%llu of the %llu MiB that they may have; ask for fewer blocks, "
		 "close or remove channels%s", mib(need), whose, mib(taken),
		 mib(most), raise);
}

/* Which limit was it? Whoever asks now sees what is taken now. */
static void explain_quota(struct tsct_channel *t, const struct tsct_channel_options *options,
			  char *why)
{
	struct tsct_info info = { 0 };
	struct taken mine;
	char room[96];
	__u64 need;

	count_mine(t, &mine);
	if (t->ops->ctl(t, TSCT_IOC_INFO, &info))
		info.bytes_max = info.bytes_user_max = ~0ULL;
	need = needed(&info, options);
	if (need > info.bytes_user_max ||
	    mine.bytes > info.bytes_user_max - need)
		explain_bytes(why, need, "this user's channels", mine.bytes,
			      info.bytes_user_max,
			      raise_it(t, "bytes_user_max", room, sizeof(room)));
	else if (need > info.bytes_max || info.bytes > info.bytes_max - need)
		explain_bytes(why, need, "all channels together", info.bytes,
			      info.bytes_max,
			      raise_it(t, "bytes_max", room, sizeof(room)));
	else
		snprintf(why, TSCT_ERROR_TEXT_SIZE, NO_ROOM "this user has %u channels "
			 "of %llu in all, and may have no more; close or remove "
			 "some%s", mine.channels,
			 (unsigned long long)info.channels,
			 t->provider == TSCT_PROVIDER_MODULE ?
			 raise_it(t, "channels_user_max", room, sizeof(room)) :
			 ", or let the server have more descriptors "
			 "(LimitNOFILE=, ulimit -n)");
}

static const char *explain(int error, const struct tsct_channel_options *options)
{
	switch (error) {
	case -ENOENT:
		return "there is no such channel; start its writer or "
			"trace-ctl record first";
	case -EEXIST:
		return "there is one already; close it or take another name";
	case -EACCES:
		return "it belongs to another user; run as that user or as "
			"root";
	case -EPERM:
		return "only root may make a channel that the kernel writes; "
			"run as root (or with CAP_PERFMON)";
	case -EBUSY:
		return "somebody else is reading it; stop that reader first";
	case -EINVAL:
		return blame(options);
	case -EOPNOTSUPP:
		return "this provider cannot make it; kernel channels need "
			"the module";
	case -EFBIG:
		return "larger than the provider may make a file; raise its "
			"'ulimit -f'";
	case -EPROTO:
		return "the provider's answer makes no sense; use programs "
			"of one release";
	}
	return strerror(-error);
}

const char *tsct_channel_explain(struct tsct_channel *t, int error,
				 const struct tsct_channel_options *options, char *room)
{
	if (error != -EDQUOT)
		return explain(error, options);
	explain_quota(t, options, room);
	return room;
}
