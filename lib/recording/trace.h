/* SPDX-License-Identifier: MIT */
/*
 * Reading a recording back, all streams in one order. Everything on disk is
 * taken as hostile: what cannot be is reported, skipped, and what lies before
 * and behind it is still read.
 */
#ifndef TSCT_TRACE_H
#define TSCT_TRACE_H

#include "recording/recording.h"

struct tsct_trace;

struct tsct_trace_event {
	__u64 stamp;		/* ticks of rec->source */
	__u64 tick;		/* as it is in the file: ticks.h */
	__u32 node;		/* index into the recording's nodes */
	__u32 cpu;
	__u32 location;		/* of both: index into its locations */
	__u32 tid;
	__u32 stream;		/* index into the recording's streams */
	__u64 offset;		/* in its file, bytes */
	__u64 discarded;	/* events lost in its ring so far, by its packet */
	__u32 len;		/* of the payload, which fits the definition */
	const struct tsct_event_def *def;
	const __u8 *payload;	/* valid until the next call */
};

/* Is told of damage, in sentences that name the file. */
typedef void tsct_trace_report(void *arg, const char *sentence);

/*
 * tsct_trace_open - open the recording in @dir
 * @report: may be NULL
 * @why: on failure, what is wrong with it, without its name
 *
 * Returns 0, -ENOMSG: not a tsctrace recording, -EINVAL: its metadata is
 * damaged, or the -errno of reading it.
 */
int tsct_trace_open(const char *dir, tsct_trace_report *report, void *arg,
		    struct tsct_trace **ret_trace, char *why, size_t why_size);
void tsct_trace_close(struct tsct_trace *trace);

const struct tsct_recording *tsct_trace_recording(const struct tsct_trace *t);

/*
 * tsct_trace_next - the next event of all, by stamp; ties by location
 * Returns 1, 0 at the end, -ENOMEM.
 */
int tsct_trace_next(struct tsct_trace *trace,
		    struct tsct_trace_event *ret_event);

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

/* Places reported so far. */
__u64 tsct_trace_damage(const struct tsct_trace *trace);

/* Events of channels lost while recording, as the packets read so far say. */
__u64 tsct_trace_discarded(const struct tsct_trace *trace);

#endif /* TSCT_TRACE_H */
