/* SPDX-License-Identifier: MIT */
/*
 * Exports a recording to the formats of other tools. The front end reads it
 * once, event by event, in the order of time, and passes the selected events to
 * a format. Memory grows with threads and definitions, not with events.
 */
#ifndef TSCT_EXPORT_H
#define TSCT_EXPORT_H

#include <stdio.h>

#include "lib/query/threads.h"
#include "lib/query/filter.h"
#include "lib/ctf/trace_reader.h"

struct tsct_export;

/* The way in which a viewer draws an event */
enum tsct_export_act {
	TSCT_ACT_INSTANT,
	TSCT_ACT_OPEN,		/* a slice begins */
	TSCT_ACT_CLOSE,		/* thread->open[frame] ends */
	TSCT_ACT_ORPHAN,	/* end of a slice without a begin, or a begin
				 * that is nested too deeply */
	TSCT_ACT_COUNT,
	TSCT_ACT_SEND,
	TSCT_ACT_RECEIVE,
};

struct tsct_export_event {
	const struct tsct_trace_event *e;
	__s64 ns;		/* time since the Unix epoch, as in dump */
	__u32 def;		/* number of the event's definition, below nr_defs */
	__u32 node;
	enum tsct_export_act act;
	struct tsct_thread *thread;
	/*
	 * CLOSE: the slice that ends. Slices above it in thread->open[] were
	 * opened inside of it and continue: viewers nest, so a format closes
	 * them first and reopens them afterwards.
	 */
	__u32 frame;
	/* SEND, RECEIVE: key of the message, equal at both ends; 0: unknown */
	__u64 message;
};

/*
 * All callbacks return 0 or -errno, and may set x->why. A format that writes a
 * directory gets an empty one in x->dir; others get x->file open.
 */
struct tsct_export_format {
	const char *name;
	const char *suffix;	/* suffix of output files and directories */
	bool directory;
	bool relative;		/* format allows times relative to the beginning */
	bool nests;		/* slices must nest: counts x->orphans, x->cuts */
	int (*begin)(struct tsct_export *x);
	int (*event)(struct tsct_export *x, const struct tsct_export_event *e);
	int (*end)(struct tsct_export *x);	/* may be NULL */
	void (*free)(struct tsct_export *x);	/* called after begin(),
						 * also if it failed */
};

/* NULL-terminated */
extern const struct tsct_export_format *const tsct_export_formats[];

const struct tsct_export_format *tsct_export_find(const char *name);

/* A definition, prepared for formats */
struct tsct_export_def {
	const struct tsct_event_def *def;	/* NULL: no event has this id */
	__u32 stream;
	__u32 slice;		/* slice number, equal for a BEGIN and its END */
	bool wanted;
	__u64 pool;		/* pool of message keys, equal for SEND and RECEIVE */
};

struct tsct_export {
	/* Set by the caller: */
	const struct tsct_export_format *format;
	const char *recording;		/* directory of the recording */
	struct tsct_trace *trace;	/* reader, before the first event */
	struct tsct_filter filter;
	FILE *file;
	const char *dir;
	bool relative;
	/*
	 * Called every 1024 events; a result other than 0 stops the export with
	 * that result. May be NULL.
	 */
	int (*poll)(struct tsct_export *x);
	void *arg;

	/* Results: */
	char why[256];
	__s64 now_ns;		/* time of the last event read */
	__u64 done_bytes, all_bytes;	/* bytes of the recording's files */
	__u64 read, events;	/* events read so far, and events exported */
	__u64 orphans;		/* ends without begins, and begins without ends */
	__u64 cuts;		/* slices that were interrupted so that they
				 * nest */
	__u64 unmatched;	/* messages with one end missing */

	/* Set by the front end, for formats: */
	const struct tsct_recording *rec;
	const char **nodes;	/* names of nodes, by number */
	__u32 nr_nodes;
	__s64 begin_ns, end_ns;	/* span of the recording */
	struct tsct_selection selection;
	__s64 from_ns, to_ns;	/* span of the selection: from <= t < to */
	struct tsct_export_def *defs;
	__u32 nr_defs, nr_slices;
	__u32 *slices;			/* one definition of each slice number */
	__u32 *first_def;	/* index in defs of the first one, by stream */
	__u64 *read_to;			/* bytes read of each file, by stream and
					 * location */
	struct tsct_threads threads;
	void *own;		/* private to the format */
};

/*
 * tsct_export_prepare - examine the recording and resolve the filter
 * Returns 0 or -errno with x->why; -ENOENT: the recording lacks something that
 * the filter names.
 */
int tsct_export_prepare(struct tsct_export *x);

/*
 * tsct_export_run - export, after tsct_export_prepare()
 * Returns 0, the result of poll(), or -errno, with or without x->why.
 */
int tsct_export_run(struct tsct_export *x);

void tsct_export_free(struct tsct_export *x);

/* ---- for formats ------------------------------------------------------ */

/*
 * tsct_export_walk - read @trace from its beginning, ahead of the export
 * Calls @event for each event that will be exported, until it returns other
 * than 0.
 */
int tsct_export_walk(struct tsct_export *x, struct tsct_trace *trace,
		     struct tsct_threads *threads,
		     int (*event)(struct tsct_export *x,
				  const struct tsct_export_event *e));

/* True if definitions of that kind are selected */
bool tsct_export_has(const struct tsct_export *x, __u32 kind);

/* Bound of the error of all times, ns */
__u64 tsct_export_error_ns(const struct tsct_export *x);

/* Number of events of the whole recording that are known to be lost */
__u64 tsct_export_lost(const struct tsct_export *x);

/* Sets x->why; returns @err. */
__attribute__((format(printf, 3, 4)))
int tsct_export_fail(struct tsct_export *x, int err, const char *format, ...);

extern const struct tsct_export_format tsct_export_ctf, tsct_export_otf2,
	tsct_export_perfetto, tsct_export_json, tsct_export_text, tsct_export_csv;

#endif /* TSCT_EXPORT_H */
