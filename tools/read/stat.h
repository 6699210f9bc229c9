/* SPDX-License-Identifier: MIT */
/* The parts of trace-ctl stat: counting, tables, JSON, sync samples */
#ifndef STAT_H
#define STAT_H

#include <argp.h>
#include <jansson.h>

#include "lib/base/histogram.h"
#include "lib/base/table.h"
#include "lib/base/wing.h"
#include "lib/query/filter.h"
#include "lib/query/mpi_wait.h"
#include "tools/common/sync_samples.h"
#include "tools/common/view.h"

/* Number and size of the events of a node, CPU, thread or event definition */
struct tally {
	__u64 events;
	__u64 first, last;	/* ticks of the first and the last event */
	__u64 payload;		/* size of the payloads, bytes */
	__u64 bytes;		/* size of the events in their files, bytes */
};

static inline void tally_event(struct tally *t, const struct tsct_trace_event *e,
			       __u64 bytes)
{
	if (!t->events++)
		t->first = e->tick;
	t->last = e->tick;
	t->payload += e->len;
	t->bytes += bytes;
}

/* Adds the counts in @t to @sum. */
void tally_add(struct tally *sum, const struct tally *t);

/* ---- cmd_stat.c, stat_figures.c ---------------------------------------- */

struct stat_figures {
	const char *dir;
	bool json, all;
	struct tsct_filter filter;
	struct tsct_selection selection;
	bool filtered;		/* `filter` may leave out events */
	struct stat_spans *spans;	/* NULL: neither --spans nor --calls */
	bool by_thread;		/* count the states of threads */
	__u32 top;		/* largest number of lines of a list; 0: the list's default */
	struct tsct_trace *trace;
	const struct tsct_recording *rec;
	__u64 events;
	__u64 payload;			/* total size of all payloads, bytes */
	__u64 last;			/* tick of the last event */
	__u64 max_per_tick;		/* one less than the largest number of events on one tick */
	struct tally *by_location;
	struct tally *by_node;
	__u64 *lost_by_node;
	/* event counts: [stream][event id - TSCT_ID_FIRST] */
	struct tally **by_event;
	struct tsct_histogram errors;	/* error bounds of the events that have one, ns */
	__u64 nr_unbound;		/* number of events without an error bound */
	struct stat_threads *threads;	/* NULL: without the wing `threads` */
	struct stat_states *states;	/* NULL: without --threads */
	/* wait states of MPI calls; NULL: without the wing `mpi`, or no events of MPI */
	struct tsct_mpi_waits *waits;
	struct sync_samples sync;	/* sync samples; all zero: none recorded */
};

double stat_per_event(const struct stat_figures *s, __u64 bytes);

/* Returns the tick of the recording's end or, if unknown, of its last event. */
__u64 stat_end_of(const struct stat_figures *s);
__s64 stat_ticks_ns(const struct stat_figures *s, __u64 ticks);
__u64 stat_error_ns(const struct stat_figures *s);
__u64 stat_lost_on(const struct stat_figures *s, __u32 location);

/* Return the number of recorded events that cannot be read, at one location or at all
 * locations; 0 if this number is unknown: with a filter, or if the recording is incomplete. */
__u64 stat_unreadable_on(const struct stat_figures *s, __u32 location);
__u64 stat_unreadable(const struct stat_figures *s);

/* Returns the largest error bound of a node's times, ns; UINT64_MAX: unknown */
__u64 stat_error_of(const struct stat_figures *s, __u32 node);

/* Returns the size of the counted events in the files, bytes; without a filter, that of the files,
 * which includes the heads of packets. */
__u64 stat_bytes(const struct stat_figures *s);

/* Returns @events per second, averaged over the recorded or, with --from or --to, selected time. */
double stat_per_s(const struct stat_figures *s, __u64 events);

struct stat_event {
	const struct tsct_stream_class *class;
	const struct tsct_event_def *def;
	const struct tally *tally;
};

/* Returns all event definitions, malloc'ed, those with most events first. NULL: out of memory */
struct stat_event *stat_sort_events(const struct stat_figures *s, __u32 *ret_nr);

/* Returns the number of events that flight recorders overwrote before the snapshot */
__u64 stat_overwritten(const struct stat_figures *s);

/*
 * Gets the totals that the recorder counted. Returns false if the recording has no
 * totals, because the recorder was killed or is an older version.
 */
bool stat_is_counted(const struct stat_figures *s, struct tsct_balance *ret_sum);

/* ---- stat_tables.c, stat_json.c ---------------------------------------- */

int stat_tables_print(const struct stat_figures *s);	/* Returns 0 or -ENOMEM. */

/* Returns all figures as JSON; NULL: out of memory. */
json_t *stat_json(const struct stat_figures *s);

/* Adds the figures of a tally to the object @json. Returns @json. */
json_t *stat_json_tally(json_t *json, const struct stat_figures *s, const struct tally *t);

/* Returns the number of reports that are missing from the statedump. */
__u64 stat_statedump_lost(const struct stat_figures *s);
/* Returns how often, at most, kernel events were missed on all nodes. */
__u64 stat_kernel_misses(const struct stat_figures *s);

#define STAT_TOP	10	/* default number of rows in tables of calls, threads, waits */

/* Columns with the figures of a tally */
#define STAT_TALLY_COLUMNS \
	TSCT_COLUMN("events", "events", 12), \
	TSCT_COLUMN("per s", "per_s", 12, .decimals = 1), \
	TSCT_COLUMN("first", "first_ns", 13, .scale = 1e-9, .decimals = 6, .sign = true, \
		    .since = true), \
	TSCT_COLUMN("last", "last_ns", 13, .scale = 1e-9, .decimals = 6, .sign = true, \
		    .since = true)

struct stat_list {
	const struct tsct_column *columns;
	unsigned int nr;
	const char *name;	/* key of the column in which the row of sums has its name, "3
				 * others"; NULL: no row of sums */
	__u32 top;		/* default number of rows */
};

#define STAT_LIST(list_columns, list_name, list_top) \
	{ .columns = list_columns, .nr = sizeof(list_columns) / sizeof(*(list_columns)), \
	  .name = list_name, .top = list_top }

/* Prints @rows as a table, and returns the table. @more: NULL, or a row for the sums only */
struct tsct_table stat_list_print(const struct stat_figures *s, const struct stat_list *l,
				  const json_t *rows, json_t *more);

/* ---- threads, system calls and stacks: the wing `threads` ---------------- */

/* Makes s->threads. Returns 0 or -ENOMEM. The functions below need s->threads. */
TSCT_WING int stat_threads_open(struct stat_figures *s);
TSCT_WING void stat_threads_free(struct stat_figures *s);

/* Counts an event for its thread and as a part of a system call. @bytes: size of the event in
 * its file */
TSCT_WING void stat_threads_note(struct stat_figures *s, const struct tsct_trace_event *e,
				 __u64 bytes);

/* Ends the counting. */
TSCT_WING void stat_threads_finish(struct stat_figures *s);

TSCT_WING json_t *stat_threads_json(const struct stat_figures *s);
TSCT_WING json_t *stat_calls_json(const struct stat_figures *s);
TSCT_WING json_t *stat_stacks_json(const struct stat_figures *s);
TSCT_WING void stat_stacks_print(const struct stat_figures *s);

/* If programs use io_uring, prints that its operations are not in the recording. */
TSCT_WING void stat_io_uring_print(const struct stat_figures *s);

/* Prints the tables of system calls and threads. @all: result of stat_json() */
TSCT_WING void stat_threads_print(const struct stat_figures *s, const json_t *all);

/* Makes s->states, after stat_threads_open(). Returns 0 or -ENOMEM. The functions below need
 * s->states. */
TSCT_WING int stat_states_open(struct stat_figures *s);
TSCT_WING void stat_states_free(struct stat_figures *s);

/* note: add an event to the states of threads; finish: end the last states. Return 0 or -ENOMEM. */
TSCT_WING int stat_states_note(struct stat_figures *s, const struct tsct_trace_event *e);
TSCT_WING int stat_states_finish(struct stat_figures *s);

TSCT_WING json_t *stat_states_json(const struct stat_figures *s);
TSCT_WING void stat_states_print(const struct stat_figures *s, const json_t *all);

/* ---- wait states of a program with MPI: the wing `mpi` ------------------- */

/* Adds event @e to s->waits, which must not be NULL. @error_ns: error bound of the event's time.
 * Returns 0 or -ENOMEM. */
TSCT_WING int stat_mpi_add(struct stat_figures *s, const struct tsct_trace_event *e,
			   __u64 error_ns);

/* Prints the tables of the waits. @all: result of stat_json() */
TSCT_WING void stat_mpi_print(const struct stat_figures *s, const json_t *all);

/* In these functions, s->waits may be NULL. */
TSCT_WING json_t *stat_mpi_json(const struct stat_figures *s);
TSCT_WING json_t *stat_mpi_unfinished(const struct stat_figures *s);

/* ---- lengths of spans: the wing `spans` ------------------------------------ */

/* Options; the input is the address of s->spans */
TSCT_WING extern const struct argp stat_spans_argp;

/* Prints the figures of s->spans, and frees them and the filter. Returns the exit status. */
TSCT_WING int stat_spans(struct stat_figures *s);

/* ---- stat_sync.c: sync samples (exchanges with other nodes) ------------ */

void stat_sync_print(const struct stat_figures *s);
json_t *stat_sync_json(const struct stat_figures *s);

#endif /* STAT_H */
