// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readiness of readers of kernel channels: the poll() condition, and waking of sleepers. Sends
 * news of lost events, too.
 */
#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

#include "channel.h"
#include "parts.h"

#define WATCH_MS	10	/* least time between two runs of the work item, ms */

/*
 * Returns the bytes ever written to all rings, modulo 2^48: a sum that every record
 * changes. The first block header of a ring does not count, so a new ring adds 0.
 */
static u64 channel_head_sum(struct tsct_kchannel *channel)
{
	struct tsct_ring *ring;
	u64 sum = 0;
	u32 cpu;

	tsct_for_each_ring(ring, cpu, channel)
		sum += TSCT_HEAD_POS(READ_ONCE(ring->producer->head)) - TSCT_BLOCK_HEADER;
	return TSCT_HEAD_POS(sum);
}

/* Returns the unread bytes of all rings; U64_MAX: a ring is at least half full. */
static u64 channel_unread(struct tsct_kchannel *channel)
{
	struct tsct_ring *ring;
	u64 sum = 0, unread, tail;
	u32 cpu;

	tsct_for_each_ring(ring, cpu, channel) {
		/* Loads the tail first, because a tail ahead of the head looks like a full ring. */
		tail = smp_load_acquire(&ring->consumer->tail);
		unread = tsct_ring_unread(&ring->geo, tail,
					  READ_ONCE(ring->producer->head));
		if (unread >= ring->geo.data_size / 2)
			return U64_MAX;
		sum += unread;
	}
	return sum;
}

/*
 * Returns the bytes that are missing until the watcher is ready; 0: it is
 * ready. @sum: result of channel_head_sum(). In an overwrite channel half a
 * ring is enough: with more, events could be overwritten before they are read.
 */
static u64 watcher_missing(const struct tsct_watcher *watcher, u64 sum)
{
	struct tsct_kchannel *channel = watcher->channel;
	u64 want = READ_ONCE(watcher->watermark), have;

	if (channel->file.policy == TSCT_POLICY_DISCARD) {
		have = channel_unread(channel);
	} else {
		want = min(want, channel->geo.data_size / 2);
		have = tsct_pos_distance(READ_ONCE(watcher->reported_sum), sum);
	}
	return want > have ? want - have : 0;
}

/*
 * Reports the new bytes of an overwrite channel once. A report to a caller that is about
 * to wait (@waits) is preliminary, and stored in offered_sum: epoll calls again, without
 * @waits, before it reports to user space, and that second report is final. poll() does
 * not call again: a report to poll() becomes final when the next poll() begins.
 */
bool tsct_watcher_ready(struct tsct_watcher *watcher, bool waits)
{
	struct tsct_kchannel *channel = watcher->channel;
	u64 sum, offered;

	if (channel->file.policy == TSCT_POLICY_DISCARD)
		return !watcher_missing(watcher, 0);
	offered = READ_ONCE(watcher->offered_sum);
	if (waits && offered)
		WRITE_ONCE(watcher->reported_sum, offered);
	WRITE_ONCE(watcher->offered_sum, 0);
	sum = channel_head_sum(channel);
	if (watcher_missing(watcher, sum))
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

/* Wakes sleeping tasks, because they may wait for more bytes than the new watermark. */
void tsct_watcher_set(struct tsct_watcher *watcher, u64 bytes)
{
	WRITE_ONCE(watcher->watermark, max(bytes, 1ULL));
	wake_up_interruptible_poll(&watcher->channel->wait,
				   EPOLLIN | EPOLLRDNORM);
}

/* ---- waking of sleepers ------------------------------------------------- */

/*
 * Nothing polls the rings while a reader waits. Each of n rings has an nth of the missing bytes
 * as its share: as long as no ring has received its share, all rings together have not reached
 * the watermark. Beyond the share, a ring's next emit takes the slow path, which queues
 * `notify`, which queues the work item below. The work item wakes the reader, or divides the
 * bytes that are then missing. The work item is unbound, as the emit's CPU may be isolated.
 *
 * A writer may overwrite the 0 in `left` by which channel_arm() sends the writer to the slow path.
 * So the work item runs again until a grace period has passed since channel_arm(), so that every
 * emit that had read the former `left` has ended, and each `left` is within its ring's share. From
 * then on only slow paths enlarge `left`, within the share, and the work item rests until `notify`.
 */

/* Divides among the rings the bytes that are missing until the first watcher is ready. */
static void channel_arm(struct tsct_kchannel *channel)
{
	u64 half = channel->geo.data_size / 2, share = U64_MAX, sum, unread;
	struct tsct_watcher *watcher;
	struct tsct_ring *ring;
	u32 cpu, nr = 0;

	lockdep_assert_held(&channel->watch_lock);
	WRITE_ONCE(channel->notify_armed, false);
	tsct_for_each_ring(ring, cpu, channel) {
		WRITE_ONCE(ring->notify_at, READ_ONCE(ring->producer->head));
		nr++;
	}
	/*
	 * Shares begin at these heads, which are read before the sum: bytes written in between
	 * count both as part of a share and as bytes that are not missing.
	 */
	smp_rmb();
	sum = channel_head_sum(channel);
	list_for_each_entry(watcher, &channel->watchers, list)
		share = min(share, watcher_missing(watcher, sum));
	share = max(1ULL, div_u64(share, max(nr, 1U)));
	tsct_for_each_ring(ring, cpu, channel) {
		unread = channel->file.policy == TSCT_POLICY_OVERWRITE ? 0 :
			tsct_ring_unread(&ring->geo, READ_ONCE(ring->consumer->tail),
					 READ_ONCE(ring->producer->head));
		WRITE_ONCE(ring->notify_at, ring->notify_at +
			   min(share, max(1ULL, half - min(half, unread))));
	}
	/*
	 * A writer that reads 0 in `left` also reads notify_armed as true, and the
	 * new notify_at, as x86 keeps the order of stores and the order of loads.
	 */
	smp_wmb();
	WRITE_ONCE(channel->notify_armed, true);
	/* notify_armed is stored before `left`. */
	smp_wmb();
	tsct_for_each_ring(ring, cpu, channel)
		WRITE_ONCE(ring->left, 0);
	channel->armed_at = start_poll_synchronize_rcu();
}

/* Returns true if channel_arm() has reached all writers. */
static bool channel_is_armed(struct tsct_kchannel *channel)
{
	struct tsct_ring *ring;
	u64 rest;
	u32 cpu;

	lockdep_assert_held(&channel->watch_lock);
	if (!READ_ONCE(channel->notify_armed) || !poll_state_synchronize_rcu(channel->armed_at))
		return false;
	tsct_for_each_ring(ring, cpu, channel) {
		rest = tsct_ring_notify_rest(ring, READ_ONCE(ring->producer->head));
		/* Loads the head before `left`: a later `left` is lower, or set by a slow path. */
		smp_rmb();
		if (!rest || READ_ONCE(ring->left) >= rest)
			return false;
	}
	return true;
}

static void channel_watch_after(struct tsct_kchannel *channel, unsigned int ms)
{
	mod_delayed_work(system_unbound_wq, &channel->watch, msecs_to_jiffies(ms));
}

/* Runs in interrupt context, even with PREEMPT_RT. */
void tsct_channel_notify_fn(struct irq_work *work)
{
	struct tsct_kchannel *channel = container_of(work, struct tsct_kchannel, notify);
	unsigned long next = READ_ONCE(channel->watch_at) + msecs_to_jiffies(WATCH_MS);

	WRITE_ONCE(channel->notify_armed, false);
	channel_watch_after(channel, time_before(jiffies, next) ? WATCH_MS : 0);
}

/*
 * A sleeping task was on the wait queue before it last read the rings' heads. Records
 * written after that change the sum of the heads, so this work item wakes the task.
 */
void tsct_channel_watch_fn(struct work_struct *work)
{
	struct tsct_kchannel *channel = container_of(to_delayed_work(work),
						     struct tsct_kchannel,
						     watch);
	bool ready = false, rest = false;
	struct tsct_watcher *watcher;
	u64 sum;

	WRITE_ONCE(channel->watch_at, jiffies);
	mutex_lock(&channel->watch_lock);
	sum = channel_head_sum(channel);
	if (sum != channel->watch_sum)
		list_for_each_entry(watcher, &channel->watchers, list)
			ready |= !watcher_missing(watcher, sum);
	if (ready)
		channel->watch_sum = sum;
	else
		rest = channel_is_armed(channel);
	/* A task that is not yet seen here calls channel_arm() itself, in tsct_channel_watch(). */
	if (!ready && !rest && waitqueue_active(&channel->wait))
		channel_arm(channel);
	mutex_unlock(&channel->watch_lock);
	if (ready)
		wake_up_interruptible_poll(&channel->wait, EPOLLIN | EPOLLRDNORM);
	if (xchg(&channel->lost_news, false))
		tsct_netlink_channel(TSCT_GENL_CMD_CHANNEL_LOST, channel->file.id);
	/*
	 * The barrier in wq_has_sleeper() pairs with the one in queue_delayed_work():
	 * either this function sees the sleeping task, or that task finds this work not
	 * pending and queues the work.
	 */
	if (!rest && wq_has_sleeper(&channel->wait))
		channel_watch_after(channel, WATCH_MS);
}

void tsct_channel_watch(struct tsct_kchannel *channel, bool ready)
{
	if (!ready) {
		mutex_lock(&channel->watch_lock);
		channel_arm(channel);
		mutex_unlock(&channel->watch_lock);
	}
	queue_delayed_work(system_unbound_wq, &channel->watch, msecs_to_jiffies(WATCH_MS));
}
