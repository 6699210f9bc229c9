/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What stands in front of an event's payload in a stream file: which event it is,
 * the low bits of its tick that changed, and its thread where that is another one.
 *
 *	byte 0, bits 0-2	form: 0-3 compact, 4-7 extended, with a stamp of
 *				1, 2, 4, 8 bytes each
 *	compact	 bits 3-7	id
 *	extended bits 3-23	id: 16 bits, and TSCT_DELTA_TID
 *	then			the stamp
 *	then			4 bytes of thread id, if the id has TSCT_DELTA_TID
 *
 * All little endian. So there are 2 bytes before the payload of an event with one
 * of the first 32 ids that comes less than 256 ticks after its predecessor.
 *
 * A stamp of n bits is the low n bits of the tick; the tick is the first one, at
 * or after that of the event before, whose low bits are these. The first event of a
 * packet goes on from the packet's begin, which stands in its header in full, and
 * always has its thread. So a packet is decoded by itself: it is the sync packet.
 *
 * Ticks never decrease. Options after RISC-V's text on trace time stamps:
 *
 *	tsc/16, tsc/256	4 or 8 low bits are dropped: struct tsct_tick_resolution
 *	interpolated	bits more than the source has: the same
 *	off		every event has the tick of its packet's begin
 *	sync-every	a packet ends after so many events: tsct_delta_due()
 */
#ifndef TSCT_CORE_DELTA_H
#define TSCT_CORE_DELTA_H

#include "port.h"

#define TSCT_DELTA_ID_MAX	0xffff
#define TSCT_DELTA_TID		0x10000
#define TSCT_DELTA_COMPACT	32	/* ids below are compact */

/* Bytes that one may take; tsct_delta_put() may write to all of them. */
#define TSCT_DELTA_ROOM		16

#define TSCT_DELTA_NO_TID	(1ULL << 32)

/* The writer's, or the reader's. Both have the same after the same event. */
struct tsct_delta {
	__u64 tick;	/* of the last event */
	__u64 tid;	/* of it; NO_TID: there was none in this packet */
	__u64 events;	/* in this packet */
};

/* tsct_delta_begin - a packet begins, and says so in full */
static inline void tsct_delta_begin(struct tsct_delta *delta, __u64 begin)
{
	delta->tick = begin;
	delta->tid = TSCT_DELTA_NO_TID;
	delta->events = 0;
}

/* tsct_delta_due - is it time for the next packet, which is to hold @every? */
static inline bool tsct_delta_due(const struct tsct_delta *delta, __u64 every)
{
	return delta->events >= every;
}

/*
 * tsct_delta_put - write one
 * @to: has TSCT_DELTA_ROOM bytes of room
 *
 * Returns how many are it, 2 to 15; what lies behind is undefined. -EINVAL: the
 * tick is before the last one, or the id above TSCT_DELTA_ID_MAX; nothing changed.
 */
static inline int tsct_delta_put(struct tsct_delta *delta, __u8 *to, __u32 id,
				 __u64 tick, __u32 tid)
{
	__u64 step = tick - delta->tick;
	__u32 other = tid != delta->tid;
	/* No jumps: how far it is from one event to the next is anybody's guess. */
	__u32 width = (step > 0xff) + (step > 0xffff) + (step > 0xffffffff);
	__u32 extended = (id >= TSCT_DELTA_COMPACT) | other;
	__u32 head = width | extended << 2 | id << 3 | other << (3 + 16);
	__u32 at = 1 + 2 * extended;

	if (unlikely(tick < delta->tick || id > TSCT_DELTA_ID_MAX))
		return -EINVAL;
	memcpy(to, &head, sizeof(head));
	memcpy(to + at, &tick, sizeof(tick));
	at += 1U << width;
	memcpy(to + at, &tid, sizeof(tid));
	at += 4 * other;
	delta->tick = tick;
	delta->tid = tid;
	delta->events++;
	return (int)at;
}

/* Bytes before the thread id, by form: a table of eight */
#define TSCT_DELTA_SIZES_	0x0b07050409050302ULL

/* Of bytes that are all there. The next event waits for the size alone. */
static inline int tsct_delta_take_(struct tsct_delta *delta, const __u8 *from,
				   __u32 *ret_id)
{
	__u32 head, tid = (__u32)delta->tid, form, wide, size;
	__u64 stamp, tick;

	memcpy(&head, from, sizeof(head));
	form = head & 7;
	size = TSCT_DELTA_SIZES_ >> 8 * form & 0xff;
	wide = form >> 2;
	memcpy(&stamp, from + 1 + 2 * wide, sizeof(stamp));
	head = head >> 3 & (0x1f | ((0 - wide) & 0x1fffff));
	tick = delta->tick + ((stamp - delta->tick) &
			      ~0ULL >> (64 - (8U << (form & 3))));
	if (unlikely(head & TSCT_DELTA_TID)) {
		memcpy(&tid, from + size, sizeof(tid));
		size += sizeof(tid);
	} else if (unlikely(delta->tid == TSCT_DELTA_NO_TID)) {
		return -EINVAL;
	}
	if (unlikely(tick < delta->tick || head > (TSCT_DELTA_TID | 0xffff)))
		return -EINVAL;
	delta->tick = tick;
	delta->tid = tid;
	delta->events++;
	*ret_id = head & 0xffff;
	return (int)size;
}

/* tsct_delta_get_end - tsct_delta_get() for the last bytes of a packet */
int tsct_delta_get_end(struct tsct_delta *delta, const __u8 *from, size_t len,
		       __u32 *ret_id);

/*
 * tsct_delta_get - read one: the event's tick and thread are in *delta then
 * @len: bytes that may be read; nothing behind is. They may be anything.
 *
 * Returns how many are it. -ENODATA: it ends behind them; -EINVAL: what no writer
 * writes: a tick that would be beyond 2^64, or before the last one, an id that is
 * none, a first event without its thread. Then nothing changed.
 */
static inline int tsct_delta_get(struct tsct_delta *delta, const __u8 *from,
				 size_t len, __u32 *ret_id)
{
	if (likely(len >= TSCT_DELTA_ROOM))
		return tsct_delta_take_(delta, from, ret_id);
	return tsct_delta_get_end(delta, from, len, ret_id);
}

/* ---- coarser and finer ticks ---------------------------------------------- */

/*
 * Ticks of another size than the source's.
 *
 * bits < 0: that many low bits are dropped; ticks are so much longer.
 * bits > 0: the source's ticks are divided into 2^bits. Events on the same tick
 * are put one after the other within it, as the counter of a unique stamp has it
 * (tsctrace/stamp.h); where it is full they go on in the next one.
 */
struct tsct_tick_resolution {
	__u64 seen;	/* the source's last tick */
	__u64 next;	/* the lowest tick that the next event may have */
	__s32 bits;
};

#define TSCT_GRAIN_MAX	13

/* tsct_tick_resolution_init - Returns 0; -EINVAL: more bits than TSCT_GRAIN_MAX, any way */
int tsct_tick_resolution_init(struct tsct_tick_resolution *grain, int bits);

/*
 * tsct_tick_resolution_tick - the tick of an event of the source's tick @source
 * Returns 0; -EINVAL: the source runs backwards; -ERANGE: there are too many.
 */
int tsct_tick_resolution_tick(struct tsct_tick_resolution *grain, __u64 source, __u64 *ret_tick);

#endif /* TSCT_CORE_DELTA_H */
