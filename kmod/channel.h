/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_CHANNEL_H
#define TSCT_KMOD_CHANNEL_H

#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <tsctrace/abi.h>

#include "../lib/core/ring.h"
#include "ring.h"

struct pid_namespace;

/*
 * A channel held by this module: its memory, owner and holders. User space's struct
 * tsct_channel (lib/client/channel.h) is a handle of a channel of any provider. Fields
 * above the first blank line are constant once the channel is in the table.
 */
struct tsct_kchannel {
	/* copy of `header`, which programs can read; lost_no_ring is only in `header` */
	struct tsct_channel_header file;
	struct tsct_geometry geo;
	kuid_t uid;
	struct pid_namespace *pid_ns;	/* pid namespace of the creator */
	kuid_t payer;			/* user whose limits the memory counts against */
	bool privileged;		/* true: the limits per user do not apply */
	struct tsct_channel_header *header;
	u8 *cpu_state;
	void *defs;
	struct page **head_pages;	/* pages of the header and the definitions */
	u32 nr_head_pages;
	u64 ring_bytes;			/* bytes of one CPU's ring */
	u32 nr_charged;			/* number of rings charged at the channel's creation */
	/* the channel's part of reserved memory; NULL: the channel has pages of its own */
	struct tsct_reserved_channel *reserved;
	int reserved_slot;
	struct mem_cgroup *memcg;	/* charged for rings of hot-added CPUs; may be NULL */

	/* references of the channel table, and of statistics readers without tsct_channel_lock */
	struct kref ref;
	/* Fields from `holders` to `bytes` are protected by tsct_channel_lock. */
	u32 holders;
	u32 consumers;
	/* true: removed by request, and so no longer kept; another channel may take the name */
	bool removed;
	u64 bytes;			/* bytes of memory charged to `payer` */

	struct mutex defs_lock;		/* lock of defs, file.defs_used and defs_nr */
	u32 defs_nr;			/* number of definitions in defs */
	struct mutex kevents_lock;	/* lock of kevents; cpus_read_lock() nests inside it */
	/* events with a switch, of the module that opened the channel */
	struct list_head kevents;

	wait_queue_head_t wait;
	struct mutex watch_lock;	/* lock of the list of watchers */
	struct list_head watchers;
	struct delayed_work watch;
	struct irq_work notify;		/* queues `watch`, from any context */
	bool lost_news;			/* true: `watch` has to send news of lost events */
	unsigned long lost_at;		/* jiffies of the last loss for which news were sent */
	/* true: slow paths of emits queue `notify` once a ring's head has reached its notify_at */
	bool notify_armed;
	unsigned long armed_at;		/* RCU grace period that channel_arm() began */
	unsigned long watch_at;		/* jiffies when tsct_channel_watch_fn() last ran */
	u64 watch_sum;			/* bytes ever written to all rings when
					 * tsct_channel_watch_fn() last woke sleepers
					 */
	struct rcu_head rcu;

	/*
	 * Rings by CPU. A ring, once set, is constant. NULL: the CPU was not present at the
	 * channel's creation, and has not come up since, or there was no memory, or no room
	 * in its payer's limits, for its ring.
	 */
	struct tsct_ring *rings[];
};

/*
 * Guards the table of channels and the users' memory accounts (account.c). Nests inside
 * cpus_read_lock(), and a CPU that comes up waits for this lock. So no allocation under
 * this lock may be charged to a memory cgroup: a task above memory.high would sleep there.
 */
extern struct mutex tsct_channel_lock;

/* device.c: /dev/tsctrace */
int tsct_device_init(void);
void tsct_device_exit(void);

/* channel.c: creation, lookup and lifetime of channels */
int tsct_channels_init(void);
void tsct_channels_exit(void);

/*
 * tsct_channel_make - create a channel with memory for all CPUs present
 * @uid: owner of the channel
 * @gfp: allocation flags; with __GFP_ACCOUNT, memory cgroup and user limits apply, and
 *	BPF programs can write the channel if it is a kernel channel
 *
 * tsct_channel_make(), _create() and _attach() return 0 and, in *ret, a channel with
 * one reference for arg->roles, or a negative errno. Process context.
 */
int tsct_channel_make(const struct tsct_channel_create *arg, kuid_t uid,
		      gfp_t gfp, struct tsct_kchannel **ret);
/* Create a channel or attach to one, with the rights and limits of the current task. */
int tsct_channel_create(const struct tsct_channel_create *arg,
			struct tsct_kchannel **ret);
int tsct_channel_attach(const struct tsct_channel_attach *arg,
			struct tsct_kchannel **ret);
/* Drops a reference to @channel that was taken for @roles. */
void tsct_channel_put(struct tsct_kchannel *channel, u32 roles);
/*
 * Removes a TSCT_CHANNEL_KEEP channel, which is freed with its last holder. Returns
 * 0, -ENOENT, -EACCES, -EPERM, or -EINVAL: the channel was created without that flag.
 */
int tsct_channel_remove(u32 id);

/*
 * Returns the channel with this bpf_handle, or NULL. The caller has disabled interrupts; the
 * channel is valid until it enables them.
 */
struct tsct_kchannel *tsct_channel_find_by_handle(u64 handle);
/* Sets *ret to the module's version, limits and use of memory. May sleep. */
void tsct_module_info(struct tsct_info *ret);
/*
 * Get statistics. tsct_channel_next(): of the channel with the lowest id above
 * info->id that the current task may see; tsct_channel_cpu(): of CPU arg->cpu of
 * channel arg->id. Return 0; -ENOENT: no such visible channel; -EINVAL: no such CPU.
 */
int tsct_channel_next(struct tsct_channel_info *info);
int tsct_channel_cpu(struct tsct_channel_cpu *arg);

/*
 * Adds an event definition to a channel, unless an equal definition exists. Returns 0,
 * with the event's id in def->id; -EINVAL: invalid definition; -ENOSPC: no room for it.
 */
int tsct_channel_define(struct tsct_kchannel *channel,
			struct tsct_event_def *def);

/*
 * api.c
 *
 * Enables or disables an event of a kernel module, or reads its state, by the rules of
 * TSCT_IOC_EVENT_SWITCH. Returns 0, -EINVAL or -ENOENT. May sleep.
 */
int tsct_kevent_switch(struct tsct_kchannel *channel, struct tsct_event_switch *arg);
/* Disables and forgets a channel's events, because their module may be unloaded. */
void tsct_kevents_release(struct tsct_kchannel *channel);

/*
 * watch.c
 *
 * State of poll() for a descriptor with the READ role of a kernel channel. A watcher exists
 * from the binding of the descriptor to a channel until the descriptor is closed. User
 * channels have no watchers, because no kernel code runs when a program publishes an event.
 */
struct tsct_watcher {
	struct list_head list;		/* entry of channel->watchers */
	struct tsct_kchannel *channel;
	u64 watermark;			/* number of unread bytes at which poll() returns */
	/* overwrite policy: bytes ever written to all rings at the last report to user space */
	u64 reported_sum;
	/* bytes ever written, if the last tsct_watcher_ready() returned true with @waits; else 0 */
	u64 offered_sum;
};

void tsct_watcher_add(struct tsct_watcher *watcher,
		      struct tsct_kchannel *channel);
void tsct_watcher_remove(struct tsct_watcher *watcher);
/* Sets a descriptor's watermark, also for tasks that already sleep in poll(). */
void tsct_watcher_set(struct tsct_watcher *watcher, u64 bytes);
/*
 * tsct_watcher_ready - return true if as many bytes as the watermark can be read
 * @waits: true: the caller is about to wait. epoll calls first with true, and again
 *	with false before it reports to user space.
 *
 * For an overwrite channel, true is returned once per watermark bytes written.
 */
bool tsct_watcher_ready(struct tsct_watcher *watcher, bool waits);
/* Makes emits wake the tasks that wait. @ready: data can be read already */
void tsct_channel_watch(struct tsct_kchannel *channel, bool ready);
void tsct_channel_watch_fn(struct work_struct *work);
void tsct_channel_notify_fn(struct irq_work *work);

/* Returns the ring of a CPU, or NULL: see rings[] in struct tsct_kchannel. */
static inline struct tsct_ring *tsct_channel_ring(struct tsct_kchannel *channel,
						  u32 cpu)
{
	/* acquire: pairs with the release in tsct_channel_add_ring() */
	return smp_load_acquire(&channel->rings[cpu]);
}

/* Returns the ring of the first CPU, from *cpu on, that has one, and sets *cpu; or NULL. */
static inline struct tsct_ring *tsct_channel_next_ring(struct tsct_kchannel *channel,
						       u32 *cpu)
{
	struct tsct_ring *ring = NULL;

	for (; *cpu < channel->file.nr_cpus; (*cpu)++) {
		ring = tsct_channel_ring(channel, *cpu);
		if (ring)
			break;
	}
	return ring;
}

/* Runs the statement that follows for each ring of a channel. */
#define tsct_for_each_ring(ring, cpu, channel)				\
	for ((cpu) = 0; ((ring) = tsct_channel_next_ring(channel, &(cpu))); (cpu)++)

/* memory.c: layout and pages of a channel */

/* Computes sizes and offsets of a channel's file. Returns 0, or -EINVAL: too large. */
int tsct_channel_layout(struct tsct_kchannel *channel);
/* Allocate zeroed pages for header and definitions, and for one CPU's ring. */
int tsct_channel_alloc_head(struct tsct_kchannel *channel, gfp_t gfp);
int tsct_channel_add_ring(struct tsct_kchannel *channel, u32 cpu, gfp_t gfp);
void tsct_channel_free_memory(struct tsct_kchannel *channel);
/* Handles a fault at page offset vmf->pgoff of the channel's file. */
vm_fault_t tsct_channel_fault(struct tsct_kchannel *channel, struct vm_fault *vmf);

/*
 * account.c
 *
 * tsct_account_payer() returns the user who pays for the current task's channels: the task's
 * user, or the owner of the outermost user namespace below the initial one that the task is in.
 *
 * tsct_account_charge() charges @bytes more for a channel, whose payer and `privileged` are set. A
 * privileged channel is limited by bytes_max only, a part of which is reserved for such channels.
 * Returns 0, -EDQUOT or -ENOMEM. The caller of _charge() and _uncharge() holds tsct_channel_lock.
 */
kuid_t tsct_account_payer(void);
int tsct_account_charge(struct tsct_kchannel *channel, u64 bytes);
void tsct_account_uncharge(struct tsct_kchannel *channel, u64 bytes);

/* Sets the fields info->bytes*: use and limits of ring memory. */
void tsct_accounts_info(struct tsct_info *info);

#endif /* TSCT_KMOD_CHANNEL_H */
