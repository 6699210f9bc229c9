/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_CHANNEL_H
#define TSCT_KMOD_CHANNEL_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <tsctrace/abi.h>

#include "../lib/core/ring.h"
#include "ring.h"

struct tsct_account;

/*
 * A channel. Everything above the blank line is set before it is found by
 * anybody and never changes.
 */
struct tsct_kchannel {
	struct tsct_geometry geo;
	u32 id;
	u32 policy;
	u32 flags;
	u32 source;
	u32 blocks;
	u32 nr_cpus;
	kuid_t uid;
	char name[TSCT_NAME_MAX];
	struct tsct_account *account;
	struct tsct_channel_header *header;
	u8 *cpu_state;
	void *defs;
	struct page **head_pages;	/* header and definitions */
	u32 nr_head_pages;
	u64 consumer_offset;
	u64 ring_offset;
	u64 ring_stride;
	u64 file_size;

	/* under tsct_channel_lock */
	u32 holders;
	u32 consumers;
	bool kept;			/* even if nobody holds it */
	bool removed;			/* its name is free */
	u64 bytes;			/* charged to account */

	struct mutex defs_lock;		/* the two below, and the area */
	u32 defs_used;
	u32 defs_nr;

	wait_queue_head_t wait;
	struct mutex watch_lock;	/* the list */
	struct list_head watchers;
	struct delayed_work watch;
	u64 watch_mark;			/* the watch work's own */
	struct rcu_head rcu;

	/* NULL until the CPU first came up; then it stays */
	struct tsct_ring *rings[];
};

/*
 * Guards the table of channels and the accounts. Taken inside the CPU hotplug
 * lock, never around it.
 */
extern struct mutex tsct_channel_lock;

int tsct_channels_init(void);
void tsct_channels_exit(void);
u64 tsct_channels_count(void);

/* channel.c: all return 0 or a channel that holds one reference for `roles` */
int tsct_channel_make(const struct tsct_channel_create *arg, kuid_t uid,
		      gfp_t gfp, struct tsct_kchannel **ret);
/* For the current task, if it may and its limits allow it. */
int tsct_channel_create(const struct tsct_channel_create *arg,
			struct tsct_kchannel **ret);
int tsct_channel_attach(const struct tsct_channel_attach *arg,
			struct tsct_kchannel **ret);
void tsct_channel_put(struct tsct_kchannel *channel, u32 roles);
/* 0, -ENOENT, -EINVAL: not made to be kept, -EACCES, -EPERM */
int tsct_channel_remove(u32 id);

/* Under RCU, or with a reference: the channel of this id, or NULL. */
struct tsct_kchannel *tsct_channel_find(u32 id);
/* Under tsct_channel_lock: the one with the next id, or NULL. */
struct tsct_kchannel *tsct_channel_find_after(u32 id);

/* describe.c: 0, -ENOENT, -EINVAL: no such CPU */
int tsct_channel_next(struct tsct_channel_info *info);
int tsct_channel_cpu(struct tsct_channel_cpu *arg);

/* define.c: 0 and the id in *def, -EINVAL, -ENOSPC */
int tsct_channel_define(struct tsct_kchannel *channel,
			struct tsct_event_def *def);

/*
 * watch.c: one for each descriptor that may read, from when it is bound to a
 * channel until it is closed.
 */
struct tsct_watcher {
	struct list_head list;		/* the channel's, under its watch_lock */
	struct tsct_kchannel *channel;
	u64 watermark;
	/* overwrite rings only */
	u64 mark;			/* when it was last told */
	u64 offered;			/* told to who may ask again, or 0 */
};

void tsct_watcher_add(struct tsct_watcher *watcher,
		      struct tsct_kchannel *channel);
void tsct_watcher_remove(struct tsct_watcher *watcher);
void tsct_watcher_set(struct tsct_watcher *watcher, u64 bytes);
/*
 * Is there what it waits for? Where an overwrite ring has it, it is told once;
 * epoll asks when it begins to wait (@waits), and again before it tells.
 */
bool tsct_watcher_ready(struct tsct_watcher *watcher, bool waits);
/* Looks at the rings from now on, as long as somebody sleeps. */
void tsct_channel_watch(struct tsct_kchannel *channel);
void tsct_channel_watch_fn(struct work_struct *work);

/* A CPU's ring, or NULL where it never came up. */
static inline struct tsct_ring *tsct_channel_ring(struct tsct_kchannel *channel,
						  u32 cpu)
{
	/* pairs with the release in tsct_channel_add_ring() */
	return smp_load_acquire(&channel->rings[cpu]);
}

/* memory.c */
int tsct_channel_layout(struct tsct_kchannel *channel);
u64 tsct_channel_ring_bytes(const struct tsct_kchannel *channel);
u64 tsct_channel_head_bytes(const struct tsct_kchannel *channel);
int tsct_channel_alloc_head(struct tsct_kchannel *channel, gfp_t gfp);
int tsct_channel_add_ring(struct tsct_kchannel *channel, u32 cpu, gfp_t gfp);
void tsct_channel_free_memory(struct tsct_kchannel *channel);
/* The page at a page offset of the channel's file; NULL: SIGBUS. */
struct page *tsct_channel_page(struct tsct_kchannel *channel, u64 pgoff);

#endif /* TSCT_KMOD_CHANNEL_H */
