// SPDX-License-Identifier: MIT
/*
 * A task, an interrupt or an NMI that writes to a kernel channel, as kmod/ring.c does:
 * interrupts are off, `busy` excludes NMIs, whose event is left to the writer, and the kernel
 * has its own copy of head and a number of bytes that it may write without reading tail again.
 */
#include "model.h"

static void count_loss(struct vars *vars, unsigned int cause)
{
	locked_inc(W_LOST + cause);
	now()->truth.refused[cause]++;
	if (cause == TSCT_LOST_NESTED && self()->level < 2)
		violate("an event was lost as nested, although its writer is no NMI");
	vars->event++;
}

/* Values of W_BUSY, as in kmod/ring.h */
enum { IDLE = 0, BUSY = 1, TAKEN = 3, PENDING = 4 };

/*
 * An NMI leaves its event to the writer that it interrupted, unless another one did so. Nothing
 * interrupts an NMI, so its load and store of W_BUSY are as one instruction. The writer counts
 * the event as reported, or as refused.
 */
static void leave_event(struct vars *vars, __u64 busy)
{
	const __u64 actor = self() - now()->actors;
	__u64 stamp;

	if (self()->level < 2)
		violate("a writer that is no NMI found the ring busy");
	if (busy != BUSY) {
		count_loss(vars, TSCT_LOST_NESTED);
		return;
	}
	store(W_BUSY, TAKEN);
	stamp = read_counter();
	store(W_NESTED, actor << 16 | (__u64)vars->event << 8 | stamp);
	store(W_BUSY, PENDING);
	vars->event++;
}

/*
 * Bytes that may be written without reading tail again: limited by the free room, and
 * by the block without its last 8 bytes, which stay unused. The tail loaded here can
 * only be older than the current one, so the result is never too large.
 */
static __u32 look_ahead(__u64 head)
{
	const __u32 left = ring_geo.block_size - (head & (ring_geo.block_size - 1)) -
		TSCT_RECORD_ALIGN;
	__u64 used;

	if (ring_geo.policy == TSCT_POLICY_OVERWRITE || mutated(STALE_ROOM))
		return left;
	used = tsct_pos_distance(load(W_TAIL), head);
	return left < ring_geo.data_size - used ? left : ring_geo.data_size - used;
}

static void finish(__u64 head, __u64 stamp)
{
	store(W_KHEAD, head);
	if (mutated(NOT_BUSY_EARLY))
		store(W_BUSY, IDLE);
	publish(head, stamp);
}

/* Writes a record in the general case, with a new block where needed. Returns false if
 * there is no room. */
static bool write_by_rules(__u64 head, const struct tsct_ring_slot *place, __u64 *ret_stamp)
{
	struct tsct_block block;
	__u64 tail = 0, stamp;

	if (ring_geo.policy == TSCT_POLICY_DISCARD)
		tail = load(W_TAIL);
	if (!tsct_ring_fits(&ring_geo, place->head, tail))
		return false;
	stamp = read_counter();
	if (place->pad_len) {
		block = next_header(head, stamp);
		store_pad(place);
		store_header(place->pos - TSCT_BLOCK_HEADER, &block);
	}
	store_event(place->pos, stamp);
	finish(place->head, stamp);
	*ret_stamp = stamp;
	return true;
}

static bool write_slow(__u64 head, __u32 size, __u64 *ret_stamp)
{
	const struct tsct_ring_slot place = tsct_ring_place(&ring_geo, head, size);
	const bool written = write_by_rules(head, &place, ret_stamp);

	store(W_KLEFT, look_ahead(written ? place.head : head));
	return written;
}

static bool write(__u64 head, __u64 *ret_stamp)
{
	const struct actor *me = self();
	const __u32 size = event_size(me - now()->actors, me->vars.event);
	const __u32 left = load(W_KLEFT);
	__u64 stamp;

	if (size > left)
		return write_slow(head, size, ret_stamp);
	stamp = read_counter();
	store_event(head, stamp);
	store(W_KLEFT, left - size);
	finish(head + size + TSCT_HEAD_ONE_EVENT, stamp);
	*ret_stamp = stamp;
	return true;
}

/* Writes the event that an NMI left. @stamp: of the event that it interrupted; 0: of none.
 * Returns false if there is no room. */
static bool write_nested(__u64 stamp)
{
	const __u64 nested = load(W_NESTED), head = load(W_KHEAD);
	const unsigned int actor = nested >> 16, event = (nested >> 8) & 0xff;
	const struct tsct_ring_slot place = tsct_ring_place(&ring_geo, head,
							    event_size(actor, event));
	struct tsct_block block;
	__u64 tail = 0;

	if (ring_geo.policy == TSCT_POLICY_DISCARD)
		tail = load(W_TAIL);
	if (!tsct_ring_fits(&ring_geo, place.head, tail)) {
		locked_inc(W_LOST + TSCT_LOST_FULL);
		return false;
	}
	if (stamp < (nested & 0xff))
		stamp = nested & 0xff;
	if (place.pad_len) {
		block = next_header(head, stamp);
		store_pad(&place);
		store_header(place.pos - TSCT_BLOCK_HEADER, &block);
	}
	store_event_of(actor, event, place.pos, stamp);
	store(W_KHEAD, place.head);
	publish_nested(place.head, stamp, actor, event);
	store(W_KLEFT, look_ahead(place.head));
	return true;
}

/* Ends a write. Returns false if an NMI left an event for which there was no room. */
static bool release(__u64 stamp)
{
	bool written;

	if (mutated(NOT_BUSY_EARLY))
		return true;
	if (mutated(RELEASE_IN_TWO)) {
		if (load(W_BUSY) == BUSY) {
			store(W_BUSY, IDLE);
			return true;
		}
		store(W_BUSY, TAKEN);
	} else if (decrement(W_BUSY) == IDLE) {
		return true;
	}
	written = write_nested(stamp);
	store(W_BUSY, IDLE);
	return written;
}

void kernel_program(struct vars *vars)
{
	const bool blind = mutated(NMI_IGNORES_BUSY) && self()->level == 2;
	__u64 head = 0, busy = 0, stamp = 0;
	bool written, all;

	if (!mutated(INTERRUPTS_ON))
		alone_begin();
	if (!blind)
		busy = load(W_BUSY);
	if (busy) {
		leave_event(vars, busy);
		return;
	}
	if (mutated(BUSY_LATE))
		head = load(W_KHEAD);
	store(W_BUSY, BUSY);
	if (!mutated(BUSY_LATE))
		head = load(W_KHEAD);
	written = write(head, &stamp);
	if (!written)
		locked_inc(W_LOST + TSCT_LOST_FULL);
	all = release(stamp);
	now()->truth.refused[TSCT_LOST_FULL] += !written + !all;
	vars->nr_reported += written;
	vars->event++;
}
