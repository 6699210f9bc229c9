// SPDX-License-Identifier: MIT
/*
 * An event that did not come through the section at once: blocks are begun,
 * rings learned, other clocks read; the kernel is asked for help; and what is
 * lost is counted. All of it is signal safe.
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
 * Restarts before we ask the kernel. A thread is preempted every few
 * milliseconds, so dozens in a row mean that somebody single-steps us.
 */
#define TRIES		64
/*
 * A payload in pieces that the kernel shall write is put together on the
 * stack; a larger one in memory of its own.
 */
#define STACK_MAX	2048

/* ---- losses, and the kernel's help --------------------------------------- */

int tsct_emit_drop(struct tsct_channel *t, int error)
{
	__atomic_fetch_add(&t->dropped, 1, __ATOMIC_RELAXED);
	return error;
}

/*
 * Lost, and the ring says so: an atomic addition, as we may be preempted, or
 * not even be on that CPU any more.
 */
int tsct_emit_count_lost(struct tsct_channel *t, __u32 cpu, unsigned int cause, int error)
{
	if (!tsct_ring_ready(t, cpu))
		return tsct_emit_drop(t, error);
	__atomic_fetch_add(&tsct_ring_producer(t, cpu)->lost[cause], 1,
			   __ATOMIC_RELAXED);
	return error;
}

static __u32 payload_len(const struct tsct_emit_request *event)
{
	return (__u16)event->header - sizeof(struct tsct_record);
}

/* The kernel writes it, and counts it where it is lost. */
static int write_by_kernel(struct tsct_channel *t, const struct tsct_emit_request *event,
			   const void *payload)
{
	struct tsct_write write = {
		.payload = (__u64)(uintptr_t)payload,
		.len = payload_len(event),
		.id = (__u16)(event->header >> 16),
	};
	int error = t->ops->ctl(t, TSCT_IOC_WRITE, &write);

	if (error && error != -ENOSPC && error != -EMSGSIZE)
		return tsct_emit_drop(t, error);
	return error;
}

static int write_copy(struct tsct_channel *t, const struct tsct_emit_request *event,
		      char *room)
{
	char *at = room;
	unsigned int i;

	for (i = 0; i < event->nr; i++) {
		if (event->iov[i].iov_len)
			memcpy(at, event->iov[i].iov_base, event->iov[i].iov_len);
		at += event->iov[i].iov_len;
	}
	return write_by_kernel(t, event, room);
}

/* malloc() must not be called in a signal handler; mmap() can. */
static int write_large(struct tsct_channel *t, const struct tsct_emit_request *event)
{
	const size_t len = payload_len(event);
	void *room = mmap(NULL, len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error;

	if (room == MAP_FAILED)
		return tsct_emit_count_lost(t, sched_getcpu(), TSCT_LOST_ABORTED, -EAGAIN);
	error = write_copy(t, event, room);
	munmap(room, len);
	return error;
}

int tsct_emit_fallback(struct tsct_channel *t, const struct tsct_emit_request *event)
{
	char room[STACK_MAX];

	if (t->provider != TSCT_PROVIDER_MODULE)
		return tsct_emit_count_lost(t, sched_getcpu(), TSCT_LOST_ABORTED, -EAGAIN);
	if (event->nr == 1)
		return write_by_kernel(t, event, event->iov->iov_base);
	if (payload_len(event) > sizeof(room))
		return write_large(t, event);
	return write_copy(t, event, room);
}

/* ---- what the section leaves to us -------------------------------------- */

static const clockid_t clocks[TSCT_SOURCE_NR] = {
	[TSCT_SOURCE_MONOTONIC_RAW] = CLOCK_MONOTONIC_RAW,
	[TSCT_SOURCE_MONOTONIC] = CLOCK_MONOTONIC,
	[TSCT_SOURCE_REALTIME] = CLOCK_REALTIME,
};

static __u64 stamp_of(const struct tsct_channel *t)
{
	struct timespec now;

	if (t->source == TSCT_SOURCE_TSC)
		return tsct_tsc_read();
	tsct_gettime(clocks[t->source], &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/*
 * A CPU came up, or is used for the first time. The tail first: a section on
 * that CPU takes a ring with a producer as complete, and we may be elsewhere.
 */
static bool learn_ring(struct tsct_channel *t, __u32 cpu)
{
	struct tsct_ring_ref *ref;

	if (cpu >= t->fast.nr_cpus || !tsct_ring_ready(t, cpu))
		return false;
	ref = &t->fast.refs[cpu];
	__atomic_store_n(&ref->tail, &tsct_ring_consumer(t, cpu)->tail,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&ref->producer, tsct_ring_producer(t, cpu),
			 __ATOMIC_RELEASE);
	return true;
}

/* The ring of the CPU that we are on at the moment, NULL: not known. */
static struct tsct_ring_ref *look(struct tsct_channel *t, struct section_seen *ret_seen)
{
	struct tsct_producer *producer;

	ret_seen->cpu = sched_getcpu();
	if (ret_seen->cpu >= t->fast.nr_cpus)
		return NULL;
	producer = __atomic_load_n(&t->fast.refs[ret_seen->cpu].producer,
				   __ATOMIC_ACQUIRE);
	if (!producer)
		return NULL;
	ret_seen->head = __atomic_load_n(&producer->head, __ATOMIC_ACQUIRE);
	/* Behind the head, so that it is not older than the last record. */
	ret_seen->stamp = stamp_of(t);
	return &t->fast.refs[ret_seen->cpu];
}

/*
 * A clock cannot be read inside a section. So: look at the head, read the
 * clock, and write only if the head has not moved since.
 */
static int write_by_clock(struct tsct_channel *t, const struct tsct_emit_request *event)
{
	struct section_seen seen;

	if (!look(t, &seen))
		return TSCT_SECTION_NO_RING;
	return section_write_seen(&t->fast, event->header, event->iov,
				  event->nr, event->size, &seen);
}

/*
 * The event does not fit into the ring's block: begin the next one. All of it
 * is computed out here, and stored only if the head has not moved since. That
 * other writers have begun the block meanwhile, or that we are on a CPU whose
 * block has room, is as good.
 */
static int begin_block(struct tsct_channel *t, const struct tsct_emit_request *event)
{
	struct section_block next;
	struct section_seen seen;
	const struct tsct_ring_ref *ref = look(t, &seen);
	struct tsct_block last;
	struct tsct_ring_slot place;
	const __u64 *tail;

	if (!ref)
		return TSCT_SECTION_NO_RING;
	place = tsct_ring_place(&t->geo, seen.head, event->size);
	if (!place.pad_len)
		return TSCT_SECTION_STALE;
	/* Another thread may be learning the same ring: the same pointers. */
	tail = __atomic_load_n(&ref->tail, __ATOMIC_RELAXED);
	if (!tsct_ring_fits(&t->geo, place.pos,
			    __atomic_load_n(tail, __ATOMIC_ACQUIRE)))
		return TSCT_SECTION_FULL;
	/* A header that is none makes wrong figures, and nothing else. */
	tsct_ring_block(&t->geo, tsct_ring_data(t, seen.cpu), seen.head, &last);
	tsct_block_next(&t->geo, &last, seen.head, seen.stamp, &next.block);
	next.head = (seen.head & ~TSCT_HEAD_POS(~0ULL)) | place.pos;
	next.pad = tsct_pad_word(place.pad_len);
	next.pad_at = place.pad_pos & t->fast.data_mask;
	next.block_at = (place.pos - TSCT_BLOCK_HEADER) & t->fast.data_mask;
	return section_begin_block(&t->fast, &seen, &next);
}

static int try_once(struct tsct_channel *t, const struct tsct_emit_request *event)
{
	if (t->source != TSCT_SOURCE_TSC)
		return write_by_clock(t, event);
	if (event->ordered)
		return section_writev(&t->fast, event->header,
					    event->iov, event->nr,
					    event->size);
	return section_writev_unordered(&t->fast, event->header,
					      event->iov, event->nr,
					      event->size);
}

/* One step further. Says how the section ended that it tried at last. */
static int step(struct tsct_channel *t, const struct tsct_emit_request *event, int result)
{
	if (result == TSCT_SECTION_NEXT) {
		result = begin_block(t, event);
		if (result == TSCT_SECTION_FULL ||
		    result == TSCT_SECTION_NO_RING)
			return result;
	}
	return try_once(t, event);
}

/*
 * The section did not come through. By now we may be on another CPU: a loss is
 * then counted there, and a ring learned there.
 */
int tsct_emit_slow(struct tsct_channel *t, const struct tsct_emit_request *event,
		    int result)
{
	int tries;

	if (result == TSCT_SECTION_FULL)
		return tsct_emit_count_lost(t, sched_getcpu(), TSCT_LOST_FULL,
				      -ENOSPC);
	for (tries = 0; tries < TRIES; tries++) {
		if (result == TSCT_SECTION_NO_RING &&
		    !learn_ring(t, sched_getcpu()))
			break;
		result = step(t, event, result);
		if (result == TSCT_SECTION_DONE)
			return 0;
		if (result == TSCT_SECTION_FULL)
			return tsct_emit_count_lost(t, sched_getcpu(),
					      TSCT_LOST_FULL, -ENOSPC);
	}
	return tsct_emit_fallback(t, event);
}
