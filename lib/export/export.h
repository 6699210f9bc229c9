/* SPDX-License-Identifier: MIT */
/*
 * A recording in the formats of other tools. The front reads it, once, event
 * by event, in the order of time, and hands what is wanted to a format:
 * memory grows with threads and definitions, not with events.
 */
#ifndef TSCT_EXPORT_H
#define TSCT_EXPORT_H

#include <stdio.h>

#include "lib/query/threads.h"
#include "lib/query/filter.h"
#include "lib/ctf/trace_reader.h"

struct tsct_export;

/* What a viewer is to draw. */
enum tsct_export_act {
	TSCT_ACT_INSTANT,
	TSCT_ACT_OPEN,		/* a slice begins */
	TSCT_ACT_CLOSE,		/* thread->open[frame] ends */
	TSCT_ACT_ORPHAN,	/* an end of nothing, or a begin too deep down */
	TSCT_ACT_COUNT,
	TSCT_ACT_SEND,
	TSCT_ACT_RECEIVE,
};

struct tsct_export_event {
	const struct tsct_trace_event *e;
	__s64 ns;		/* since the epoch, as dump has it */
	__u32 def;		/* number of its definition, below nr_defs */
	__u32 node;
	enum tsct_export_act act;
	struct tsct_thread *thread;
	/*
	 * CLOSE: what is closed. Slices that were opened inside of it and go on
	 * are above: viewers nest, so they have to be closed before and opened
	 * again behind it.
	 */
	__u32 frame;
	/* SEND, RECEIVE: both have the same; 0: it cannot be told */
	__u64 message;
};

/*
 * All callbacks return 0 or -errno, and may say in x->why what it was. Where a
 * format writes a directory, x->dir is an empty one; else x->file is open.
 */
struct tsct_export_format {
	const char *name;
	const char *suffix;	/* of files and directories */
	const char *summary;
	bool directory;
	bool relative;		/* may have times from the beginning */
	bool nests;		/* is told what is in x->orphans, x->cuts */
	int (*begin)(struct tsct_export *x);
	int (*event)(struct tsct_export *x, const struct tsct_export_event *e);
	int (*end)(struct tsct_export *x);
	void (*free)(struct tsct_export *x);	/* always, after begin */
};

/* Ended by NULL */
extern const struct tsct_export_format *const tsct_export_formats[];

const struct tsct_export_format *tsct_export_find(const char *name);

/* A definition, as formats need it. */
struct tsct_export_def {
	const struct tsct_event_def *def;	/* NULL: there is none */
	__u32 stream;
	__u32 slice;		/* the same for a BEGIN and its END */
	bool wanted;
	__u64 pool;		/* the same for a SEND and its RECEIVE */
};

struct tsct_export {
	/* The caller's */
	const struct tsct_export_format *format;
	const char *recording;		/* its directory */
	struct tsct_trace *trace;	/* nothing was read of it yet */
	struct tsct_filter filter;
	FILE *file;
	const char *dir;
	bool relative;
	/* Is called now and then; not 0: stop, with that result. May be NULL. */
	int (*poll)(struct tsct_export *x);
	void *arg;

	/* How it went */
	char why[256];
	__s64 now_ns;		/* of the event read last */
	__u64 done_bytes, all_bytes;	/* of the recording's files, as read */
	__u64 read, events;	/* in the recording so far; of them, exported */
	__u64 orphans;		/* ends without begins, and the other way round */
	__u64 cuts;		/* slices that had to be interrupted to nest */
	__u64 unmatched;	/* messages, one end of which is missing */

	/* The front's, for formats */
	const struct tsct_recording *rec;
	const char **nodes;	/* names, by number */
	__u32 nr_nodes;
	__s64 begin_ns, end_ns;	/* of the recording */
	struct tsct_selection selection;
	__s64 from_ns, to_ns;	/* its: from <= t < to */
	struct tsct_export_def *defs;
	__u32 nr_defs, nr_slices;
	__u32 *slices;			/* a definition of each */
	__u32 *first_def;	/* by stream */
	__u64 *read_to;			/* of each file, by stream and location */
	struct tsct_threads threads;
	void *own;		/* the format's */
};

/*
 * tsct_export_prepare - look at the recording, resolve the filter
 * x->why says what is wrong: -ENOENT if the recording has no such thing.
 */
int tsct_export_prepare(struct tsct_export *x);

/*
 * tsct_export_run - write it all, after it was prepared
 * Returns 0, what poll() did, or -errno, with x->why or without.
 */
int tsct_export_run(struct tsct_export *x);

void tsct_export_free(struct tsct_export *x);

/* ---- for the front (export_select.c) -------------------------------------- */

/* Lists and pairs definitions, resolves the filter. As tsct_export_prepare(). */
int tsct_export_select(struct tsct_export *x);
bool tsct_export_is_selected(const struct tsct_export *x,
			     const struct tsct_export_event *ev);

/* ---- for formats -------------------------------------------------------- */

/*
 * tsct_export_walk - read @trace from its beginning, for a look ahead
 * Calls @event for what would be exported, until it returns other than 0.
 */
int tsct_export_walk(struct tsct_export *x, struct tsct_trace *trace,
		     struct tsct_threads *threads,
		     int (*event)(struct tsct_export *x,
				  const struct tsct_export_event *e));

/* Are there wanted definitions of that kind? */
bool tsct_export_has(const struct tsct_export *x, __u32 kind);

/* Bound of the error of all times, ns */
__u64 tsct_export_error_ns(const struct tsct_export *x);

/* Events of the whole recording that are known to be missing */
__u64 tsct_export_lost(const struct tsct_export *x);

/* Sets x->why; returns @err. */
__attribute__((format(printf, 3, 4)))
int tsct_export_fail(struct tsct_export *x, int err, const char *format, ...);

extern const struct tsct_export_format tsct_export_ctf, tsct_export_otf2,
	tsct_export_perfetto, tsct_export_json, tsct_export_text, tsct_export_csv;

#endif /* TSCT_EXPORT_H */
