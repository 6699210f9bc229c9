/* SPDX-License-Identifier: MIT */
/* Messages of a merge: its inputs' events once more, in the order of global ticks */
#ifndef TSCT_MERGE_WALK_H
#define TSCT_MERGE_WALK_H

#include "merge.h"

/*
 * tsct_merge_messages - match what the inputs have of messages
 * @ret: all zero. What the result's metadata says of it; left alone where no input
 *	defines ends of messages
 *
 * Needs the plan, and does not matter to what is written: before or after it, or in
 * another thread. Only files of classes that define ends are read. Memory goes with
 * how many those are. 0, -EINTR: it was stopped, or -ENOMEM.
 */
int tsct_merge_messages(struct tsct_merge *merge,
			struct tsct_message_stats *ret);

#endif /* TSCT_MERGE_WALK_H */
