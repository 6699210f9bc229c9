/* SPDX-License-Identifier: MIT */
/* Figures of channels as JSON, and a table that is printed from the JSON */
#ifndef CHANNEL_VIEW_H
#define CHANNEL_VIEW_H

#include <jansson.h>

#include "lib/base/table.h"
#include "tools/common/channels.h"

/* Formats a size with its unit, such as "1.5 MiB". Returns @text. */
const char *channel_view_bytes(double bytes, char *text, size_t size);

/* Returns the figures of a channel. If @cpus is true, member "cpus" has the figures of each
 * CPU. Member "lost" has the lost events by cause. NULL: out of memory */
json_t *channel_view_json(struct channel_list *all, const struct listed_channel *c, bool cpus);

/* Returns a list of the figures of all channels; NULL: out of memory */
json_t *channel_view_list(struct channel_list *all, bool cpus);

/* Returns some figures of a channel: the members that identify it, its policy and its flags */
json_t *channel_view_identity(const struct tsct_channel_info *info);

/* Callbacks of columns. policy: append policy and flags, such as "overwrite,kernel,kept". lost:
 * append lost events by cause, such as " full 12, nested 1" or " 0"; @row is a channel or a CPU. */
void channel_view_policy(const json_t *row, struct tsct_text *cell);
void channel_view_lost(const json_t *row, struct tsct_text *cell);

/* Prints a table of channels. Below a channel, prints a row for each CPU in its member "cpus",
 * or, if @lossy_only is true, for each CPU that lost events. */
void channel_view_print(const json_t *channels, bool lossy_only);

#endif /* CHANNEL_VIEW_H */
