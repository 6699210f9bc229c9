// SPDX-License-Identifier: GPL-2.0-only
/* Readiness of readers: the poll() condition and the work that wakes sleepers. */
#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/workqueue.h>

#include "channel.h"

#define WATCH_MS	10	/* time between polls of the rings, ms */
#define BACKUP_MS	1000	/* time between polls while `notify` is armed, ms */

/*
 * Returns the bytes ever written to all rings, modulo 2^48, which change with every record.
 * The first block header of a ring does not count, so a new ring adds 0.
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

/*
 * Returns true if @watermark bytes are unread, or one ring is half full and may soon lose
 * events.
 */
static bool channel_enough_unread(struct tsct_kchannel *channel, u64 watermark)
{
	struct tsct_ring *ring;
	u64 sum = 0, unread, tail;
	u32 cpu;

	for (cpu = 0; cpu < channel->nr_cpus; cpu++) {
		ring = tsct_channel_ring(channel, cpu);
		if (!ring)
			continue;
		/*
		 * Loads the tail before the head: in the other order, the tail could be
		 * ahead of the head, and the ring would be taken for full.
		 */
		tail = smp_load_acquire(&ring->consumer->tail);
		unread = tsct_ring_unread(&ring->geo, tail,
					  READ_ONCE(ring->producer->head));
		if (unread >= ring->geo.data_size / 2)
			return true;
		sum += unread;
	}
	return sum >= watermark;
}

/*
 * Returns true if the new bytes of an overwrite channel reach the watermark or half a ring,
 * whichever is less: after more, events could be overwritten before they are read.
 */
static bool watcher_enough_written(const struct tsct_watcher *watcher, u64 sum)
{
	u64 half = watcher->channel->geo.data_size / 2;

	return tsct_pos_distance(READ_ONCE(watcher->reported_sum), sum) >=
		min(READ_ONCE(watcher->watermark), half);
}

/*
 * Reports the new bytes of an overwrite channel once. A report to a caller that is
 * about to wait (@waits) is preliminary, and stored in offered_sum: epoll calls again,
 * without @waits, before it reports to user space, and that second report is final.
 * poll() does not call again: its report becomes final when the next poll() begins.
 */
bool tsct_watcher_ready(struct tsct_watcher *watcher, bool waits)
{
	struct tsct_kchannel *channel = watcher->channel;
	u64 sum, offered;

	if (channel->policy == TSCT_POLICY_DISCARD)
		return channel_enough_unread(channel, READ_ONCE(watcher->watermark));
	offered = READ_ONCE(watcher->offered_sum);
	if (waits && offered)
		WRITE_ONCE(watcher->reported_sum, offered);
	WRITE_ONCE(watcher->offered_sum, 0);
	sum = channel_head_sum(channel);
	if (!watcher_enough_written(watcher, sum))
		return false;
	if (waits)
		WRITE_ONCE(watcher->offered_sum, sum);
	else
		WRITE_ONCE(watcher->reported_sum, sum);
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

/* Wakes sleeping tasks, which may have waited for more bytes than the new watermark. */
void tsct_watcher_set(struct tsct_watcher *watcher, u64 bytes)
{
	WRITE_ONCE(watcher->watermark, max(bytes, 1ULL));
	wake_up_interruptible_poll(&watcher->channel->wait,
				   EPOLLIN | EPOLLRDNORM);
}

static void channel_watch_after(struct tsct_kchannel *channel, unsigned int ms)
{
	queue_delayed_work(system_power_efficient_wq, &channel->watch,
			   msecs_to_jiffies(ms));
}

/*
 * Makes the next emit on each CPU take the slow path, and queue `notify`. A writer that has
 * just read `left` may overwrite the 0 stored here; the work item finds the writer's record
 * when it runs again, after WATCH_MS.
 */
static void channel_arm_notify(struct tsct_kchannel *channel)
{
	struct tsct_ring *ring;
	u32 cpu;

	WRITE_ONCE(channel->notify_armed, true);
	/* A writer that reads 0 in `left` also reads true in notify_armed, as x86 keeps the
	 * order of stores and the order of loads. */
	smp_wmb();
	for (cpu = 0; cpu < channel->nr_cpus; cpu++) {
		ring = tsct_channel_ring(channel, cpu);
		if (ring)
			WRITE_ONCE(ring->left, 0);
	}
}

void tsct_channel_notify_fn(struct irq_work *work)
{
	struct tsct_kchannel *channel = container_of(work, struct tsct_kchannel, notify);

	WRITE_ONCE(channel->notify_armed, false);
	mod_delayed_work(system_power_efficient_wq, &channel->watch, 0);
}

/*
 * Programs publish events without a system call, so this work item polls the rings. A
 * sleeping task was on the wait queue before it last read the rings' heads: records
 * written later change the sum of the heads, and this work item wakes the task.
 *
 * In a kernel channel without new events, this work item has the writers queue it instead
 * (channel_arm_notify()), and polls less often, so that an idle system stays idle.
 */
void tsct_channel_watch_fn(struct work_struct *work)
{
	struct tsct_kchannel *channel = container_of(to_delayed_work(work),
						     struct tsct_kchannel,
						     watch);
	u64 sum = channel_head_sum(channel);
	bool ready = false, idle = sum == channel->watch_sum;
	struct tsct_watcher *watcher;

	if (!idle) {
		channel->watch_sum = sum;
		mutex_lock(&channel->watch_lock);
		list_for_each_entry(watcher, &channel->watchers, list) {
			if (channel->policy == TSCT_POLICY_DISCARD)
				ready = channel_enough_unread(channel, watcher->watermark);
			else
				ready = watcher_enough_written(watcher, sum);
			if (ready)
				break;
		}
		mutex_unlock(&channel->watch_lock);
	}
	if (ready)
		wake_up_interruptible_poll(&channel->wait, EPOLLIN | EPOLLRDNORM);
	/*
	 * The barrier in wq_has_sleeper() pairs with the one in queue_delayed_work():
	 * either this function sees the sleeping task, or that task finds this work not
	 * pending and queues the work.
	 */
	if (!wq_has_sleeper(&channel->wait))
		return;
	if (idle && READ_ONCE(channel->notify_armed)) {
		channel_watch_after(channel, BACKUP_MS);
		return;
	}
	/* A writer may have overwritten the 0 in its `left`: an idle channel is armed anew. */
	WRITE_ONCE(channel->notify_armed, false);
	if (idle && channel->flags & TSCT_CHANNEL_KERNEL)
		channel_arm_notify(channel);
	channel_watch_after(channel, WATCH_MS);
}

void tsct_channel_watch(struct tsct_kchannel *channel)
{
	channel_watch_after(channel, WATCH_MS);
}
