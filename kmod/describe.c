// SPDX-License-Identifier: GPL-2.0-only
/*
 * Event definitions, and statistics of module and channels. Programs can falsify the
 * figures of rings that they write; nothing in the kernel depends on such figures.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/user_namespace.h>

#include <tsctrace/version.h>

#include "../lib/core/event_def.h"
#include "channel.h"
#include "cpucheck.h"

/* ---- definitions ------------------------------------------------------ */

int tsct_channel_define(struct tsct_kchannel *channel,
			struct tsct_event_def *def)
{
	const struct tsct_event_def *known;
	size_t pos = 0;
	int err;
	u32 id;

	if (tsct_event_def_id(def) || tsct_event_def_check(def, sizeof(*def)))
		return -EINVAL;
	mutex_lock(&channel->defs_lock);
	/* Only the module writes the definition area, so its content is valid. */
	while ((known = tsct_event_def_next(channel->defs, channel->defs_used,
					    pos, &pos, &err))) {
		if (tsct_event_def_equal(known, def)) {
			def->id = known->id;
			goto unlock;
		}
		cond_resched();
	}
	id = TSCT_ID_FIRST + channel->defs_nr;
	if (def->size > channel->defs_size - channel->defs_used || id > TSCT_ID_MAX) {
		err = -ENOSPC;
		goto unlock;
	}
	def->id = id;
	memcpy(channel->defs + channel->defs_used, def, def->size);
	channel->defs_used += def->size;
	channel->defs_nr++;
	/* release: definitions below defs_used are complete for readers */
	smp_store_release(&channel->header->defs_used, channel->defs_used);
unlock:
	mutex_unlock(&channel->defs_lock);
	return err;
}

/* ---- statistics ------------------------------------------------------- */

void tsct_module_info(struct tsct_info *ret)
{
	*ret = (struct tsct_info) {
		.provider = "module",
		.version = TSCT_VERSION,
		.nr_cpus = nr_cpu_ids,
		.source = tsct_cpucheck_source(),
		.channels = tsct_channels_count(),
		.features = tsct_bpf_ready() ? TSCT_FEATURE_KFUNC : 0,
	};
	tsct_accounts_info(ret);
}

/* Returns true if the current task may see the channel. */
static bool channel_visible(const struct tsct_kchannel *channel)
{
	return tsct_channel_is_own(channel) ||
		ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
}

static void channel_describe_ring(struct tsct_kchannel *channel, u32 cpu,
				  struct tsct_channel_cpu *ret)
{
	struct tsct_ring *ring = tsct_channel_ring(channel, cpu);
	struct tsct_ring_count count;
	u64 unread;
	int i;

	memset(ret, 0, sizeof(*ret));
	ret->id = channel->id;
	ret->cpu = cpu;
	ret->state = TSCT_CPU_ABSENT;
	if (!ring)
		return;
	unread = tsct_ring_count_unread(&ring->geo, ring->producer,
					ring->consumer, ring->data, &count);
	ret->state = TSCT_CPU_READY;
	ret->events = count.events;
	ret->written = count.head;
	ret->overwritten = count.overwritten;
	if (channel->policy == TSCT_POLICY_DISCARD)
		ret->unread = unread;
	for (i = 0; i < TSCT_LOST_MAX; i++)
		ret->lost[i] = READ_ONCE(ring->producer->lost[i]);
}

/* Sets the constant fields of *info, and those that tsct_channel_lock protects. */
static void channel_describe_locked(const struct tsct_kchannel *channel,
				    struct tsct_channel_info *info)
{
	lockdep_assert_held(&tsct_channel_lock);
	memset(info, 0, sizeof(*info));
	info->id = channel->id;
	info->uid = from_kuid_munged(current_user_ns(), channel->uid);
	memcpy(info->name, channel->name, sizeof(info->name));
	info->policy = channel->policy;
	info->flags = channel->flags;
	if (channel->removed)
		info->flags &= ~TSCT_CHANNEL_KEEP;
	info->source = channel->source;
	info->block_size = channel->geo.block_size;
	info->blocks = channel->blocks;
	info->holders = channel->holders;
	info->consumers = channel->consumers;
	info->bytes = channel->bytes;
}

/*
 * Sums up the statistics of all rings. The caller does not hold tsct_channel_lock: with
 * thousands of CPUs this takes a while, and a CPU that comes up waits for that lock.
 */
static void channel_describe_rings(struct tsct_kchannel *channel,
				   struct tsct_channel_info *info)
{
	struct tsct_channel_cpu one;
	u32 cpu;
	int i;

	info->lost_no_ring = READ_ONCE(channel->header->lost_no_ring);
	for (cpu = 0; cpu < channel->nr_cpus; cpu++) {
		channel_describe_ring(channel, cpu, &one);
		info->nr_cpus_ready += one.state == TSCT_CPU_READY;
		info->events += one.events;
		info->written += one.written;
		info->unread += one.unread;
		for (i = 0; i < TSCT_LOST_MAX; i++)
			info->lost[i] += one.lost[i];
		cond_resched();
	}
}

/* Describes a channel, and unlocks tsct_channel_lock. Returns 0; -ENOENT: @channel is NULL. */
static int channel_describe_and_unlock(struct tsct_kchannel *channel,
				       struct tsct_channel_info *info)
{
	if (channel) {
		channel_describe_locked(channel, info);
		tsct_channel_pin(channel);
	}
	mutex_unlock(&tsct_channel_lock);
	if (!channel)
		return -ENOENT;
	channel_describe_rings(channel, info);
	tsct_channel_unpin(channel);
	return 0;
}

int tsct_channel_next(struct tsct_channel_info *info)
{
	struct tsct_kchannel *channel;
	u32 id = info->id;

	mutex_lock(&tsct_channel_lock);
	do {
		channel = tsct_channel_find_after(id);
		if (channel)
			id = channel->id;
	} while (channel && !channel_visible(channel));
	return channel_describe_and_unlock(channel, info);
}

int tsct_channel_cpu(struct tsct_channel_cpu *arg)
{
	struct tsct_kchannel *channel;
	int err = 0;

	mutex_lock(&tsct_channel_lock);
	channel = tsct_channel_find(arg->id);
	if (!channel || !channel_visible(channel))
		err = -ENOENT;
	else if (arg->cpu >= channel->nr_cpus)
		err = -EINVAL;
	else
		channel_describe_ring(channel,
				      array_index_nospec(arg->cpu, channel->nr_cpus),
				      arg);
	mutex_unlock(&tsct_channel_lock);
	return err;
}
