// SPDX-License-Identifier: MIT
/*
 * Recording an event. The fast path is one rseq critical section (section.h);
 * everything that can go wrong there is sorted out here, out of line.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "now.h"
#include "section.h"

/*
 * Restarts before we ask the kernel. A thread is preempted every few
 * milliseconds, so dozens in a row mean that somebody single-steps us.
 */
#define TRIES		64

/* glibc 2.35 and newer register an area per thread, and say where it is */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/*
 * gettid() would cost more than the rest. Initial-exec: no call, no allocation
 * at first use, so that it is safe in a signal handler.
 */
static __thread __u32 cached_tid __attribute__((tls_model("initial-exec")));

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static __u32 no_page;
static __u32 *fork_mark = &no_page;

long tsct_rseq_offset(void)
{
	if (!&__rseq_size || !&__rseq_offset || !__rseq_size)
		return 0;
	return __rseq_offset;
}

static void forget_tid(void)
{
	__atomic_store_n(fork_mark, 0, __ATOMIC_RELAXED);
}

/*
 * A page that a fork wipes: however the child was made (fork, _Fork, clone),
 * it finds 0 there and asks for its thread id anew.
 */
static void make_fork_mark(void)
{
	void *page = mmap(NULL, TSCT_PAGE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;		/* no_page stays 0: ask every time */
	fork_mark = page;
	if (madvise(page, TSCT_PAGE_SIZE, MADV_WIPEONFORK) < 0)
		pthread_atfork(NULL, NULL, forget_tid);
}

__u32 *tsct_fork_mark(void)
{
	pthread_once(&fork_once, make_fork_mark);
	return fork_mark;
}

/*
 * A forked child has one thread, so what other threads have cached needs no
 * forgetting: they are gone. The id goes first: a signal handler that comes
 * between the two stores does the same again.
 */
static __u32 refresh_tid(void)
{
	__u32 tid = gettid();

	cached_tid = tid;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (fork_mark != &no_page)
		__atomic_store_n(fork_mark, 1, __ATOMIC_RELAXED);
	return tid;
}

/* This thread's id, 0: not known. */
static inline __u32 known_tid(const struct tsct *t)
{
	return __atomic_load_n(t->fork_mark, __ATOMIC_RELAXED) ?
		cached_tid : 0;
}

/* The first 8 bytes of a record's header. */
static inline __u64 make_head(unsigned int id, __u32 len, __u32 tid)
{
	return (sizeof(struct tsct_record) + len) | (__u64)id << 16 |
		(__u64)tid << 32;
}

static int drop(struct tsct *t, int error)
{
	__atomic_fetch_add(&t->dropped, 1, __ATOMIC_RELAXED);
	return error;
}

/*
 * Lost, and the ring says so: an atomic addition, as we may be preempted, or
 * not even be on that CPU any more.
 */
static int lose(struct tsct *t, __u32 cpu, unsigned int cause, int error)
{
	if (!tsct_ring_ready(t, cpu))
		return drop(t, error);
	__atomic_fetch_add(&tsct_ring_producer(t, cpu)->lost[cause], 1,
			   __ATOMIC_RELAXED);
	return error;
}

/* The kernel writes it, and counts it where it is lost. */
static int write_by_kernel(struct tsct *t, unsigned int id,
			   const void *payload, __u32 len)
{
	struct tsct_write write = {
		.payload = (__u64)(uintptr_t)payload, .len = len, .id = id,
	};
	int error = t->ops->ctl(t, TSCT_IOC_WRITE, &write);

	if (error && error != -ENOSPC && error != -EMSGSIZE)
		return drop(t, error);
	return error;
}

static int give_up(struct tsct *t, unsigned int id, const void *payload,
		   __u32 len)
{
	if (t->provider == TSCT_PROVIDER_MODULE)
		return write_by_kernel(t, id, payload, len);
	return lose(t, sched_getcpu(), TSCT_LOST_ABORTED, -EAGAIN);
}

/*
 * A CPU came up, or is used for the first time. The tail first: a section on
 * that CPU takes a ring with a producer as complete, and we may be elsewhere.
 */
static bool learn_ring(struct tsct *t, __u32 cpu)
{
	struct tsct_ring_ref *ref;

	if (cpu >= t->nr_cpus || !tsct_ring_ready(t, cpu))
		return false;
	ref = &t->refs[cpu];
	__atomic_store_n(&ref->tail, &tsct_ring_consumer(t, cpu)->tail,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&ref->producer, tsct_ring_producer(t, cpu),
			 __ATOMIC_RELEASE);
	return true;
}

static const clockid_t clocks[TSCT_SOURCE_NR] = {
	[TSCT_SOURCE_MONOTONIC_RAW] = CLOCK_MONOTONIC_RAW,
	[TSCT_SOURCE_MONOTONIC] = CLOCK_MONOTONIC,
	[TSCT_SOURCE_REALTIME] = CLOCK_REALTIME,
};

/*
 * A clock cannot be read inside a section. So: look at the head, read the
 * clock, and write only if the head has not moved since.
 */
static int write_by_clock(struct tsct *t, __u64 head, const void *payload,
			  __u32 size)
{
	struct section_seen seen = { .cpu = sched_getcpu() };
	struct tsct_producer *producer;
	struct timespec now;

	if (seen.cpu >= t->nr_cpus)
		return SECTION_NO_RING;
	producer = __atomic_load_n(&t->refs[seen.cpu].producer,
				   __ATOMIC_ACQUIRE);
	if (!producer)
		return SECTION_NO_RING;
	seen.head = __atomic_load_n(&producer->head, __ATOMIC_ACQUIRE);
	tsct_gettime(clocks[t->source], &now);
	seen.stamp = now.tv_sec * 1000000000ULL + now.tv_nsec;
	return section_write_seen(t, head, payload, size, &seen);
}

static int try_once(struct tsct *t, __u64 head, const void *payload,
		    __u32 size)
{
	if (t->source == TSCT_SOURCE_TSC)
		return section_write_tsc(t, head, payload, size);
	return write_by_clock(t, head, payload, size);
}

/*
 * The section did not come through. @head and @payload are all that there is
 * to know of the event. By now we may be on another CPU: a loss is then
 * counted there, and a ring learned there.
 */
static __attribute__((noinline, cold)) int
try_again(struct tsct *t, __u64 head, const void *payload, int result)
{
	const __u32 len = (__u16)head - sizeof(struct tsct_record);
	int tries;

	for (tries = 0; tries < TRIES; tries++) {
		if (result == SECTION_DONE)
			return 0;
		if (result == SECTION_FULL)
			return lose(t, sched_getcpu(), TSCT_LOST_FULL, -ENOSPC);
		if (result == SECTION_NO_RING && !learn_ring(t, sched_getcpu()))
			break;
		result = try_once(t, head, payload, tsct_record_size(len));
	}
	return give_up(t, (__u16)(head >> 16), payload, len);
}

/* Anything but a short event of a known thread, stamped by the TSC. */
static __attribute__((noinline, cold)) int
emit_unusual(struct tsct *t, unsigned int id, const void *payload, size_t len)
{
	if (t->provider == TSCT_PROVIDER_NONE)
		return drop(t, -ENODEV);
	if (!(t->roles & TSCT_ROLE_WRITE))
		return drop(t, -EACCES);
	if (len > t->payload_max)
		return lose(t, sched_getcpu(), TSCT_LOST_TOO_BIG, -EMSGSIZE);
	if (!t->rseq)
		return give_up(t, id, payload, len);
	return try_again(t, make_head(id, len, known_tid(t) ?: refresh_tid()),
			 payload, SECTION_STALE);
}

/* All calls are tail calls: there is nothing to save, nothing to restore. */
int tsct_emit(struct tsct *t, unsigned int id, const void *payload, size_t len)
{
	__u32 tid;
	__u64 head;
	int result;

	if (unlikely(id - TSCT_ID_FIRST > TSCT_ID_MAX - TSCT_ID_FIRST))
		return -EINVAL;
	if (unlikely(!t->is_fast || len > t->payload_max))
		return emit_unusual(t, id, payload, len);
	tid = known_tid(t);
	if (unlikely(!tid))
		return emit_unusual(t, id, payload, len);
	head = make_head(id, len, tid);
	result = section_write_tsc(t, head, payload, tsct_record_size(len));
	if (likely(result == SECTION_DONE))
		return 0;
	return try_again(t, head, payload, result);
}
