/* SPDX-License-Identifier: MIT */
/* Channels as lines of a table and as JSON: for status, channel and top. */
#ifndef CHANNEL_VIEW_H
#define CHANNEL_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "channels.h"

/* "1.5 MiB" */
const char *channel_view_bytes(__u64 bytes, char *text, size_t size);

/* "overwrite,kernel,kept" */
const char *channel_view_policy(const struct tsct_channel_info *info,
				char *text, size_t size);

/*
 * "0", or "full 12, nested 1"
 * @lost: TSCT_LOST_NR of them
 */
const char *channel_view_lost(const __u64 *lost, __u64 no_ring, char *text,
			      size_t size);

__u64 channel_view_lost_sum(const __u64 *lost);

/* The table: its head, and one channel's line. */
void channel_view_head(FILE *to);
void channel_view_line(FILE *to, const struct listed *c);

/* Lines below that one: what each CPU's ring says, or those that lost some. */
void channel_view_cpus(FILE *to, struct channels *all, const struct listed *c,
		       bool lossy_only);

json_t *channel_view_lost_json(const __u64 *lost);
json_t *channel_view_json(struct channels *all, const struct listed *c);

#endif /* CHANNEL_VIEW_H */
