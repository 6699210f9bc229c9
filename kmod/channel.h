/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TSCT_KMOD_CHANNEL_H
#define TSCT_KMOD_CHANNEL_H

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
struct tsct_channel {
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
	u64 bytes;			/* charged to account */

	struct mutex defs_lock;		/* the two below, and the area */
	u32 defs_used;
	u32 defs_nr;

	wait_queue_head_t wait;
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
int tsct_channel_create(const struct tsct_channel_create *arg,
			struct tsct_channel **ret);
int tsct_channel_attach(const struct tsct_channel_attach *arg,
			struct tsct_channel **ret);
void tsct_channel_put(struct tsct_channel *channel, u32 roles);
int tsct_channel_next(struct tsct_channel_info *info);

/* Under RCU, or with a reference: the channel of this id, or NULL. */
struct tsct_channel *tsct_channel_find(u32 id);

/* define.c: 0 and the id in *def, -EINVAL, -ENOSPC */
int tsct_channel_define(struct tsct_channel *channel,
			struct tsct_event_def *def);

/* watch.c: sum of all heads: it moves when anything was written. */
u64 tsct_channel_mark(struct tsct_channel *channel);
bool tsct_channel_unread(struct tsct_channel *channel);
/* Looks at the rings from now on, as long as somebody sleeps. */
void tsct_channel_watch(struct tsct_channel *channel);
void tsct_channel_look(struct work_struct *work);

/* A CPU's ring, or NULL where it never came up. */
static inline struct tsct_ring *tsct_channel_ring(struct tsct_channel *channel,
						  u32 cpu)
{
	/* pairs with the release in tsct_channel_add_ring() */
	return smp_load_acquire(&channel->rings[cpu]);
}

/* memory.c */
int tsct_channel_layout(struct tsct_channel *channel);
u64 tsct_channel_ring_bytes(const struct tsct_channel *channel);
u64 tsct_channel_head_bytes(const struct tsct_channel *channel);
int tsct_channel_alloc_head(struct tsct_channel *channel);
int tsct_channel_add_ring(struct tsct_channel *channel, u32 cpu, gfp_t gfp);
void tsct_channel_free_memory(struct tsct_channel *channel);
/* The page at a page offset of the channel's file; NULL: SIGBUS. */
struct page *tsct_channel_page(struct tsct_channel *channel, u64 pgoff);

#endif /* TSCT_KMOD_CHANNEL_H */
