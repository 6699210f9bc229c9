/* SPDX-License-Identifier: MIT */
/*
 * The page of a recording, made in two passes. The first pass counts, and chooses the
 * events that are shown one by one. The second pass writes these, and sums up all
 * others by row and time. Every event is shown or summed up.
 */
#ifndef REPORT_TRACE_H
#define REPORT_TRACE_H

#include <jansson.h>

#include "lib/export/export.h"
#include "report_spans.h"

#define RATE_BINS	512
#define STRIP_BINS	512
#define LENGTHS		256	/* bins of the histogram of span lengths: quarters of
				 * powers of two */
#define ROWS_MAX	1500	/* rows of single threads; the other threads share one
				 * row per node */
#define GAPS_MAX	20000
#define KINDS_MAX	20000	/* limit of the number of event definitions */
#define EVENTS_DEFAULT	200000

/* Limits of the bytes of single events and of sums; base64 makes them 4/3 as large. */
#define EVENT_BYTES_MAX	(11U << 20)
#define STRIP_BYTES_MAX	(3U << 20)

/* A growing buffer of data for the page's script */
struct bytes {
	__u8 *at;
	size_t len, room;
	bool failed;		/* out of memory: later bytes are dropped */
};

struct event_rate {
	__u32 bins[RATE_BINS];
};

/* Counts of an event definition */
struct seen {
	__u64 events;		/* number of events; first member, see report_order() */
	__u64 bytes;		/* bytes of all payloads */
	__u32 group;
	__s32 index;		/* index on the page; -1: no events */
};

/* Definitions that are shown in the same way: a begin and its end, enter and exit */
struct group {
	__u64 events;
	__u64 bytes;		/* upper limit of the bytes on the page */
	__u32 *lengths;		/* histogram of span lengths; NULL: no spans */
	bool single;		/* all events of the group are shown one by one */
};

/* A time range in which events of a stream were lost on a CPU */
struct gap {
	__u32 location, stream;
	__s64 from_ns, to_ns;
	__u64 events;
};

/* State of the search for gaps in one file */
struct gap_cursor {
	__u64 discarded;	/* the ring's count of lost events at the last event */
	__u64 behind;		/* file offset of the end of the last event */
	__s64 last_ns;
	bool begun, in_gap;
	__u32 gap;
};

/* Sums of the events of a row and a definition that are not shown one by one */
struct strip {
	__u32 type, row, field;
	__u32 def;		/* index of the definition + 1; 0: several definitions */
	__u32 *count;
	float *busy;		/* covered part of each bin; of a counter: last value */
	float *low, *high;	/* smallest and largest value of a counter */
};

struct strips {
	struct strip *all;
	__u32 nr, room;
	__u32 *hash, nr_hash;
};

enum strip_type { STRIP_THREAD, STRIP_CPU, STRIP_COUNTER };

struct report {
	struct tsct_export x;	/* first member: callbacks get a pointer to it */
	__u64 max_events;
	int fit;		/* enum tsct_fit_kind for the sync samples; -1: the
				 * recording's own */
	bool looking;		/* true in the first pass */
	struct tsct_threads *threads;	/* threads of the current pass */
	struct spans *tracker;

	/* Results of the first pass: */
	__u64 events;
	__s64 origin_ns, end_ns;
	bool has_origin;
	__u8 *special;			/* enum special of each definition */
	struct seen *seen;		/* counts of each definition */
	struct event_rate **event_rate;	/* rates of each definition; NULL: no events */
	struct group *groups;
	__u32 nr_groups;
	__u64 *node_events;
	struct event_rate **node_rate;	/* rates of each node; NULL: no events */
	__u64 *location_events;
	unsigned int rate_shift;	/* a bin of the rates has 2^rate_shift ns */
	__u32 *row_of;			/* row of each thread */
	__u32 nr_row_of, nr_rows;
	__u64 *other_threads;		/* by node: number of threads that share a row */
	__u64 *other_events;		/* by node: number of events in the shared row */
	__u32 *other_row;		/* by node: the shared row */
	__s64 longer_ns;		/* spans of that length and longer are all shown */

	/* State of the second pass: */
	struct bytes moments, spans, arrows;
	__u64 nr_moments, nr_spans, nr_arrows;
	__u64 shown, summed;		/* numbers of events */
	__s64 last_moment, last_span, last_arrow;
	struct strips strips;
	struct tsct_message_matcher *sends, *early;
	struct gap_cursor *gap_cursors;	/* one cursor per stream and location */
	struct gap *gaps;
	__u32 nr_gaps, room_gaps;
};

static inline bool report_single(const struct report *r, __u32 def)
{
	return r->groups[r->seen[def].group].single;
}

/* Time since the begin of the page, ns, at least 0 */
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

/* True for a row that threads of a node share */
static inline bool report_row_is_shared(__u32 row)
{
	return row >= ROWS_MAX;
}

/* report_count.c: the first pass. 0 or -errno */
int report_look(struct report *r, struct tsct_trace *trace);

/*
 * Returns the indices of an array's elements, the most events first; malloc'ed; NULL:
 * out of memory. Each element has @size bytes and begins with its number of events.
 */
__u32 *report_order(const void *array, size_t size, __u32 nr);

/* report_collect.c: the second pass. 0 or -errno */
int report_take(struct report *r);

/* report_strips.c: sums. NULL: out of memory; errno ENOSPC: too many counters */
struct strip *report_strip(struct strips *strips, __u32 type, __u32 row, __u32 def,
			   __u32 field);
void report_strips_put(const struct report *r, struct bytes *to);
void report_strips_free(struct strips *strips);

/* report_data.c: data for the page's script */
int report_data(struct report *r, FILE *to);
void bytes_put(struct bytes *bytes, const void *from, size_t len);
/* Writes 7 bits in each byte, the low ones first; the top bit: more bytes follow. */
void bytes_varint(struct bytes *bytes, __u64 value);
/* Writes 0, -1, 1, -2, ... as 0, 1, 2, 3, ... */
void bytes_zigzag(struct bytes *bytes, __s64 value);

/* report_tables.c: the tables, which need no script */
void report_tables_head(struct report *r, FILE *to);
void report_tables(struct report *r, FILE *to);
void report_put_count(FILE *to, __u64 n);
void report_put_length(FILE *to, double ns);
void report_put_head(FILE *to, const char *text);	/* begins a table's row */
void report_put_cell(FILE *to, const char *text);
/* Returns the largest bound of a node's times, ns; UINT64_MAX: unknown. */
__u64 report_widest_ns(const struct report *r, __u32 node);

/* report_time.c: the part about clocks and their error. 0 or -errno */
int report_sync_part(struct report *r, FILE *to);

#endif /* REPORT_TRACE_H */
