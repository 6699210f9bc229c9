/* SPDX-License-Identifier: MIT */
#ifndef TSCTRACE_EVENT_H
#define TSCTRACE_EVENT_H

#include <tsctrace/section.h>
#include <tsctrace/tsctrace.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Read by the inline functions only: this thread's id, 0: not known yet */
extern __thread __u32 tsct_thread_id
	__attribute__((tls_model("initial-exec")));

/* Or'ed to the result of an unordered section */
#define TSCT_REST_UNORDERED	0x100

int tsct_emit_rest(struct tsct *t, uint64_t header, const void *payload,
		   int result);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* TSCTRACE_EVENT_H */
