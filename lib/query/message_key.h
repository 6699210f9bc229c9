/* SPDX-License-Identifier: MIT */
/*
 * Keys by which the two ends of a message are matched: a hash of the first field of both
 * events, an integer by which the program numbers its messages. Two messages that are in
 * flight at the same time are unlikely to have equal keys if their numbers differ.
 *
 * Names separate the numbers of different messages where both ends have the same name.
 * All other ends share one pool, whatever their names ("ask" is sent, "served" is
 * received).
 */
#ifndef TSCT_MESSAGE_KEY_H
#define TSCT_MESSAGE_KEY_H

#include "lib/ctf/trace_reader.h"

/* Events of that definition have a number, their first field. */
static inline bool tsct_message_has_key(const struct tsct_event_def *def)
{
	return def->nr_fields && def->fields[0].type <= TSCT_TYPE_S64;
}

/* Events of that definition are ends of messages. */
static inline bool tsct_message_is_end(const struct tsct_event_def *def)
{
	return def->kind == TSCT_KIND_SEND || def->kind == TSCT_KIND_RECEIVE;
}

/*
 * tsct_message_pool - the pool of the numbers of events with that name
 * @kinds: 1 << kind, of all definitions with that name that have a key
 */
__u64 tsct_message_pool(const char *name, unsigned int kinds);

/* tsct_message_key - the key of an event whose name is in @pool; 0: it has none */
__u64 tsct_message_key(const struct tsct_trace_event *event, __u64 pool);

#endif /* TSCT_MESSAGE_KEY_H */
