// SPDX-License-Identifier: GPL-2.0-only
/*
 * Channels: creation, lookup, access rights, definitions, statistics and lifetime. A channel
 * is held by open descriptors, by mappings (a mapping holds its file) and by modules that
 * opened it, and is freed when its last holder ends. A channel made with TSCT_CHANNEL_KEEP
 * outlives its holders until it is removed, this module is unloaded, or memory runs out.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/kprobes.h>
#include <linux/kref.h>
#include <linux/lockdep.h>
#include <linux/memcontrol.h>
#include <linux/nospec.h>
#include <linux/notifier.h>
#include <linux/oom.h>
#include <linux/pid_namespace.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/xarray.h>

#include <tsctrace/version.h>

#include "../lib/core/event_def.h"
#include "channel.h"
#include "parts.h"
#include "reserved.h"

DEFINE_MUTEX(tsct_channel_lock);

/* Table of channels by id. Changed under tsct_channel_lock; read under that lock or RCU. */
static DEFINE_XARRAY_ALLOC1(channel_table);
/*
 * Cache of channel_table for BPF programs. A channel for BPF programs uses slot
 * id % CHANNEL_SLOTS; the slot has the newest such channel. Protected like channel_table.
 */
#define CHANNEL_SLOTS	64
static struct tsct_kchannel __rcu *channel_slots[CHANNEL_SLOTS];
static u64 channel_count;
static u32 channel_next_id;
static int channel_hotplug_state;

notrace struct tsct_kchannel *tsct_channel_find_by_handle(u64 handle)
{
	struct tsct_kchannel *channel;

	/* Code with interrupts off, as they are here, is an RCU read-side critical section. */
	channel = rcu_dereference_sched(channel_slots[handle % CHANNEL_SLOTS]);
	if (likely(channel && channel->file.bpf_handle == handle))
		return channel;
	channel = xa_load(&channel_table, (u32)handle);
	return channel && channel->file.bpf_handle == handle ? channel : NULL;
}

NOKPROBE_SYMBOL(tsct_channel_find_by_handle);

static void channel_table_remove(struct tsct_kchannel *channel)
{
	struct tsct_kchannel __rcu **slot = &channel_slots[channel->file.id % CHANNEL_SLOTS];

	lockdep_assert_held(&tsct_channel_lock);
	xa_erase(&channel_table, channel->file.id);
	if (rcu_access_pointer(*slot) == channel)
		RCU_INIT_POINTER(*slot, NULL);
	WRITE_ONCE(channel_count, channel_count - 1);
}

/* ---- creation --------------------------------------------------------- */

/* Returns true if @ns is @above, or a descendant of @above. */
static bool pid_ns_is_within(const struct pid_namespace *ns,
			     const struct pid_namespace *above)
{
	while (ns && ns != above)
		ns = ns->parent;
	return ns;
}

/* Names are unique among the channels of a user and a pid namespace. */
static struct tsct_kchannel *channel_find_by_name(kuid_t uid,
						  const struct pid_namespace *ns,
						  const char *name)
{
	struct tsct_kchannel *channel;
	unsigned long id;

	lockdep_assert_held(&tsct_channel_lock);
	xa_for_each(&channel_table, id, channel) {
		if (!channel->removed && uid_eq(channel->uid, uid) && channel->pid_ns == ns &&
		    !strncmp(channel->file.name, name, TSCT_NAME_MAX))
			return channel;
	}
	return NULL;
}

static struct tsct_kchannel *channel_new(const struct tsct_channel_create *arg,
					 kuid_t uid, gfp_t gfp)
{
	struct tsct_kchannel *channel;

	channel = kvzalloc(struct_size(channel, rings, nr_cpu_ids), gfp);
	if (!channel)
		return NULL;
	channel->uid = uid;
	channel->pid_ns = get_pid_ns(gfp & __GFP_ACCOUNT ? task_active_pid_ns(current) :
				     &init_pid_ns);
	channel->geo.policy = arg->policy;
	channel->geo.block_size = arg->block_size;
	channel->geo.data_size = (u64)arg->block_size * arg->blocks;
	channel->file = (struct tsct_channel_header) {
		.magic = TSCT_CHANNEL_MAGIC,
		.size = sizeof(channel->file),
		.uid = from_kuid_munged(current_user_ns(), uid),
		.policy = arg->policy,
		.flags = arg->flags,
		.source = tsct_cpucheck_source(),
		.nr_cpus = nr_cpu_ids,
		.block_size = arg->block_size,
		.blocks = arg->blocks,
		.data_size = channel->geo.data_size,
		.defs_size = arg->defs_size ?: TSCT_DEFS_SIZE,
	};
	strscpy(channel->file.name, arg->name, sizeof(channel->file.name));
	/* BPF programs may write to kernel channels of users, but not of kernel modules. */
	if (arg->flags & TSCT_CHANNEL_KERNEL && gfp & __GFP_ACCOUNT)
		channel->file.bpf_handle = (u64)(get_random_u32() ?: 1) << 32;
	mutex_init(&channel->defs_lock);
	mutex_init(&channel->kevents_lock);
	INIT_LIST_HEAD(&channel->kevents);
	init_waitqueue_head(&channel->wait);
	mutex_init(&channel->watch_lock);
	INIT_LIST_HEAD(&channel->watchers);
	INIT_DELAYED_WORK(&channel->watch, tsct_channel_watch_fn);
	channel->notify = IRQ_WORK_INIT_HARD(tsct_channel_notify_fn);
	channel->lost_at = jiffies - 2 * HZ;
	return channel;
}

/*
 * Charges the channel's memory to its user, before the allocation. The limits per user
 * do not apply to channels of kernel modules (@privileged).
 */
static int channel_charge(struct tsct_kchannel *channel, bool privileged)
{
	int err = -EEXIST;

	channel->nr_charged = num_present_cpus();
	channel->payer = privileged ? channel->uid : tsct_account_payer();
	channel->privileged = privileged ||
		has_capability_noaudit(current, CAP_SYS_RESOURCE);

	mutex_lock(&tsct_channel_lock);
	if (!channel_find_by_name(channel->uid, channel->pid_ns, channel->file.name))
		err = tsct_account_charge(channel, channel->file.consumer_offset +
					  channel->nr_charged * channel->ring_bytes);
	mutex_unlock(&tsct_channel_lock);
	return err;
}

static void channel_uncharge(struct tsct_kchannel *channel)
{
	mutex_lock(&tsct_channel_lock);
	tsct_account_uncharge(channel, channel->bytes);
	mutex_unlock(&tsct_channel_lock);
}

/*
 * Makes the channel visible to lookups. The name is checked again,
 * because another channel may have taken the name since channel_charge().
 */
static int channel_publish(struct tsct_kchannel *channel, u32 roles)
{
	int err;

	lockdep_assert_held(&tsct_channel_lock);
	if (channel_find_by_name(channel->uid, channel->pid_ns, channel->file.name))
		return -EEXIST;
	/* Lookups of this id find NULL until the header, which contains the id, is complete. */
	err = xa_alloc_cyclic(&channel_table, &channel->file.id, NULL, xa_limit_32b,
			      &channel_next_id, GFP_KERNEL);
	if (err < 0)
		return err;
	if (channel->file.bpf_handle)
		channel->file.bpf_handle |= channel->file.id;
	kref_init(&channel->ref);
	channel->holders = 1;
	channel->consumers = !!(roles & TSCT_ROLE_READ);
	*channel->header = channel->file;
	tsct_reserved_publish(channel);
	xa_store(&channel_table, channel->file.id, channel, GFP_KERNEL);
	if (channel->file.bpf_handle)
		rcu_assign_pointer(channel_slots[channel->file.id % CHANNEL_SLOTS],
				   channel);
	WRITE_ONCE(channel_count, channel_count + 1);
	return 0;
}

/*
 * Allocates the rings of all CPUs present. CPUs that are offline get rings, too, because
 * they may come up when memory is short. Holds no lock, as the allocations may take minutes.
 */
static int channel_add_rings(struct tsct_kchannel *channel, gfp_t gfp)
{
	/* Adds no more rings than were charged: a CPU may have been added after the charge. */
	unsigned int cpu, left = channel->nr_charged;
	int err = 0;

	for_each_present_cpu(cpu) {
		if (!left--)
			break;
		err = tsct_channel_add_ring(channel, cpu, gfp);
		if (err)
			break;
	}
	return err;
}

/*
 * Provides the ring of a CPU that was added to the machine after the channel was made. The
 * limits of the channel's user and memory cgroup apply. The allocation does not wait for
 * memory, because the CPU's start waits for this function. A CPU comes up even without a ring.
 */
static void channel_provide_ring(struct tsct_kchannel *channel,
				 unsigned int cpu)
{
	gfp_t gfp = channel->memcg ? GFP_NOWAIT | __GFP_ACCOUNT : GFP_NOWAIT;
	struct mem_cgroup *old;
	int err;

	lockdep_assert_held(&tsct_channel_lock);
	if (channel->rings[cpu])
		return;
	err = tsct_account_charge(channel, channel->ring_bytes);
	if (err)
		goto warn;
	old = set_active_memcg(channel->memcg);
	err = tsct_channel_add_ring(channel, cpu, gfp);
	set_active_memcg(old);
	if (!err)
		return;
	tsct_account_uncharge(channel, channel->ring_bytes);
warn:
	pr_warn_ratelimited("channel %u: no ring for CPU %u (error %d): events emitted on it are lost\n",
			    channel->file.id, cpu, err);
}

/* Publishes a channel while no CPU can come up; CPUs up since channel_add_rings() get rings. */
static int channel_publish_on_cpus(struct tsct_kchannel *channel, u32 roles)
{
	unsigned int cpu;
	int err;

	cpus_read_lock();
	mutex_lock(&tsct_channel_lock);
	for_each_online_cpu(cpu)
		channel_provide_ring(channel, cpu);
	err = channel_publish(channel, roles);
	mutex_unlock(&tsct_channel_lock);
	cpus_read_unlock();
	return err;
}

int tsct_channel_make(const struct tsct_channel_create *arg, kuid_t uid,
		      gfp_t gfp, struct tsct_kchannel **ret)
{
	struct tsct_kchannel *channel;
	int err;

	if (arg->flags & ~(TSCT_CHANNEL_KERNEL | TSCT_CHANNEL_KEEP) ||
	    arg->defs_size % TSCT_PAGE_SIZE || arg->defs_size > TSCT_DEFS_SIZE_MAX ||
	    !tsct_channel_name_valid(arg->name) ||
	    tsct_geometry_check(arg->policy, arg->block_size, arg->blocks))
		return -EINVAL;
	if (arg->flags & TSCT_CHANNEL_KERNEL && arg->roles & TSCT_ROLE_WRITE)
		return -EACCES;
	channel = channel_new(arg, uid, gfp);
	if (!channel)
		return -ENOMEM;
	err = tsct_channel_layout(channel);
	if (err)
		goto free_channel;

	err = channel_charge(channel, !(gfp & __GFP_ACCOUNT));
	if (err)
		goto free_channel;
	if (gfp & __GFP_ACCOUNT)
		channel->memcg = get_mem_cgroup_from_mm(current->mm);
	tsct_reserved_alloc(channel);
	err = tsct_channel_alloc_head(channel, gfp) ?:
		channel_add_rings(channel, gfp) ?:
		channel_publish_on_cpus(channel, arg->roles);
	if (err)
		goto free_memory;
	tsct_netlink_channel(TSCT_GENL_CMD_CHANNEL_MADE, channel->file.id);
	*ret = channel;
	return 0;

free_memory:
	tsct_channel_free_memory(channel);
	channel_uncharge(channel);
free_channel:
	mem_cgroup_put(channel->memcg);
	put_pid_ns(channel->pid_ns);
	kvfree(channel);
	return err;
}

int tsct_channel_create(const struct tsct_channel_create *arg,
			struct tsct_kchannel **ret)
{
	if (arg->flags & TSCT_CHANNEL_KERNEL && !perfmon_capable())
		return -EPERM;
	return tsct_channel_make(arg, current_euid(), GFP_KERNEL_ACCOUNT, ret);
}

/* ---- attach, release, remove ------------------------------------------ */

/*
 * Returns true if the channel is of the current user, and was made in the
 * current pid namespace or a namespace below it. A container's root may have
 * the user id of the host's root, but does not own the host's channels.
 */
static bool channel_is_own(const struct tsct_kchannel *channel)
{
	return uid_eq(channel->uid, current_euid()) &&
		pid_ns_is_within(channel->pid_ns, task_active_pid_ns(current));
}

static int channel_check_owner(const struct tsct_kchannel *channel)
{
	if (!channel_is_own(channel) && !capable(CAP_SYS_ADMIN))
		return -EACCES;
	/* uid 0 alone is not enough to read the kernel's events. */
	if (channel->file.flags & TSCT_CHANNEL_KERNEL && !perfmon_capable())
		return -EPERM;
	return 0;
}

static int channel_lookup(const struct tsct_channel_attach *arg,
			  struct tsct_kchannel **ret)
{
	const struct pid_namespace *ns = task_active_pid_ns(current);
	kuid_t uid = current_euid();

	lockdep_assert_held(&tsct_channel_lock);

	if (arg->id) {
		*ret = xa_load(&channel_table, arg->id);
		return *ret ? 0 : -ENOENT;
	}
	if (!tsct_channel_name_valid(arg->name))
		return -EINVAL;
	if (arg->uid != TSCT_UID_SELF)
		uid = make_kuid(current_user_ns(), arg->uid);
	/* Do not reveal which names other users' channels have. */
	if (!uid_eq(uid, current_euid()) && !capable(CAP_SYS_ADMIN))
		return -EACCES;
	/*
	 * Does not search descendant namespaces: a user of a container could give a channel the
	 * name that the host's programs open, and they would then write into that user's channel.
	 */
	*ret = channel_find_by_name(uid, ns, arg->name);
	while (!*ret && ns->parent && capable(CAP_SYS_ADMIN)) {
		ns = ns->parent;
		*ret = channel_find_by_name(uid, ns, arg->name);
	}
	return *ret ? 0 : -ENOENT;
}

int tsct_channel_attach(const struct tsct_channel_attach *arg,
			struct tsct_kchannel **ret)
{
	struct tsct_kchannel *channel;
	int err;

	mutex_lock(&tsct_channel_lock);
	err = channel_lookup(arg, &channel);
	if (!err)
		err = channel_check_owner(channel);
	if (err)
		goto unlock;
	err = -EACCES;
	if (channel->file.flags & TSCT_CHANNEL_KERNEL && arg->roles & TSCT_ROLE_WRITE)
		goto unlock;
	err = -EBUSY;
	if (arg->roles & TSCT_ROLE_READ && channel->consumers &&
	    channel->file.policy == TSCT_POLICY_DISCARD)
		goto unlock;
	channel->holders++;
	channel->consumers += !!(arg->roles & TSCT_ROLE_READ);
	*ret = channel;
	err = 0;
unlock:
	mutex_unlock(&tsct_channel_lock);
	return err;
}

static void channel_free(struct kref *ref)
{
	struct tsct_kchannel *channel = container_of(ref, struct tsct_kchannel, ref);

	/*
	 * tsct_bpf_emit() uses channels without a reference. If this channel has a handle,
	 * an emit may still write to the channel's memory, which is freed after a grace
	 * period. Else tsct_bpf_emit() reads only this struct, which kvfree_rcu() protects.
	 */
	if (channel->file.bpf_handle)
		synchronize_rcu();
	/*
	 * No event is emitted any more, so `notify` is not queued again. No descriptor can
	 * wait for this channel, so `watch`, which wakes waiters, is not queued again.
	 */
	irq_work_sync(&channel->notify);
	cancel_delayed_work_sync(&channel->watch);
	if (channel->lost_news)
		tsct_netlink_channel(TSCT_GENL_CMD_CHANNEL_LOST, channel->file.id);
	tsct_netlink_channel(TSCT_GENL_CMD_CHANNEL_REMOVED, channel->file.id);
	tsct_channel_free_memory(channel);
	channel_uncharge(channel);
	mem_cgroup_put(channel->memcg);
	put_pid_ns(channel->pid_ns);
	kvfree_rcu(channel, rcu);
}

/*
 * Removes a channel from the table if it has no holders and is not kept. Returns true if
 * the caller must drop the table's reference.
 */
static bool channel_unlist_if_unused(struct tsct_kchannel *channel)
{
	lockdep_assert_held(&tsct_channel_lock);
	if (channel->holders || (channel->file.flags & TSCT_CHANNEL_KEEP && !channel->removed))
		return false;
	channel_table_remove(channel);
	return true;
}

void tsct_channel_put(struct tsct_kchannel *channel, u32 roles)
{
	bool last;

	mutex_lock(&tsct_channel_lock);
	WARN_ON_ONCE(!channel->holders || (roles & TSCT_ROLE_READ && !channel->consumers));
	channel->consumers -= !!(roles & TSCT_ROLE_READ);
	channel->holders--;
	last = channel_unlist_if_unused(channel);
	mutex_unlock(&tsct_channel_lock);
	if (last)
		kref_put(&channel->ref, channel_free);
}

int tsct_channel_remove(u32 id)
{
	struct tsct_kchannel *channel;
	bool last = false;
	int err;

	mutex_lock(&tsct_channel_lock);
	channel = xa_load(&channel_table, id);
	err = channel ? channel_check_owner(channel) : -ENOENT;
	if (!err && !(channel->file.flags & TSCT_CHANNEL_KEEP))
		err = -EINVAL;
	/* A removed channel only exists until its last holder closes it. */
	if (!err && channel->removed)
		err = -ENOENT;
	if (!err) {
		channel->removed = true;
		last = channel_unlist_if_unused(channel);
	}
	mutex_unlock(&tsct_channel_lock);
	if (last)
		kref_put(&channel->ref, channel_free);
	return err;
}

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
	while ((known = tsct_event_def_next(channel->defs, channel->file.defs_used,
					    pos, &pos, &err))) {
		if (tsct_event_def_equal(known, def)) {
			def->id = known->id;
			goto unlock;
		}
		cond_resched();
	}
	id = TSCT_ID_FIRST + channel->defs_nr;
	if (def->size > channel->file.defs_size - channel->file.defs_used || id > TSCT_ID_MAX) {
		err = -ENOSPC;
		goto unlock;
	}
	def->id = id;
	memcpy(channel->defs + channel->file.defs_used, def, def->size);
	channel->file.defs_used += def->size;
	channel->defs_nr++;
	/* release: definitions below defs_used are complete for readers */
	smp_store_release(&channel->header->defs_used, channel->file.defs_used);
unlock:
	mutex_unlock(&channel->defs_lock);
	return err;
}

/* ---- statistics ------------------------------------------------------- */

/*
 * Programs can falsify the statistics of rings that they write; nothing
 * in the kernel depends on these statistics.
 */

void tsct_module_info(struct tsct_info *ret)
{
	*ret = (struct tsct_info) {
		.provider = "module",
		.version = TSCT_VERSION,
		.nr_cpus = nr_cpu_ids,
		.source = tsct_cpucheck_source(),
		.channels = READ_ONCE(channel_count),
		.features = tsct_bpf_ready() ? TSCT_FEATURE_KFUNC : 0,
	};
	tsct_accounts_info(ret);
}

/* Returns true if the current task may see the channel. */
static bool channel_visible(const struct tsct_kchannel *channel)
{
	return channel_is_own(channel) ||
		ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
}

static void channel_describe_ring(struct tsct_kchannel *channel, u32 cpu,
				  struct tsct_channel_cpu *ret)
{
	struct tsct_ring *ring = tsct_channel_ring(channel, cpu);

	*ret = (struct tsct_channel_cpu) {
		.id = channel->file.id, .cpu = cpu, .state = TSCT_CPU_ABSENT,
	};
	if (ring)
		tsct_ring_describe(&ring->geo, ring->producer, ring->consumer, ring->data, ret);
}

/* Sets all fields of *info except the statistics of the rings. */
static void channel_describe_locked(const struct tsct_kchannel *channel,
				    struct tsct_channel_info *info)
{
	lockdep_assert_held(&tsct_channel_lock);
	tsct_channel_describe(&channel->file, info);
	info->uid = from_kuid_munged(current_user_ns(), channel->uid);
	if (channel->removed)
		info->flags &= ~TSCT_CHANNEL_KEEP;
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
	struct tsct_channel_cpu ring;
	u32 cpu;

	info->lost_no_ring = READ_ONCE(channel->header->lost_no_ring);
	for (cpu = 0; cpu < channel->file.nr_cpus; cpu++) {
		channel_describe_ring(channel, cpu, &ring);
		tsct_channel_describe_ring(info, &ring);
		cond_resched();
	}
}

int tsct_channel_next(struct tsct_channel_info *info)
{
	struct tsct_kchannel *channel;
	unsigned long id;

	mutex_lock(&tsct_channel_lock);
	xa_for_each_start(&channel_table, id, channel, info->id + 1UL)
		if (channel_visible(channel))
			break;
	if (channel) {
		channel_describe_locked(channel, info);
		kref_get(&channel->ref);
	}
	mutex_unlock(&tsct_channel_lock);
	if (!channel)
		return -ENOENT;
	channel_describe_rings(channel, info);
	kref_put(&channel->ref, channel_free);
	return 0;
}

int tsct_channel_cpu(struct tsct_channel_cpu *arg)
{
	struct tsct_kchannel *channel;
	int err = 0;

	mutex_lock(&tsct_channel_lock);
	channel = xa_load(&channel_table, arg->id);
	if (!channel || !channel_visible(channel))
		err = -ENOENT;
	else if (arg->cpu >= channel->file.nr_cpus)
		err = -EINVAL;
	else
		channel_describe_ring(channel,
				      array_index_nospec(arg->cpu, channel->file.nr_cpus),
				      arg);
	mutex_unlock(&tsct_channel_lock);
	return err;
}

/* ---- shortage of memory ------------------------------------------------ */

/* Number of pages that channel_oom_work has freed and not yet reported to the OOM killer */
static atomic_long_t channel_oom_pages;

/*
 * Frees the largest channel that no process holds, because the OOM killer cannot free it. Spares
 * channels made with CAP_SYS_RESOURCE, so that no user can remove root's flight recordings by
 * using up memory, and channels in reserved memory.
 */
static void channel_oom_fn(struct work_struct *work)
{
	struct tsct_kchannel *channel, *largest = NULL;
	unsigned long id, pages;

	mutex_lock(&tsct_channel_lock);
	xa_for_each(&channel_table, id, channel)
		if (!channel->holders && !channel->privileged && !channel->reserved &&
		    (!largest || channel->bytes > largest->bytes))
			largest = channel;
	if (largest)
		channel_table_remove(largest);
	mutex_unlock(&tsct_channel_lock);
	if (!largest)
		return;
	pr_warn("channel %u \"%s\", kept and not open: removed, because memory has run out\n",
		largest->file.id, largest->file.name);
	pages = largest->bytes >> PAGE_SHIFT;
	/* A reader of statistics, if it has the last reference, frees the pages too late. */
	if (kref_put(&largest->ref, channel_free))
		atomic_long_add(pages, &channel_oom_pages);
}

static DECLARE_WORK(channel_oom_work, channel_oom_fn);

/* Longest wait for channel_oom_work, jiffies */
#define OOM_WAIT	100

/*
 * Called before the OOM killer chooses a process, by tasks that may hold any lock of a file
 * system. So a work item frees the channel, and the wait for this work item is limited. Does
 * nothing if only a memory policy or a cpuset, which a user may choose, is short of memory.
 */
static int channel_free_on_oom(struct notifier_block *block, unsigned long unused, void *freed)
{
	int i;

	if (si_mem_available() > (long)(totalram_pages() / 16))
		return NOTIFY_DONE;
	queue_work(system_unbound_wq, &channel_oom_work);
	for (i = 0; i < OOM_WAIT && work_busy(&channel_oom_work); i++)
		schedule_timeout_uninterruptible(1);
	*(unsigned long *)freed += atomic_long_xchg(&channel_oom_pages, 0);
	return NOTIFY_OK;
}

static struct notifier_block channel_oom_block = { .notifier_call = channel_free_on_oom };

/* ---- CPUs that are added later ---------------------------------------- */

static int channel_prepare_cpu(unsigned int cpu)
{
	struct tsct_kchannel *channel;
	unsigned long id;

	mutex_lock(&tsct_channel_lock);
	xa_for_each(&channel_table, id, channel)
		channel_provide_ring(channel, cpu);
	mutex_unlock(&tsct_channel_lock);
	return 0;
}

int tsct_channels_init(void)
{
	channel_hotplug_state = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN,
							  "tsctrace:prepare",
							  channel_prepare_cpu,
							  NULL);
	if (channel_hotplug_state < 0)
		return channel_hotplug_state;
	register_oom_notifier(&channel_oom_block);
	return 0;
}

/*
 * At module exit no descriptor is open and no module depends on this
 * module. The remaining channels are kept (TSCT_CHANNEL_KEEP), or were
 * opened by a module that never closed them.
 */
void tsct_channels_exit(void)
{
	struct tsct_kchannel *channel;
	unsigned long id;

	unregister_oom_notifier(&channel_oom_block);
	cancel_work_sync(&channel_oom_work);
	cpuhp_remove_state_nocalls(channel_hotplug_state);
	xa_for_each(&channel_table, id, channel) {
		if (channel->holders)
			pr_warn("channel %u \"%s\" never closed by the module that opened it: freed\n",
				channel->file.id, channel->file.name);
		mutex_lock(&tsct_channel_lock);
		channel_table_remove(channel);
		mutex_unlock(&tsct_channel_lock);
		kref_put(&channel->ref, channel_free);
	}
	xa_destroy(&channel_table);
}
