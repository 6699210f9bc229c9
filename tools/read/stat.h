/* SPDX-License-Identifier: MIT */
/* The parts of trace-ctl stat. */
#ifndef STAT_H
#define STAT_H

#include <jansson.h>

#include "tools/common/sync_samples.h"
#include "threads.h"
#include "tools/common/view.h"

/* Figures of the recording's files */
struct stat_files {
	struct stat_file {
		__u64 tick;	/* of its last event */
		__u64 same;	/* events on that tick after the first */
		bool any;
	} *file;		/* by stream and location */
	__u64 max_per_tick;	/* longest run on one tick, less 1 */
	__u64 payload;		/* bytes */
};

struct stat_figures {
	const char *dir;
	bool json, all;
	__u32 top;		/* lines per list; 0: the list's default */
	struct tsct_trace *trace;
	const struct tsct_recording *rec;
	__u64 events, first, last;
	struct tally *by_location;	/* nr_locations entries */
	struct tally *by_node;		/* nr_nodes entries */
	__u64 *lost_by_node;
	struct tally **by_event;	/* by stream, and id - FIRST */
	struct threads threads;
	struct stat_files files;
	struct sync_samples sync;	/* if the recording has samples */
};

/* ---- stat_figures.c ---------------------------------------------------- */

/* The end of the recording; without an end in the metadata, the last event. */
__u64 stat_end_of(const struct stat_figures *s);
__s64 stat_ticks_ns(const struct stat_figures *s, __u64 ticks);
__u64 stat_error_ns(const struct stat_figures *s);
double stat_rate_hz(const struct stat_figures *s);
__u64 stat_lost_on(const struct stat_figures *s, __u32 location);
/*
 * Events that were recorded and are unreadable: of a location, of all. 0 if the
 * recording is not complete, as the number is not known then.
 */
__u64 stat_unreadable_on(const struct stat_figures *s, __u32 location);
__u64 stat_unreadable(const struct stat_figures *s);
/*
 * Sums the tallies of nodes from those of their locations; call it after
 * counting.
 */
void stat_sum_nodes(struct stat_figures *s);
__u64 stat_lost_of(const struct stat_figures *s, __u32 node);

/* The largest bound of the node's times, ns; UINT64_MAX: unknown */
__u64 stat_error_of(const struct stat_figures *s, __u32 node);

/* Events per second over the whole recording */
double stat_per_s(const struct stat_figures *s, __u64 events);

/* Definitions, sorted by the number of events */
struct stat_event {
	const struct tsct_stream_class *class;
	const struct tsct_event_def *def;
	const struct tally *tally;
};

/* malloc'ed; NULL: out of memory */
struct stat_event *stat_sort_events(const struct stat_figures *s, __u32 *ret_nr);

/* Events of flight recorders that were overwritten before the snapshot began */
__u64 stat_overwritten(const struct stat_figures *s);

/*
 * Gets the recorder's own totals; false if the recording has none, because the
 * recorder was killed or is an older version.
 */
bool stat_is_counted(const struct stat_figures *s, struct tsct_balance *ret_sum);

/* ---- stat_files.c ------------------------------------------------------ */

int stat_files_init(struct stat_figures *s);	/* Returns 0 or -ENOMEM. */
void stat_files_free(struct stat_figures *s);
void stat_files_note(struct stat_figures *s, const struct tsct_trace_event *e);
void stat_files_print(const struct stat_figures *s);
json_t *stat_files_json(const struct stat_figures *s);

/* ---- stat_tables.c: by node, CPU, event, system call and thread ---------- */

int stat_tables_print(const struct stat_figures *s);	/* Returns 0 or -ENOMEM. */

/* ---- stat_json.c ------------------------------------------------------- */

int stat_print_json(const struct stat_figures *s);

/* ---- stat_sync.c: samples of other nodes' time ------------------------- */

/* Reads the samples; prints an error. Returns 0 or -errno. */
int stat_sync_read(struct stat_figures *s);
void stat_sync_print(const struct stat_figures *s);
json_t *stat_sync_json(const struct stat_figures *s);

#endif /* STAT_H */
