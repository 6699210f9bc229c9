/* SPDX-License-Identifier: MIT */
/* The parts of trace-ctl stat. */
#ifndef STAT_H
#define STAT_H

#include <jansson.h>

#include "tools/common/sync_read.h"
#include "threads.h"
#include "tools/common/view.h"

/* What the files are like */
struct stat_files {
	struct stat_file {
		__u64 tick;	/* of its last event */
		__u64 same;	/* events that followed another one on it */
		bool any;
	} *file;		/* by stream and location */
	__u64 max_per_tick;	/* longest run on one tick, less 1 */
	__u64 payload;		/* bytes */
};

struct stat_figures {
	const char *dir;
	bool json, all;
	__u32 top;		/* lines of lists; 0: as each list has it */
	struct tsct_trace *trace;
	const struct tsct_recording *rec;
	__u64 events, first, last;
	struct tally *by_location;	/* nr_locations */
	struct tally *by_node;		/* nr_nodes */
	__u64 *lost_by_node;
	struct tally **by_event;	/* stream, id - FIRST */
	struct threads threads;
	struct stat_files files;
	struct sync_samples sync;	/* where the recording has samples */
};

/* ---- stat_figures.c ---------------------------------------------------- */

/* A recorder that was killed left no end; the last event is the best there is. */
__u64 stat_end_of(const struct stat_figures *s);
__s64 stat_ticks_ns(const struct stat_figures *s, __u64 ticks);
__u64 stat_error_ns(const struct stat_figures *s);
double stat_rate_hz(const struct stat_figures *s);
__u64 stat_lost_on(const struct stat_figures *s, __u32 location);
/*
 * Events that the recorder wrote and that cannot be read: of a location, of all.
 * Not known of a recording that is not complete: 0.
 */
__u64 stat_unreadable_on(const struct stat_figures *s, __u32 location);
__u64 stat_unreadable(const struct stat_figures *s);
/* Nodes are what their locations are: once those are known. */
void stat_sum_nodes(struct stat_figures *s);
__u64 stat_lost_of(const struct stat_figures *s, __u32 node);

/* How far its times may be off, at worst; UINT64_MAX: nobody knows */
__u64 stat_error_of(const struct stat_figures *s, __u32 node);

/* So many in all of the time that was recorded, per second */
double stat_per_s(const struct stat_figures *s, __u64 events);

/* Definitions, those with most events first */
struct stat_event {
	const struct tsct_stream_class *class;
	const struct tsct_event_def *def;
	const struct tally *tally;
};

/* malloc'ed; NULL: no memory */
struct stat_event *stat_sort_events(const struct stat_figures *s, __u32 *ret_nr);

/* Of flight recorders, before they were written: older than all of it. */
__u64 stat_overwritten(const struct stat_figures *s);

/* What the recorder counted: one that was killed, or is older, did not. */
bool stat_is_counted(const struct stat_figures *s, struct tsct_balance *ret_sum);

/* ---- stat_files.c ------------------------------------------------------ */

int stat_files_init(struct stat_figures *s);	/* 0 or -ENOMEM */
void stat_files_free(struct stat_figures *s);
void stat_files_note(struct stat_figures *s, const struct tsct_trace_event *e);
void stat_files_print(const struct stat_figures *s);
json_t *stat_files_json(const struct stat_figures *s);

/* ---- stat_tables.c: by node, CPU, event, system call and thread ---------- */

int stat_tables_print(const struct stat_figures *s);	/* 0 or -ENOMEM */

/* ---- stat_json.c ------------------------------------------------------- */

int stat_print_json(const struct stat_figures *s);

/* ---- stat_sync.c: samples of other nodes' time ------------------------- */

/* Reads them; complains. 0 or -errno. */
int stat_sync_read(struct stat_figures *s);
void stat_sync_print(const struct stat_figures *s);
json_t *stat_sync_json(const struct stat_figures *s);

#endif /* STAT_H */
