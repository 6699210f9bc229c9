/* SPDX-License-Identifier: MIT */
/* Interfaces between emit.c, emit_slow.c and thread.c. */
#ifndef TSCT_EMIT_H
#define TSCT_EMIT_H

#include <tsctrace/event.h>

#include "channel.h"

/* ---- thread.c ----------------------------------------------------------- */

/*
 * Prepares a process for its first event. Not signal safe: it allocates, and a handler
 * in pthread_once() would wait for the code that it interrupted.
 */
void tsct_thread_prepare(void);

/* Returns the address of the process's fork mark. The mark is 0 if cached thread ids
 * are invalid, as after a fork, else 1. Signal safe */
const __u32 *tsct_thread_mark(void);

/*
 * Stores this thread's id in tsct_thread_id, and returns it: that in the pid namespace of the
 * provider of @channel, for the module the initial one. If the provider does not answer, the
 * id is that of gettid(); it is not stored if a later request may succeed. Signal safe
 */
__u32 tsct_thread_id_slow(struct tsct_channel *channel);

/* Returns this thread's cached id; 0: unknown. @mark: result of tsct_thread_mark() */
static inline __u32 tsct_thread_known(const __u32 *mark)
{
	return __atomic_load_n(mark, __ATOMIC_RELAXED) ? tsct_thread_id : 0;
}

/* ---- emit_slow.c, all of it signal safe --------------------------------- */

/* Event that is to be recorded by the slow path */
struct tsct_emit_request {
	__u64 header;		/* first 8 bytes of the record's header */
	const struct iovec *iov;
	unsigned int nr;	/* number of buffers in iov */
	__u32 size;		/* bytes of the record, rounded up to 8 */
	bool ordered;		/* true: for tsct_emit(); false: for
				 * tsct_emit_unordered() */
};

/* Count a lost event in the process, or in the ring of @cpu. Both return @err. */
int tsct_emit_drop(struct tsct_channel *channel, int err);
int tsct_emit_count_lost(struct tsct_channel *channel, __u32 cpu,
			 unsigned int cause, int err);

/* Lets the module write the event, or counts the event as lost. Returns 0, or the
 * -errno of tsct_emit(). */
int tsct_emit_fallback(struct tsct_channel *channel,
		       const struct tsct_emit_request *event);

/*
 * Tries again to write an event after an rseq critical section that ended with @result
 * (TSCT_SECTION_*, not DONE). Returns 0, or -errno with the event counted as lost.
 */
int tsct_emit_slow(struct tsct_channel *channel,
		   const struct tsct_emit_request *event, int result);

#endif /* TSCT_EMIT_H */
