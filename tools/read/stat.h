/* SPDX-License-Identifier: MIT */
/* The parts of trace-ctl stat: counting, tables, JSON, sync samples */
#ifndef STAT_H
#define STAT_H

#include <jansson.h>

#include "lib/query/known.h"
#include "lib/query/threads.h"
#include "lib/statedump/identity.h"
#include "lib/statedump/stacks.h"
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

/* ---- stat_threads.c ---------------------------------------------------- */

struct thread {
	__u32 node, tid;
	const struct tsct_identity_thread *who;	/* last known state; NULL: unknown */
	__u64 until;		/* last tick at which the tid is certainly this thread's */
	__u64 switched;		/* number of switches to the thread that are recorded */
	bool some_switches;	/* flag: a filter hid others, or they were lost; or may have been */
	bool untimed;		/* flag: in a call whose begin is recorded, but not all after it */
	struct tally tally;
	char comm[17];
	/* id and name of the thread's process; path of the thread's cgroup; 0 and empty:
	 * unknown */
	__u32 tgid;
	char process[17];
	const char *cgroup;
};

struct call {
	__s64 number;		/* with TSCT_SYSCALL_COMPAT for a 32-bit call */
	__u64 count;		/* number of calls that have ended */
	__u64 timed;		/* number of those whose begin was recorded, too */
	__u64 errors;		/* number of calls that returned an error */
	__u64 total, max;	/* sum and maximum of the calls' durations, ticks */
};

struct threads {
	const struct tsct_identity *identity;
	struct tsct_known known;
	struct tsct_threads ids;
	/* threads; at the same index as in `ids`, until threads_finish() sorts them */
	struct thread *table;
	__u32 nr;
	/* for each location: index of the thread of the location's last event */
	__u32 *recent;
	struct tsct_spans in_call;	/* open system calls, by index of the thread */
	struct thread rest;	/* sum of all threads for which there was no memory for an entry in
				 * `table` */
	/* system calls; at the same index as in `call_index`, until threads_finish() sorts */
	struct call *calls;
	__u32 nr_calls;
	struct tsct_index call_index;	/* finds a call by its number */
	/* number of threads whose last system call has no return event */
	__u64 unfinished;
};

/* Meaning of an event definition */
struct stat_meaning {
	enum tsct_kernel_event kernel;
	/* number of the system call that the event records, and tsct_syscall_pair(); -1: none */
	__s64 call, pair;
};

/* Initializes @all. @identity and @trace must exist until threads_free(). Returns 0 or -ENOMEM. */
int threads_init(struct threads *all, const struct tsct_identity *identity,
		 const struct tsct_trace *trace);
void threads_free(struct threads *all);

/*
 * threads_note - count an event for its thread
 * @bytes: size of the event in its file
 * @meaning: meaning of the event's definition
 */
void threads_note(struct threads *all, const struct tsct_trace_event *event,
		  __u64 bytes, const struct stat_meaning *meaning);

/*
 * Ends the counting. Sorts system calls by total time and threads by number of events,
 * largest first. System calls that did not occur are at the end.
 */
void threads_finish(struct threads *all);

/* ---- stat_figures.c: the error bounds of all events ---------------------------- */

struct stat_errors {
	__u64 *bins;		/* number of events by bound: a logarithmic histogram */
	__u64 nr;		/* number of events with a bound */
	__u64 nr_unknown;	/* number of events without a bound */
	__u64 min_ns, max_ns;	/* smallest and largest bound, ns */
};

/* Returns 0 or -ENOMEM. The caller frees errors->bins. */
int stat_errors_init(struct stat_errors *errors);

/* Counts the bound of one event; UINT64_MAX: none is known. */
void stat_errors_add(struct stat_errors *errors, __u64 ns);

/* Returns the median of the events' bounds, ns. At least one event must have a bound. */
__u64 stat_errors_median_ns(const struct stat_errors *errors);

/* ---- stat_figures.c: stacks ------------------------------------------------------ */

struct stat_figures;

struct stat_stacks {
	struct tsct_stacks *table;	/* NULL: no statedump, or it cannot be read */
	struct tsct_stack_counts counts;
};

void stat_stacks_add(struct stat_figures *s, const struct tsct_trace_event *e);
void stat_stacks_print(const struct stat_figures *s);
json_t *stat_stacks_json(const struct stat_figures *s);

/* Returns the number of reports of the statedump that are missing. */
__u64 stat_statedump_lost(const struct stat_figures *s);

/* ---- cmd_stat.c, stat_figures.c ---------------------------------------- */

struct stat_figures {
	const char *dir;
	bool json, all;
	__u32 top;		/* limit of a list, lines; 0: the list's default */
	struct tsct_trace *trace;
	const struct tsct_recording *rec;
	struct tsct_identity identity;	/* threads, as the recording's statedump describes them */
	__u64 events;
	__u64 payload;			/* total size of all payloads, bytes */
	__u64 last;			/* tick of the last event */
	__u64 max_per_tick;		/* largest number of events on one tick, minus 1 */
	struct tally *by_location;
	struct tally *by_node;
	__u64 *lost_by_node;
	/* event counts: [stream][event id - TSCT_ID_FIRST] */
	struct tally **by_event;
	struct stat_meaning **meaning;	/* meanings of events: [stream][event id - TSCT_ID_FIRST] */
	struct threads threads;
	struct stat_errors errors;
	struct stat_stacks stacks;
	/* wait states of MPI calls; NULL: no wing mpi, or no events of MPI */
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
 * locations; 0 for an incomplete recording, where that number is unknown. */
__u64 stat_unreadable_on(const struct stat_figures *s, __u32 location);
__u64 stat_unreadable(const struct stat_figures *s);

/* Returns the largest error bound of a node's times, ns; UINT64_MAX: unknown */
__u64 stat_error_of(const struct stat_figures *s, __u32 node);

/* Returns @events per second, on the average of the whole recording. */
double stat_per_s(const struct stat_figures *s, __u64 events);

struct stat_event {
	const struct tsct_stream_class *class;
	const struct tsct_event_def *def;
	const struct tally *tally;
};

/* Returns all event definitions, those with most events first, malloc'ed. NULL: out of memory */
struct stat_event *stat_sort_events(const struct stat_figures *s, __u32 *ret_nr);

/* Returns the number of events that flight recorders overwrote before the snapshot */
__u64 stat_overwritten(const struct stat_figures *s);

/*
 * Gets the totals that the recorder counted. Returns false if the recording has no
 * totals: the recorder was killed or is an older version.
 */
bool stat_is_counted(const struct stat_figures *s, struct tsct_balance *ret_sum);

/* ---- stat_tables.c, stat_json.c ---------------------------------------- */

int stat_tables_print(const struct stat_figures *s);	/* Returns 0 or -ENOMEM. */

/* Returns all figures as JSON; NULL: out of memory. */
json_t *stat_json(const struct stat_figures *s);

/* Returns a row with the sum of those threads for which there was no memory; NULL: none. */
json_t *stat_json_rest(const struct stat_figures *s);

/* ---- stat_figures.c: wait states of a program with MPI ---------------- */

/* Adds event @e to the wait states. @error_ns: bound of the event's time. Returns 0 or
 * -ENOMEM. */
int stat_mpi_add(struct stat_figures *s, const struct tsct_trace_event *e,
		 __u64 error_ns);
json_t *stat_mpi_json(const struct stat_figures *s);
json_t *stat_mpi_unfinished(const struct stat_figures *s);

/* ---- stat_sync.c: sync samples (exchanges with other nodes) ------------ */

void stat_sync_print(const struct stat_figures *s);
json_t *stat_sync_json(const struct stat_figures *s);

#endif /* STAT_H */
