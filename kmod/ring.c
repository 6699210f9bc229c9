// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's two ring writers: tsct_emit() for kernel channels, with interrupts
 * off, and tsct_ring_write() for programs, with preemption off. Both stay on the
 * CPU that owns the ring, write the record in place, publish it with one store
 * and take no lock. The protocol is section 3 of tsctrace/abi_channel.h.
 */
#include <linux/atomic.h>
#include <linux/btf.h>
#include <linux/export.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/pid.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tsctrace.h>

#include "channel.h"
#include "compat.h"
#include "ring.h"

/*
 * Counts a lost event by an atomic increment. In a user channel, programs on any CPU increment
 * the same counter; in a kernel channel, an NMI may interrupt the increment. Further losses
 * within a second are not reported. Not inline, or the fast path would use the stack.
 */
static noinline notrace void channel_count_lost(struct tsct_kchannel *channel, u64 *lost)
{
	atomic64_inc((atomic64_t *)lost);
	if (!time_after(jiffies, READ_ONCE(channel->lost_at) + HZ))
		return;
	WRITE_ONCE(channel->lost_at, jiffies);
	WRITE_ONCE(channel->lost_news, true);
	irq_work_queue(&channel->notify);
}

static notrace void ring_count_lost(struct tsct_ring *ring, unsigned int cause)
{
	channel_count_lost(ring->channel, &ring->producer->lost[cause]);
}

static noinline notrace int channel_count_no_ring(struct tsct_kchannel *channel)
{
	channel_count_lost(channel, &channel->header->lost_no_ring);
	return -ENXIO;
}

/* Returns the ring of this CPU, or NULL. The caller has disabled preemption. */
static __always_inline struct tsct_ring *
channel_this_ring(struct tsct_kchannel *channel)
{
	return tsct_channel_ring(channel, smp_processor_id());
}

static __always_inline void record_fill_header(struct tsct_record *record,
					       u64 cycles, u32 tid, u32 id,
					       u32 len)
{
	record->len = sizeof(*record) + len;
	record->id = id;
	record->tid = tid;
	record->cycles = cycles;
}

/*
 * Stores a pad up to the end of the block at @head, and the header of the next
 * block. Programs can overwrite the event count in the header of the block at @head,
 * so this event count is used only to compute the event count in the next header.
 */
static notrace void ring_begin_block(struct tsct_ring *ring,
				     const struct tsct_ring_slot *slot, u64 head,
				     u64 cycles)
{
	u64 mask = ring->geo.data_size - 1;
	struct tsct_block last, next;

	tsct_ring_block(&ring->geo, ring->data, head, &last);
	tsct_block_next(&ring->geo, &last, head, cycles, &next);
	*(u64 *)(ring->data + (slot->pad_pos & mask)) =
		tsct_pad_word(slot->pad_len);
	memcpy(ring->data + ((slot->pos - sizeof(next)) & mask), &next,
	       sizeof(next));
}

/*
 * Returns the cycles of the next record. Sources other than the TSC may go back a little when
 * an NMI reads them in the middle of their update: then returns the last record's cycles.
 */
static notrace u64 ring_next_cycles(struct tsct_ring *ring)
{
	u64 cycles = tsct_source_read(ring->source);

	if (ring->source != TSCT_SOURCE_TSC) {
		cycles = max(cycles, ring->last_cycles);
		ring->last_cycles = cycles;
	}
	return cycles;
}

/*
 * Writes a record of at most @max bytes of payload at @head, and publishes it.
 * Begins a new block if necessary, and counts the event as lost if it is too large
 * or the ring is full. The record lies inside the ring's data for any head. @cycles:
 * at least the last record's. Returns 0 and the new head, -ENOSPC or -EMSGSIZE.
 */
static __always_inline int ring_put_record(struct tsct_ring *ring, u64 head, u32 max,
					   u64 cycles, u32 tid, u32 id,
					   const void *payload, u32 len, u64 *ret_head)
{
	const u64 mask = ring->geo.data_size - 1;
	struct tsct_ring_slot slot;
	struct tsct_record *record;
	u64 tail;

	if (len > max) {
		ring_count_lost(ring, TSCT_LOST_TOO_BIG);
		return -EMSGSIZE;
	}
	slot = tsct_ring_place(&ring->geo, head, tsct_record_size(len));
	/* acquire: pairs with the release of tail, after the reader's last loads */
	tail = smp_load_acquire(&ring->consumer->tail);
	if (!tsct_ring_fits(&ring->geo, slot.head, tail)) {
		ring_count_lost(ring, TSCT_LOST_FULL);
		return -ENOSPC;
	}
	if (slot.pad_len)
		ring_begin_block(ring, &slot, head, cycles);
	record = (struct tsct_record *)(ring->data + (slot.pos & mask));
	record_fill_header(record, cycles, tid, id, len);
	memcpy(record->payload, payload, len);
	*ret_head = slot.head;
	/* release: pairs with the reader's acquire of head */
	smp_store_release(&ring->producer->head, slot.head);
	return 0;
}

/* ---- kernel channels -------------------------------------------------- */

/*
 * A probe or a function tracer on the emit path could emit an event in the middle
 * of an emit; that event would be lost (TSCT_LOST_NESTED). So the functions of
 * this file are not traced, and no probe can be set on the entries of the path.
 */

/* Returns the largest payload of a kernel event, which is copied with interrupts off. */
static __always_inline u32 ring_kernel_payload_max(const struct tsct_ring *ring)
{
	return min_t(u32, tsct_payload_max(&ring->geo), TSCT_KERNEL_PAYLOAD_MAX);
}

/*
 * Returns the number of bytes that the next records may take without further checks:
 * the rest of the block minus 8 bytes, or the ring's free bytes if these are fewer
 * (discard policy). The reader may free bytes meanwhile, so the number is never too
 * large. Returns 0 for sources other than the TSC, which need ring_next_cycles().
 */
static notrace u32 ring_lookahead(const struct tsct_ring *ring)
{
	/* Acquire, pairs with the reader's release of tail, which frees the bytes. */
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

/* Only this writer and NMIs of its CPU read `busy`, so compiler barriers suffice. */
static __always_inline void ring_set_busy(struct tsct_ring *ring, u32 busy)
{
	barrier();
	WRITE_ONCE(ring->busy, busy);
	barrier();
}

/*
 * Writes a record at the ring's head, and prepares the fast path for the next records.
 * Returns 0, -ENOSPC or -EMSGSIZE; *ret_notify is true if `notify` must be queued.
 */
static noinline notrace int ring_append(struct tsct_ring *ring, u64 cycles, u32 tid, u32 id,
			       const void *payload, u32 len, bool *ret_notify)
{
	int err = ring_put_record(ring, ring->head, ring_kernel_payload_max(ring), cycles,
				  tid, id, payload, len, &ring->head);
	u64 rest;
	u32 left;

	/* A reader does not wait for lost events. */
	if (err)
		return err;
	left = ring_lookahead(ring);
	if (unlikely(READ_ONCE(ring->channel->notify_armed))) {
		rest = tsct_ring_notify_rest(ring, ring->head);
		left = rest ? min_t(u64, left, rest - 1) : left;
		*ret_notify |= !rest;
	}
	/* If this store overwrites a 0 that watch.c stored, watch.c stores the 0 again. */
	WRITE_ONCE(ring->left, left);
	ring->next = ring->data + (ring->head & (ring->geo.data_size - 1));
	return 0;
}

NOKPROBE_SYMBOL(ring_append);

/*
 * Records the event that an NMI left in `nested`, with the later of the cycles
 * that the NMI read and @cycles, the interrupted record's cycles: cycles never
 * decrease in a ring. `busy` is TAKEN until the ring is consistent again.
 */
static noinline notrace void ring_put_nested(struct tsct_ring *ring, u64 cycles)
{
	struct tsct_record *nested = &ring->nested;
	bool notify = false;

	cycles = max(cycles, nested->cycles);
	ring->last_cycles = cycles;
	ring_append(ring, cycles, nested->tid, nested->id, ring->nested_payload, nested->len,
		    &notify);
	ring_set_busy(ring, TSCT_RING_IDLE);
	if (notify)
		irq_work_queue(&ring->channel->notify);
}

NOKPROBE_SYMBOL(ring_put_nested);

/* Subtracts 1 from `busy`. Returns false if there is an event in `nested`. */
static __always_inline bool ring_release(struct tsct_ring *ring)
{
	bool idle;

	asm volatile("decl %0" : "+m" (ring->busy), "=@ccz" (idle) : : "memory");
	return likely(idle);
}

static noinline notrace int ring_emit_slow(struct tsct_ring *ring, u32 id,
					   const void *payload, u32 len)
{
	u64 cycles = ring_next_cycles(ring);
	bool notify = false;
	int err = ring_append(ring, cycles, current->pid, id, payload, len, &notify);

	/* The ring is consistent again, so a probe in the code that follows may emit. */
	if (!ring_release(ring))
		ring_put_nested(ring, cycles);
	if (unlikely(notify))
		irq_work_queue(&ring->channel->notify);
	return err;
}

NOKPROBE_SYMBOL(ring_emit_slow);

/*
 * An NMI or a debug exception that interrupted the ring's writer cannot wait for that writer,
 * and leaves the event to the writer. There is room for one event: until the writer has
 * recorded this event, further events count as lost, and so do events that are too large.
 */
static noinline notrace int ring_emit_nested(struct tsct_ring *ring, u32 id,
					     const void *payload, u32 len)
{
	/* cmpxchg, because an NMI may interrupt a debug exception that runs this function */
	if (len > min_t(u32, ring_kernel_payload_max(ring), TSCT_NESTED_PAYLOAD_MAX) ||
	    cmpxchg_local(&ring->busy, TSCT_RING_BUSY, TSCT_RING_TAKEN) != TSCT_RING_BUSY) {
		ring_count_lost(ring, TSCT_LOST_NESTED);
		return -EBUSY;
	}
	record_fill_header(&ring->nested, tsct_source_read(ring->source), current->pid, id, 0);
	ring->nested.len = len;
	memcpy(ring->nested_payload, payload, len);
	ring_set_busy(ring, TSCT_RING_PENDING);
	return 0;
}

NOKPROBE_SYMBOL(ring_emit_nested);

#define SMALL_MAX	64

/* Copies like memcpy(), but without a call, so that the fast path saves no registers. */
static __always_inline void payload_copy_small(u8 *to, const u8 *from, u32 len)
{
	for (; len >= 8; len -= 8, to += 8, from += 8) {
		memcpy(to, from, 8);
		barrier();	/* keeps the compiler from calling memcpy() */
	}
	for (; len; len--) {
		*to++ = *from++;
		barrier();
	}
}

/*
 * Fast path of an emit: if a record with @len bytes of payload fits into the ring->left bytes
 * that need no further checks (see ring_lookahead()), sets *ret to that record, with its
 * header, and returns true. Reads ring->left once, as watch.c may set it to 0 on another CPU.
 */
static __always_inline bool ring_begin_small(struct tsct_ring *ring, u32 id, u32 len,
					     struct tsct_record **ret)
{
	u32 size = tsct_record_size(len), left = READ_ONCE(ring->left);

	if (unlikely(size > left))
		return false;
	*ret = (struct tsct_record *)ring->next;
	record_fill_header(*ret, rdtsc_ordered(), current->pid, id, len);
	WRITE_ONCE(ring->left, left - size);
	ring->next += size;
	ring->head += size + TSCT_HEAD_ONE_EVENT;
	return true;
}

/* Publishes the record of ring_begin_small(), whose payload is complete now. */
static __always_inline void ring_publish_small(struct tsct_ring *ring,
					       const struct tsct_record *record)
{
	/* release: pairs with the reader's acquire of head */
	smp_store_release(&ring->producer->head, ring->head);
	/* Programs cannot write to the record, so its cycles are as stored. */
	if (unlikely(!ring_release(ring)))
		ring_put_nested(ring, record->cycles);
}

/*
 * Reads a byte of each page of the payload. If the caller's pointer is bad, the oops comes
 * before `busy` is set, and the ring stays usable.
 */
static __always_inline void payload_touch(const u8 *payload, u32 len)
{
	u32 i;

	for (i = 0; i < len; i += PAGE_SIZE)
		READ_ONCE(payload[i]);
	if (len)
		READ_ONCE(payload[len - 1]);
}

/* Emits a payload of any size. Not inline, or the fast path would save more registers. */
static noinline notrace int ring_emit_any(struct tsct_ring *ring, u32 id,
					  const void *payload, u32 len)
{
	struct tsct_record *record;

	if (len <= ring_kernel_payload_max(ring))
		payload_touch(payload, len);
	ring_set_busy(ring, TSCT_RING_BUSY);
	if (len > SMALL_MAX || !ring_begin_small(ring, id, len, &record))
		return ring_emit_slow(ring, id, payload, len);
	payload_copy_small(record->payload, payload, len);
	ring_publish_small(ring, record);
	return 0;
}

NOKPROBE_SYMBOL(ring_emit_any);

static __always_inline bool event_id_is_valid(u32 id)
{
	return likely(id - TSCT_ID_FIRST <= TSCT_ID_MAX - TSCT_ID_FIRST);
}

/*
 * Emits an event with interrupts off: only an NMI or a debug exception can interrupt
 * it. Payloads of 8 bytes, the most frequent, have separate code with constant sizes.
 */
static __always_inline int channel_emit(struct tsct_kchannel *channel, u32 id,
					const void *payload, u32 len)
{
	struct tsct_ring *ring = channel_this_ring(channel);
	struct tsct_record *record;
	u64 value;

	if (unlikely(!ring))
		return channel_count_no_ring(channel);
	if (unlikely(ring->busy))
		return ring_emit_nested(ring, id, payload, len);
	if (unlikely(len != sizeof(value)))
		return ring_emit_any(ring, id, payload, len);
	memcpy(&value, payload, sizeof(value));
	ring_set_busy(ring, TSCT_RING_BUSY);
	/* Does not pass &value: a local variable with an address costs a stack protector. */
	if (unlikely(!ring_begin_small(ring, id, sizeof(value), &record)))
		return ring_emit_slow(ring, id, payload, sizeof(value));
	memcpy(record->payload, &value, sizeof(value));
	ring_publish_small(ring, record);
	return 0;
}

/* tsct_emit() is documented in include/linux/tsctrace.h. */
notrace int tsct_emit(struct tsct_kchannel *channel, unsigned int id,
		      const void *payload, u32 len)
{
	unsigned long flags;
	int err;

	if (!event_id_is_valid(id))
		return -EINVAL;
	local_irq_save(flags);
	err = channel_emit(channel, id, payload, len);
	local_irq_restore(flags);
	return err;
}
EXPORT_SYMBOL_GPL(tsct_emit);
NOKPROBE_SYMBOL(tsct_emit);

/*
 * Interrupts are off from the lookup to the end of the emit. synchronize_rcu() in
 * channel_free() also waits for code with interrupts off, so rcu_read_lock() is not needed,
 * even if the caller is not in an RCU read-side section, as in a BPF program that may sleep.
 */
__bpf_kfunc notrace int tsct_bpf_emit(u64 handle, u32 id, const void *payload, u32 payload__sz)
{
	struct tsct_kchannel *channel;
	unsigned long flags;
	int err;

	local_irq_save(flags);
	channel = tsct_channel_find_by_handle(handle);
	if (unlikely(!channel))
		err = -ENOENT;
	else if (!event_id_is_valid(id))
		err = -EINVAL;
	else
		err = channel_emit(channel, id, payload, payload__sz);
	local_irq_restore(flags);
	return err;
}

NOKPROBE_SYMBOL(tsct_bpf_emit);

/* ---- user channels ---------------------------------------------------- */

/*
 * Writes a record for a program into a ring that programs also write from rseq
 * sections. This function runs in process context without preemption, so no program
 * runs on this CPU meanwhile. If another thread was preempted in an rseq section, the
 * kernel restarts the section when that thread runs again. The calling thread is not in
 * a section, as sections make no system calls. Interrupts do not write to these rings.
 *
 * Programs can write any value to the head, so this function reads the head once. Every
 * value gives a slot inside the ring's data.
 */
int tsct_ring_write(struct tsct_kchannel *channel, u32 id, const void *payload,
		    u32 len)
{
	u32 tid = task_pid_nr(current);
	struct tsct_ring *ring;
	u64 head;
	int err;

	preempt_disable();
	ring = channel_this_ring(channel);
	if (likely(ring))
		err = ring_put_record(ring, READ_ONCE(ring->producer->head),
				      tsct_payload_max(&ring->geo),
				      ring_next_cycles(ring), tid, id, payload, len, &head);
	else
		err = channel_count_no_ring(channel);
	preempt_enable();
	return err;
}
