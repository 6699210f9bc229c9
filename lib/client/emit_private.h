/* SPDX-License-Identifier: MIT */
/* Interfaces between emit.c, emit_slow.c and thread.c. */
#ifndef TSCT_EMIT_H
#define TSCT_EMIT_H

#include <tsctrace/event.h>

#include "channel.h"

/* ---- thread.c ----------------------------------------------------------- */

/*
 * Call before the first event of a process. Not signal safe: it allocates, and uses
 * pthread_once(), where a handler would wait for the code that it interrupted.
 */
void tsct_thread_prepare(void);

/* The word that is not 0 while tsct_thread_id is valid; a fork clears it. Signal safe. */
const __u32 *tsct_thread_mark(void);

/* This thread's id by gettid(), stored in tsct_thread_id. Signal safe. */
__u32 tsct_thread_id_slow(void);

/* This thread's id, 0: not known. */
static inline __u32 tsct_thread_known(const __u32 *mark)
{
	return __atomic_load_n(mark, __ATOMIC_RELAXED) ? tsct_thread_id : 0;
}

/* ---- emit_slow.c, all of it signal safe --------------------------------- */

/* An event that is to be recorded */
struct tsct_emit_request {
	__u64 header;		/* first 8 bytes of the record */
	const struct iovec *iov;
	unsigned int nr;	/* of iov */
	__u32 size;		/* bytes of the record, rounded up to 8 */
	bool ordered;		/* tsct_emit(), not tsct_emit_unordered() */
};

/* Counts a loss in the process, or in the ring of @cpu. Return @err. */
int tsct_emit_drop(struct tsct_channel *channel, int err);
int tsct_emit_count_lost(struct tsct_channel *channel, __u32 cpu,
			 unsigned int cause, int err);

/* Has the kernel write the event, or counts it as lost. Returns as tsct_emit(). */
int tsct_emit_fallback(struct tsct_channel *channel,
		       const struct tsct_emit_request *event);

/*
 * Continues after a critical section that ended with @result (TSCT_SECTION_*, not
 * DONE). Returns as tsct_emit().
 */
int tsct_emit_slow(struct tsct_channel *channel,
		   const struct tsct_emit_request *event, int result);

#endif /* TSCT_EMIT_H */
