/* SPDX-License-Identifier: MIT */
/* Shows channels as rows of a table and as JSON */
#ifndef CHANNEL_VIEW_H
#define CHANNEL_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "lib/core/port.h"
#include "tools/common/channels.h"

/* Formats a size with its unit, such as "1.5 MiB". Returns @text. */
const char *channel_view_bytes(__u64 bytes, char *text, size_t size);

/* Returns the name of a channel's policy: "discard" or "overwrite" */
const char *channel_view_policy_name(__u32 policy);

/* Formats a channel's policy and flags: "overwrite,kernel,kept". Returns @text. */
const char *channel_view_policy(const struct tsct_channel_info *info,
				char *text, size_t size);

/*
 * Formats lost events by cause, such as "full 12, nested 1", or "0". Returns @text.
 * @lost: TSCT_LOST_NR counters of lost events
 */
const char *channel_view_lost(const __u64 *lost, __u64 no_ring, char *text,
			      size_t size);

__u64 channel_view_lost_sum(const __u64 *lost);

/* Print the header of a table of channels; print the row of one channel. */
void channel_view_header(FILE *to);
void channel_view_row(FILE *to, const struct listed_channel *c);

/* Prints a row for each CPU of the channel, or only for CPUs that lost events. */
void channel_view_cpus(FILE *to, struct channel_list *all, const struct listed_channel *c,
		       bool lossy_only);

/* Returns the numbers of lost events of one ring, or of all rings of a channel, by cause, as
 * a JSON object. Events that were lost because their CPU had no ring are not included. */
json_t *channel_view_lost_json(const __u64 *lost);
json_t *channel_view_json(struct channel_list *all, const struct listed_channel *c);

#endif /* CHANNEL_VIEW_H */
