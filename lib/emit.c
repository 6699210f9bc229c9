// SPDX-License-Identifier: MIT
/*
 * Recording an event. The fast path is one rseq critical section (section.h);
 * everything that can go wrong there is sorted out here, out of line.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <tsctrace/event.h>

#include "now.h"
#include "section.h"

/*
 * Restarts before we ask the kernel. A thread is preempted every few
 * milliseconds, so dozens in a row mean that somebody single-steps us.
 */
#define TRIES		64
/* A payload in pieces that the kernel shall write is put together on the
 * stack; a larger one in memory of its own.
 */
#define STACK_MAX	2048

/* An event on its way: all that there is to know of it */
struct event {
	__u64 header;		/* first 8 bytes of the record */
	const struct tsct_piece *pieces;
	unsigned int nr;
	__u32 size;		/* of the record, rounded up */
	bool ordered;
};

/* glibc 2.35 and newer register an area per thread, and say where it is */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/*
 * gettid() would cost more than the rest. Initial-exec: no call, no allocation
 * at first use, so that it is safe in a signal handler.
 */
__thread uint32_t tsct_thread_id;

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
const __u32 tsct_no_mark = 0;
static __u32 no_page;
static __u32 *fork_mark = &no_page;

/* ---- threads ------------------------------------------------------------ */

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

/*
 * A forked child has one thread, so what other threads have cached needs no
 * forgetting: they are gone. The id goes first: a signal handler that comes
 * between the two stores does the same again.
 */
static __u32 refresh_tid(void)
{
	__u32 tid = gettid();

	tsct_thread_id = tid;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (fork_mark != &no_page)
		__atomic_store_n(fork_mark, 1, __ATOMIC_RELAXED);
	return tid;
}

/* This thread's id, 0: not known. */
static inline __u32 known_tid(const __u32 *mark)
{
	return __atomic_load_n(mark, __ATOMIC_RELAXED) ? tsct_thread_id : 0;
}

/* ---- what is ready ------------------------------------------------------ */

/* The fast path needs a thread id, and never finds one. */
void tsct_emit_slowly(struct tsct *t)
{
	t->fast.fork_mark = &tsct_no_mark;
}

void tsct_emit_ready(struct tsct *t)
{
	const struct tsct_geometry *geo = &t->geo;
	struct tsct_fast *fast = &t->fast;

	pthread_once(&fork_once, make_fork_mark);
	fast->rseq = t->rseq;
	fast->data_mask = geo->data_size - 1;
	/* Positions are compared without their upper bits, see there. */
	fast->limit = geo->policy == TSCT_POLICY_OVERWRITE ?
		~0ULL : geo->data_size << (64 - TSCT_POS_BITS);
	fast->nr_cpus = t->header.nr_cpus;
	fast->block_size = geo->block_size;
	fast->block_mask = geo->block_size - 1;
	fast->payload_max = tsct_payload_max(geo);
	fast->fork_mark = t->rseq && t->source == TSCT_SOURCE_TSC ?
		fork_mark : &tsct_no_mark;
}

/*
 * A CPU came up, or is used for the first time. The tail first: a section on
 * that CPU takes a ring with a producer as complete, and we may be elsewhere.
 */
static bool learn_ring(struct tsct *t, __u32 cpu)
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

/* ---- losses, and the kernel's help --------------------------------------- */

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

static __u32 payload_len(const struct event *event)
{
	return (__u16)event->header - sizeof(struct tsct_record);
}

/* The kernel writes it, and counts it where it is lost. */
static int write_by_kernel(struct tsct *t, const struct event *event,
			   const void *payload)
{
	struct tsct_write write = {
		.payload = (__u64)(uintptr_t)payload,
		.len = payload_len(event),
		.id = (__u16)(event->header >> 16),
	};
	int error = t->ops->ctl(t, TSCT_IOC_WRITE, &write);

	if (error && error != -ENOSPC && error != -EMSGSIZE)
		return drop(t, error);
	return error;
}

static int write_copy(struct tsct *t, const struct event *event, char *room)
{
	char *at = room;
	unsigned int i;

	for (i = 0; i < event->nr; i++) {
		if (event->pieces[i].len)
			memcpy(at, event->pieces[i].base, event->pieces[i].len);
		at += event->pieces[i].len;
	}
	return write_by_kernel(t, event, room);
}

/* malloc() must not be called in a signal handler; mmap() can. */
static int write_large(struct tsct *t, const struct event *event)
{
	const size_t len = payload_len(event);
	void *room = mmap(NULL, len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error;

	if (room == MAP_FAILED)
		return lose(t, sched_getcpu(), TSCT_LOST_ABORTED, -EAGAIN);
	error = write_copy(t, event, room);
	munmap(room, len);
	return error;
}

static int give_up(struct tsct *t, const struct event *event)
{
	char room[STACK_MAX];

	if (t->provider != TSCT_PROVIDER_MODULE)
		return lose(t, sched_getcpu(), TSCT_LOST_ABORTED, -EAGAIN);
	if (event->nr == 1)
		return write_by_kernel(t, event, event->pieces->base);
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

static __u64 stamp_of(const struct tsct *t)
{
	struct timespec now;

	if (t->source == TSCT_SOURCE_TSC)
		return tsct_tsc_read();
	tsct_gettime(clocks[t->source], &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* The ring of the CPU that we are on at the moment, NULL: not known. */
static struct tsct_ring_ref *look(struct tsct *t, struct section_seen *ret_seen)
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
static int write_by_clock(struct tsct *t, const struct event *event)
{
	struct section_seen seen;

	if (!look(t, &seen))
		return TSCT_SECTION_NO_RING;
	return section_write_seen(&t->fast, event->header, event->pieces,
				  event->nr, event->size, &seen);
}

/*
 * The event does not fit into the ring's block: begin the next one. All of it
 * is computed out here, and stored only if the head has not moved since. That
 * other writers have begun the block meanwhile, or that we are on a CPU whose
 * block has room, is as good.
 */
static int begin_block(struct tsct *t, const struct event *event)
{
	struct section_block next;
	struct section_seen seen;
	const struct tsct_ring_ref *ref = look(t, &seen);
	struct tsct_block last;
	struct tsct_place place;
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

static int try_once(struct tsct *t, const struct event *event)
{
	if (t->source != TSCT_SOURCE_TSC)
		return write_by_clock(t, event);
	if (event->ordered)
		return section_write_pieces(&t->fast, event->header,
					    event->pieces, event->nr,
					    event->size);
	return section_write_pieces_unordered(&t->fast, event->header,
					      event->pieces, event->nr,
					      event->size);
}

/* One step further. Says how the section ended that it tried at last. */
static int step(struct tsct *t, const struct event *event, int result)
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
static int try_again(struct tsct *t, const struct event *event, int result)
{
	int tries;

	for (tries = 0; tries < TRIES; tries++) {
		if (result == TSCT_SECTION_NO_RING &&
		    !learn_ring(t, sched_getcpu()))
			break;
		result = step(t, event, result);
		if (result == TSCT_SECTION_DONE)
			return 0;
		if (result == TSCT_SECTION_FULL)
			return lose(t, sched_getcpu(), TSCT_LOST_FULL, -ENOSPC);
	}
	return give_up(t, event);
}

/* ---- all the same to the caller ------------------------------------------ */

/* The first 8 bytes of a record's header. */
static inline __u64 make_header(unsigned int id, __u32 len, __u32 tid)
{
	return (sizeof(struct tsct_record) + len) | (__u64)id << 16 |
		(__u64)tid << 32;
}

static inline bool is_id(unsigned int id)
{
	return id - TSCT_ID_FIRST <= TSCT_ID_MAX - TSCT_ID_FIRST;
}

/* Of all pieces together; what is too large is not added up. */
static inline size_t pieces_len(const struct tsct_piece *pieces,
				unsigned int nr, size_t max)
{
	size_t len = 0;

	for (; nr && len <= max; nr--, pieces++)
		len = pieces->len > max ? pieces->len : len + pieces->len;
	return len;
}

/* Anything but an event of a known thread, stamped by the TSC. */
static __attribute__((noinline, cold)) int
emit_slowly(struct tsct *t, unsigned int id, const struct tsct_piece *pieces,
	    unsigned int nr, bool ordered)
{
	struct event event = {
		.pieces = pieces, .nr = nr, .ordered = ordered,
	};
	size_t len;

	if (t->provider == TSCT_PROVIDER_NONE)
		return drop(t, -ENODEV);
	if (!(t->roles & TSCT_ROLE_WRITE))
		return drop(t, -EACCES);
	len = pieces_len(pieces, nr, t->fast.payload_max);
	if (len > t->fast.payload_max)
		return lose(t, sched_getcpu(), TSCT_LOST_TOO_BIG, -EMSGSIZE);
	event.header = make_header(id, len,
				   known_tid(fork_mark) ?: refresh_tid());
	event.size = tsct_record_size(len);
	if (!t->rseq)
		return give_up(t, &event);
	return try_again(t, &event, TSCT_SECTION_STALE);
}

static __attribute__((noinline, cold)) int
emit_again(struct tsct *t, __u64 header, const struct tsct_piece *pieces,
	   unsigned int nr, bool ordered, int result)
{
	const struct event event = {
		.header = header, .pieces = pieces, .nr = nr,
		.size = ((__u16)header + TSCT_RECORD_ALIGN - 1) &
			~(TSCT_RECORD_ALIGN - 1U),
		.ordered = ordered,
	};

	if (result == TSCT_SECTION_FULL)
		return lose(t, sched_getcpu(), TSCT_LOST_FULL, -ENOSPC);
	return try_again(t, &event, result);
}

/*
 * What the inline functions of event.h leave to us. Where the header has no
 * thread, no section was tried.
 */
int tsct_emit_rest(struct tsct *t, uint64_t header, const void *payload,
		   int result)
{
	const struct tsct_piece piece = {
		payload, (__u16)header - sizeof(struct tsct_record),
	};
	const bool ordered = !(result & TSCT_REST_UNORDERED);

	if (!(header >> 32))
		return emit_slowly(t, (__u16)(header >> 16), &piece, 1,
				   ordered);
	return emit_again(t, header, &piece, 1, ordered,
			  result & ~TSCT_REST_UNORDERED);
}

/* All further calls are tail calls: nothing to save, nothing to restore. */
static __attribute__((noinline, cold)) int
emit_rest(struct tsct *t, __u64 header, const void *payload, int result)
{
	return tsct_emit_rest(t, header, payload, result);
}

static __attribute__((noinline, cold)) int
emit_one_slowly(struct tsct *t, unsigned int id, const void *payload,
		size_t len, bool ordered)
{
	const struct tsct_piece piece = { payload, len };

	return emit_slowly(t, id, &piece, 1, ordered);
}

int tsct_emit(struct tsct *t, unsigned int id, const void *payload, size_t len)
{
	const __u32 tid = known_tid(t->fast.fork_mark);
	__u64 header;
	int result;

	if (unlikely(!is_id(id)))
		return -EINVAL;
	if (unlikely(!tid || len > t->fast.payload_max))
		return emit_one_slowly(t, id, payload, len, true);
	header = make_header(id, len, tid);
	result = section_write(&t->fast, header, payload,
			       tsct_record_size(len));
	if (likely(result == TSCT_SECTION_DONE))
		return 0;
	return emit_rest(t, header, payload, result);
}

int tsct_emit_unordered(struct tsct *t, unsigned int id, const void *payload,
			size_t len)
{
	const __u32 tid = known_tid(t->fast.fork_mark);
	__u64 header;
	int result;

	if (unlikely(!is_id(id)))
		return -EINVAL;
	if (unlikely(!tid || len > t->fast.payload_max))
		return emit_one_slowly(t, id, payload, len, false);
	header = make_header(id, len, tid);
	result = section_write_unordered(&t->fast, header, payload,
					 tsct_record_size(len));
	if (likely(result == TSCT_SECTION_DONE))
		return 0;
	return emit_rest(t, header, payload, result | TSCT_REST_UNORDERED);
}

int tsct_emit_pieces(struct tsct *t, unsigned int id,
		     const struct tsct_piece *pieces, unsigned int nr)
{
	const __u32 tid = known_tid(t->fast.fork_mark);
	const size_t len = pieces_len(pieces, nr, t->fast.payload_max);
	__u64 header;
	int result;

	if (unlikely(!is_id(id)))
		return -EINVAL;
	if (unlikely(!tid || len > t->fast.payload_max))
		return emit_slowly(t, id, pieces, nr, true);
	header = make_header(id, len, tid);
	result = section_write_pieces(&t->fast, header, pieces, nr,
				      tsct_record_size(len));
	if (likely(result == TSCT_SECTION_DONE))
		return 0;
	return emit_again(t, header, pieces, nr, true, result);
}

int tsct_emit_pieces_unordered(struct tsct *t, unsigned int id,
			       const struct tsct_piece *pieces,
			       unsigned int nr)
{
	const __u32 tid = known_tid(t->fast.fork_mark);
	const size_t len = pieces_len(pieces, nr, t->fast.payload_max);
	__u64 header;
	int result;

	if (unlikely(!is_id(id)))
		return -EINVAL;
	if (unlikely(!tid || len > t->fast.payload_max))
		return emit_slowly(t, id, pieces, nr, false);
	header = make_header(id, len, tid);
	result = section_write_pieces_unordered(&t->fast, header, pieces, nr,
						tsct_record_size(len));
	if (likely(result == TSCT_SECTION_DONE))
		return 0;
	return emit_again(t, header, pieces, nr, false, result);
}
