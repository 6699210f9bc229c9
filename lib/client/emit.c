// SPDX-License-Identifier: MIT
/*
 * Recording an event. The fast path is one rseq critical section (section.h);
 * whatever it does not do is emit_slow.c's.
 */
#include <errno.h>
#include <sched.h>

#include "emit_private.h"
#include "rseq_section.h"

const __u32 tsct_no_mark = 0;

/* ---- what is ready ------------------------------------------------------ */

/* The fast path needs a thread id, and never finds one. */
void tsct_emit_disable_fast(struct tsct_channel *t)
{
	t->fast.fork_mark = &tsct_no_mark;
}

void tsct_emit_enable_fast(struct tsct_channel *t)
{
	const struct tsct_geometry *geo = &t->geo;
	struct tsct_fast *fast = &t->fast;

	tsct_thread_prepare();
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
		tsct_thread_mark() : &tsct_no_mark;
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
static inline size_t iov_total(const struct iovec *iov,
				unsigned int nr, size_t max)
{
	size_t len = 0;

	for (; nr && len <= max; nr--, iov++)
		len = iov->iov_len > max ? iov->iov_len : len + iov->iov_len;
	return len;
}

/* Anything but an event of a known thread, stamped by the TSC. */
static __attribute__((noinline, cold)) int
emit_slowly(struct tsct_channel *t, unsigned int id, const struct iovec *iov,
	    unsigned int nr, bool ordered)
{
	struct tsct_emit_request event = {
		.iov = iov, .nr = nr, .ordered = ordered,
	};
	size_t len;

	if (t->provider == TSCT_PROVIDER_NONE)
		return tsct_emit_drop(t, -ENODEV);
	if (!(t->roles & TSCT_ROLE_WRITE))
		return tsct_emit_drop(t, -EACCES);
	len = iov_total(iov, nr, t->fast.payload_max);
	if (len > t->fast.payload_max)
		return tsct_emit_count_lost(t, sched_getcpu(), TSCT_LOST_TOO_BIG,
				      -EMSGSIZE);
	event.header = make_header(id, len,
				   tsct_thread_known(tsct_thread_mark()) ?:
				   tsct_thread_id_slow());
	event.size = tsct_record_size(len);
	if (!t->rseq)
		return tsct_emit_fallback(t, &event);
	return tsct_emit_slow(t, &event, TSCT_SECTION_STALE);
}

/* The section was tried, and ended with @result. */
static __attribute__((noinline, cold)) int
emit_again(struct tsct_channel *t, __u64 header, const struct iovec *iov,
	   unsigned int nr, bool ordered, int result)
{
	const struct tsct_emit_request event = {
		.header = header, .iov = iov, .nr = nr,
		.size = tsct_record_size((__u16)header -
					 sizeof(struct tsct_record)),
		.ordered = ordered,
	};

	return tsct_emit_slow(t, &event, result);
}

/*
 * What the inline functions of event.h leave to us. Where the header has no
 * thread, no section was tried.
 */
int tsct_emit_rest(struct tsct_channel *t, uint64_t header, const void *payload,
		   int result)
{
	const struct iovec iov = {
		(void *)payload, (__u16)header - sizeof(struct tsct_record),
	};
	const bool ordered = !(result & TSCT_REST_UNORDERED);

	if (!(header >> 32))
		return emit_slowly(t, (__u16)(header >> 16), &iov, 1,
				   ordered);
	return emit_again(t, header, &iov, 1, ordered,
			  result & ~TSCT_REST_UNORDERED);
}

/* All further calls are tail calls: nothing to save, nothing to restore. */
static __attribute__((noinline, cold)) int
emit_rest(struct tsct_channel *t, __u64 header, const void *payload, int result)
{
	return tsct_emit_rest(t, header, payload, result);
}

static __attribute__((noinline, cold)) int
emit_one_slowly(struct tsct_channel *t, unsigned int id, const void *payload,
		size_t len, bool ordered)
{
	const struct iovec iov = { (void *)payload, len };

	return emit_slowly(t, id, &iov, 1, ordered);
}

/* @ordered is a constant wherever this goes. */
static inline __attribute__((always_inline)) int
emit_one(struct tsct_channel *t, unsigned int id, const void *payload, size_t len,
	 bool ordered)
{
	const __u32 tid = tsct_thread_known(t->fast.fork_mark);
	__u64 header;
	int result;

	if (unlikely(!is_id(id)))
		return -EINVAL;
	if (unlikely(!tid || len > t->fast.payload_max))
		return emit_one_slowly(t, id, payload, len, ordered);
	header = make_header(id, len, tid);
	if (ordered)
		result = section_write(&t->fast, header, payload,
				       tsct_record_size(len));
	else
		result = section_write_unordered(&t->fast, header, payload,
						 tsct_record_size(len));
	if (likely(result == TSCT_SECTION_DONE))
		return 0;
	return emit_rest(t, header, payload,
			 result | (ordered ? 0 : TSCT_REST_UNORDERED));
}

int tsct_emit(struct tsct_channel *t, unsigned int id, const void *payload, size_t len)
{
	return emit_one(t, id, payload, len, true);
}

int tsct_emit_unordered(struct tsct_channel *t, unsigned int id, const void *payload,
			size_t len)
{
	return emit_one(t, id, payload, len, false);
}

static inline __attribute__((always_inline)) int
emit_iov(struct tsct_channel *t, unsigned int id, const struct iovec *iov,
	    unsigned int nr, bool ordered)
{
	const __u32 tid = tsct_thread_known(t->fast.fork_mark);
	const size_t len = iov_total(iov, nr, t->fast.payload_max);
	__u64 header;
	int result;

	if (unlikely(!is_id(id)))
		return -EINVAL;
	if (unlikely(!tid || len > t->fast.payload_max))
		return emit_slowly(t, id, iov, nr, ordered);
	header = make_header(id, len, tid);
	if (ordered)
		result = section_writev(&t->fast, header, iov, nr,
					      tsct_record_size(len));
	else
		result = section_writev_unordered(&t->fast, header,
							iov, nr,
							tsct_record_size(len));
	if (likely(result == TSCT_SECTION_DONE))
		return 0;
	return emit_again(t, header, iov, nr, ordered, result);
}

int tsct_emitv(struct tsct_channel *t, unsigned int id,
		     const struct iovec *iov, unsigned int nr)
{
	return emit_iov(t, id, iov, nr, true);
}

int tsct_emitv_unordered(struct tsct_channel *t, unsigned int id,
			       const struct iovec *iov,
			       unsigned int nr)
{
	return emit_iov(t, id, iov, nr, false);
}
