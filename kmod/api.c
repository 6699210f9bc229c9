// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions exported to other modules, except tsct_emit(), which is in ring.c.
 * They are documented in include/linux/tsctrace.h. The switch of an event is a static key,
 * so that a disabled event costs only a no-op instruction.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/mutex.h>
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

int tsct_event_define(struct tsct_kchannel *channel, const char *name, unsigned int kind,
		      const struct tsct_field *fields, unsigned int nr_fields)
{
	struct tsct_event_def *def;
	int err;

	if (kind >= TSCT_KIND_NR || nr_fields > TSCT_FIELDS_MAX)
		return -EINVAL;
	def = kzalloc(sizeof(*def), GFP_KERNEL);
	if (!def)
		return -ENOMEM;
	def->size = TSCT_EVENT_DEF_SIZE(nr_fields);
	def->kind = kind;
	def->nr_fields = nr_fields;
	memcpy(def->fields, fields, nr_fields * sizeof(*fields));
	err = strscpy(def->name, name, sizeof(def->name)) < 0 ? -EINVAL :
		tsct_channel_define(channel, def) ?: def->id;
	kfree(def);
	return err;
}
EXPORT_SYMBOL_GPL(tsct_event_define);

/* ---- events with a switch ---------------------------------------------- */

int tsct_kevent_define(struct tsct_kchannel *channel, struct tsct_kevent *event,
		       const char *name, unsigned int kind,
		       const struct tsct_field *fields, unsigned int nr_fields)
{
	int id = tsct_event_define(channel, name, kind, fields, nr_fields);

	if (id < 0)
		return id;
	mutex_lock(&channel->kevents_lock);
	if (event->channel != channel) {
		event->id = id;
		event->channel = channel;
		list_add(&event->list, &channel->kevents);
		static_branch_enable(&event->enabled);
	}
	mutex_unlock(&channel->kevents_lock);
	return 0;
}
EXPORT_SYMBOL_GPL(tsct_kevent_define);

/* Switches all events that have the id: events with equal definitions have the same id. */
int tsct_kevent_switch(struct tsct_kchannel *channel, struct tsct_event_switch *arg)
{
	struct tsct_kevent *event;
	int err = -ENOENT;
	u32 state = arg->state;

	if (state > TSCT_EVENT_QUERY)
		return -EINVAL;
	mutex_lock(&channel->kevents_lock);
	list_for_each_entry(event, &channel->kevents, list) {
		if (event->id != arg->id)
			continue;
		if (state == TSCT_EVENT_ENABLED)
			static_branch_enable(&event->enabled);
		else if (state == TSCT_EVENT_DISABLED)
			static_branch_disable(&event->enabled);
		arg->state = static_key_enabled(&event->enabled) ?
			TSCT_EVENT_ENABLED : TSCT_EVENT_DISABLED;
		err = 0;
	}
	mutex_unlock(&channel->kevents_lock);
	return err;
}

void tsct_kevents_release(struct tsct_kchannel *channel)
{
	struct tsct_kevent *event, *next;

	mutex_lock(&channel->kevents_lock);
	list_for_each_entry_safe(event, next, &channel->kevents, list) {
		static_branch_disable(&event->enabled);
		list_del(&event->list);
		event->channel = NULL;
	}
	mutex_unlock(&channel->kevents_lock);
}
