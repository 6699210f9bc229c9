// SPDX-License-Identifier: GPL-2.0-only
/* Has enough been written? For who asks, and for who sleeps until it has. */
#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/workqueue.h>

#include "channel.h"

#define WATCH_MS	10

/*
 * Sum of all that was ever written, modulo 2^48: it moves when anything is.
 * Rings count from their first header on, so a new one does not move it.
 */
static u64 channel_head_sum(struct tsct_kchannel *channel)
{
	struct tsct_ring *ring;
	u64 sum = 0;
	u32 cpu;

	for (cpu = 0; cpu < channel->nr_cpus; cpu++) {
		ring = tsct_channel_ring(channel, cpu);
		if (ring)
			sum += TSCT_HEAD_POS(READ_ONCE(ring->producer->head)) -
				TSCT_BLOCK_HEADER;
	}
	return TSCT_HEAD_POS(sum);
}

/* A full ring loses events, so half full is enough for one of them. */
static bool channel_enough_unread(struct tsct_kchannel *channel, u64 watermark)
{
	struct tsct_ring *ring;
	u64 sum = 0, unread, tail;
	u32 cpu;

	for (cpu = 0; cpu < channel->nr_cpus; cpu++) {
		ring = tsct_channel_ring(channel, cpu);
		if (!ring)
			continue;
		/* Before the head, or it may be ahead of that: full */
		tail = smp_load_acquire(&ring->consumer->tail);
		unread = tsct_ring_unread(&ring->geo, tail,
					  READ_ONCE(ring->producer->head));
		if (unread >= ring->geo.data_size / 2)
			return true;
		sum += unread;
	}
	return sum >= watermark;
}

/* Half a ring is the most to wait for here, too: what goes round is gone. */
static bool watcher_enough_written(const struct tsct_watcher *watcher, u64 mark)
{
	u64 half = watcher->channel->geo.data_size / 2;

	return tsct_pos_distance(READ_ONCE(watcher->mark), mark) >=
		min(READ_ONCE(watcher->watermark), half);
}

/*
 * What was offered to who begins to wait counts as told when he begins anew,
 * as poll() does, or when it is asked for without waiting, as epoll does
 * before it tells. A mark of 0 has nothing to offer.
 */
bool tsct_watcher_ready(struct tsct_watcher *watcher, bool waits)
{
	struct tsct_kchannel *channel = watcher->channel;
	u64 mark, offered;

	if (channel->policy == TSCT_POLICY_DISCARD)
		return channel_enough_unread(channel, READ_ONCE(watcher->watermark));
	offered = READ_ONCE(watcher->offered);
	if (waits && offered)
		WRITE_ONCE(watcher->mark, offered);
	WRITE_ONCE(watcher->offered, 0);
	mark = channel_head_sum(channel);
	if (!watcher_enough_written(watcher, mark))
		return false;
	if (waits)
		WRITE_ONCE(watcher->offered, mark);
	else
		WRITE_ONCE(watcher->mark, mark);
	return true;
}

void tsct_watcher_add(struct tsct_watcher *watcher,
		      struct tsct_kchannel *channel)
{
	watcher->channel = channel;
	watcher->watermark = 1;
	mutex_lock(&channel->watch_lock);
	list_add(&watcher->list, &channel->watchers);
	mutex_unlock(&channel->watch_lock);
}

void tsct_watcher_remove(struct tsct_watcher *watcher)
{
	mutex_lock(&watcher->channel->watch_lock);
	list_del(&watcher->list);
	mutex_unlock(&watcher->channel->watch_lock);
}

/* Who sleeps may have slept for more than that. */
void tsct_watcher_set(struct tsct_watcher *watcher, u64 bytes)
{
	WRITE_ONCE(watcher->watermark, max(bytes, 1ULL));
	wake_up_interruptible_poll(&watcher->channel->wait,
				   EPOLLIN | EPOLLRDNORM);
}

/* Somebody who would be told, if he asked. */
static bool channel_any_watcher_ready(struct tsct_kchannel *channel, u64 mark)
{
	struct tsct_watcher *watcher;
	bool ready = false;

	mutex_lock(&channel->watch_lock);
	list_for_each_entry(watcher, &channel->watchers, list) {
		if (channel->policy == TSCT_POLICY_DISCARD)
			ready = channel_enough_unread(channel, watcher->watermark);
		else
			ready = watcher_enough_written(watcher, mark);
		if (ready)
			break;
	}
	mutex_unlock(&channel->watch_lock);
	return ready;
}

/*
 * Programs publish without a system call, so somebody has to look. Whoever
 * sleeps has queued itself before it looked at the heads the last time: what
 * is written after that changes the mark and wakes it here.
 */
void tsct_channel_watch_fn(struct work_struct *work)
{
	struct tsct_kchannel *channel = container_of(to_delayed_work(work),
						    struct tsct_kchannel, watch);
	u64 mark = channel_head_sum(channel);

	if (mark != channel->watch_mark) {
		channel->watch_mark = mark;
		if (channel_any_watcher_ready(channel, mark))
			wake_up_interruptible_poll(&channel->wait,
						   EPOLLIN | EPOLLRDNORM);
	}
	/*
	 * Its barrier pairs with the one in tsct_channel_watch(): either the
	 * sleeper is seen here, or it finds the work not pending there.
	 */
	if (wq_has_sleeper(&channel->wait))
		tsct_channel_watch(channel);
}

void tsct_channel_watch(struct tsct_kchannel *channel)
{
	queue_delayed_work(system_power_efficient_wq, &channel->watch,
			   msecs_to_jiffies(WATCH_MS));
}
