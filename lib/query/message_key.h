/* SPDX-License-Identifier: MIT */
/*
 * Which events are ends of messages, and what the two ends of one have in common:
 * the first field, an integer, which programs number their messages by. It is
 * unlikely that two messages which are under way at the same time have the same key,
 * as far as the program's numbers are different ones.
 *
 * Names keep numbers of different things apart, where both ends have the same name;
 * all other events are taken for ends of one kind of messages, whatever they are
 * called ("ask" is sent, "served" is received).
 */
#ifndef TSCT_RECORDING_MESSAGE_H
#define TSCT_RECORDING_MESSAGE_H

#include "lib/ctf/trace_reader.h"

/* Do events of that definition have a number that a message can be known by? */
static inline bool tsct_message_has_key(const struct tsct_event_def *def)
{
	return def->nr_fields && def->fields[0].type <= TSCT_TYPE_S64;
}

/* Are events of that definition ends of messages? */
static inline bool tsct_message_is_end(const struct tsct_event_def *def)
{
	return def->kind == TSCT_KIND_SEND || def->kind == TSCT_KIND_RECEIVE;
}

/*
 * tsct_message_pool - what numbers of events that have this name belong to
 * @kinds: 1 << kind of all definitions that have it, and a key
 */
__u64 tsct_message_pool(const char *name, unsigned int kinds);

/* tsct_message_key - of an event, whose name is of @pool. 0: it has none. */
__u64 tsct_message_key(const struct tsct_trace_event *event, __u64 pool);

#endif /* TSCT_RECORDING_MESSAGE_H */
