/* SPDX-License-Identifier: MIT */
/* The node's part of a live view: follows the recording that is being written, and sends
 * its events, up to a rate */
#ifndef TSCT_TOOLS_LIVE_FOLLOW_H
#define TSCT_TOOLS_LIVE_FOLLOW_H

#include "tools/common/message.h"
#include <linux/types.h>

struct live_follow;

#define LIVE_TURN_MS	50	/* longest time between calls of live_follow_step(), ms */

/*
 * @dir: directory in which the recording is, or will be
 * @time: name of the timeline, see cluster_check_time()
 * @rate: most events per second that are sent
 * Returns 0; -EINVAL: unknown timeline; -ENOMEM
 */
int live_follow_open(const char *dir, const char *time, __u64 rate, struct live_follow **ret);
void live_follow_close(struct live_follow *f);

/*
 * live_follow_step - append messages "live" with new events to a queue
 * @queue_max: bytes in the queue from which on events are dropped, and counted
 *
 * Takes some ms at most. Returns 2: there are more events now; 1: not yet; 0: the recording
 * has ended, and all was sent.
 */
int live_follow_step(struct live_follow *f, struct byte_queue *out, size_t queue_max);

/* The recorder has ended: reads all that is left, and sends it, up to the rate. */
void live_follow_finish(struct live_follow *f, struct byte_queue *out, size_t queue_max);

#endif /* TSCT_TOOLS_LIVE_FOLLOW_H */
