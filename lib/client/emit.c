// SPDX-License-Identifier: MIT
/*
 * Records events. The fast path is one rseq critical section (section.h); the slow path
 * begins blocks, finds rings, reads clocks other than the TSC, requests the kernel to
 * write events, and counts losses. All functions but those that set up the fast path
 * are async-signal-safe.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <tsctrace/event.h>

#include "channel.h"
#include "gettime.h"

/*
 * Number of restarts of the rseq critical section after which the kernel writes the
 * event. A thread is preempted every few milliseconds, so dozens of restarts in a row
 * mean that the thread is single-stepped.
 */
#define TRIES		64
/*
 * Largest payload, bytes, whose buffers are joined on the stack, as the kernel takes a
 * payload in one piece. Larger payloads are joined in allocated memory.
 */
#define STACK_MAX	2048
/* largest number of buffers of an event whose id does not fit into a record's header */
#define WIDE_IOV_MAX	64

/* Event that is to be recorded by the slow path */
struct emit_request {
	__u64 header;		/* first 8 bytes of the record's header */
	const struct iovec *iov;
	unsigned int nr;	/* number of buffers in iov */
	__u32 size;		/* bytes of the record, rounded up to 8 */
	bool ordered;		/* true: emitted by tsct_emit(); false: by tsct_emit_unordered() */
};

/* ---- critical sections ----------------------------------------------------- */

/*
 * Variants of the critical section of tsctrace/section.h: for payloads of
 * variable length, for sources other than the TSC, and for the begin of a
 * block. All are async-signal-safe and return TSCT_SECTION_*.
 */

_Static_assert(sizeof(struct iovec) == 16, "addq $16");
_Static_assert(sizeof(struct tsct_record) == 16, "subq $16");

/*
 * Copies rdx bytes from src to the place after the record header at pos, and advances
 * src and pos. Copies fewer than 128 bytes word by word: the source was probably
 * stored as words a moment ago, and a wider load would have to wait for these stores.
 */
#define SECTION_COPY							\
	TSCT_DO_("cmpq $8, %%rdx")					\
	TSCT_DO_("jb 76f")						\
	TSCT_DO_("cmpq $128, %%rdx")					\
	TSCT_DO_("jb 75f")						\
	"74:\n\t"							\
	TSCT_DO_("movups (%[src]), %%xmm0")				\
	TSCT_DO_("movups 16(%[src]), %%xmm1")				\
	TSCT_DO_("movups 32(%[src]), %%xmm2")				\
	TSCT_DO_("movups 48(%[src]), %%xmm3")				\
	TSCT_DO_("movups %%xmm0, " TSCT_DATA_("16") "(%[pos])")		\
	TSCT_DO_("movups %%xmm1, " TSCT_DATA_("32") "(%[pos])")		\
	TSCT_DO_("movups %%xmm2, " TSCT_DATA_("48") "(%[pos])")		\
	TSCT_DO_("movups %%xmm3, " TSCT_DATA_("64") "(%[pos])")		\
	TSCT_DO_("addq $64, %[src]")					\
	TSCT_DO_("addq $64, %[pos]")					\
	TSCT_DO_("subq $64, %%rdx")					\
	TSCT_DO_("cmpq $64, %%rdx")					\
	TSCT_DO_("jae 74b")						\
	TSCT_DO_("cmpq $8, %%rdx")					\
	TSCT_DO_("jb 76f")						\
	"75:\n\t"							\
	TSCT_DO_("movq (%[src]), %%rax")				\
	TSCT_DO_("movq %%rax, " TSCT_DATA_("16") "(%[pos])")		\
	TSCT_DO_("addq $8, %[src]")					\
	TSCT_DO_("addq $8, %[pos]")					\
	TSCT_DO_("subq $8, %%rdx")					\
	TSCT_DO_("cmpq $8, %%rdx")					\
	TSCT_DO_("jae 75b")						\
	"76:\n\t"							\
	TSCT_DO_("testl %%edx, %%edx")					\
	TSCT_DO_("jz 78f")						\
	TSCT_DO_("testb $4, %%dl")					\
	TSCT_DO_("jz 77f")						\
	TSCT_DO_("movl (%[src]), %%eax")				\
	TSCT_DO_("movl %%eax, " TSCT_DATA_("16") "(%[pos])")		\
	TSCT_DO_("addq $4, %[src]")					\
	TSCT_DO_("addq $4, %[pos]")					\
	"77:\n\t"							\
	TSCT_DO_("testb $2, %%dl")					\
	TSCT_DO_("jz 77f")						\
	TSCT_DO_("movw (%[src]), %%ax")					\
	TSCT_DO_("movw %%ax, " TSCT_DATA_("16") "(%[pos])")		\
	TSCT_DO_("addq $2, %[src]")					\
	TSCT_DO_("addq $2, %[pos]")					\
	"77:\n\t"							\
	TSCT_DO_("testb $1, %%dl")					\
	TSCT_DO_("jz 78f")						\
	TSCT_DO_("movb (%[src]), %%al")					\
	TSCT_DO_("movb %%al, " TSCT_DATA_("16") "(%[pos])")		\
	TSCT_DO_("incq %[pos]")						\
	"78:\n\t"

/* Copies one buffer, whose length is in the record's header. */
#define SECTION_PAYLOAD							\
	TSCT_DO_("movzwl %w[header], %%edx")				\
	TSCT_DO_("subl $16, %%edx")					\
	SECTION_COPY

/* Copies all buffers of an iovec. */
#define SECTION_IOV							\
	TSCT_DO_("testq %[nr], %[nr]")					\
	TSCT_DO_("jz 79f")						\
	"86:\n\t"							\
	TSCT_DO_("movq (%[iov]), %[src]")				\
	TSCT_DO_("movq 8(%[iov]), %%rdx")				\
	TSCT_DO_("addq $16, %[iov]")					\
	SECTION_COPY							\
	TSCT_DO_("decq %[nr]")						\
	TSCT_DO_("jnz 86b")

#define SECTION_CLOBBERS						\
	"rcx", "rdx", "xmm0", "xmm1", "xmm2", "xmm3", "memory", "cc"

/*
 * section_write - write one record, stamped with the TSC
 * @header: the first 8 bytes of the record's header
 * @src: the payload, of the length that is in @header
 * @size: bytes of the record, rounded up to 8
 */
#define DEFINE_SECTION_WRITE(name, read_tsc)				\
static inline __attribute__((always_inline)) int			\
name(const struct tsct_fast *fast, __u64 header, const void *src,	\
     __u64 size)							\
{									\
	__u64 pos, end, result;						\
									\
	__asm__ __volatile__ (						\
		TSCT_SECTION_RECORD_(read_tsc, SECTION_PAYLOAD)		\
		: "=&a" (result), [pos] "=&r" (pos),			\
		  [end] "=&r" (end), [src] "+r" (src)			\
		: TSCT_SECTION_INPUTS_(fast), [header] "r" (header),	\
		  [size] "r" (size)					\
		: SECTION_CLOBBERS);					\
	return (int)result;						\
}

DEFINE_SECTION_WRITE(section_write, TSCT_READ_TSC_ORDERED_)
DEFINE_SECTION_WRITE(section_write_unordered, TSCT_READ_TSC_UNORDERED_)

/* section_writev - write one record with a payload in @nr buffers */
#define DEFINE_SECTION_WRITEV(name, read_tsc)				\
static inline __attribute__((always_inline)) int			\
name(const struct tsct_fast *fast, __u64 header, const struct iovec *iov, \
     __u64 nr, __u64 size)						\
{									\
	__u64 pos, end, result;						\
	const void *src;						\
									\
	__asm__ __volatile__ (						\
		TSCT_SECTION_RECORD_(read_tsc, SECTION_IOV)		\
		: "=&a" (result), [pos] "=&r" (pos),			\
		  [end] "=&r" (end), [src] "=&r" (src),			\
		  [iov] "+r" (iov), [nr] "+r" (nr)			\
		: TSCT_SECTION_INPUTS_(fast), [header] "r" (header),	\
		  [size] "rm" (size)					\
		: SECTION_CLOBBERS);					\
	return (int)result;						\
}

DEFINE_SECTION_WRITEV(section_writev, TSCT_READ_TSC_ORDERED_)
DEFINE_SECTION_WRITEV(section_writev_unordered, TSCT_READ_TSC_UNORDERED_)

/* A ring's head, the cycles that were read after the head, and the ring's CPU */
struct section_seen {
	__u64 head;
	__u64 cycles;
	__u32 cpu;
};

/*
 * Ends the critical section with STALE if the thread's CPU or the ring's head
 * is not that in @seen.
 */
#define SECTION_SEEN							\
	TSCT_SECTION_CPU_						\
	TSCT_DO_("cmpl %[seen_cpu], %%ecx")				\
	TSCT_DO_("jne 84f")						\
	TSCT_SECTION_RING_						\
	TSCT_DO_("movq (%%rcx), %[pos]")				\
	TSCT_DO_("cmpq %[seen_head], %[pos]")				\
	TSCT_DO_("jne 84f")

#define SECTION_SEEN_INPUTS(seen)					\
	[seen_cpu] "m" ((seen)->cpu), [seen_head] "m" ((seen)->head)

/* section_write_seen - like section_writev(), but with the cycles in @seen. The result
 * is STALE if the thread's CPU or the ring's head is no longer that in @seen */
static inline int section_write_seen(const struct tsct_fast *fast,
				     __u64 header,
				     const struct iovec *iov, __u64 nr,
				     __u64 size,
				     const struct section_seen *seen)
{
	__u64 pos, end, result;
	const void *src;

	__asm__ __volatile__ (
		TSCT_SECTION_DESCRIPTOR_
		TSCT_SECTION_ENTER_
		SECTION_SEEN
		TSCT_SECTION_PLACE_
		TSCT_DO_("movq %[seen_cycles], %%rax")
		TSCT_SECTION_HEADER_
		SECTION_IOV
		TSCT_SECTION_PUBLISH_
		TSCT_SECTION_EXITS_
		: "=&a" (result), [pos] "=&r" (pos), [end] "=&r" (end),
		  [src] "=&r" (src), [iov] "+r" (iov), [nr] "+r" (nr)
		: TSCT_SECTION_INPUTS_(fast), [header] "r" (header),
		  [size] "rm" (size), SECTION_SEEN_INPUTS(seen),
		  [seen_cycles] "m" (seen->cycles)
		: SECTION_CLOBBERS);
	return (int)result;
}

/* The next block of a ring, computed from a struct section_seen */
struct section_block {
	struct tsct_block block;
	__u64 head;		/* value of the head that publishes the block */
	__u64 pad;		/* first word of the pad record */
	__u64 pad_at;		/* byte offset of the pad in the ring's data */
	__u64 block_at;
};

/*
 * Stores a pad and a block header, and publishes both. The caller has checked that the ring
 * has room for them.
 */
static inline int section_begin_block(const struct tsct_fast *fast,
				      const struct section_seen *seen,
				      const struct section_block *next)
{
	__u64 pos, end, result;

	__asm__ __volatile__ (
		TSCT_SECTION_DESCRIPTOR_
		TSCT_SECTION_ENTER_
		SECTION_SEEN
		TSCT_DO_("movq %c[pad_at](%[next]), %[pos]")
		TSCT_DO_("movq %c[pad](%[next]), %%rax")
		TSCT_DO_("movq %%rax, " TSCT_DATA_("0") "(%%rcx, %[pos])")
		TSCT_DO_("movq %c[block_at](%[next]), %[pos]")
		TSCT_DO_("addq %%rcx, %[pos]")
		TSCT_DO_("movq (%[next]), %%rax")
		TSCT_DO_("movq %%rax, " TSCT_DATA_("0") "(%[pos])")
		TSCT_DO_("movq 8(%[next]), %%rax")
		TSCT_DO_("movq %%rax, " TSCT_DATA_("8") "(%[pos])")
		TSCT_DO_("movq 16(%[next]), %%rax")
		TSCT_DO_("movq %%rax, " TSCT_DATA_("16") "(%[pos])")
		TSCT_DO_("movq 24(%[next]), %%rax")
		TSCT_DO_("movq %%rax, " TSCT_DATA_("24") "(%[pos])")
		TSCT_DO_("movq %c[next_head](%[next]), %[end]")
		TSCT_SECTION_PUBLISH_
		TSCT_SECTION_EXITS_
		: "=&a" (result), [pos] "=&r" (pos), [end] "=&r" (end)
		: TSCT_SECTION_INPUTS_(fast), SECTION_SEEN_INPUTS(seen),
		  [next] "r" (next),
		  [pad] "i" (offsetof(struct section_block, pad)),
		  [pad_at] "i" (offsetof(struct section_block, pad_at)),
		  [block_at] "i" (offsetof(struct section_block, block_at)),
		  [next_head] "i" (offsetof(struct section_block, head))
		: "rcx", "rdx", "memory", "cc");
	return (int)result;
}

_Static_assert(offsetof(struct section_block, block) == 0, "(%[next])");

/* ---- setting up --------------------------------------------------------- */

void tsct_emit_enable_fast(struct tsct_channel *channel)
{
	const struct tsct_geometry *geo = &channel->geo;
	struct tsct_fast *fast = &channel->fast;

	tsct_thread_prepare();
	fast->rseq = channel->rseq;
	fast->data_mask = geo->data_size - 1;
	/* The critical section compares 48-bit positions that are shifted left by 16 bits. */
	fast->limit = geo->policy == TSCT_POLICY_OVERWRITE ?
		~0ULL : geo->data_size << (64 - TSCT_POS_BITS);
	fast->nr_cpus = channel->header.nr_cpus;
	fast->block_size = geo->block_size;
	fast->block_mask = geo->block_size - 1;
	fast->payload_max = tsct_payload_max(geo);
	fast->fork_mark = channel->rseq && channel->source == TSCT_SOURCE_TSC ?
		tsct_thread_mark() : &tsct_no_mark;
}

/* ---- lost events, and events that the kernel writes ----------------------- */

/* Counts a lost event in the handle, because no ring counts it. Returns @err. */
static int count_dropped(struct tsct_channel *channel, int err)
{
	if (channel->refusals)
		__atomic_fetch_add(&channel->refusals->lost[TSCT_LOST_REFUSED], 1,
				   __ATOMIC_RELAXED);
	__atomic_fetch_add(&channel->dropped, 1, __ATOMIC_RELAXED);
	return err;
}

/*
 * Counts an event as lost in the ring of the CPU on which the thread runs. Returns false if
 * that CPU has no ring. The addition is atomic: the thread may be on another CPU by now.
 */
static bool add_lost(struct tsct_channel *channel, unsigned int cause)
{
	const __u32 cpu = sched_getcpu();

	if (!tsct_ring_ready(channel, cpu))
		return false;
	__atomic_fetch_add(&tsct_ring_producer(channel, cpu)->lost[cause], 1,
			   __ATOMIC_RELAXED);
	return true;
}

static int count_lost(struct tsct_channel *channel, unsigned int cause, int err)
{
	return add_lost(channel, cause) ? err : count_dropped(channel, err);
}

/* Counts a refused event in the handle, for the program, and in the ring, for
 * the recorder. Returns @err. */
static __attribute__((noinline, cold)) int count_refused(struct tsct_channel *channel, int err)
{
	channel = tsct_channel_target(channel);
	if (channel->provider != TSCT_PROVIDER_NONE && channel->roles & TSCT_ROLE_WRITE)
		add_lost(channel, TSCT_LOST_REFUSED);
	return count_dropped(channel, err);
}

static __u32 payload_len(const struct emit_request *event)
{
	return (__u16)event->header - sizeof(struct tsct_record);
}

/*
 * Requests the kernel to write the event. The kernel counts an event that does not fit
 * as lost.
 */
static int write_by_kernel(struct tsct_channel *channel,
			   const struct emit_request *event,
			   const void *payload)
{
	struct tsct_write write = {
		.payload = (__u64)(uintptr_t)payload,
		.len = payload_len(event),
		.id = (__u16)(event->header >> 16),
	};
	int err = tsct_channel_request(channel, TSCT_IOC_WRITE, &write);

	if (err && err != -ENOSPC && err != -EMSGSIZE)
		return count_dropped(channel, err);
	return err;
}

/* Joins the buffers of the event in @joined, and requests the kernel to write the event. */
static int write_joined(struct tsct_channel *channel,
			const struct emit_request *event, char *joined)
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

/* Lets the module write the event, or counts the event as lost. Returns 0, or the
 * -errno of tsct_emit(). */
static int emit_by_kernel(struct tsct_channel *channel, const struct emit_request *event)
{
	const size_t len = payload_len(event);
	char joined[STACK_MAX];
	void *memory;
	int err;

	if (channel->provider != TSCT_PROVIDER_MODULE)
		return count_lost(channel, TSCT_LOST_ABORTED, -EAGAIN);
	if (event->nr == 1)
		return write_by_kernel(channel, event, event->iov->iov_base);
	if (len <= sizeof(joined))
		return write_joined(channel, event, joined);
	/* malloc() must not be called in a signal handler. */
	memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (memory == MAP_FAILED)
		return count_lost(channel, TSCT_LOST_ABORTED, -EAGAIN);
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

/* Reads the head of the present CPU's ring, and then the channel's clock. Returns NULL if
 * the address of the ring is not known yet. */
static struct tsct_ring_ref *sample_ring(struct tsct_channel *channel,
					 struct section_seen *ret_seen)
{
	static const clockid_t clocks[TSCT_SOURCE_NR] = {
		[TSCT_SOURCE_MONOTONIC_RAW] = CLOCK_MONOTONIC_RAW,
		[TSCT_SOURCE_MONOTONIC] = CLOCK_MONOTONIC,
		[TSCT_SOURCE_REALTIME] = CLOCK_REALTIME,
	};
	struct tsct_producer *producer;

	ret_seen->cpu = sched_getcpu();
	if (ret_seen->cpu >= channel->fast.nr_cpus)
		return NULL;
	producer = __atomic_load_n(&channel->fast.refs[ret_seen->cpu].producer,
				   __ATOMIC_ACQUIRE);
	if (!producer)
		return NULL;
	ret_seen->head = __atomic_load_n(&producer->head, __ATOMIC_ACQUIRE);
	/* Read the clock after the head, so that the ring's cycles do not decrease. */
	ret_seen->cycles = channel->source == TSCT_SOURCE_TSC ? tsct_tsc_read() :
		(__u64)tsct_gettime_ns(clocks[channel->source]);
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
		       const struct emit_request *event)
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
		/* If the head has moved since it was read, the tail may have passed
		 * seen.head, and the ring only seems to be full. */
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

/* ---- attempts to write an event ----------------------------------------- */

/* Tries once to write the event, in an rseq critical section. Returns TSCT_SECTION_* */
static int try_once(struct tsct_channel *channel, const struct emit_request *event)
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

/*
 * Tries to write the event, up to TRIES times, after an rseq critical section that ended
 * with @result (TSCT_SECTION_* other than DONE). Returns 0, or -errno with the
 * event counted as lost.
 */
static int emit_slow(struct tsct_channel *channel, const struct emit_request *event,
		     int result)
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
		return count_lost(channel, TSCT_LOST_FULL, -ENOSPC);
	return emit_by_kernel(channel, event);
}

/* ---- common to all functions -------------------------------------------- */

/* Returns this thread's cached id; 0: unknown. @mark: result of tsct_thread_mark() */
static inline __u32 thread_known(const __u32 *mark)
{
	return __atomic_load_n(mark, __ATOMIC_RELAXED) ? tsct_thread_id : 0;
}

/* Returns the first 8 bytes of a record's header. */
static inline __u64 make_header(unsigned int id, __u32 len, __u32 tid)
{
	return (sizeof(struct tsct_record) + len) | (__u64)id << 16 |
		(__u64)tid << 32;
}

static inline bool is_event_id(unsigned int id)
{
	return id - TSCT_ID_FIRST <= TSCT_ID_MAX - TSCT_ID_FIRST;
}

static inline bool is_wide_id(unsigned int id)
{
	return id - TSCT_ID_MAX - 1 < TSCT_ID_WIDE_MAX - TSCT_ID_MAX;
}

/* Returns the sum of the lengths of @nr buffers. Stops above @max, so that no sum wraps. */
static inline size_t iov_total(const struct iovec *iov,
				unsigned int nr, size_t max)
{
	size_t len = 0;

	for (; nr && len <= max; nr--, iov++)
		len = iov->iov_len > max ? iov->iov_len : len + iov->iov_len;
	return len;
}

/*
 * Writes an event of a handle to its target. Translates @id first: programs may have defined
 * other events in the target, so the event may have another id there. A handle
 * in wide[] has the id's high bits in id_high.
 */
static int emit_to_target(struct tsct_channel *channel, unsigned int id,
			  const struct iovec *iov, unsigned int nr, bool ordered)
{
	struct tsct_channel *target = tsct_channel_target(channel);

	id = channel->id_high ? id | channel->id_high << 16 :
		channel == target->wide[0] ? 0 : tsct_channel_id(target, id);
	if (!id)
		return count_refused(channel, -ENOSPC);
	return ordered ? tsct_emitv(target, id, iov, nr) :
		tsct_emitv_unordered(target, id, iov, nr);
}

/*
 * Slow path of events that never enter the critical section: the thread's id is
 * unknown, the source is not the TSC, the payload is too large, or the channel is not
 * writable
 */
static __attribute__((noinline, cold)) int
emit_untried(struct tsct_channel *channel, unsigned int id,
	     const struct iovec *iov, unsigned int nr, bool ordered)
{
	struct emit_request event = {
		.iov = iov, .nr = nr, .ordered = ordered,
	};
	size_t len;

	if (tsct_channel_target(channel) != channel)
		return emit_to_target(channel, id, iov, nr, ordered);
	if (channel->provider == TSCT_PROVIDER_NONE)
		return count_dropped(channel, -ENODEV);
	if (!(channel->roles & TSCT_ROLE_WRITE))
		return count_dropped(channel, -EACCES);
	len = iov_total(iov, nr, channel->fast.payload_max);
	if (len > channel->fast.payload_max)
		return count_lost(channel, TSCT_LOST_TOO_BIG, -EMSGSIZE);
	event.header = make_header(id, len,
				   thread_known(tsct_thread_mark()) ?:
				   tsct_thread_id_slow(channel));
	event.size = tsct_record_size(len);
	if (!channel->rseq)
		return emit_by_kernel(channel, &event);
	return emit_slow(channel, &event, TSCT_SECTION_STALE);
}

/* Writes an event whose id does not fit into a record's header, or refuses an
 * event whose id is invalid. */
static __attribute__((noinline, cold)) int
emit_wide(struct tsct_channel *channel, unsigned int id, const struct iovec *iov,
	  unsigned int nr, bool ordered)
{
	__u64 wide = id;
	struct iovec all[WIDE_IOV_MAX + 1] = { { &wide, sizeof(wide) } };

	if (!is_wide_id(id) && !channel->id_high)
		return count_refused(channel, -EINVAL);
	if (tsct_channel_target(channel) != channel)
		return emit_to_target(channel, id, iov, nr, ordered);
	if (nr > WIDE_IOV_MAX)
		return count_lost(channel, TSCT_LOST_TOO_BIG, -EMSGSIZE);
	if (nr)
		memcpy(all + 1, iov, nr * sizeof(*iov));
	return emit_untried(channel, TSCT_ID_WIDE, all, nr + 1, ordered);
}

/* Slow path of an event whose rseq critical section failed with @result */
static __attribute__((noinline, cold)) int
emit_again(struct tsct_channel *channel, __u64 header, const struct iovec *iov,
	   unsigned int nr, bool ordered, int result)
{
	const struct emit_request event = {
		.header = header, .iov = iov, .nr = nr,
		.size = tsct_record_size((__u16)header -
					 sizeof(struct tsct_record)),
		.ordered = ordered,
	};

	return emit_slow(channel, &event, result);
}

/* ---- one buffer --------------------------------------------------------- */

/* Not inlined, so that emit_one() ends in tail calls only and saves no registers */
__attribute__((noinline, cold)) int
tsct_emit_rest(struct tsct_channel *channel, uint64_t header, const void *payload,
	       int result)
{
	const struct iovec iov = {
		(void *)payload, (__u16)header - sizeof(struct tsct_record),
	};
	const bool ordered = !(result & TSCT_REST_UNORDERED);

	if (!(header >> 32))
		return emit_untried(channel, (__u16)(header >> 16), &iov, 1,
				    ordered);
	return emit_again(channel, header, &iov, 1, ordered,
			  result & ~TSCT_REST_UNORDERED);
}

static __attribute__((noinline, cold)) int
emit_one_untried(struct tsct_channel *channel, unsigned int id,
		 const void *payload, size_t len, bool ordered)
{
	const struct iovec iov = { (void *)payload, len };

	return emit_untried(channel, id, &iov, 1, ordered);
}

static __attribute__((noinline, cold)) int
emit_one_wide(struct tsct_channel *channel, unsigned int id, const void *payload, size_t len,
	      bool ordered)
{
	const struct iovec iov = { (void *)payload, len };

	return emit_wide(channel, id, &iov, 1, ordered);
}

/* Inlined with a constant @ordered, so that no test of @ordered remains. */
static inline __attribute__((always_inline)) int
emit_one(struct tsct_channel *channel, unsigned int id, const void *payload,
	 size_t len, bool ordered)
{
	const __u32 tid = thread_known(channel->fast.fork_mark);
	__u64 header;
	int result;

	if (unlikely(!is_event_id(id)))
		return emit_one_wide(channel, id, payload, len, ordered);
	if (unlikely(!tid || len > channel->fast.payload_max))
		return emit_one_untried(channel, id, payload, len, ordered);
	header = make_header(id, len, tid);
	if (ordered)
		result = section_write(&channel->fast, header, payload,
				       tsct_record_size(len));
	else
		result = section_write_unordered(&channel->fast, header, payload,
						 tsct_record_size(len));
	if (likely(result == TSCT_SECTION_DONE))
		return 0;
	return tsct_emit_rest(channel, header, payload,
			      result | (ordered ? 0 : TSCT_REST_UNORDERED));
}

int tsct_emit(struct tsct_channel *channel, unsigned int id, const void *payload,
	      size_t len)
{
	return emit_one(channel, id, payload, len, true);
}

int tsct_emit_unordered(struct tsct_channel *channel, unsigned int id,
			const void *payload, size_t len)
{
	return emit_one(channel, id, payload, len, false);
}

/* ---- several buffers ---------------------------------------------------- */

static inline __attribute__((always_inline)) int
emit_iov(struct tsct_channel *channel, unsigned int id, const struct iovec *iov,
	 unsigned int nr, bool ordered)
{
	const __u32 tid = thread_known(channel->fast.fork_mark);
	const size_t len = iov_total(iov, nr, channel->fast.payload_max);
	__u64 header;
	int result;

	if (unlikely(!is_event_id(id)))
		return emit_wide(channel, id, iov, nr, ordered);
	if (unlikely(!tid || len > channel->fast.payload_max))
		return emit_untried(channel, id, iov, nr, ordered);
	header = make_header(id, len, tid);
	if (ordered)
		result = section_writev(&channel->fast, header, iov, nr,
					tsct_record_size(len));
	else
		result = section_writev_unordered(&channel->fast, header, iov, nr,
						  tsct_record_size(len));
	if (likely(result == TSCT_SECTION_DONE))
		return 0;
	return emit_again(channel, header, iov, nr, ordered, result);
}

int tsct_emitv(struct tsct_channel *channel, unsigned int id,
	       const struct iovec *iov, unsigned int nr)
{
	return emit_iov(channel, id, iov, nr, true);
}

int tsct_emitv_unordered(struct tsct_channel *channel, unsigned int id,
			 const struct iovec *iov, unsigned int nr)
{
	return emit_iov(channel, id, iov, nr, false);
}
