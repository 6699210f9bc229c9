/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tsctrace for kernel modules: record events on the same timeline as programs.
 *
 * A module calls tsct_channel_open(), tsct_event_define() and, in any context, tsct_emit(); at
 * its end, tsct_channel_close(). Documentation/examples/kernel has a complete example. root reads
 * the channel like any other: trace-ctl record -c mydriver.
 */
#ifndef _LINUX_TSCTRACE_H
#define _LINUX_TSCTRACE_H

#include <linux/jump_label.h>
#include <linux/types.h>

#include <tsctrace/abi.h>

struct tsct_kchannel;

/**
 * tsct_channel_open - create a channel that only the kernel writes
 * @name: name of the channel, 1 to 31 of [A-Za-z0-9_.-]; unique among the channels of
 *	root, who owns the new channel
 * @policy: what happens when a ring is full: TSCT_POLICY_DISCARD: new events are lost
 *	until a reader frees space; TSCT_POLICY_OVERWRITE: the oldest events are overwritten
 * @block_size: bytes of a block, a power of two from 4096 to 65536; the largest payload
 *	is TSCT_PAYLOAD_MAX(@block_size), at most TSCT_KERNEL_PAYLOAD_MAX
 * @blocks: blocks per CPU, a power of two, at least 2 (TSCT_POLICY_OVERWRITE: 4)
 *
 * Each CPU present gets a ring of @block_size * @blocks bytes now. CPUs that are added
 * later get a ring when they come up. Only root with CAP_PERFMON or CAP_SYS_ADMIN can read
 * the events.
 *
 * Context: Process context, may sleep.
 * Return: the channel, or an ERR_PTR(): -EINVAL: invalid name, policy or sizes;
 * -EEXIST: root has a channel of that name; -EDQUOT: over the limit of the module
 * parameter bytes_max; -ENOMEM.
 */
struct tsct_kchannel *tsct_channel_open(const char *name, u32 policy,
					u32 block_size, u32 blocks);

/**
 * tsct_channel_close - release a channel
 * @channel: result of tsct_channel_open(), which may be an ERR_PTR(); or NULL
 *
 * No call with @channel may be under way or follow: stop timers, free interrupts
 * and unregister hooks first. Readers can read the remaining events; memory and
 * name are free when the last reader has closed the channel.
 *
 * Context: Process context, may sleep.
 */
void tsct_channel_close(struct tsct_kchannel *channel);

/**
 * tsct_event_define - define an event: its name, kind and payload fields
 * @channel: result of tsct_channel_open()
 * @name: name of the event, a C identifier of less than 64 characters
 * @kind: TSCT_KIND_INSTANT, _BEGIN, _END, _COUNTER, _SEND or _RECEIVE
 * @fields: fields of the payload, where they follow each other in this order, without
 *	padding; unset members of struct tsct_field are 0. NULL if there are no fields
 * @nr_fields: number of @fields, at most TSCT_FIELDS_MAX
 *
 * If an equal definition exists already, its id is returned.
 *
 * Context: Process context, may sleep.
 * Return: the event's id (at least 16), or -EINVAL: invalid definition; -ENOSPC:
 * the channel's definition area is full; -ENOMEM.
 */
int tsct_event_define(struct tsct_kchannel *channel, const char *name, unsigned int kind,
		      const struct tsct_field *fields, unsigned int nr_fields);

/**
 * tsct_emit - record an event
 * @channel: result of tsct_channel_open()
 * @id: event id, from tsct_event_define()
 * @payload: @len bytes in the defined layout; may be NULL if @len is 0
 * @len: bytes of @payload, at most TSCT_PAYLOAD_MAX() of the channel's block size, and
 *	TSCT_KERNEL_PAYLOAD_MAX
 *
 * Reads the counter and writes the event to the ring of this CPU, with the
 * thread id of the current task. It takes no lock and never waits; up to 64
 * bytes of payload cost little more than reading the counter.
 *
 * An event that cannot be written is counted as lost, per CPU and by cause, for
 * every reader to see: callers may ignore the result.
 *
 * Context: Any, NMI too. Interrupts are off while @len bytes are copied. In an NMI
 * or a debug exception that interrupted a writer of the same ring, the event is kept
 * for that writer, which records it next, with the later of both events' cycles.
 * Return: 0; -ENOSPC: ring full; -EMSGSIZE: payload too big; -EBUSY: the
 * interrupted writer has a kept event already, or @len exceeds 1024; -ENXIO:
 * this CPU was added later and has no ring, since there was no memory for it;
 * -EINVAL: @id is not an event id, the only error that is not counted as lost.
 */
int tsct_emit(struct tsct_kchannel *channel, unsigned int id,
	      const void *payload, u32 len);

/**
 * struct tsct_kevent - an event with a switch
 * @enabled: static key: while it is false, tsct_kevent_emit() costs a no-op instruction
 * @id: event id
 * @channel: the event's channel
 * @list: used by tsctrace
 *
 * Static storage in the module that emits the event; see DEFINE_TSCT_KEVENT().
 */
struct tsct_kevent {
	struct static_key_false enabled;
	unsigned int id;
	struct tsct_kchannel *channel;
	struct list_head list;
};

#define DEFINE_TSCT_KEVENT(name) \
	struct tsct_kevent name = { .enabled = STATIC_KEY_FALSE_INIT }

/**
 * tsct_kevent_define - define an event with a switch, and enable it
 * @channel: result of tsct_channel_open()
 * @event: variable made by DEFINE_TSCT_KEVENT(), with static storage
 * @name: as in tsct_event_define(), as are @kind, @fields and @nr_fields
 *
 * The channel's owner switches the event (TSCT_IOC_EVENT_SWITCH, trace-ctl channel
 * enable, disable). tsct_channel_close() disables it: a module that defined such events
 * must close the channel before it is unloaded. A second call for the same event and
 * channel has no effect.
 *
 * Context: Process context, may sleep, not in CPU hotplug callbacks.
 * Return: 0, or the errors of tsct_event_define().
 */
int tsct_kevent_define(struct tsct_kchannel *channel, struct tsct_kevent *event,
		       const char *name, unsigned int kind,
		       const struct tsct_field *fields, unsigned int nr_fields);

/**
 * tsct_kevent_emit - record an event if it is enabled
 * @event: address of a variable made by DEFINE_TSCT_KEVENT()
 * @payload: as in tsct_emit(), as is @len; neither is evaluated while the event is disabled
 *
 * Context: Any, NMI too.
 * Return: 0 if the event is disabled, else the result of tsct_emit().
 */
#define tsct_kevent_emit(event, payload, len)				\
	(static_branch_unlikely(&(event)->enabled) ?			\
	 tsct_emit((event)->channel, (event)->id, payload, len) : 0)

#endif /* _LINUX_TSCTRACE_H */
