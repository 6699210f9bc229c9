// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions exported to other modules, except tsct_emit(), which is in ring.c.
 * They are documented in include/linux/tsctrace.h.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tsctrace.h>

#include "../lib/core/event_def.h"
#include "channel.h"

struct tsct_kchannel *tsct_channel_open(const char *name, u32 policy,
					u32 block_size, u32 blocks)
{
	struct tsct_channel_create arg = {
		.policy = policy,
		.flags = TSCT_CHANNEL_KERNEL,
		.block_size = block_size,
		.blocks = blocks,
	};
	struct tsct_kchannel *channel;
	int err;

	if (strscpy(arg.name, name, sizeof(arg.name)) < 0)
		return ERR_PTR(-EINVAL);
	err = tsct_channel_make(&arg, GLOBAL_ROOT_UID, GFP_KERNEL, &channel);
	return err ? ERR_PTR(err) : channel;
}
EXPORT_SYMBOL_GPL(tsct_channel_open);

void tsct_channel_close(struct tsct_kchannel *channel)
{
	if (IS_ERR_OR_NULL(channel))
		return;
	tsct_kevents_release(channel);
	tsct_channel_put(channel, 0);
}
EXPORT_SYMBOL_GPL(tsct_channel_close);

int tsct_event_define(struct tsct_kchannel *channel, const char *name,
		      unsigned int kind, const char *fields)
{
	struct tsct_event_def *def = kmalloc(sizeof(*def), GFP_KERNEL);
	int err;

	if (!def)
		return -ENOMEM;
	err = tsct_event_def_parse(name, kind, fields, def, NULL);
	if (!err)
		err = tsct_channel_define(channel, def);
	if (!err)
		err = def->id;
	kfree(def);
	return err;
}
EXPORT_SYMBOL_GPL(tsct_event_define);
