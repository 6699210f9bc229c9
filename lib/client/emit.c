// SPDX-License-Identifier: MIT
/*
 * Recording an event. The fast path is one rseq critical section (section.h); all
 * cases that it does not handle go to emit_slow.c.
 */
#include <errno.h>
#include <sched.h>

#include "emit_private.h"
#include "rseq_section.h"

const __u32 tsct_no_mark = 0;

/* ---- setting up --------------------------------------------------------- */

/* Marks thread ids as unknown: then no event takes the fast path. */
void tsct_emit_disable_fast(struct tsct_channel *channel)
{
	__atomic_store_n(&channel->fast.fork_mark, &tsct_no_mark, __ATOMIC_RELAXED);
}

void tsct_emit_enable_fast(struct tsct_channel *channel)
{
	const struct tsct_geometry *geo = &channel->geo;
	struct tsct_fast *fast = &channel->fast;

	tsct_thread_prepare();
	fast->rseq = channel->rseq;
	fast->data_mask = geo->data_size - 1;
	/* The critical section compares positions of 48 bits, shifted left by 16. */
	fast->limit = geo->policy == TSCT_POLICY_OVERWRITE ?
		~0ULL : geo->data_size << (64 - TSCT_POS_BITS);
	fast->nr_cpus = channel->header.nr_cpus;
	fast->block_size = geo->block_size;
	fast->block_mask = geo->block_size - 1;
	fast->payload_max = tsct_payload_max(geo);
	fast->fork_mark = channel->rseq && channel->source == TSCT_SOURCE_TSC ?
		tsct_thread_mark() : &tsct_no_mark;
}

/* ---- common to all functions -------------------------------------------- */

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

/* Sum of the lengths of @nr buffers. Stops above @max, so that the sum cannot wrap. */
static inline size_t iov_total(const struct iovec *iov,
				unsigned int nr, size_t max)
{
	size_t len = 0;

	for (; nr && len <= max; nr--, iov++)
		len = iov->iov_len > max ? iov->iov_len : len + iov->iov_len;
	return len;
}

/*
 * Writes an event to the channel that was opened after the handle. Its ids are other
 * ones, as programs may have defined other events there.
 */
static int emit_to_target(struct tsct_channel *channel, unsigned int id,
			  const struct iovec *iov, unsigned int nr, bool ordered)
{
	struct tsct_channel *target = tsct_channel_target(channel);

	id = tsct_channel_id(target, id);
	if (!id)
		return tsct_emit_drop(channel, -ENOSPC);
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
	struct tsct_emit_request event = {
		.iov = iov, .nr = nr, .ordered = ordered,
	};
	size_t len;

	if (tsct_channel_target(channel) != channel)
		return emit_to_target(channel, id, iov, nr, ordered);
	if (channel->provider == TSCT_PROVIDER_NONE)
		return tsct_emit_drop(channel, -ENODEV);
	if (!(channel->roles & TSCT_ROLE_WRITE))
		return tsct_emit_drop(channel, -EACCES);
	len = iov_total(iov, nr, channel->fast.payload_max);
	if (len > channel->fast.payload_max)
		return tsct_emit_count_lost(channel, sched_getcpu(),
					    TSCT_LOST_TOO_BIG, -EMSGSIZE);
	event.header = make_header(id, len,
				   tsct_thread_known(tsct_thread_mark()) ?:
				   tsct_thread_id_slow(channel));
	event.size = tsct_record_size(len);
	if (!channel->rseq)
		return tsct_emit_fallback(channel, &event);
	return tsct_emit_slow(channel, &event, TSCT_SECTION_STALE);
}

/* Slow path of events whose rseq critical section ended with @result, not DONE */
static __attribute__((noinline, cold)) int
emit_again(struct tsct_channel *channel, __u64 header, const struct iovec *iov,
	   unsigned int nr, bool ordered, int result)
{
	const struct tsct_emit_request event = {
		.header = header, .iov = iov, .nr = nr,
		.size = tsct_record_size((__u16)header -
					 sizeof(struct tsct_record)),
		.ordered = ordered,
	};

	return tsct_emit_slow(channel, &event, result);
}

/* ---- one buffer --------------------------------------------------------- */

int tsct_emit_rest(struct tsct_channel *channel, uint64_t header,
		   const void *payload, int result)
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

/*
 * Slow path in a local function, so that emit_one() ends in tail calls only and saves
 * no registers
 */
static __attribute__((noinline, cold)) int
emit_rest(struct tsct_channel *channel, __u64 header, const void *payload,
	  int result)
{
	return tsct_emit_rest(channel, header, payload, result);
}

static __attribute__((noinline, cold)) int
emit_one_untried(struct tsct_channel *channel, unsigned int id,
		 const void *payload, size_t len, bool ordered)
{
	const struct iovec iov = { (void *)payload, len };

	return emit_untried(channel, id, &iov, 1, ordered);
}

/* Inlined with a constant @ordered, so that no test of @ordered remains. */
static inline __attribute__((always_inline)) int
emit_one(struct tsct_channel *channel, unsigned int id, const void *payload,
	 size_t len, bool ordered)
{
	const __u32 tid = tsct_thread_known(channel->fast.fork_mark);
	__u64 header;
	int result;

	if (unlikely(!is_event_id(id)))
		return -EINVAL;
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
	return emit_rest(channel, header, payload,
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
	const __u32 tid = tsct_thread_known(channel->fast.fork_mark);
	const size_t len = iov_total(iov, nr, channel->fast.payload_max);
	__u64 header;
	int result;

	if (unlikely(!is_event_id(id)))
		return -EINVAL;
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
