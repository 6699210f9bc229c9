/* SPDX-License-Identifier: MIT */
/* The parts of trace-ctl stat */
#ifndef STAT_H
#define STAT_H

#include <jansson.h>

#include "lib/query/threads.h"
#include "tools/common/sync_samples.h"
#include "tools/common/view.h"

/* Number and size of events: of a node, CPU, thread, or event definition */
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

/* Adds @t to @sum. */
void tally_add(struct tally *sum, const struct tally *t);

/* ---- stat_threads.c ---------------------------------------------------- */

struct thread {
	__u32 node, tid;
	bool in_call;		/* a system call has begun and not ended */
	__s64 call;		/* number of that system call */
	__u64 since;		/* tick of its begin */
	__u64 switched;		/* number of switches to the thread */
	struct tally tally;
	char comm[17];
};

struct call {
	__s64 number;
	__u64 count;
	__u64 total, max;	/* ticks */
};

struct threads {
	struct tsct_threads ids;
	struct thread *table;	/* by the index in ids, until threads_finish() */
	__u32 room, nr;
	__u32 *recent;		/* by location: index of the last event's thread */
	struct thread rest;	/* sum of the threads that memory was too short for */
	struct call *calls;	/* by number of the call, until threads_finish() */
	__u64 unfinished;	/* system calls that did not end in the recording */
};

#define THREADS_CALLS	1024	/* larger numbers are not system calls */

int threads_init(struct threads *all, __u32 nr_locations);
void threads_free(struct threads *all);

/*
 * threads_note - count one event
 * @bytes: size of the event in the file
 * @kernel: the event is of the kernel: count system calls and switches
 */
void threads_note(struct threads *all, const struct tsct_trace_event *event,
		  __u64 bytes, bool kernel);

/*
 * Ends the counting. Sorts calls by total time and threads by number of events, largest
 * first. Calls with count 0 are at the end.
 */
void threads_finish(struct threads *all);

/* ---- cmd_stat.c, stat_figures.c ---------------------------------------- */

struct stat_figures {
	const char *dir;
	bool json, all;
	__u32 top;		/* maximum of lines per list; 0: the list's default */
	struct tsct_trace *trace;
	const struct tsct_recording *rec;
	__u64 events;
	__u64 payload;			/* size of all payloads, bytes */
	__u64 last;			/* tick of the last event */
	__u64 max_per_tick;		/* longest run of events on a tick, less 1 */
	struct tally *by_location;
	struct tally *by_node;
	__u64 *lost_by_node;
	struct tally **by_event;	/* by stream and event id - TSCT_ID_FIRST */
	struct threads threads;
	struct sync_samples sync;	/* zeroed if the recording has no samples */
};

double stat_per_event(const struct stat_figures *s, __u64 bytes);

/* Tick of the recording's end, or of the last event if the end is unknown */
__u64 stat_end_of(const struct stat_figures *s);
__s64 stat_ticks_ns(const struct stat_figures *s, __u64 ticks);
__u64 stat_error_ns(const struct stat_figures *s);
__u64 stat_lost_on(const struct stat_figures *s, __u32 location);

/*
 * Number of recorded events that are unreadable, of a location or of all. 0 if the
 * recording is incomplete, because then the number is unknown.
 */
__u64 stat_unreadable_on(const struct stat_figures *s, __u32 location);
__u64 stat_unreadable(const struct stat_figures *s);

/* The largest error bound of the node's times, ns; UINT64_MAX: unknown */
__u64 stat_error_of(const struct stat_figures *s, __u32 node);

/* Events per second over the whole recording */
double stat_per_s(const struct stat_figures *s, __u64 events);

struct stat_event {
	const struct tsct_stream_class *class;
	const struct tsct_event_def *def;
	const struct tally *tally;
};

/* Event definitions by number of events, malloc'ed; NULL: out of memory */
struct stat_event *stat_sort_events(const struct stat_figures *s, __u32 *ret_nr);

/* Events of flight recorders that were overwritten before the snapshot began */
__u64 stat_overwritten(const struct stat_figures *s);

/*
 * Gets the recorder's own totals. Returns false if the recording has none, because the
 * recorder was killed or is an older version.
 */
bool stat_is_counted(const struct stat_figures *s, struct tsct_balance *ret_sum);

/* ---- stat_tables.c, stat_json.c ---------------------------------------- */

int stat_tables_print(const struct stat_figures *s);	/* Returns 0 or -ENOMEM. */
int stat_print_json(const struct stat_figures *s);	/* Returns an exit status. */

/* ---- stat_sync.c: samples of other nodes' time ------------------------- */

void stat_sync_print(const struct stat_figures *s);
json_t *stat_sync_json(const struct stat_figures *s);

#endif /* STAT_H */
