/* SPDX-License-Identifier: MIT */
/*
 * The page of a recording, made in two passes. The first pass counts, and
 * chooses the events that are shown one by one; the second pass writes these,
 * and sums up all others by row and time. Every event is in one of the two.
 */
#ifndef REPORT_TRACE_H
#define REPORT_TRACE_H

#include <jansson.h>

#include "lib/export/export.h"
#include "report_bytes.h"
#include "report_spans.h"

#define RATE_BINS	512
#define STRIP_BINS	512
#define LENGTHS		256	/* bins of the histogram of span lengths:
				 * quarters of powers of two */
#define ROWS_MAX	1500	/* rows of threads; the other threads share one
				 * row per node */
#define GAPS_MAX	20000
#define KINDS_MAX	20000	/* event definitions */
#define EVENTS_DEFAULT	200000

/*
 * Limits of the events shown one by one, and of the sums. Base64 makes them 4/3
 * as large.
 */
#define EVENT_BYTES_MAX	(11U << 20)
#define STRIP_BYTES_MAX	(3U << 20)

struct event_rate {
	__u32 bins[RATE_BINS];
};

/* Counts of an event definition */
struct seen {
	__u64 events, bytes;	/* bytes: of payloads */
	struct event_rate *rate;
	__u32 group;
	__s32 index;		/* index on the page; -1: none */
};

/*
 * Definitions that are shown in the same way: a begin and its end, enter and
 * exit
 */
struct group {
	__u64 events, bytes;	/* bytes: on the page */
	__u32 *lengths;		/* of spans; NULL: there are none */
	bool single;		/* all its events are shown one by one */
};

struct gap {
	__u32 location, stream;
	__s64 from_ns, to_ns;
	__u64 events;
};

/* State of the search for gaps in one file */
struct gap_cursor {
	__u64 discarded, behind;	/* behind: offset of the end of its last
					 * event */
	__s64 last_ns;
	bool begun, in_gap;
	__u32 gap;
};

/* Sums of the events of a row and a definition that are not shown one by one */
struct strip {
	__u32 type, row, def, field;	/* def: 0: several definitions; else
					 * number + 1 */
	__u32 *count;
	float *busy;		/* of counters: last value; low, high: least and
				 * greatest */
	float *low, *high;
};

struct strips {
	struct strip *all;
	__u32 nr, room;
	__u32 *hash, nr_hash;
};

enum strip_type { STRIP_THREAD, STRIP_CPU, STRIP_COUNTER };

struct report {
	struct tsct_export x;	/* must be first: callbacks convert a pointer to
				 * it */
	__u64 max_events;
	int fit;		/* enum tsct_fit_kind for the sync samples; -1:
				 * the recording's own */
	bool looking;		/* true in the first pass */
	struct tsct_threads *threads;	/* of the current pass */
	struct spans *tracker;

	/* Results of the first pass: */
	__u64 events;
	__s64 origin_ns, end_ns;
	bool has_origin;
	__u8 *special;			/* by definition */
	struct seen *seen;
	struct group *groups;
	__u32 nr_groups;
	__u64 *node_events;
	struct event_rate **node_rate;
	__u64 *location_events;
	unsigned int rate_shift;
	__u32 *row_of;			/* by thread */
	__u32 nr_row_of, nr_rows;
	__u64 *other_threads;		/* by node: threads that share a row */
	__u64 *other_events;
	__u32 *other_row;
	__s64 longer_ns;		/* longer spans are always shown */

	/* State of the second pass: */
	struct bytes moments, spans, arrows;
	__u64 nr_moments, nr_spans, nr_arrows;
	__u64 shown, summed;		/* events */
	__s64 last_moment, last_span, last_arrow;
	struct strips strips;
	struct tsct_message_matcher *sends, *early;
	struct gap_cursor *gap_cursors;		/* by stream and location */
	struct gap *gaps;
	__u32 nr_gaps, room_gaps;
	__u64 lost_seen;		/* lost events found in gaps */
};

static inline bool report_single(const struct report *r, __u32 def)
{
	return r->groups[r->seen[def].group].single;
}

/* ns since the page's first moment, at least 0 */
static inline __u64 report_time(const struct report *r, __s64 ns)
{
	return ns > r->origin_ns ? (__u64)ns - (__u64)r->origin_ns : 0;
}

static inline __u64 report_span_ns(const struct report *r)
{
	__u64 span = report_time(r, r->end_ns);

	return span ? span : 1;
}

static inline __u64 report_bin_ns(const struct report *r)
{
	return report_span_ns(r) / STRIP_BINS + 1;
}

/* Rows from ROWS_MAX on are shared by the other threads of a node. */
static inline bool report_row_is_shared(__u32 row)
{
	return row >= ROWS_MAX;
}

/* report_look.c: the first pass. 0 or -errno */
int report_look(struct report *r, struct tsct_trace *trace);

/* report_take.c: the second pass. 0 or -errno */
int report_take(struct report *r);

/* report_messages.c */
int report_messages_begin(struct report *r);
void report_messages_note(struct report *r, const struct tsct_export_event *ev);
void report_messages_free(struct report *r);

/* report_gaps.c: gaps where events were lost */
int report_gaps_begin(struct report *r);
int report_gaps_note(struct report *r, const struct tsct_export_event *ev);

/* report_strips.c. NULL: no memory */
struct strip *report_strip(struct strips *strips, __u32 type, __u32 row, __u32 def,
			   __u32 field);
void report_strips_put(const struct report *r, struct bytes *to);
void report_strips_free(struct strips *strips);

/* report_data.c: writes the data for the page's script. */
int report_data(struct report *r, FILE *to);

/* Bound of the error of a node's times at a tick, ns; UINT64_MAX: unknown */
__u64 report_error_ns(const struct report *r, __u32 node, __u64 stamp);

/* The largest bound over the recording */
__u64 report_widest_ns(const struct report *r, __u32 node);

/* report_tables.c: the tables that are readable without a script */
void report_tables_head(struct report *r, FILE *to);
void report_tables(struct report *r, FILE *to);
void report_put_count(FILE *to, __u64 n);	/* with thin spaces between
						 * groups of digits */
void report_put_length(FILE *to, double ns);

/* report_time.c: the part about clocks and their error. 0 or -errno */
int report_sync_part(struct report *r, FILE *to);

#endif /* REPORT_TRACE_H */
