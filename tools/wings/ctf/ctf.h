/* SPDX-License-Identifier: MIT */
/*
 * Converts a CTF trace of another tracer into a recording for merge: a merged recording of one
 * node, with ticks of CLOCK_REALTIME or of cluster time.
 *
 *	ctf_graph.c	reads the trace by libbabeltrace2, in the order of its times
 *	ctf_time.c	converts times by the history that the node's daemon kept of its clocks
 *	ctf_fields.c	makes event definitions of event classes, and payloads of fields
 *	ctf_recording.c	writes the recording: files, error bounds, losses, metadata
 *
 * libbabeltrace2 may crash on hostile traces, so all of this runs in a child process.
 */
#ifndef TSCT_WINGS_CTF_H
#define TSCT_WINGS_CTF_H

#include <babeltrace2/babeltrace.h>

#include "lib/base/index.h"
#include "lib/base/text.h"
#include "lib/ctf/stream.h"
#include "lib/history/history.h"
#include "tools/shared/worker.h"

/* Version of the protocol of the library's graphs. Version 1 has all types of CTF 2. Version 1,
 * and the functions below, are in the library from 2.1 on; before, these functions are NULL. */
static inline uint64_t ctf_graph_version(void)
{
	return bt_get_maximal_mip_version() > 0;
}

extern const char *bt_clock_class_get_uid(const bt_clock_class *) __attribute__((weak));
extern bt_property_availability bt_clock_class_get_opt_precision(const bt_clock_class *, uint64_t *)
	__attribute__((weak));
extern uint64_t bt_field_blob_get_length(const bt_field *) __attribute__((weak));
extern const uint8_t *bt_field_blob_get_data_const(const bt_field *) __attribute__((weak));
#define CTF_TYPE_BLOB	((bt_field_class_type)(1ULL << 29))	/* BT_FIELD_CLASS_TYPE_BLOB */

#define CTF_DIRS_MAX	64
struct ctf_options {
	const char *dir[CTF_DIRS_MAX];	/* state directories with histories */
	unsigned int nr_dirs;
	const char *boot;	/* boot of traces that do not state their boot; NULL: not given */
	/* enum tsct_history_clock of clocks whose names are unknown; -1: not given */
	int clock;
};

/* Progress and result */
struct ctf_status {
	struct worker_status work;
	bool off_timeline;	/* flag: the conversion failed because times have no cluster time */
	/* timeline of the ticks: as requested, else that of the first event */
	struct tsct_recorded_timeline timeline;
};

struct ctf_job {
	const char *path;	/* directory of the trace, or of several traces of one node */
	const char *dir;	/* empty directory for the recording */
	const struct ctf_options *options;
	bool force, salvage;
	bool cluster;		/* flag: ticks are of cluster time */
	struct ctf_status *status; /* zeroed by the caller, except for the requested timeline */
};

/* Makes the recording. Returns 0, or -errno with status->work.why. */
int ctf_convert(struct ctf_job *job);

/* ctf_fail() sets the reason of an error, and returns the error. ctf_note() adds a remark. */
#define ctf_fail(status, ...)	worker_fail(&(status)->work, __VA_ARGS__)
#define ctf_note(status, ...)	worker_note(&(status)->work, __VA_ARGS__)

/* ---- traces in a directory: ctf_find.c --------------------------------------------- */

/* Directories of traces, sorted by name */
struct ctf_paths {
	struct ctf_path {
		char *path;
		__u64 hash;	/* hash of the trace's metadata and file sizes */
		/* index of the first directory of the same trace, which is identified
		 * by its UUID: a tracer that rotates a trace begins a new directory */
		__u32 first;
		char uuid[37];	/* UUID of the trace; "": none */
		bool ctf2;
	} *all;
	__u32 nr;
	__u32 nr_recordings;	/* number of recordings of trace-ctl, which are not searched */
	__u64 bytes_of_metadata, nr_files;
	char *unreadable;	/* path of a trace's file that cannot be read; NULL: none */
	int unreadable_error;	/* errno of the attempt to read; 0: not a regular file */
};

/* Finds the traces in @path and below. Returns 0, even if there is no trace, or -errno. */
int ctf_find(const char *path, struct ctf_paths *ret);
void ctf_paths_free(struct ctf_paths *paths);

/* Returns, as a clause, what kind of file or directory @path is, which merge
 * cannot read, and what the user can do; NULL: the kind is not known. */
const char *ctf_foreign_kind(const char *path);

/* ---- time: ctf_time.c -------------------------------------------------------------- */

/* The node on which a trace was recorded */
struct ctf_node {
	struct ctf_job *job;
	struct ctf_status *status;	/* status of the job */
	char host[TSCT_NODE_NAME_MAX];	/* "": unknown */
	char tracer[64];
	__u8 boot_id[16];
	bool has_boot;
	struct tsct_history *history;	/* history of the boot; NULL: none */
	char why[640];			/* reason why there is no history */
	/* numbers of times that are unknown, ambiguous or extrapolated */
	__u64 unknown, ambiguous, extrapolated;
};

struct ctf_clock {
	const bt_clock_class *class;
	char name[64];
	int clock;		/* enum tsct_history_clock; -1: unknown */
	uint64_t precision;	/* largest error of the clock's values, cycles */
	__u64 hz;
	__s64 offset_ns;	/* stated time of the clock's value 0, ns since the Unix epoch */
	bool has_epoch;
	bool checked;		/* flag: the offset was already compared with the history */
};

/* A time as a tick of the recording. error_ns, utc_ns: error bounds, ns; UINT64_MAX: unknown */
struct ctf_time {
	__u64 tick, error_ns, utc_ns;
};

/* Finds the clock of a trace's streams, the boot and the boot's history. Returns 0 or -errno. */
int ctf_clock_init(struct ctf_node *node, struct ctf_clock *clock, const bt_clock_class *class);
int ctf_time_of(struct ctf_node *node, struct ctf_clock *clock, __u64 value,
		struct ctf_time *ret);
void ctf_node_free(struct ctf_node *node);

/* ---- events: ctf_fields.c ---------------------------------------------------------- */

/* Makes the definition of an event class, without an id. */
void ctf_define(const bt_event_class *class, struct tsct_event_def *ret_def);
/* Makes the payload of an event, and finds its thread. */
void ctf_payload(const bt_event *event, const struct tsct_event_def *def,
		 struct tsct_text *ret_payload, __u32 *ret_tid);
/* Writes an identifier of at most @size - 1 characters, made from @name. */
void ctf_identifier(const char *name, char *to, size_t size);

/* ---- the recording: ctf_recording.c -------------------------------------------------- */

struct ctf_writer;
struct ctf_file;

int ctf_writer_open(struct ctf_job *job, const __u8 uuid[16], struct ctf_writer **ret);
/* Returns the file of a channel and CPU; NULL: out of memory, or there are too many files */
struct ctf_file *ctf_writer_file(struct ctf_writer *w, const char *channel, __u32 cpu);
/* Appends an event to a file. Returns 0 or -errno. */
int ctf_writer_event(struct ctf_writer *w, struct ctf_file *file, const bt_event *event,
		     struct ctf_time *time);
/* Extends the time that the recording covers to @time, even if the trace has no events. */
void ctf_writer_note(struct ctf_writer *w, const struct ctf_time *time);
/* Counts @nr events that were lost after the last event of @file. Returns 0 or -errno. */
int ctf_writer_lose(struct ctf_file *file, __u64 nr);
/* Writes the metadata. @cut_off: events at the end of the trace are missing */
int ctf_writer_finish(struct ctf_writer *w, const struct ctf_node *node, bool cut_off);
void ctf_writer_free(struct ctf_writer *w);

#endif /* TSCT_WINGS_CTF_H */
