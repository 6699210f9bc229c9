/* SPDX-License-Identifier: MIT */
/* Channels as rows of a table and as JSON */
#ifndef CHANNEL_VIEW_H
#define CHANNEL_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "tools/common/channels.h"

/* Formats a size, such as "1.5 MiB"; returns @text. */
const char *channel_view_bytes(__u64 bytes, char *text, size_t size);

/* "discard" or "overwrite" */
const char *channel_view_policy_name(__u32 policy);

/* Formats policy and flags, such as "overwrite,kernel,kept"; returns @text. */
const char *channel_view_policy(const struct tsct_channel_info *info,
				char *text, size_t size);

/*
 * Formats losses, such as "full 12, nested 1", or "0". Returns @text.
 * @lost: TSCT_LOST_NR counters
 */
const char *channel_view_lost(const __u64 *lost, __u64 no_ring, char *text,
			      size_t size);

__u64 channel_view_lost_sum(const __u64 *lost);

/* Header of a table of channels, and one row */
void channel_view_header(FILE *to);
void channel_view_row(FILE *to, const struct listed_channel *c);

/* Prints a row for each CPU of the channel, or for those that lost events. */
void channel_view_cpus(FILE *to, struct channel_list *all, const struct listed_channel *c,
		       bool lossy_only);

/* Losses by cause; no_ring is not a loss of a ring, and not included. */
json_t *channel_view_lost_json(const __u64 *lost);
json_t *channel_view_json(struct channel_list *all, const struct listed_channel *c);

#endif /* CHANNEL_VIEW_H */
