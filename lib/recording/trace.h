/* SPDX-License-Identifier: MIT */
/* Reading a recording back: what tsctrace/trace.h does not tell other programs. */
#ifndef TSCT_TRACE_H
#define TSCT_TRACE_H

#include <tsctrace/trace.h>

#include "recording/recording.h"

/* Is told of damage. */
typedef void tsct_trace_report(void *arg, const char *sentence);

/* Bytes of whole packets of channels, read so far */
__u64 tsct_trace_bytes(const struct tsct_trace *trace);

const struct tsct_recording *tsct_trace_recording(const struct tsct_trace *t);

/*
 * tsct_trace_select - which events to read; before the first is
 * Those of channels, unless told otherwise: sync samples are no events of
 * programs.
 */
#define TSCT_TRACE_EVENTS	0x1
#define TSCT_TRACE_SAMPLES	0x2
void tsct_trace_select(struct tsct_trace *trace, unsigned int which);

/* Reports an event as damage that cannot be, though it is well-formed. */
void tsct_trace_refuse(struct tsct_trace *trace,
		       const struct tsct_trace_event *event, const char *what);

/* Events of channels lost while recording, as the packets read so far say. */
__u64 tsct_trace_discarded(const struct tsct_trace *trace);

#endif /* TSCT_TRACE_H */
