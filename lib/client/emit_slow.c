// SPDX-License-Identifier: MIT
/*
 * Events that the rseq critical section did not record at its first try: begins blocks,
 * finds rings, reads clocks other than the TSC, requests the kernel to write events,
 * counts losses. All functions are async-signal-safe.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "emit_private.h"
#include "gettime.h"
#include "rseq_section.h"

/*
 * Number of restarts of the rseq critical section after which the kernel writes the
 * event. A thread is preempted every few milliseconds, so dozens of restarts in a row
 * mean that the thread is single-stepped.
 */
#define TRIES		64
/*
 * The kernel takes a payload in one piece: several buffers are joined on the stack up
 * to this size, else in allocated memory.
 */
#define STACK_MAX	2048

/* ---- losses, and the kernel's help --------------------------------------- */

int tsct_emit_drop(struct tsct_channel *channel, int err)
{
	__atomic_fetch_add(&channel->dropped, 1, __ATOMIC_RELAXED);
	return err;
}

/*
 * The lost event is counted by an atomic addition, as the thread may be preempted, or
 * run on another CPU by now.
 */
int tsct_emit_count_lost(struct tsct_channel *channel, __u32 cpu,
			 unsigned int cause, int err)
{
	if (!tsct_ring_ready(channel, cpu))
		return tsct_emit_drop(channel, err);
	__atomic_fetch_add(&tsct_ring_producer(channel, cpu)->lost[cause], 1,
			   __ATOMIC_RELAXED);
	return err;
}

static __u32 payload_len(const struct tsct_emit_request *event)
{
	return (__u16)event->header - sizeof(struct tsct_record);
}

/*
 * Requests the kernel to write the event. The kernel counts an event that does not fit
 * as lost.
 */
static int write_by_kernel(struct tsct_channel *channel,
			   const struct tsct_emit_request *event,
			   const void *payload)
{
	struct tsct_write write = {
		.payload = (__u64)(uintptr_t)payload,
		.len = payload_len(event),
		.id = (__u16)(event->header >> 16),
	};
	int err = tsct_channel_request(channel, TSCT_IOC_WRITE, &write);

	if (err && err != -ENOSPC && err != -EMSGSIZE)
		return tsct_emit_drop(channel, err);
	return err;
}

/* Joins the buffers of the event. @joined: room for the whole payload */
static int write_joined(struct tsct_channel *channel,
			const struct tsct_emit_request *event, char *joined)
{
	char *at = joined;
	unsigned int i;

	for (i = 0; i < event->nr; i++) {
		if (event->iov[i].iov_len)
			memcpy(at, event->iov[i].iov_base, event->iov[i].iov_len);
		at += event->iov[i].iov_len;
	}
	return write_by_kernel(channel, event, joined);
}

int tsct_emit_fallback(struct tsct_channel *channel,
		       const struct tsct_emit_request *event)
{
	const size_t len = payload_len(event);
	char joined[STACK_MAX];
	void *memory;
	int err;

	if (channel->provider != TSCT_PROVIDER_MODULE)
		return tsct_emit_count_lost(channel, sched_getcpu(),
					    TSCT_LOST_ABORTED, -EAGAIN);
	if (event->nr == 1)
		return write_by_kernel(channel, event, event->iov->iov_base);
	if (len <= sizeof(joined))
		return write_joined(channel, event, joined);
	/* malloc() must not be called in a signal handler. */
	memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (memory == MAP_FAILED)
		return tsct_emit_count_lost(channel, sched_getcpu(),
					    TSCT_LOST_ABORTED, -EAGAIN);
	err = write_joined(channel, event, memory);
	munmap(memory, len);
	return err;
}

/* ---- rings and blocks --------------------------------------------------- */

/*
 * Stores the addresses of a CPU's ring when the ring is used for the first time. The
 * tail's address is stored before the producer's (release): another thread's rseq
 * critical section on that CPU (TSCT_SECTION_RING_) uses the ring once the producer is
 * set.
 */
static bool find_ring(struct tsct_channel *channel, __u32 cpu)
{
	struct tsct_ring_ref *ref;

	if (cpu >= channel->fast.nr_cpus || !tsct_ring_ready(channel, cpu))
		return false;
	ref = &channel->fast.refs[cpu];
	__atomic_store_n(&ref->tail, &tsct_ring_consumer(channel, cpu)->tail,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&ref->producer, tsct_ring_producer(channel, cpu),
			 __ATOMIC_RELEASE);
	return true;
}

/* Reads head and clock of the CPU's ring. Returns NULL: the ring is not known yet. */
static struct tsct_ring_ref *sample_ring(struct tsct_channel *channel,
					 struct section_seen *ret_seen)
{
	static const clockid_t clocks[TSCT_SOURCE_NR] = {
		[TSCT_SOURCE_MONOTONIC_RAW] = CLOCK_MONOTONIC_RAW,
		[TSCT_SOURCE_MONOTONIC] = CLOCK_MONOTONIC,
		[TSCT_SOURCE_REALTIME] = CLOCK_REALTIME,
	};
	struct tsct_producer *producer;
	struct timespec now;

	ret_seen->cpu = sched_getcpu();
	if (ret_seen->cpu >= channel->fast.nr_cpus)
		return NULL;
	producer = __atomic_load_n(&channel->fast.refs[ret_seen->cpu].producer,
				   __ATOMIC_ACQUIRE);
	if (!producer)
		return NULL;
	ret_seen->head = __atomic_load_n(&producer->head, __ATOMIC_ACQUIRE);
	/* Read the clock after the head, so that the ring's cycles do not decrease. */
	if (channel->source == TSCT_SOURCE_TSC) {
		ret_seen->cycles = tsct_tsc_read();
	} else {
		tsct_gettime(clocks[channel->source], &now);
		ret_seen->cycles = now.tv_sec * 1000000000ULL + now.tv_nsec;
	}
	return &channel->fast.refs[ret_seen->cpu];
}

/*
 * Begins the ring's next block, as the event does not fit into the present block. The
 * next block is computed before an rseq critical section, which stores the block only
 * if the ring's head has not moved since. If another writer began the block meanwhile,
 * or the thread moved to a CPU whose block has room, the result is STALE, and the
 * caller tries to write the event again.
 */
static int begin_block(struct tsct_channel *channel,
		       const struct tsct_emit_request *event)
{
	struct section_block next;
	struct section_seen seen;
	const struct tsct_ring_ref *ref = sample_ring(channel, &seen);
	struct tsct_block last;
	struct tsct_ring_slot slot;
	const __u64 *tail;

	if (!ref)
		return TSCT_SECTION_NO_RING;
	slot = tsct_ring_place(&channel->geo, seen.head, event->size);
	if (!slot.pad_len)
		return TSCT_SECTION_STALE;
	/* Atomic: another thread may be storing this pointer in find_ring(). */
	tail = __atomic_load_n(&ref->tail, __ATOMIC_RELAXED);
	if (!tsct_ring_fits(&channel->geo, slot.pos,
			    __atomic_load_n(tail, __ATOMIC_ACQUIRE))) {
		/* If the head has moved since, the tail may have passed it, and the ring
		 * only seems to be full. */
		return __atomic_load_n(&tsct_ring_producer(channel, seen.cpu)->head,
				       __ATOMIC_RELAXED) == seen.head ?
			TSCT_SECTION_FULL : TSCT_SECTION_STALE;
	}
	/* An invalid header of the last block affects statistics only. */
	tsct_ring_block(&channel->geo, tsct_ring_data(channel, seen.cpu),
			seen.head, &last);
	tsct_block_next(&channel->geo, &last, seen.head, seen.cycles, &next.block);
	next.head = (seen.head & ~TSCT_HEAD_POS(~0ULL)) | slot.pos;
	next.pad = tsct_pad_word(slot.pad_len);
	next.pad_at = slot.pad_pos & channel->fast.data_mask;
	next.block_at = (slot.pos - TSCT_BLOCK_HEADER) & channel->fast.data_mask;
	return section_begin_block(&channel->fast, &seen, &next);
}

/* ---- trying again ------------------------------------------------------- */

/* Tries once to write the event, in an rseq critical section. Returns TSCT_SECTION_* */
static int try_once(struct tsct_channel *channel, const struct tsct_emit_request *event)
{
	struct section_seen seen;

	/*
	 * A kernel clock cannot be read within an rseq critical section. So the clock
	 * is read after the ring's head, and the critical section writes the record
	 * only if the head has not moved since the head was read.
	 */
	if (channel->source != TSCT_SOURCE_TSC)
		return sample_ring(channel, &seen) ?
			section_write_seen(&channel->fast, event->header, event->iov,
					   event->nr, event->size, &seen) :
			TSCT_SECTION_NO_RING;
	if (event->ordered)
		return section_writev(&channel->fast, event->header, event->iov,
				      event->nr, event->size);
	return section_writev_unordered(&channel->fast, event->header,
					event->iov, event->nr, event->size);
}

/* Tries to write the event, up to TRIES times. If the ring is full, the loss is counted
 * in the ring of the CPU on which the thread then runs. */
int tsct_emit_slow(struct tsct_channel *channel,
		   const struct tsct_emit_request *event, int result)
{
	int tries;

	for (tries = 0; tries < TRIES && result != TSCT_SECTION_FULL; tries++) {
		if (result == TSCT_SECTION_NO_RING &&
		    !find_ring(channel, sched_getcpu()))
			break;
		if (result == TSCT_SECTION_NEXT) {
			result = begin_block(channel, event);
			if (result == TSCT_SECTION_FULL ||
			    result == TSCT_SECTION_NO_RING)
				continue;
		}
		result = try_once(channel, event);
		if (result == TSCT_SECTION_DONE)
			return 0;
	}
	if (result == TSCT_SECTION_FULL)
		return tsct_emit_count_lost(channel, sched_getcpu(),
					    TSCT_LOST_FULL, -ENOSPC);
	return tsct_emit_fallback(channel, event);
}
