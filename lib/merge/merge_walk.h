/* SPDX-License-Identifier: MIT */
/*
 * Messages of a merge: reads the inputs' events again, in the order of global
 * ticks.
 */
#ifndef TSCT_MERGE_WALK_H
#define TSCT_MERGE_WALK_H

#include "merge.h"

/*
 * tsct_merge_messages - match the sends and receives of all inputs
 * @ret: all zero; set to the counts for the result's metadata; not changed if
 *	no input defines ends of messages
 *
 * Needs the plan. Does not depend on tsct_merge_write(): call it before, after,
 * or in another thread. Reads only files of classes that define ends. Memory
 * grows with the number of such files. Returns 0, -EINTR: it was stopped,
 * or -ENOMEM.
 */
int tsct_merge_messages(struct tsct_merge *merge,
			struct tsct_message_stats *ret);

#endif /* TSCT_MERGE_WALK_H */
