/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tsctrace for kernel modules: record events on the same timeline as programs.
 *
 *	channel = tsct_channel_open("mydriver", TSCT_POLICY_OVERWRITE, 4096, 64);
 *	id = tsct_event_define(channel, "request_done", TSCT_KIND_INSTANT,
 *			 "sector:u64/x, bytes:u32");
 *	...
 *	tsct_emit(channel, id, &done, sizeof(done));	// any context
 *	...
 *	tsct_channel_close(channel);
 *
 * root reads it as any other channel: trace-ctl record -c mydriver. A whole
 * module is in Documentation/examples/kernel.
 */
#ifndef _LINUX_TSCTRACE_H
#define _LINUX_TSCTRACE_H

#include <linux/types.h>

#include <tsctrace/abi.h>

struct tsct_kchannel;

/**
 * tsct_channel_open - make a channel that the kernel writes
 * @name: what it is called: 1 to 31 of [A-Za-z0-9_.-]; names are the user's,
 *	and this one is root's
 * @policy: TSCT_POLICY_DISCARD: while nobody has read what is there, new events
 *	are lost; TSCT_POLICY_OVERWRITE: the oldest are
 * @block_size: bytes, a power of two from 4096 to 65536; the largest payload is
 *	TSCT_PAYLOAD_MAX(@block_size)
 * @blocks: of each CPU, a power of two, at least 2 (TSCT_POLICY_OVERWRITE: 4)
 *
 * Each CPU that is up has a ring of @block_size * @blocks bytes, allocated now;
 * others get theirs when they come up. Events are read by root, with
 * CAP_PERFMON or CAP_SYS_ADMIN.
 *
 * Context: Process context, may sleep.
 * Return: the channel, or an ERR_PTR(): -EINVAL: name, policy or sizes are not
 * as above; -EEXIST: root has a channel of that name; -EDQUOT: the module
 * parameter bytes_max allows no more; -ENOMEM.
 */
struct tsct_kchannel *tsct_channel_open(const char *name, u32 policy,
				       u32 block_size, u32 blocks);

/**
 * tsct_channel_close - let go of a channel
 * @channel: from tsct_channel_open(), an ERR_PTR() or NULL
 *
 * No call with @channel may be under way, or come later: stop timers, free
 * interrupts and unregister hooks first. Those who read it keep what it holds
 * until they are done; its name is free when the last of them has gone.
 *
 * Context: Process context, may sleep.
 */
void tsct_channel_close(struct tsct_kchannel *channel);

/**
 * tsct_event_define - say what an event's payload means
 * @channel: from tsct_channel_open()
 * @name: a C identifier of less than 64 characters
 * @kind: TSCT_KIND_INSTANT, _BEGIN, _END, _COUNTER, _SEND or _RECEIVE
 * @fields: "name:type" items, separated by commas or spaces: types u8 u16 u32
 *	u64 s8 s16 s32 s64 f32 f64 string bytes[N] chars[N]; a suffix /x shows an
 *	integer in hexadecimal. In the payload they follow each other in this
 *	order, without padding. "": no payload.
 *
 * The same definition again gives the same id.
 *
 * Context: Process context, may sleep.
 * Return: the event's id (at least 16), or -EINVAL: not a definition; -ENOSPC:
 * the channel's definition area is full; -ENOMEM.
 */
int tsct_event_define(struct tsct_kchannel *channel, const char *name,
		unsigned int kind, const char *fields);

/**
 * tsct_emit - record an event
 * @channel: from tsct_channel_open()
 * @id: from tsct_event_define()
 * @payload: @len bytes, in the layout that was defined; may be NULL if @len is 0
 * @len: at most TSCT_PAYLOAD_MAX() of the channel's block size
 *
 * The event is stamped here and written to the ring of this CPU, with the
 * thread that is current. It takes no lock and waits for nobody; up to 64 bytes
 * of payload cost little more than reading the counter.
 *
 * What cannot be written is counted as lost, for this CPU and by cause, and
 * every reader is told: callers may ignore the result.
 *
 * Context: Any, NMI too. Interrupts are off meanwhile: as long as it takes to
 * copy @len bytes.
 * Return: 0; -ENOSPC: full; -EMSGSIZE: too big; -EBUSY: an NMI, or a debug
 * exception, on top of a writer of the same ring; -ENXIO: this CPU has no ring,
 * there was no memory for it when it came up; -EINVAL: @id is no event's, which
 * is not counted.
 */
int tsct_emit(struct tsct_kchannel *channel, unsigned int id,
	      const void *payload, u32 len);

#endif /* _LINUX_TSCTRACE_H */
