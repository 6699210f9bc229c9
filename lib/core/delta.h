/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Event headers of stream files, in front of each payload: the event's id, the low
 * bits of its tick that changed, and its thread where that is another one.
 *
 *	byte 0, bits 0-2	form: 0-3 compact, 4-7 extended, with low bits of
 *				the tick in 1, 2, 4, 8 bytes each
 *	compact	 bits 3-7	id
 *	extended bits 3-23	id: 16 bits, and TSCT_DELTA_TID
 *	then			the low bits of the tick
 *	then			4 bytes of thread id, if the id has TSCT_DELTA_TID
 *
 * All little endian. So there are 2 bytes before the payload of an event with one
 * of the first 32 ids that comes less than 256 ticks after its predecessor.
 *
 * The tick is the first one, at or after that of the event before, that has these
 * low bits. The first event of a packet continues from the packet's begin, which
 * its header has in full, and always has its thread. So each packet can be decoded
 * by itself: it is the sync packet.
 *
 * Ticks never decrease. Options, after RISC-V's text on trace time stamps:
 *
 *	tsc/16, tsc/256	4 or 8 low bits are dropped: struct tsct_tick_resolution
 *	interpolated	more bits than the source has: the same
 *	off		every event has the tick of its packet's begin
 *	sync-every	a packet ends after that many events: struct tsct_delta
 */
#ifndef TSCT_CORE_DELTA_H
#define TSCT_CORE_DELTA_H

#include "port.h"

#define TSCT_DELTA_ID_MAX	0xffff
#define TSCT_DELTA_TID		0x10000
#define TSCT_DELTA_COMPACT	32	/* ids below this have a compact header */

/* Maximum size of a header in bytes; tsct_delta_put() may write to all of them. */
#define TSCT_DELTA_ROOM		16

#define TSCT_DELTA_NO_TID	(1ULL << 32)

/* State of a writer or reader of event headers; equal in both after the same event */
struct tsct_delta {
	__u64 tick;	/* tick of the last event */
	__u64 tid;	/* thread id of the last event; TSCT_DELTA_NO_TID: none yet */
	__u64 events;	/* number of events in this packet */
};

/* tsct_delta_begin - begin a packet, whose header has the tick @begin in full */
static inline void tsct_delta_begin(struct tsct_delta *delta, __u64 begin)
{
	delta->tick = begin;
	delta->tid = TSCT_DELTA_NO_TID;
	delta->events = 0;
}

/*
 * tsct_delta_put - write the header of an event
 * @to: TSCT_DELTA_ROOM bytes of room
 *
 * Returns its size, 2 to 15; the bytes behind it are undefined. -EINVAL, with
 * nothing changed: the tick is before the last one, or the id is above
 * TSCT_DELTA_ID_MAX.
 */
static inline int tsct_delta_put(struct tsct_delta *delta, __u8 *to, __u32 id,
				 __u64 tick, __u32 tid)
{
	__u64 step = tick - delta->tick;
	__u32 other = tid != delta->tid;
	/* No branches: the distance between events cannot be predicted. */
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

/* Table of eight bytes: size of a header before its thread id, by form */
#define TSCT_DELTA_SIZES_	0x0b07050409050302ULL

/*
 * Reads a header of TSCT_DELTA_ROOM readable bytes. The address of the next event
 * depends on the size alone, not on the tick, so decoding does not wait for the tick.
 */
static inline int tsct_delta_get_room_(struct tsct_delta *delta, const __u8 *from,
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
static inline int tsct_delta_get_end(struct tsct_delta *delta, const __u8 *from,
				     size_t len, __u32 *ret_id)
{
	__u8 all[TSCT_DELTA_ROOM] = { 0 };
	__u32 extended, other;

	if (len > sizeof(all))
		len = sizeof(all);
	if (len)
		memcpy(all, from, len);
	extended = all[0] >> 2 & 1;
	other = all[2] >> 3 & extended;
	if (1 + 2 * extended + (1U << (all[0] & 3)) + 4 * other > len)
		return -ENODATA;
	return tsct_delta_get_room_(delta, all, ret_id);
}

/*
 * tsct_delta_get - read the header of an event; sets tick and thread id in *delta
 * @len: number of bytes that may be read, of any content
 *
 * Returns its size. With nothing changed: -ENODATA: it does not end within @len;
 * -EINVAL: a tick beyond 2^64 or before the last one, an invalid id, or a first event
 * without its thread.
 */
static inline int tsct_delta_get(struct tsct_delta *delta, const __u8 *from,
				 size_t len, __u32 *ret_id)
{
	if (likely(len >= TSCT_DELTA_ROOM))
		return tsct_delta_get_room_(delta, from, ret_id);
	return tsct_delta_get_end(delta, from, len, ret_id);
}

/* ---- coarser and finer ticks ---------------------------------------------- */

/*
 * Conversion of the source's ticks to coarser or finer ones.
 *
 * bits < 0: that many low bits are dropped. bits > 0: a tick is divided into 2^bits;
 * events on the same tick of the source get successive ones, as by the counter of a
 * unique stamp (tsctrace/stamp.h), and continue in the next tick after an overflow.
 */
struct tsct_tick_resolution {
	__u64 seen;	/* the source's last tick */
	__u64 next;	/* the lowest tick that the next event may have */
	__s32 bits;
};

#define TSCT_TICK_BITS_MAX	13

/*
 * tsct_tick_resolution_init - start at tick 0. Returns 0; -EINVAL:
 * bits
 * is too large
 */
static inline int tsct_tick_resolution_init(struct tsct_tick_resolution *res, int bits)
{
	if (bits > TSCT_TICK_BITS_MAX || bits < -TSCT_TICK_BITS_MAX)
		return -EINVAL;
	res->seen = 0;
	res->next = 0;
	res->bits = bits;
	return 0;
}

/*
 * tsct_tick_resolution_tick - convert the tick of an event
 *
 * Returns 0; -EINVAL: @source is before the last one; -ERANGE: the tick exceeds 2^64.
 */
static inline int tsct_tick_resolution_tick(struct tsct_tick_resolution *res,
					    __u64 source, __u64 *ret_tick)
{
	__u64 tick;

	if (source < res->seen)
		return -EINVAL;
	if (res->bits <= 0) {
		tick = source >> -res->bits;
	} else {
		tick = source << res->bits;
		if (tick >> res->bits != source)
			return -ERANGE;
		if (tick < res->next)
			tick = res->next;
		if (tick == ~0ULL)
			return -ERANGE;
		res->next = tick + 1;
	}
	res->seen = source;
	*ret_tick = tick;
	return 0;
}

#endif /* TSCT_CORE_DELTA_H */
