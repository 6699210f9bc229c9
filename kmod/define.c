// SPDX-License-Identifier: GPL-2.0-only
/* The events that a channel knows: appended once, never changed. */
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include "../lib/core/event_def.h"
#include "channel.h"

/* The id of an equal definition; 0: none. The area is ours alone to write. */
static u16 find_definition(struct tsct_kchannel *channel,
			   const struct tsct_event_def *def)
{
	const struct tsct_event_def *known;
	size_t pos = 0;
	int err;

	while ((known = tsct_event_def_next(channel->defs, channel->defs_used, pos,
				      &pos, &err)))
		if (tsct_event_def_equal(known, def))
			return known->id;
	return 0;
}

static int append_definition(struct tsct_kchannel *channel,
			     struct tsct_event_def *def)
{
	u32 id = TSCT_ID_FIRST + channel->defs_nr;

	if (def->size > TSCT_DEFS_SIZE - channel->defs_used ||
	    id > TSCT_ID_MAX)
		return -ENOSPC;
	def->id = id;
	memcpy(channel->defs + channel->defs_used, def, def->size);
	channel->defs_used += def->size;
	channel->defs_nr++;
	/* pairs with the reader's acquire: what it counts is complete */
	smp_store_release(&channel->header->defs_used, channel->defs_used);
	return 0;
}

int tsct_channel_define(struct tsct_kchannel *channel,
			struct tsct_event_def *def)
{
	int err;

	if (def->id)
		return -EINVAL;
	err = tsct_event_def_check(def, sizeof(*def));
	if (err)
		return err;
	mutex_lock(&channel->defs_lock);
	def->id = find_definition(channel, def);
	if (!def->id)
		err = append_definition(channel, def);
	mutex_unlock(&channel->defs_lock);
	return err;
}
