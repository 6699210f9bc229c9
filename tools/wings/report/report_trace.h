/* SPDX-License-Identifier: MIT */
/*
 * The report page of a recording, made in two passes over the recording. The first pass counts
 * events, and chooses events that are drawn individually. The second pass writes these events,
 * and sums up all other events by row and time, so that the page covers all events.
 */
#ifndef REPORT_TRACE_H
#define REPORT_TRACE_H

#include "lib/base/text.h"
#include "lib/base/index.h"
#include "lib/export/messages.h"
#include "lib/export/stacks.h"
#include "tools/shared/explained.h"

/* ---- spans: report_spans.c --------------------------------------------------- */

#define EDGE_KEPT	256	/* maximum number of bytes of a payload that the page shows */

enum span_type { SPAN_SLICE, SPAN_CALL, SPAN_RUN };

struct span {
	enum span_type type;
	__u32 row;		/* index of the thread or, for SPAN_RUN, of the CPU */
	__u32 depth;		/* nesting depth; the outermost span has depth 0 */
	/* index of the definition (slice) or thread (run), or number of the system call */
	__s64 name;
	__s64 from_ns, to_ns;
	/* event that begins the span; NULL: a run whose begin was not recorded as a
	 * switch. The payload of a run's event is truncated to EDGE_KEPT bytes. */
	const struct tsct_trace_event *begin;
	/* event that ends the span; NULL: the event was not recorded, or `type` is SPAN_RUN */
	const struct tsct_trace_event *end;
	bool no_end;		/* flag: the span's end, after to_ns, was not recorded */
	__u32 events;		/* number of recorded events that begin or end the span: 0 to 2 */
};

struct report;
struct drawn_run;

/* Copies an event's payload to @payload, in the form that the page has: fields of a system call
 * are texts. Returns the length of the payload; copies only the first EDGE_KEPT bytes. */
__u32 report_payload(const struct report *r, __u32 def, const struct tsct_trace_event *e,
		     __u8 payload[EDGE_KEPT]);

typedef int span_done(struct report *r, const struct span *span);

/* Function for x->closed(): passes a slice or system call to r->span_done(). */
int report_span_closed(struct tsct_export *x, const struct tsct_closed_span *closed);

/* Begins to find the times in which threads run on CPUs. Returns 0 or -ENOMEM. */
int report_runs_begin(struct report *r);

/* Processes an event that changes which thread is known to run on the event's CPU. Sets *ret_taken
 * if the event begins a span. Returns 0, the result of the callback r->span_done(), or -ENOMEM. */
int report_run_change(struct report *r, const struct tsct_export_event *ev, bool *ret_taken);

/* Ends the times of the threads that still run. */
int report_runs_finish(struct report *r);

/* ---- the page ---------------------------------------------------------------- */

#define RATE_BINS	512
#define STRIP_BINS	512
#define LENGTHS		256	/* number of bins of span lengths, ns: four bins per power of two */
/* Largest number of rows that show one thread each. The remaining threads of a node
 * share one row. */
#define ROWS_MAX	1500
/* Beyond this number of gaps, each stream on a CPU has at most one more. */
#define GAPS_MAX	20000
#define KINDS_MAX	20000	/* largest number of event definitions */
#define EVENTS_DEFAULT	200000
#define SLOWEST_KEPT	4096	/* number of the slowest spans that are drawn individually */

/* Limits of a page's data before base64, bytes: for events that are drawn
 * individually, for sums of all other events, and for sums of states. */
#define EVENT_BYTES_MAX	(9U << 20)
#define STRIP_BYTES_MAX	(3U << 20)
#define STATE_STRIP_BYTES_MAX	(1U << 20)	/* for sums of states */

struct event_rate {
	__u32 bins[RATE_BINS];
};

/* Number and size of the events of an event definition */
struct seen {
	/* number of events; must be the first member, because report_order() sorts arrays by
	 * the first 8 bytes of each element */
	__u64 events;
	struct event_rate *rate;	/* NULL: no events */
	__u64 bytes;		/* total size of the payloads, bytes */
	__u32 group;
	__s32 index;		/* index of the definition on the page; -1: no events */
};

/* Number of the events of a node */
struct node_seen {
	__u64 events;		/* number of events; must be the first member, as in struct seen */
	__u64 recorded;		/* number of events of this recording of the node */
	struct event_rate *rate;	/* NULL: no events */
	/* number of the node's threads that share one row; number of these threads' events */
	__u64 other_threads, other_events;
	__u32 other_row;	/* index of the row that the less busy threads share */
};

/* Event definitions that are drawn in the same way, such as the begin and the end of a slice */
struct group {
	__u64 events;		/* number of events of all definitions in the group */
	/* upper limit of the size of the group's events in the HTML file, bytes */
	__u64 bytes;
	__u32 *lengths;		/* histogram of span lengths; NULL: no spans */
	bool single;		/* flag: all events of the group are drawn individually */
};

/* A time range in which events of a stream were lost on a CPU */
struct gap {
	__u32 location, stream;
	__s64 from_ns, to_ns;
	__u64 events;	/* number of lost events; 0: unknown: the end of a file is missing */
};

#define REPORT_RATES_NODES	64	/* largest number of nodes with a curve of events */

/* Events of one definition in one row that are not drawn individually. For each
 * bin of time: the number of events; for spans and counters, also values */
struct strip {
	__u32 type, row, field;
	/* index of the event definition on the page, plus 1; 0: several event
	 * definitions share the strip. If the type is STRIP_STATE: the state */
	__u32 def;
	__u32 *count;		/* per bin: number of events; owns the other arrays */
	/* per bin: total time of the spans / length of the bin; or last value of the counter */
	float *busy;
	/* per bin: smallest and largest value of a counter; NULL for all other types */
	float *low, *high;
};

struct strips {
	struct strip *all;
	__u32 nr;
	struct tsct_index index;	/* index in `all`; key: type, row, def, field */
	__u32 recent[256];		/* cache of `index`: index in `all` of a strip, plus 1 */
};

enum strip_type { STRIP_THREAD, STRIP_CPU, STRIP_COUNTER, STRIP_STATE };

/* Number of events with the same definition and stack */
struct stack_count {
	__u32 def;
	__u32 stack;		/* index of the stack + 1; 0: the stack is unknown */
	__u64 events;
	__u64 off_cpu_ns;	/* for switches: known time until the threads ran again */
};

struct report {
	struct tsct_export x;	/* state of the export; must be the first member:
				 * callbacks cast its address to struct report * */
	__u64 max_events;
	/* fit of sync samples, enum tsct_fit_kind; -1: the kind that the recording states */
	int fit;
	bool looking;		/* flag: this is the first pass over the recording */
	struct tsct_threads *threads;	/* threads found in the current pass */
	span_done *span_done;		/* processes a span in the current pass */
	struct drawn_run *runs;		/* threads that are known to run, by location */

	/* Results of the first pass over the recording: */
	__u64 events;
	__s64 origin_ns, end_ns;
	bool has_origin;
	struct seen *seen;		/* one element per event definition */
	struct node_seen *nodes;
	struct group *groups;
	__u32 nr_groups;
	unsigned int rate_shift;	/* log2 of the width of a rate bin in ns */
	__u32 *cpu_of;			/* tsct_recording_cpu_of() of each location */
	__u32 *row_of;			/* row of each thread in the timeline */
	__u32 nr_row_of, nr_rows;
	struct span_figures figures;	/* figures of the slices and system calls */
	struct explain_job *explained;	/* explanation of the slowest spans; NULL: none */
	bool explained_events;		/* flag: `explained` also needs events */
	bool explained_hidden;		/* flag: the filter hides some of these events */
	struct tsct_index slowest;	/* begins of the slowest spans, by thread and ns */
	__u64 slowest_ns;		/* length of the shortest span in `slowest`, ns */
	__s64 longer_ns;	/* all spans of at least this length are drawn individually, ns */

	/* State of the second pass over the recording: */
	struct tsct_text moments, spans, arrows;
	__u64 nr_moments, nr_spans, nr_arrows;
	__u64 no_arrows;	/* number of messages that are not drawn */
	__u64 shown, summed;	/* numbers of events drawn individually, and summed up in strips */
	__s64 last_moment, last_span, last_arrow;
	struct strips strips;
	struct drawn_state *states;	/* times with a state, drawn individually */
	__u32 nr_states;
	__u64 least_state_ns;		/* shorter times with a state are in state_strips, ns */
	struct strips state_strips;
	struct tsct_text state_bytes, strip_bytes;
	unsigned int bin_shift;	/* a bin of the strips covers 2^bin_shift initial bins */
	struct tsct_messages messages;
	struct gap *gaps;
	__u32 nr_gaps;
	struct tsct_stacks *stacks;
	struct stack_count *stack_counts;	/* NULL: no event has a stack */
	__u32 nr_stack_counts;
	struct tsct_index stack_index;	/* index in stack_counts; key: definition and stack */
};

/* Returns true if a filter of the page may leave out events within the page's time range. */
static inline bool report_is_part(const struct report *r)
{
	struct tsct_filter filter = r->x.filter;

	filter.from = filter.to = NULL;
	return tsct_filter_selects(&filter);
}

static inline bool report_single(const struct report *r, __u32 def)
{
	return r->groups[r->seen[def].group].single;
}

/*
 * report_run_note - process an event of a CPU
 * @ret_taken: true if the event begins or ends a span, including a slice or system call
 *
 * Returns the result of report_run_change().
 */
static inline int report_run_note(struct report *r, const struct tsct_export_event *ev,
				  bool *ret_taken)
{
	*ret_taken = ev->in_span;
	return r->x.run.ended || r->x.run.began ? report_run_change(r, ev, ret_taken) : 0;
}

/* Returns the time from the report's origin to @ns, in ns; 0 if @ns is before the origin. */
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
	return (report_span_ns(r) / STRIP_BINS + 1) << r->bin_shift;
}

/* Returns true for a row that several threads of a node share. */
static inline bool report_row_is_shared(__u32 row)
{
	return row >= ROWS_MAX;
}

/* Runs the first pass over the recording (report_count.c). Returns 0 or -errno. */
int report_look(struct report *r, struct tsct_trace *trace);

/*
 * Returns a malloc'ed array of the indices of @array's elements, sorted by
 * number of events, largest first; NULL: out of memory. An element has @size
 * bytes, and begins with a __u64, its number of events.
 */
__u32 *report_order(const void *array, size_t size, __u32 nr);

/* Runs the second pass over the recording (report_collect.c). Returns 0 or -errno. */
int report_take(struct report *r);

/* Returns the strip (sums over time) of the events of one definition in one row of the page; adds
 * the strip if there is none. NULL: out of memory or, with errno ENOSPC, too many strips */
struct strip *report_strip(struct strips *strips, __u32 type, __u32 row, __u32 def,
			   __u32 field);
/* Makes r->strip_bytes. Doubles the length of the bins until the strips are
 * small enough for the page. Returns 0 or -ENOMEM. */
int report_strips_put(struct report *r);
/* Adds the time from @from to @to, ns since the page's origin, to the bins of a
 * strip. @bin: index of the bin that contains @from */
void report_strip_cover(const struct report *r, struct strip *strip, __u64 bin, __u64 from,
			__u64 to);
void report_strips_free(struct strips *strips);

/* Writes the data for the page's script (report_data.c). Returns 0 or -errno. */
int report_data(struct report *r, FILE *to);
/* Writes a signed integer: 0, -1, 1, -2, ... are written as 0, 1, 2, 3, ... */
void bytes_zigzag(struct tsct_text *bytes, __s64 value);

/* Draws the parts of the slowest spans' times (report_flame.c). Returns 0 or -ENOMEM. */
int report_explained_put(struct report *r, FILE *to);

/* Writes the tables of the lengths of spans (report_figures.c). */
void report_figures(const struct report *r, FILE *to);

/* States of threads (report_states.c). report_state_note() adds a time with a state.
 * report_states_put() must be called after the last time: it writes the times that are drawn
 * individually, and sets r->nr_states and the rows of r->state_strips. Both return 0 or -ENOMEM. */
int report_state_note(struct report *r, const struct tsct_state_time *time);
int report_states_put(struct report *r);

/* Flame graphs (report_flame.c). report_flame_note() counts the stack of an
 * event that has one. report_flame_state() adds a time with a state to the
 * stack of the thread's last switch. report_flame_put() writes the section, if
 * there are stacks. Functions with a result return 0 or -ENOMEM. */
int report_flame_note(struct report *r, const struct tsct_export_event *ev);
void report_flame_state(struct report *r, const struct tsct_state_time *time);
int report_flame_put(struct report *r, FILE *to);
void report_flame_free(struct report *r);

/* Write the page's summary and tables (report_tables.c). */
void report_tables_head(struct report *r, FILE *to);
void report_tables(struct report *r, FILE *to);
void report_put_length(FILE *to, double ns);
/* Returns the largest error bound of a node's times, ns; UINT64_MAX: unknown */
__u64 report_widest_ns(const struct report *r, __u32 node);

/* Error bound of a node's times at one moment */
struct report_bound {
	__s64 ns;		/* the moment, ns since the Unix epoch */
	__u64 error_ns;		/* UINT64_MAX: unknown */
};

/* Error bounds of a node's times, in the order of time. Straight lines between
 * these points are nowhere below the error bound of an event. */
struct report_bounds {
	struct report_bound *points;	/* malloc'ed */
	unsigned int nr, nr_known;
};

/* Gets the error bounds of a node. The caller frees ret->points. Returns 0 or -ENOMEM. */
int report_get_bounds(const struct report *r, __u32 node, struct report_bounds *ret);

/* Writes the section about clocks and errors (report_time.c). Returns 0 or -errno. */
int report_sync_part(struct report *r, FILE *to);

#endif /* REPORT_TRACE_H */
