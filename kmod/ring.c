// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's two writers. Both stay on the CPU that owns the ring, the one for
 * kernel channels with interrupts off, the other with preemption off; both
 * write a record in place and publish it with one store, and neither takes a
 * lock. Section 3 of tsctrace/abi_channel.h has the rules.
 */
#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/irqflags.h>
#include <linux/pid.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tsctrace.h>

#include "channel.h"
#include "ring.h"

/*
 * LOCK'ed: in a user channel the page is everybody's, and a program may be
 * counting from another CPU; in a kernel channel an NMI may come in between.
 */
static void ring_count_lost(struct tsct_ring *ring, unsigned int cause)
{
	atomic64_inc((atomic64_t *)&ring->producer->lost[cause]);
}

static noinline int channel_count_no_ring(struct tsct_kchannel *channel)
{
	atomic64_inc((atomic64_t *)&channel->header->lost_no_ring);
	return -ENXIO;
}

/* Interrupts, or preemption at least, are off. */
static __always_inline struct tsct_ring *channel_this_ring(struct tsct_kchannel *channel)
{
	return tsct_channel_ring(channel, smp_processor_id());
}

static __always_inline void record_fill_header(struct tsct_record *record, u64 cycles,
					u32 tid, u32 id, u32 len)
{
	record->len = sizeof(*record) + len;
	record->id = id;
	record->tid = tid;
	record->cycles = cycles;
}

/*
 * A pad to the end of head's block, and the next one's header. What the last
 * header says of events may come from a program: a figure, and handed on.
 */
static void ring_begin_block(struct tsct_ring *ring, const struct tsct_ring_slot *place,
			u64 head, u64 cycles)
{
	u64 mask = ring->geo.data_size - 1;
	struct tsct_block last, next;

	tsct_ring_block(&ring->geo, ring->data, head, &last);
	tsct_block_next(&ring->geo, &last, head, cycles, &next);
	*(u64 *)(ring->data + (place->pad_pos & mask)) =
		tsct_pad_word(place->pad_len);
	memcpy(ring->data + ((place->pos - sizeof(next)) & mask), &next,
	       sizeof(next));
}

/*
 * Stores the record, and what has to be in front of it. Whatever head the
 * place was made from, all of it lies inside the ring's data.
 */
static void ring_store_record(struct tsct_ring *ring, const struct tsct_ring_slot *place,
			 u64 cycles, u32 tid, u32 id, const void *payload,
			 u32 len)
{
	u64 mask = ring->geo.data_size - 1;
	struct tsct_record *record;

	record = (struct tsct_record *)(ring->data + (place->pos & mask));
	record_fill_header(record, cycles, tid, id, len);
	memcpy(record->payload, payload, len);
}

/* ---- kernel channels -------------------------------------------------- */

/*
 * Sources other than the TSC may be read by an NMI in the middle of their
 * update, and be a little behind. Stamps never decrease in a ring.
 */
static u64 ring_next_cycles(struct tsct_ring *ring)
{
	u64 cycles = tsct_source_read(ring->source);

	if (ring->source != TSCT_SOURCE_TSC) {
		cycles = max(cycles, ring->last_cycles);
		ring->last_cycles = cycles;
	}
	return cycles;
}

/* By the rules, whatever there is: a new block, a full ring, any clock. */
static int ring_emit_record(struct tsct_ring *ring, u32 id, const void *payload,
			 u32 len)
{
	struct tsct_ring_slot place;
	u64 cycles;

	if (len > tsct_payload_max(&ring->geo)) {
		ring_count_lost(ring, TSCT_LOST_TOO_BIG);
		return -EMSGSIZE;
	}
	place = tsct_ring_place(&ring->geo, ring->head, tsct_record_size(len));
	/*
	 * Acquire, with the reader's release of tail: what it read it has
	 * read before we write over it.
	 */
	if (!tsct_ring_fits(&ring->geo, place.head,
			    smp_load_acquire(&ring->consumer->tail))) {
		ring_count_lost(ring, TSCT_LOST_FULL);
		return -ENOSPC;
	}
	cycles = ring_next_cycles(ring);
	if (place.pad_len)
		ring_begin_block(ring, &place, ring->head, cycles);
	ring_store_record(ring, &place, cycles, current->pid, id, payload, len);
	ring->head = place.head;
	/* pairs with the reader's acquire of head */
	smp_store_release(&ring->producer->head, place.head);
	return 0;
}

/*
 * How far the next records may go without asking anything again: to the 8 bytes
 * at the end of the block that stay free, and to what the reader has left free,
 * by a tail that can only be behind the true one. Nothing for clocks that need
 * care.
 */
static u32 ring_lookahead(const struct tsct_ring *ring)
{
	/* acquire: as in ring_emit_record(), for all records that use it */
	u64 used = tsct_pos_distance(smp_load_acquire(&ring->consumer->tail),
				     ring->head);
	u32 block = ring->geo.block_size;
	u32 left = block - (u32)(ring->head & (block - 1)) - TSCT_RECORD_ALIGN;

	if (ring->source != TSCT_SOURCE_TSC)
		return 0;
	if (ring->geo.policy == TSCT_POLICY_OVERWRITE)
		return left;
	if (used >= ring->geo.data_size)
		return 0;
	return min_t(u64, left, ring->geo.data_size - used);
}

static noinline int ring_emit_slow(struct tsct_ring *ring, u32 id,
			      const void *payload, u32 len)
{
	int err = ring_emit_record(ring, id, payload, len);

	ring->left = ring_lookahead(ring);
	ring->next = ring->data + (ring->head & (ring->geo.data_size - 1));
	return err;
}

#define SMALL_MAX	64

/* For what most events are. No call, so that its caller saves no registers. */
static __always_inline void payload_copy_small(u8 *to, const u8 *from, u32 len)
{
	for (; len >= 8; len -= 8, to += 8, from += 8) {
		memcpy(to, from, 8);
		barrier();	/* or the compiler makes it a call */
	}
	for (; len; len--) {
		*to++ = *from++;
		barrier();
	}
}

/* By what was found out before. `len` is at most SMALL_MAX. */
static __always_inline int ring_emit_small(struct tsct_ring *ring, u32 id,
				      const void *payload, u32 len)
{
	u32 size = tsct_record_size(len);
	struct tsct_record *record;

	if (unlikely(size > ring->left))
		return ring_emit_slow(ring, id, payload, len);

	record = (struct tsct_record *)ring->next;
	record_fill_header(record, rdtsc_ordered(), current->pid, id, len);
	payload_copy_small(record->payload, payload, len);
	ring->left -= size;
	ring->next += size;
	ring->head += size + TSCT_HEAD_ONE_EVENT;
	/* pairs with the reader's acquire of head */
	smp_store_release(&ring->producer->head, ring->head);
	return 0;
}

/*
 * The ring is ours: interrupts are off, and NMIs see `busy`. What most events
 * are has a copy of its own, where the compiler knows all sizes.
 */
static __always_inline int ring_emit(struct tsct_ring *ring, u32 id,
				const void *payload, u32 len)
{
	if (likely(len == 8))
		return ring_emit_small(ring, id, payload, 8);
	if (likely(len <= SMALL_MAX))
		return ring_emit_small(ring, id, payload, len);
	return ring_emit_slow(ring, id, payload, len);
}

/*
 * Only NMIs of this CPU look at busy, so the compiler is all that has to be
 * kept in order.
 */
static __always_inline void ring_set_busy(struct tsct_ring *ring, bool busy)
{
	barrier();
	WRITE_ONCE(ring->busy, busy);
	barrier();
}

/* Described in include/linux/tsctrace.h. */
int tsct_emit(struct tsct_kchannel *channel, unsigned int id,
	      const void *payload, u32 len)
{
	struct tsct_ring *ring;
	unsigned long flags;
	int err;

	if (unlikely(id - TSCT_ID_FIRST > TSCT_ID_MAX - TSCT_ID_FIRST))
		return -EINVAL;
	local_irq_save(flags);
	ring = channel_this_ring(channel);
	if (unlikely(!ring)) {
		err = channel_count_no_ring(channel);
	} else if (unlikely(ring->busy)) {
		/* We are an NMI on top of a writer, and cannot wait for it. */
		ring_count_lost(ring, TSCT_LOST_NESTED);
		err = -EBUSY;
	} else {
		ring_set_busy(ring, true);
		err = ring_emit(ring, id, payload, len);
		ring_set_busy(ring, false);
	}
	local_irq_restore(flags);
	return err;
}
EXPORT_SYMBOL_GPL(tsct_emit);

/* ---- user channels ---------------------------------------------------- */

/*
 * On behalf of a program, into a ring that programs write by themselves from
 * rseq sections. The two cannot interleave: we run in process context, so any
 * program's section on this CPU was left by a system call (which sections may
 * not make), or by the switch to this task, and is restarted when its thread
 * runs again; and with preemption off nothing is switched before we are done.
 * Interrupts may come: none of them writes to such a ring.
 *
 * The head is in a page that programs write. It is read once; any value of it
 * gives a place inside the data.
 */
static int ring_write_record(struct tsct_ring *ring, u32 tid, u32 id,
			  const void *payload, u32 len)
{
	u64 head = READ_ONCE(ring->producer->head), cycles;
	struct tsct_ring_slot place = tsct_ring_place(&ring->geo, head,
						  tsct_record_size(len));

	/* Acquire for the same reason as in ring_emit_record(). */
	if (!tsct_ring_fits(&ring->geo, place.head,
			    smp_load_acquire(&ring->consumer->tail))) {
		ring_count_lost(ring, TSCT_LOST_FULL);
		return -ENOSPC;
	}
	cycles = tsct_source_read(ring->source);
	if (place.pad_len)
		ring_begin_block(ring, &place, head, cycles);
	ring_store_record(ring, &place, cycles, tid, id, payload, len);
	/* pairs with the reader's acquire of head */
	smp_store_release(&ring->producer->head, place.head);
	return 0;
}

int tsct_ring_write(struct tsct_kchannel *channel, u32 id, const void *payload,
		    u32 len)
{
	u32 tid = task_pid_vnr(current);
	struct tsct_ring *ring;
	int err;

	preempt_disable();
	ring = channel_this_ring(channel);
	if (likely(ring))
		err = ring_write_record(ring, tid, id, payload, len);
	else
		err = channel_count_no_ring(channel);
	preempt_enable();
	return err;
}

void tsct_ring_lost_too_big(struct tsct_kchannel *channel)
{
	struct tsct_ring *ring;

	preempt_disable();
	ring = channel_this_ring(channel);
	if (ring)
		ring_count_lost(ring, TSCT_LOST_TOO_BIG);
	else
		channel_count_no_ring(channel);
	preempt_enable();
}
