// SPDX-License-Identifier: MIT
/*
 * A task, an interrupt or an NMI that writes to a kernel channel, as kmod/ring.c does:
 * interrupts are off, `busy` excludes NMIs, and the kernel has its own copy of head and
 * a number of bytes that it may write without reading tail again.
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

static void clear_busy(void)
{
	store(W_BUSY, 0);
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
		clear_busy();
	publish(head, stamp);
}

/* Writes a record in the general case, with a new block where needed. Returns false if
 * there is no room. */
static bool write_by_rules(__u64 head, const struct tsct_ring_slot *place)
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
	return true;
}

static bool write_slow(__u64 head, __u32 size)
{
	const struct tsct_ring_slot place = tsct_ring_place(&ring_geo, head, size);
	const bool written = write_by_rules(head, &place);

	store(W_KLEFT, look_ahead(written ? place.head : head));
	return written;
}

static bool write(__u64 head)
{
	const struct actor *me = self();
	const __u32 size = event_size(me - now()->actors, me->vars.event);
	const __u32 left = load(W_KLEFT);
	__u64 stamp;

	if (size > left)
		return write_slow(head, size);
	stamp = read_counter();
	store_event(head, stamp);
	store(W_KLEFT, left - size);
	finish(head + size + TSCT_HEAD_ONE_EVENT, stamp);
	return true;
}

void kernel_program(struct vars *vars)
{
	const bool blind = mutated(NMI_IGNORES_BUSY) && self()->level == 2;
	__u64 head = 0;

	if (!mutated(INTERRUPTS_ON))
		alone_begin();
	if (!blind && load(W_BUSY)) {
		count_loss(vars, TSCT_LOST_NESTED);
		return;
	}
	if (mutated(BUSY_LATE))
		head = load(W_KHEAD);
	store(W_BUSY, 1);
	if (!mutated(BUSY_LATE))
		head = load(W_KHEAD);
	if (!write(head)) {
		locked_inc(W_LOST + TSCT_LOST_FULL);
		clear_busy();
		now()->truth.refused[TSCT_LOST_FULL]++;
		vars->event++;
		return;
	}
	if (!mutated(NOT_BUSY_EARLY))
		clear_busy();
	vars->nr_reported++;
	vars->event++;
}
