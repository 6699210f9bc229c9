/* SPDX-License-Identifier: MIT */
/* What a merged recording says about messages between its nodes */
#ifndef TSCT_RECORDING_MESSAGES_H
#define TSCT_RECORDING_MESSAGES_H

#include <stdio.h>

#include "lib/core/port.h"

/* Of two nodes; one may talk to itself, too */
struct tsct_message_pair_stats {
	__u32 from, to;
	__u64 matched;
	/* Of them, received before they were sent: */
	__u64 before;		/* by the nodes' own clocks */
	__u64 within;		/* after correction, within the sum of both bounds */
	__u64 beyond;		/* after correction, beyond that */
	/* Receive minus send, least: before correction, after. 0: none matched */
	__s64 least_own_ns, least_ns;
};

struct tsct_message_stats {
	__u32 on;		/* it was looked for them */
	__u64 sends, receives;
	__u64 unmatched_sends, unmatched_receives;
	__u64 given_up;		/* of those, for lack of room */
	__u64 other_pairs;	/* messages of pairs that are not in here */
	struct tsct_message_pair_stats all;	/* from and to: 0 */
	struct tsct_message_pair_stats *pairs;	/* by from, to */
	__u32 nr_pairs;
};

#define TSCT_RECORDED_PAIRS_MAX	16384U

struct tsct_tsdl_parser;

void tsct_message_stats_free(struct tsct_message_stats *messages);

/* Lines of the metadata, and back: of keys messages and messages_INDEX. 0 or -errno */
void tsct_meta_put_messages(FILE *to, const struct tsct_message_stats *messages);
int tsct_tsdl_parse_messages(struct tsct_tsdl_parser *p, const char *key, const char *at);

#endif /* TSCT_RECORDING_MESSAGES_H */
