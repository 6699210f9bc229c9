// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's two writers. Both run with interrupts off on the CPU that owns
 * the ring, both write a record in place and publish it with one store, and
 * neither takes a lock. Section 3 of tsctrace/abi.h has the rules.
 */
#include <linux/atomic.h>
#include <linux/irqflags.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "channel.h"
#include "ring.h"

/*
 * LOCK'ed: in a user channel the page is everybody's, and a program may be
 * counting from another CPU; in a kernel channel an NMI may come in between.
 */
static void count_lost(struct tsct_ring *ring, unsigned int cause)
{
	atomic64_inc((atomic64_t *)&ring->producer->lost[cause]);
}

static noinline int no_ring(struct tsct_channel *channel)
{
	atomic64_inc((atomic64_t *)&channel->header->lost_no_ring);
	return -ENXIO;
}

/* Interrupts are off. */
static __always_inline struct tsct_ring *this_ring(struct tsct_channel *channel)
{
	return tsct_channel_ring(channel, smp_processor_id());
}

/*
 * Stores a pad, where there has to be one, and the record. Whatever head the
 * place was made from, all of it lies inside the ring's data.
 */
static __always_inline void store_record(struct tsct_ring *ring,
					 const struct tsct_place *place,
					 u64 stamp, u32 tid, u32 id,
					 const void *payload, u32 len)
{
	u64 mask = ring->geo.data_size - 1;
	struct tsct_record *record;
	u64 *pad;

	if (unlikely(place->pad_len)) {
		pad = (u64 *)(ring->data + (place->pad_pos & mask));
		*pad = (u16)place->pad_len | (u64)TSCT_ID_PAD << 16;
	}
	record = (struct tsct_record *)(ring->data + (place->pos & mask));
	record->len = sizeof(*record) + len;
	record->id = id;
	record->tid = tid;
	record->tsc = stamp;
	if (likely(len == sizeof(u64)))
		memcpy(record->payload, payload, sizeof(u64));
	else
		memcpy(record->payload, payload, len);
}

/* ---- kernel channels -------------------------------------------------- */

/*
 * Sources other than the TSC may be read by an NMI in the middle of their
 * update, and be a little behind. Stamps never decrease in a ring.
 */
static __always_inline u64 next_stamp(struct tsct_ring *ring)
{
	u64 stamp = tsct_source_read(ring->source);

	if (unlikely(ring->source != TSCT_SOURCE_TSC)) {
		stamp = max(stamp, ring->last_stamp);
		ring->last_stamp = stamp;
	}
	return stamp;
}

/* The ring is ours: interrupts are off, and NMIs see `busy`. */
static __always_inline int emit(struct tsct_ring *ring, u32 id,
				const void *payload, u32 len)
{
	struct tsct_place place;
	u64 end;

	if (unlikely(len > tsct_payload_max(&ring->geo))) {
		count_lost(ring, TSCT_LOST_TOO_BIG);
		return -EMSGSIZE;
	}
	place = tsct_ring_place(&ring->geo, ring->head, tsct_record_size(len));
	end = place.pos + place.size;
	/*
	 * Acquire, with the reader's release of tail: what it read it has
	 * read before we write over it.
	 */
	if (unlikely(!tsct_ring_fits(&ring->geo, end,
				     smp_load_acquire(&ring->consumer->tail)))) {
		count_lost(ring, TSCT_LOST_FULL);
		return -ENOSPC;
	}
	store_record(ring, &place, next_stamp(ring), current->pid, id,
		     payload, len);
	ring->head = end;
	/* pairs with the reader's acquire of head */
	smp_store_release(&ring->producer->head, end);
	return 0;
}

int tsct_ring_emit(struct tsct_channel *channel, u32 id, const void *payload,
		   u32 len)
{
	struct tsct_ring *ring;
	unsigned long flags;
	int err;

	local_irq_save(flags);
	ring = this_ring(channel);
	if (unlikely(!ring)) {
		err = no_ring(channel);
	} else if (unlikely(ring->busy)) {
		/* We are an NMI on top of a writer, and cannot wait for it. */
		count_lost(ring, TSCT_LOST_NESTED);
		err = -EBUSY;
	} else {
		/*
		 * Only NMIs of this CPU look at busy, so the compiler is all
		 * that has to be kept in order.
		 */
		WRITE_ONCE(ring->busy, true);
		barrier();
		err = emit(ring, id, payload, len);
		barrier();
		WRITE_ONCE(ring->busy, false);
	}
	local_irq_restore(flags);
	return err;
}

/* ---- user channels ---------------------------------------------------- */

/*
 * On behalf of a program, into a ring that programs write by themselves from
 * rseq sections. The two cannot interleave: we run in process context, so any
 * program's section on this CPU was left by a system call (which sections may
 * not make), or by the switch to this task, and is restarted when its thread
 * runs again; and with interrupts off nothing is switched before we are done.
 *
 * The head is in a page that programs write. It is read once; any value of it
 * gives a place inside the data.
 */
int tsct_ring_write(struct tsct_channel *channel, u32 id, const void *payload,
		    u32 len)
{
	u32 tid = task_pid_vnr(current);
	struct tsct_place place;
	struct tsct_ring *ring;
	int err = 0;
	u64 end;

	local_irq_disable();
	ring = this_ring(channel);
	if (unlikely(!ring)) {
		err = no_ring(channel);
		goto enable;
	}
	place = tsct_ring_place(&ring->geo, READ_ONCE(ring->producer->head),
				tsct_record_size(len));
	end = place.pos + place.size;
	/* Acquire for the same reason as in emit(). */
	if (!tsct_ring_fits(&ring->geo, end,
			    smp_load_acquire(&ring->consumer->tail))) {
		count_lost(ring, TSCT_LOST_FULL);
		err = -ENOSPC;
		goto enable;
	}
	store_record(ring, &place, tsct_source_read(ring->source), tid, id,
		     payload, len);
	/* pairs with the reader's acquire of head */
	smp_store_release(&ring->producer->head, end);
enable:
	local_irq_enable();
	return err;
}

void tsct_ring_lost_too_big(struct tsct_channel *channel)
{
	struct tsct_ring *ring;

	local_irq_disable();
	ring = this_ring(channel);
	if (ring)
		count_lost(ring, TSCT_LOST_TOO_BIG);
	else
		no_ring(channel);
	local_irq_enable();
}
