/* SPDX-License-Identifier: MIT */
/* Channels as rows of a table and as JSON, for status, channel and top */
#ifndef CHANNEL_VIEW_H
#define CHANNEL_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "tools/common/channels.h"

/* Formats a size, "1.5 MiB"; returns @text. */
const char *channel_view_bytes(__u64 bytes, char *text, size_t size);

/* Formats policy and flags, "overwrite,kernel,kept"; returns @text. */
const char *channel_view_policy(const struct tsct_channel_info *info,
				char *text, size_t size);

/*
 * Formats losses, "full 12, nested 1" or "0"; returns @text.
 * @lost: TSCT_LOST_NR counters
 */
const char *channel_view_lost(const __u64 *lost, __u64 no_ring, char *text,
			      size_t size);

__u64 channel_view_lost_sum(const __u64 *lost);

/* The table: its header, and one row */
void channel_view_header(FILE *to);
void channel_view_row(FILE *to, const struct listed_channel *c);

/* Rows of the channel's CPUs, or of those that lost events */
void channel_view_cpus(FILE *to, struct channel_list *all, const struct listed_channel *c,
		       bool lossy_only);

/* Losses by cause, without no_ring */
json_t *channel_view_lost_json(const __u64 *lost);
json_t *channel_view_json(struct channel_list *all, const struct listed_channel *c);

#endif /* CHANNEL_VIEW_H */
