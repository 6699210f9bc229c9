/* SPDX-License-Identifier: MIT */
/*
 * The helper thread of a program: opens channels when a provider starts after the
 * program, connects to a daemon that was restarted, and answers trace-ctl events.
 */
#ifndef TSCT_HELPER_H
#define TSCT_HELPER_H

#include "channel.h"

/*
 * tsct_helper_watch - let the thread open the channel of @channel, or connect it again;
 * channel->opening is set
 * tsct_helper_forget - end that, and wait until the thread does not use @channel
 * tsct_helper_start - start the thread, for requests about typed events on @channel
 */
void tsct_helper_watch(struct tsct_channel *channel);
void tsct_helper_forget(struct tsct_channel *channel);
void tsct_helper_start(const struct tsct_channel *channel);

#endif /* TSCT_HELPER_H */
