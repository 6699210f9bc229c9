// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of kernel modules with a switch: a static key, so that a disabled event costs a
 * no-op instruction. Documented in include/linux/tsctrace.h.
 */
#include <linux/export.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/tsctrace.h>

#include "channel.h"

int tsct_kevent_define(struct tsct_kchannel *channel, struct tsct_kevent *event,
		       const char *name, unsigned int kind, const char *fields)
{
	int id = tsct_event_define(channel, name, kind, fields);

	if (id < 0)
		return id;
	event->id = id;
	event->channel = channel;
	mutex_lock(&channel->defs_lock);
	list_add(&event->list, &channel->kevents);
	static_branch_enable(&event->enabled);
	mutex_unlock(&channel->defs_lock);
	return 0;
}
EXPORT_SYMBOL_GPL(tsct_kevent_define);

static struct tsct_kevent *kevent_find(struct tsct_kchannel *channel, u32 id)
{
	struct tsct_kevent *event;

	lockdep_assert_held(&channel->defs_lock);
	list_for_each_entry(event, &channel->kevents, list)
		if (event->id == id)
			return event;
	return NULL;
}

int tsct_kevent_switch(struct tsct_kchannel *channel, struct tsct_event_switch *arg)
{
	struct tsct_kevent *event;

	if (arg->state > TSCT_EVENT_QUERY)
		return -EINVAL;
	mutex_lock(&channel->defs_lock);
	event = kevent_find(channel, arg->id);
	if (event && arg->state == TSCT_EVENT_ENABLED)
		static_branch_enable(&event->enabled);
	else if (event && arg->state == TSCT_EVENT_DISABLED)
		static_branch_disable(&event->enabled);
	if (event)
		arg->state = static_key_enabled(&event->enabled) ?
			TSCT_EVENT_ENABLED : TSCT_EVENT_DISABLED;
	mutex_unlock(&channel->defs_lock);
	return event ? 0 : -ENOENT;
}

void tsct_kevents_release(struct tsct_kchannel *channel)
{
	struct tsct_kevent *event, *next;

	mutex_lock(&channel->defs_lock);
	list_for_each_entry_safe(event, next, &channel->kevents, list) {
		static_branch_disable(&event->enabled);
		list_del(&event->list);
	}
	mutex_unlock(&channel->defs_lock);
}
