/* SPDX-License-Identifier: MIT */
/* Reading a recording back: what tsctrace/trace.h does not tell other programs. */
#ifndef TSCT_TRACE_H
#define TSCT_TRACE_H

#include <signal.h>

#include <tsctrace/trace.h>

#include "recording.h"

/* Is told of damage. */
typedef void tsct_trace_report(void *arg, const char *sentence);

/* Bytes of whole packets of channels, read so far */
__u64 tsct_trace_bytes(const struct tsct_trace *trace);

/* Bytes that the event given last takes in its file, its payload included */
__u64 tsct_trace_event_bytes(const struct tsct_trace *trace);

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

/* ---- while it is being made ------------------------------------------------ */

/* Is somebody recording it now? */
bool tsct_trace_is_live(const struct tsct_trace *trace);

/*
 * tsct_trace_follow - read what is to come, too, until the recording is complete
 * @dir: that was opened
 *
 * Before the first event; channels' events only. From then on tsct_trace_next()
 * returns -EAGAIN where it has come to the end of what is there for certain, and what
 * tsct_trace_recording() says changes with tsct_trace_wait(); definitions stay. Of a
 * recording that nobody makes it changes nothing. 0 or -errno.
 */
int tsct_trace_follow(struct tsct_trace *trace, const char *dir);

/*
 * tsct_trace_wait - sleep until there may be more
 * @mask: the signals to be blocked meanwhile, as for ppoll(2)
 *
 * Returns 0; 1: there are definitions, or other things that the recording says of
 * itself, that are new; -EINTR; or -errno, and @why says what. After a recorder that was
 * killed, tsct_trace_next() gives what it left, and then ends.
 */
int tsct_trace_wait(struct tsct_trace *trace, const sigset_t *mask, char *why,
		     size_t why_size);

#endif /* TSCT_TRACE_H */
