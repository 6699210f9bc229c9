/* SPDX-License-Identifier: MIT */
/* Reader of recordings: the internal part of tsctrace/trace.h */
#ifndef TSCT_TRACE_READER_H
#define TSCT_TRACE_READER_H

#include <signal.h>

#include <tsctrace/trace.h>

#include "recording.h"

/* Callback that receives reports of damage */
typedef void tsct_trace_report(void *arg, const char *sentence);

/* Returns the size of all packets of channels that were read so far, bytes. */
__u64 tsct_trace_bytes(const struct tsct_trace *trace);

/* Returns the size of the stream files of all channels, bytes. */
__u64 tsct_trace_file_bytes(const struct tsct_trace *trace);

/* Returns the size of the last returned event in its stream file, bytes; 0: no event. */
__u64 tsct_trace_event_bytes(const struct tsct_trace *trace);

/* Returns the description of the recording, which tsct_trace_wait() may change. */
const struct tsct_recording *tsct_trace_recording(const struct tsct_trace *t);

#define TSCT_TRACE_EVENTS	0x1	/* flag: return the events of channels */
#define TSCT_TRACE_SAMPLES	0x2	/* flag: return the sync samples */
#define TSCT_TRACE_STATEDUMP	0x4	/* flag: return the events of the statedump */
/* Returns the TSCT_TRACE_* flag that selects the events of a stream class. */
static inline unsigned int tsct_trace_class_flag(const struct tsct_recording *rec,
						 __u32 class)
{
	return class < rec->nr_streams ? TSCT_TRACE_EVENTS :
		class == tsct_recording_plain_classes(rec) ? TSCT_TRACE_SAMPLES :
		TSCT_TRACE_STATEDUMP;
}

/*
 * tsct_trace_select - select the events to read; call it before tsct_trace_next()
 * @which: TSCT_TRACE_*; by default the events of channels
 */
void tsct_trace_select(struct tsct_trace *trace, unsigned int which);

/*
 * tsct_trace_seek - pass over the packets that end before @tick; for callers that need no earlier
 * event. Call it before tsct_trace_next(), and not if the trace is followed
 *
 * The next events may still be earlier than @tick. Damage in the skipped packets is not reported;
 * their losses count in tsct_trace_discarded().
 */
void tsct_trace_seek(struct tsct_trace *trace, __u64 tick);

/* Does the same as tsct_trace_next(), without a copy: returns the event, valid until the next call,
 * or NULL, with the result of tsct_trace_next(), 0 or -errno, in *@ret. */
const struct tsct_trace_event *tsct_trace_step(struct tsct_trace *trace, int *ret);

/* Passes a sentence to the callback that tsct_trace_open() was given, if any. */
void tsct_trace_report_text(const struct tsct_trace *trace, const char *sentence);

/* Reports a well-formed event with an impossible value as damage. */
void tsct_trace_refuse(struct tsct_trace *trace,
		       const struct tsct_trace_event *event, const char *reason);

/* Returns the number of events lost while recording, as the packets read so far state. */
__u64 tsct_trace_discarded(const struct tsct_trace *trace);

/* Returns the descriptor of the recording's directory; do not close it. */
int tsct_trace_dirfd(const struct tsct_trace *trace);

/* ---- fields ------------------------------------------------------------------ */

/* Returns true if events of a definition have the field @name. */
static inline bool tsct_event_def_has(const struct tsct_event_def *def, const char *name)
{
	__u32 i;

	for (i = 0; i < def->nr_fields; i++)
		if (!strcmp(def->fields[i].name, name))
			return true;
	return false;
}

/* Gets the value of a field. Returns false if the event has no integer field @name. */
static inline bool tsct_value_find_integer(const struct tsct_trace_event *e, const char *name,
					   __s64 *ret)
{
	struct tsct_value v;

	if (!tsct_value_find(e, name, &v) || !tsct_value_is_integer(&v))
		return false;
	*ret = tsct_value_integer(&v);
	return true;
}

/* Returns the value of an integer field of an event; 0: no such field. */
static inline __s64 tsct_value_integer_of(const struct tsct_trace_event *e, const char *name)
{
	__s64 value = 0;

	tsct_value_find_integer(e, name, &value);
	return value;
}

/* ---- live recordings ------------------------------------------------------- */

enum tsct_progress_state {
	TSCT_PROGRESS_LIVE,	/* the recorder is running */
	TSCT_PROGRESS_DEAD,	/* the recorder was killed */
	TSCT_PROGRESS_NONE, /* no progress file; see the metadata's flag `complete` */
};

/*
 * tsct_trace_progress - read the progress file that the recorder of a recording updates
 * @dirfd: directory of the recording
 * @ret_tick: tick before which the recorder has written all events; 0: unknown
 */
enum tsct_progress_state tsct_trace_progress(int dirfd, __u64 *ret_tick);

/* Returns true if a recorder is writing the recording now. */
bool tsct_trace_is_live(const struct tsct_trace *trace);

/*
 * tsct_trace_follow - read a live recording until it is complete
 * @dir: directory of the recording
 *
 * Call it before tsct_trace_next(); only events of channels can be read. From then
 * on tsct_trace_next() returns -EAGAIN at the end of the events that are certain to be
 * in order. tsct_trace_wait() may update the description of the recording; event
 * definitions stay valid. No effect on a complete recording. Returns 0 or -errno.
 */
int tsct_trace_follow(struct tsct_trace *trace, const char *dir);

/*
 * tsct_trace_wait - sleep until there may be more events
 * @mask: signal mask while sleeping, as for ppoll(2)
 *
 * Returns 0 if there may be more events, or the recording has ended; 1: in addition,
 * the description of the recording changed, such as by new definitions; or -errno with
 * @err_text, -EINTR after a signal. After the recorder was killed, tsct_trace_next()
 * returns the remaining events in the files, then 0.
 */
int tsct_trace_wait(struct tsct_trace *trace, const sigset_t *mask, char *err_text,
		    size_t err_size);

/* tsct_trace_poll - as tsct_trace_wait(), but returns -EAGAIN instead of sleeping */
int tsct_trace_poll(struct tsct_trace *trace, char *err_text, size_t err_size);

/* Returns the tick before which all events of a live recording can be read in order;
 * UINT64_MAX: the recording gets no more events. */
__u64 tsct_trace_settled(const struct tsct_trace *trace);

#endif /* TSCT_TRACE_READER_H */
