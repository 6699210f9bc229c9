/* SPDX-License-Identifier: MIT */
/* Parts of a merge of OTF2 archives: reading inputs, unifying definitions, copying events */
#ifndef TSCT_OTF2_MERGE_WORK_H
#define TSCT_OTF2_MERGE_WORK_H

#include <stdio.h>

#include "lib/base/index.h"
#include "otf2_defs.h"
#include "otf2_write.h"

/* ---- errors and remarks ------------------------------------------------------------- */

/* Makes @file the current file; "": the merged archive */
static inline struct worker_status *tsct_otf2_at(struct tsct_otf2_status *status, const char *file)
{
	snprintf(status->work.file, sizeof(status->work.file), "%s", file);
	return &status->work;
}

/* The first two macros set an error, of @file or of the current file, and
 * return the error. The last one adds a remark. */
#define tsct_otf2_fail(status, file, ...)	worker_fail(tsct_otf2_at(status, file), __VA_ARGS__)
#define tsct_otf2_refuse(status, ...)	worker_fail(&(status)->work, __VA_ARGS__)
#define tsct_otf2_note(status, ...)	worker_note(&(status)->work, __VA_ARGS__)

/* Sets the error @err, which occurred when the merged archive was written, and returns it
 * (otf2_input.c). */
int tsct_otf2_output_fail(struct tsct_otf2_status *status, int err);

/* ---- a file of an archive (otf2_scan.c) ---------------------------------------------- */

struct tsct_otf2_extent {
	uint64_t records;	/* number of complete records before the first damage */
	/* times of the first and the last complete record of an event file, ticks; 0 if
	 * there is none */
	uint64_t first, last;
	uint64_t bytes;		/* file offset of the end of the last complete record */
};

/*
 * tsct_otf2_scan - count the records of a file
 * @chunk: size of a chunk, bytes
 * @events: the file holds events, not definitions
 * @status: status->beat is increased by the bytes read
 *
 * Returns 0; -EBADMSG if the file is damaged, with the reason in status->why
 * (to be printed after the file's name) and the part before the damage in
 * @ret_extent; or the -errno of reading the file.
 */
int tsct_otf2_scan(const char *path, uint64_t chunk, bool events,
		   struct worker_status *status, struct tsct_otf2_extent *ret_extent);

/* ---- an archive that is open for reading (otf2_input.c) ------------------------------ */

struct tsct_otf2_input {
	const char *path;		/* path of the anchor file, NAME.otf2 */
	OTF2_Reader *reader;
	uint64_t event_chunk, def_chunk;
	uint64_t nr_defs;		/* number of definitions that the anchor states */
	uint64_t *id;			/* ids of the archive's trace and of the
					 * traces merged into it */
	size_t nr_ids;
	struct tsct_otf2_clock clock;
	struct tsct_otf2_status *status;	/* progress and errors of the merge */
};

/* Opens an archive. Functions of this file with an int result return 0 or
 * -errno, with the error in the status. They set status->work.file to the file
 * that libotf2 opens next, so that messages can name it. */
int tsct_otf2_input_open(struct tsct_otf2_input *in, const char *path,
			 struct tsct_otf2_status *status);

/*
 * Returns the kind of data ("snapshots", "thumbnails") that the archive has but
 * a merged archive cannot have; NULL: no such data
 */
const char *tsct_otf2_input_unsupported(struct tsct_otf2_input *in);

/* Returns true if the archive has a file of markers. Makes that file the current file. */
bool tsct_otf2_input_markers(struct tsct_otf2_input *in);

/* Reads all global definitions into @defs, and the clock into in->clock. */
int tsct_otf2_input_defs(struct tsct_otf2_input *in, struct tsct_otf2_defs *defs);

/*
 * Sets the current file to a location's file with the suffix @suffix, such as ".evt". Must
 * be called before definitions or events of another location are read.
 */
void tsct_otf2_input_local(struct tsct_otf2_input *in, uint64_t location,
			   const char *suffix);

/*
 * Reads a location's clock offsets. Mapping tables are not read: libotf2 itself applies them
 * to the location's events.
 */
int tsct_otf2_input_offsets(struct tsct_otf2_input *in, uint64_t location,
			    struct tsct_otf2_offsets *ret_offsets);

/* Counts the records of the current file, status->work.file: see tsct_otf2_scan(). */
int tsct_otf2_input_scan(struct tsct_otf2_input *in, bool events, struct tsct_otf2_extent *ret);

/* Finds an event file that belongs to no defined location. Returns 1 and sets the
 * location number from the file's name; 0 if there is no such file; or -errno. */
int tsct_otf2_input_orphan(struct tsct_otf2_input *in,
			  const struct tsct_index *locations,
			  uint64_t *ret_location);

void tsct_otf2_input_close(struct tsct_otf2_input *in);

/* ---- the definitions of all archives (otf2_unify.c) --------------------------------- */

struct tsct_otf2_unified {
	struct tsct_otf2_defs defs;
	/* 1 + index in `defs` of each definition; key: hash of the definition's content */
	struct tsct_index index;
	uint64_t next[TSCT_OTF2_SPACE_NR];
	/* keys: the numbers (OTF2's references) that locations of the result have */
	struct tsct_index taken;
	uint64_t next_location;
	/* per paradigm: 1 + index in `defs` of the paradigm's list of locations; 0: no list */
	size_t ranks[UINT8_MAX + 1];
	/* per paradigm: 1 + index in `defs` of OTF2's group COMM_SELF; 0: no such group */
	size_t self[UINT8_MAX + 1];
	uint32_t inputs;
};

struct tsct_otf2_location {
	uint64_t old, new;
	uint64_t nr_events; /* number of the location's events, as the input states */
	size_t def;	/* index of the location's definition in the result */
};

/* Maps from an input's numbers to the result's numbers */
struct tsct_otf2_maps {
	/* per number space: number in the result, plus 1, of each definition;
	 * key: number in the input */
	struct tsct_index space[TSCT_OTF2_SPACE_NR];
	/* number to add to ranks in events; key: the input's reference to a communicator
	 * (comm_shift) or to an RMA window (win_shift). No entry: ranks are not changed */
	struct tsct_index comm_shift, win_shift;
	struct tsct_otf2_location *location;
	size_t nr_locations;
};

/*
 * tsct_otf2_unify - move an input's definitions to the result
 * @force: if inputs define a constant of OTF2 differently, keep the first definition
 *
 * Returns 0 or, with an error in @status, -ENOMEM, or -EBADMSG if a reference is
 * dangling or circular, or if two definitions cannot be distinguished.
 */
int tsct_otf2_unify(struct tsct_otf2_unified *all, struct tsct_otf2_defs *input,
		    bool force, struct tsct_otf2_maps *ret_maps,
		    struct tsct_otf2_status *status);

/* Writes all definitions except the clock's, in an order that readers accept. */
OTF2_ErrorCode tsct_otf2_unified_write(const struct tsct_otf2_unified *all,
				       OTF2_GlobalDefWriter *writer);

void tsct_otf2_unified_free(struct tsct_otf2_unified *all);
void tsct_otf2_maps_free(struct tsct_otf2_maps *maps);

/* ---- the merge ---------------------------------------------------------------------- */

struct tsct_otf2_merging {
	const struct tsct_otf2_merge *m;
	struct tsct_otf2_input *input;
	struct tsct_otf2_maps *maps;
	struct tsct_otf2_scale *scale;
	struct tsct_otf2_unified all;
	struct tsct_otf2_writer *writer;
};

/* Copies the events of all locations of input @i, one location after another. */
int tsct_otf2_merge_events(struct tsct_otf2_merging *w, uint32_t i);

/* Copies the markers of all inputs. */
int tsct_otf2_merge_markers(struct tsct_otf2_merging *w);

#endif /* TSCT_OTF2_MERGE_WORK_H */
