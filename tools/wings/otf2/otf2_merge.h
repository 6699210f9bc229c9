/* SPDX-License-Identifier: MIT */
/*
 * Merges OTF2 archives. The result has the clock of the first archive, one set of
 * definitions, and for each location a file of its events. The memory needed grows with the
 * number of definitions and locations.
 */
#ifndef TSCT_OTF2_MERGE_H
#define TSCT_OTF2_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "otf2_time.h"
#include "tools/shared/worker.h"

/* How the times of each archive are aligned with the times of the first archive */
enum tsct_otf2_align {
	/* Aligns an archive with the first one by the time of day at which their clocks
	 * begin. If one of the two does not state that time, both clocks are assumed to
	 * begin at the same moment. */
	TSCT_OTF2_ALIGN_AUTO,
	/* Aligns all archives by the time of day at which their clocks begin. The merge
	 * fails if an archive does not state that time. */
	TSCT_OTF2_ALIGN_REAL,
	/* Assumes that the clocks of all archives begin at the same moment. */
	TSCT_OTF2_ALIGN_TEXT,
};

/* Results of the merge for one input */
struct tsct_otf2_merged {
	struct tsct_otf2_clock clock;
	uint64_t definitions, locations, events;
	uint64_t missing;	/* number of events that are not in the result */
	/* number of events whose time was raised to that of the preceding event */
	uint64_t held;
	/* times of the first and last event, ticks of the result; invalid without events */
	uint64_t first, last;
	bool real; /* flag: the input's times were aligned by the time of day */
	/* flag: the result lacks data of the input: part of a damaged file, a file of
	 * an undefined location, or a kind of data that cannot be merged */
	bool left_out;
};

/* Progress and result of a merge. The struct has no pointers: parent and child share it. */
struct tsct_otf2_status {
	struct worker_status work;
	struct tsct_otf2_clock clock;	/* clock of the merged archive */
	uint64_t definitions, locations;
	struct tsct_otf2_merged input[];
};

struct tsct_otf2_merge {
	const char *const *path;	/* paths of the inputs' anchor files */
	uint32_t nr;
	const char *dir;		/* path of the empty directory for the result */
	enum tsct_otf2_align align;
	/* flag: accept a trace twice, and drop parts that the result cannot hold */
	bool force;
	bool salvage;	/* flag: keep the readable part of damaged files */
	struct tsct_otf2_status *status; /* progress and result, zeroed by the caller */
};

/*
 * tsct_otf2_merge - write the merged archive into m->dir
 *
 * libotf2 may crash on hostile inputs: call this in a child process if they are
 * not trusted. Returns 0, or -errno with status->work.file and status->work.why.
 */
int tsct_otf2_merge(const struct tsct_otf2_merge *m);

#endif /* TSCT_OTF2_MERGE_H */
