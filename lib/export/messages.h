/* SPDX-License-Identifier: MIT */
/*
 * The messages of a walk over a recording: matches sends with receives, even if two nodes' clocks
 * make the receive seem earlier. Memory is bounded, as in lib/query/message_match.h.
 */
#ifndef TSCT_MESSAGES_H
#define TSCT_MESSAGES_H

#include "export.h"
#include "lib/query/message_match.h"

struct tsct_messages {
	/* Set by the caller. Called for each message when its send and receive have been read.
	 * `row`, `number` and `bytes` of both are the caller's. Returns 0 or an error. */
	int (*matched)(void *arg, const struct tsct_message_end *send,
		       const struct tsct_message_end *receive);
	void *arg;
	__u32 room;	/* largest number of messages that wait for their receive; 0: 2^20 */

	/* sends: sends without a receive so far; early: receives without a send so far */
	struct tsct_message_matcher *sends, *early;
};

/* Returns 0 or -errno; @messages must be freed even after an error. */
int tsct_messages_init(struct tsct_messages *messages);
void tsct_messages_free(struct tsct_messages *messages);

/*
 * tsct_messages_add - add an event of a walk; ignored if it is no send or receive
 * @ev: an event as tsct_export_walk() passes it
 * @own: `row`, `number` and `bytes` of the end that matched() gets
 *
 * Returns 0 or the error of matched().
 */
int tsct_messages_add(struct tsct_messages *messages, const struct tsct_export *x,
		      const struct tsct_export_event *ev, const struct tsct_message_end *own);

#endif /* TSCT_MESSAGES_H */
