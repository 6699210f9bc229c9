/* SPDX-License-Identifier: MIT */
/* Emitting, as its own files see it: emit.c, emit_slow.c, thread.c. */
#ifndef TSCT_EMIT_H
#define TSCT_EMIT_H

#include <tsctrace/event.h>

#include "channel.h"

/* ---- thread.c ----------------------------------------------------------- */

/*
 * Before the first event of a process. Not signal safe: it takes memory, and a
 * handler that came within would wait for what it has interrupted.
 */
void tsct_thread_prepare(void);

/*
 * The word that tells whether tsct_thread_id is known; a fork makes it 0.
 * Signal safe.
 */
const __u32 *tsct_thread_mark(void);

/* This thread's id, asked of the kernel. Signal safe. */
__u32 tsct_thread_id_slow(void);

/* This thread's id, 0: not known. */
static inline __u32 tsct_thread_known(const __u32 *mark)
{
	return __atomic_load_n(mark, __ATOMIC_RELAXED) ? tsct_thread_id : 0;
}

/* ---- emit_slow.c -------------------------------------------------------- */

/* An event on its way: all that there is to know of it */
struct tsct_emit_request {
	__u64 header;		/* first 8 bytes of the record */
	const struct iovec *iov;
	unsigned int nr;
	__u32 size;		/* of the record, rounded up */
	bool ordered;
};

/* Counted as lost, by the process or in the ring of @cpu. Returns @error. */
int tsct_emit_drop(struct tsct_channel *t, int error);
int tsct_emit_count_lost(struct tsct_channel *t, __u32 cpu, unsigned int cause, int error);

/* Tried too often, or there is no rseq: the kernel's turn, or lost. */
int tsct_emit_fallback(struct tsct_channel *t, const struct tsct_emit_request *event);

/* The section ended with @result (TSCT_SECTION_*): whatever it takes now. */
int tsct_emit_slow(struct tsct_channel *t, const struct tsct_emit_request *event,
		    int result);

#endif /* TSCT_EMIT_H */
