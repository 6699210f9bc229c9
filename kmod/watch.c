// SPDX-License-Identifier: GPL-2.0-only
/* Has anything been written? For who asks, and for who sleeps until it has. */
#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/poll.h>
#include <linux/workqueue.h>

#include "channel.h"

#define WATCH_MS	10

u64 tsct_channel_mark(struct tsct_channel *channel)
{
	struct tsct_ring *ring;
	u64 sum = 0;
	u32 cpu;

	for (cpu = 0; cpu < channel->nr_cpus; cpu++) {
		ring = tsct_channel_ring(channel, cpu);
		if (ring)
			sum += READ_ONCE(ring->producer->head);
	}
	return sum;
}

bool tsct_channel_unread(struct tsct_channel *channel)
{
	struct tsct_ring *ring;
	u32 cpu;

	for (cpu = 0; cpu < channel->nr_cpus; cpu++) {
		ring = tsct_channel_ring(channel, cpu);
		if (ring && READ_ONCE(ring->producer->head) !=
			    READ_ONCE(ring->consumer->tail))
			return true;
	}
	return false;
}

/*
 * Programs publish without a system call, so somebody has to look. Whoever
 * sleeps has queued itself before it looked at the heads the last time: what
 * is written after that changes the mark and wakes it here.
 */
void tsct_channel_look(struct work_struct *work)
{
	struct tsct_channel *channel = container_of(to_delayed_work(work),
						    struct tsct_channel, watch);
	u64 mark = tsct_channel_mark(channel);

	if (mark != channel->watch_mark) {
		channel->watch_mark = mark;
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

void tsct_channel_watch(struct tsct_channel *channel)
{
	queue_delayed_work(system_power_efficient_wq, &channel->watch,
			   msecs_to_jiffies(WATCH_MS));
}
